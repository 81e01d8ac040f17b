"""Put the decisions on a memory into the steps of its timeline."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext

from memoryhub.console import words
from memoryhub.console.memory_queries import DecisionRow
from memoryhub.console.shapes import Step


def make_steps(*, decisions: Sequence[DecisionRow], hues: Mapping[int, str]) -> tuple[Step, ...]:
    """Make the steps, newest first; `hues` maps a version that made a claim to its colour."""
    return tuple(_make_step(decision, hues) for decision in decisions)


def _make_step(decision: DecisionRow, hues: Mapping[int, str]) -> Step:
    is_version = decision.resulting_version > decision.expected_version
    value = words.format_value(value=decision.value)
    reason = words.explain_reason(code=decision.reason)
    if decision.requires_person:
        reason = gettext("Waits for a person: %(reason)s") % {"reason": reason}
    return Step(
        version=decision.resulting_version if is_version else None,
        hue=hues.get(decision.resulting_version, "") if is_version else "",
        action=decision.action,
        value=value,
        old_value=words.format_value(value=decision.replaced) if decision.has_replaced else None,
        at=decision.recorded_at,
        who=decision.decider or decision.author,
        policy="" if decision.decider else gettext("policy %(version)s") % {"version": decision.policy_version},
        reason=reason,
        note=decision.note,
    )
