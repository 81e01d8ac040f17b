"""Rederive: fold a memory again from its claims and rulings, and find where the tables say something else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import fetch_all, naming_errors
from memoryhub.memory.exceptions import StaleHead
from memoryhub.memory.loading import load_claimed, load_state_of_memory
from memoryhub.memory.lowers import find_unlike_bases
from memoryhub.memory.operations import commit_decision
from memoryhub.policy.belief import derive_belief
from memoryhub.policy.difference import compare_timelines
from memoryhub.policy.merge import MergePolicy, MergeRuleV1
from memoryhub.policy.withdrawal import decide_withdrawal
from memoryhub.types.claims import Timeline
from memoryhub.types.timeline import fold_timeline
from memoryhub.usecases.check_rows import (
    Difference,
    check_conflict,
    check_counts,
    check_evidence,
    check_supersession,
    check_version,
    count_open_sets,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from memoryhub.memory.records import MemoryState
    from memoryhub.types.decision import Belief


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Hold one place where the tables differ from what the evidence derives to."""

    memory_id: str
    what: str
    stored: str
    derived: str


def fold_state(*, state: MemoryState, policy: MergePolicy) -> Timeline:
    """Return what the claims and rulings of a memory amount to."""
    rule = MergeRuleV1(contest_window=policy.contest_window, predicate=state.predicate)
    return fold_timeline(claims=state.claims, rulings=state.rulings, rule=rule)


def fold_again(
    *,
    tenant_id: str,
    memory_id: str,
    now: datetime,
    policy: MergePolicy | None = None,
    reason: str = "source_revoked",
) -> None:
    """Write what a memory's claims amount to, by default because a source was revoked, inside the open transaction.

    The parts that rest on other evidence stay, re-labelled with the claims that now support them.

    Raises:
        StaleHead: the head moved, which the scope's exclusive guard prevents.
    """
    rules = policy or MergePolicy()
    state = load_state_of_memory(tenant_id=tenant_id, memory_id=memory_id, now=now)
    candidate = load_claimed(tenant_id=tenant_id, candidate_id=next(iter(state.candidates.values())))
    decision = decide_withdrawal(
        parts=[stored.part for stored in state.parts],
        claims=state.claims,
        rulings=state.rulings,
        predicate=state.predicate,
        policy=rules,
        memory_type=candidate.memory_type,
        now=now,
    )
    committed = commit_decision(
        tenant_id=tenant_id,
        candidate=candidate,
        state=state,
        decision=replace(decision, reason=reason),
        epoch=state.epoch,
        now=now,
        principal_id=candidate.proposer_id,
        right="",
        settles_candidate=False,
    )
    if committed.outcome != "committed":
        raise StaleHead(committed.version)


# What was decided before effects were kept may have been derived by the rules of an earlier release.
_FORMER = """
    SELECT head.id::text FROM memory_heads head
    JOIN merge_decisions made ON made.tenant_id = head.tenant_id AND made.memory_id = head.id
        AND made.resulting_version = head.version AND made.resulting_version > made.expected_version
    WHERE head.tenant_id = %s AND made.effects IS NULL ORDER BY 1
"""


def derive_former(*, tenant_id: str, now: datetime, policy: MergePolicy | None = None) -> int:
    """Derive the beliefs of an earlier release by today's rules; returns how many memories changed.

    Each change is a decision with the reason `rules_changed`. Done again it changes nothing.

    Raises:
        StoreFailure: the database could not be asked.
    """
    rules = policy or MergePolicy()
    with naming_errors(), tenant_context(tenant_id, read_only=True):
        former = [row[0] for row in fetch_all(sql=_FORMER, params=[tenant_id])]
    return sum(_derive_one(tenant_id, memory_id, now, rules) for memory_id in former)


def _derive_one(tenant_id: str, memory_id: str, now: datetime, policy: MergePolicy) -> bool:
    with naming_errors(), tenant_context(tenant_id):
        found = check_memory(tenant_id=tenant_id, memory_id=memory_id, policy=policy)
        if all(mismatch.what != "belief" for mismatch in found):
            return False
        try:
            fold_again(tenant_id=tenant_id, memory_id=memory_id, now=now, policy=policy, reason="rules_changed")
        except StaleHead:
            return False  # whoever was faster has derived it
    return True


def check_memories(*, tenant_id: str, policy: MergePolicy | None = None) -> Iterator[Mismatch]:
    """Yield every place where a tenant's heads and parts differ from a full fold of their claims and rulings.

    The belief is derived for the instant the head names. One short transaction a memory, so that nothing waits.

    Raises:
        StoreFailure: the database could not be asked.
    """
    rules = policy or MergePolicy()
    for memory_id in list_memory_ids(tenant_id=tenant_id):
        with naming_errors(), tenant_context(tenant_id, read_only=True, one_snapshot=True):
            yield from check_memory(tenant_id=tenant_id, memory_id=memory_id, policy=rules)


def list_memory_ids(*, tenant_id: str) -> list[str]:
    """Return the ids of every memory of a tenant, oldest first."""
    with naming_errors(), tenant_context(tenant_id, read_only=True):
        rows = fetch_all(sql="SELECT id::text FROM memory_heads WHERE tenant_id = %s ORDER BY id", params=[tenant_id])
    return [row[0] for row in rows]


_HEAD = """
    SELECT has_open_conflict, modality, confidence, support, opposition, independent_evidence_count, derived_at,
        memory_type
    FROM memory_heads WHERE tenant_id = %s AND id = %s
"""


def check_memory(*, tenant_id: str, memory_id: str, policy: MergePolicy) -> list[Mismatch]:
    """Return where one memory's tables differ from its evidence, or from each other; empty when they agree."""
    has_open_conflict, *stored, derived_at, memory_type = fetch_all(sql=_HEAD, params=[tenant_id, memory_id])[0]
    open_sets = count_open_sets(tenant_id=tenant_id, memory_id=memory_id)
    if open_sets > 1:  # a state cannot even be told
        return [Mismatch(memory_id, "open conflict sets", str(open_sets), "at most 1")]
    state = load_state_of_memory(tenant_id=tenant_id, memory_id=memory_id, now=derived_at, as_derived=True)
    found = [
        *check_supersession(tenant_id=tenant_id, memory_id=memory_id),
        *check_evidence(tenant_id=tenant_id, memory_id=memory_id),
    ]
    timeline = fold_state(state=state, policy=policy)
    if state.claims:
        found += check_version(tenant_id=tenant_id, memory_id=memory_id)
        belief = derive_belief(
            timeline=timeline,
            claims=state.claims,
            rule=policy.belief_rule(memory_type=memory_type),
            now=derived_at,
        )
        if tuple(stored) != _belief_row(belief):
            found.append(Difference("belief", tuple(stored), _belief_row(belief)))
    # Without a claim everything it rested on was revoked: it holds nothing.
    difference = compare_timelines(old=Timeline(parts=tuple(held.part for held in state.parts)), new=timeline)
    if difference.close or difference.write:
        found.append(Difference("parts", len(difference.close), len(difference.write)))
    found += check_conflict(
        tenant_id=tenant_id, memory_id=memory_id, has_open_conflict=has_open_conflict, timeline=timeline
    )
    found += check_counts(tenant_id=tenant_id, memory_id=memory_id, state=state, timeline=timeline, policy=policy)
    found += [
        Difference("basis", laid, derived)
        for laid, derived in find_unlike_bases(tenant_id=tenant_id, state=state, policy=policy)
    ]
    return [Mismatch(memory_id, one.what, str(one.stored), str(one.derived)) for one in found]


def _belief_row(belief: Belief) -> tuple[str, float, float, float, int]:
    return (
        str(belief.modality),
        belief.confidence,
        belief.support,
        belief.opposition,
        belief.independent_evidence_count,
    )
