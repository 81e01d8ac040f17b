"""Put the decisions on a memory into the steps of its timeline."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext

from memoryhub.console import words
from memoryhub.console.shapes import Step
from memoryhub.memory.queries import DecisionRecord, PartRecord


def make_steps(
    *,
    decisions: Sequence[DecisionRecord],
    parts: Sequence[PartRecord],
    hues: Mapping[int, str],
    notes: Mapping[str, str],
    withdrawn: frozenset[str],
) -> tuple[Step, ...]:
    """Make the steps, newest first; `hues` maps a version that made a claim to its colour."""
    by_id = {part.id: part for part in parts}
    replaced: dict[str, PartRecord] = {}
    for part in parts:
        before = by_id.get(part.supersedes or "")
        if before is not None and not words.is_same_value(one=before.value, other=part.value):
            replaced.setdefault(part.decision_id, before)
    return tuple(
        _make_step(decision, replaced.get(decision.id), hues, notes.get(decision.id, ""), withdrawn)
        for decision in reversed(decisions)
    )


def _make_step(
    decision: DecisionRecord,
    replaced: PartRecord | None,
    hues: Mapping[int, str],
    note: str,
    withdrawn: frozenset[str],
) -> Step:
    is_version = decision.resulting_version > decision.expected_version
    is_hidden = decision.candidate_id in withdrawn
    reason = words.explain_reason(code=decision.reason)
    if decision.requires_person:
        reason = gettext("Waits for a person: %(reason)s") % {"reason": reason}
    return Step(
        version=decision.resulting_version if is_version else None,
        hue=hues.get(decision.resulting_version, "") if is_version else "",
        action=decision.action,
        value=gettext("revoked") if is_hidden else words.format_value(value=decision.value),
        old_value=words.format_value(value=replaced.value) if replaced and not is_hidden else None,
        at=decision.recorded_at,
        who=decision.decider_name or decision.author_name or "",
        policy="" if decision.decider_name else gettext("policy %(version)s") % {"version": decision.policy_version},
        reason=reason,
        note=note,
    )
