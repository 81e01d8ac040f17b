"""Withdrawal: what a memory says once some of its claims are gone. Pure.

Source: ADR 0019.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryhub.policy.belief import derive_belief
from memoryhub.policy.difference import compare_timelines
from memoryhub.policy.merge import MergePolicy, MergeRuleV1
from memoryhub.types.claims import Timeline
from memoryhub.types.decision import Changes, Decision
from memoryhub.types.enums import MergeAction
from memoryhub.types.timeline import fold_timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from memoryhub.types.claims import Claim, Part, Ruling
    from memoryhub.types.decision import PredicateFacts


def decide_withdrawal(
    *,
    parts: Iterable[Part],
    claims: Sequence[Claim],
    rulings: Sequence[Ruling],
    predicate: PredicateFacts,
    policy: MergePolicy,
    memory_type: str,
    now: datetime,
) -> Decision:
    """Return the difference between the `parts` that are held and the fold of the `claims` that are left.

    Parts that rest on other claims stay, re-labelled with those that now support them.
    """
    rule = MergeRuleV1(contest_window=policy.contest_window, predicate=predicate)
    new = fold_timeline(claims=claims, rulings=rulings, rule=rule)
    difference = compare_timelines(old=Timeline(parts=tuple(parts)), new=new)
    return Decision(
        action=MergeAction.SUPERSEDE if difference.close else MergeAction.ATTACH_EVIDENCE,
        reason="source_revoked",
        requires_person=False,
        changes=Changes(
            close=difference.close,
            write=difference.write,
            conflict=new.conflict,
            conflict_changed=True,
            dissolves=new.conflict is None,
            belief=derive_belief(
                timeline=new, claims=claims, rule=policy.belief_rule(memory_type=memory_type), now=now
            ),
        ),
        policy_version=policy.version,
    )
