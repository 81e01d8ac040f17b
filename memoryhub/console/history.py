"""Put the decisions on a memory into the steps of its timeline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext

from memoryhub.console import words
from memoryhub.console.diff import condense_text
from memoryhub.console.grid import READABLE
from memoryhub.console.shapes import Step
from memoryhub.memory.queries import DecisionRecord, PartRecord
from memoryhub.types.enums import MergeAction
from memoryhub.usecases.review import Verb

_CHOSEN: Final = {Verb.REJECT: MergeAction.REJECT, Verb.KEEP_CONFLICT: MergeAction.CONFLICT}


@dataclass(frozen=True, slots=True)
class _Made:
    """The parts a decision wrote, in the order of valid time, and the part whose value the first took over."""

    parts: tuple[PartRecord, ...] = ()
    replaced: PartRecord | None = None


def name_choice(*, decision: DecisionRecord) -> str:
    """Name what was decided: what a person chose, else the difference it made."""
    return str(_CHOSEN.get(Verb(decision.verb), decision.action)) if decision.verb else decision.action


def make_steps(
    *,
    decisions: Sequence[DecisionRecord],
    parts: Sequence[PartRecord],
    hues: Mapping[int, str],
    notes: Mapping[str, str],
    withdrawn: frozenset[str],
) -> tuple[Step, ...]:
    """Make the steps, newest first; `hues` maps a version that made a claim to its colour."""
    return tuple(
        _make_step(decision, _find_made(decision, parts), hues, notes.get(decision.id, ""), withdrawn)
        for decision in reversed(decisions)
    )


def _find_made(decision: DecisionRecord, parts: Sequence[PartRecord]) -> _Made:
    by_id = {part.id: part for part in parts}
    written = sorted((part for part in parts if part.decision_id == decision.id), key=lambda part: part.valid_from)
    pairs = ((by_id.get(part.supersedes or ""), part) for part in written)
    replaced = (
        before for before, part in pairs if before and not words.is_same_value(one=before.value, other=part.value)
    )
    return _Made(parts=tuple(written), replaced=next(replaced, None))


def _make_step(
    decision: DecisionRecord,
    made: _Made,
    hues: Mapping[int, str],
    note: str,
    withdrawn: frozenset[str],
) -> Step:
    is_version = decision.resulting_version > decision.expected_version
    is_hidden = decision.candidate_id in withdrawn
    takes_over = made.replaced is not None and not is_hidden and decision.verb in {"", Verb.ACCEPT}
    return Step(
        version=decision.resulting_version if is_version else None,
        hue=hues.get(decision.resulting_version, "") if is_version else "",
        action=name_choice(decision=decision),
        value=gettext("revoked") if is_hidden else words.format_value(value=decision.value),
        old_value=words.format_value(value=made.replaced.value) if made.replaced and takes_over else None,
        at=decision.recorded_at,
        who=decision.decider_name or decision.author_name or "",
        policy="" if decision.decider_name else gettext("policy %(version)s") % {"version": decision.policy_version},
        reason=_explain(decision),
        note=note,
        difference=_tell_difference(decision, made),
    )


def _explain(decision: DecisionRecord) -> str:
    if decision.verb == Verb.REJECT:
        return str(words.REASON_TO_REJECT.get(decision.verb_reason, decision.verb_reason))
    if decision.verb == Verb.KEEP_CONFLICT:
        return words.explain_reason(code="conflict_kept")
    reason = words.explain_reason(code=decision.reason)
    return gettext("Waits for a person: %(reason)s") % {"reason": reason} if decision.requires_person else reason


def _tell_difference(decision: DecisionRecord, made: _Made) -> str:
    """Say what came to stand by a person's ruling, where that is not the claim it was about."""
    if not decision.verb or not made.parts or made.parts[-1].state not in READABLE:
        return ""
    newest = made.parts[-1].value
    if decision.verb == Verb.ACCEPT and words.is_same_value(one=newest, other=decision.value):
        return ""
    return gettext("then %(value)s stands") % {"value": condense_text(text=words.format_value(value=newest))}
