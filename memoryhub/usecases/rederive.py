"""Rederive: fold a memory again from its claims and rulings, and find where the tables say something else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import fetch_all, naming_errors
from memoryhub.memory.exceptions import StaleHead
from memoryhub.memory.loading import load_candidate, load_state_of_memory
from memoryhub.memory.lowers import find_unlike_bases
from memoryhub.memory.operations import commit_decision
from memoryhub.policy.belief import derive_belief
from memoryhub.policy.difference import compare_timelines
from memoryhub.policy.merge import MergePolicy, MergeRuleV1
from memoryhub.types.claims import Timeline
from memoryhub.types.decision import Changes, Decision
from memoryhub.types.enums import MergeAction
from memoryhub.types.timeline import fold_timeline

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


def fold_again(*, tenant_id: str, memory_id: str, now: datetime, policy: MergePolicy | None = None) -> None:
    """Write what is left of a memory whose source was revoked, inside the open transaction.

    The parts that rest on other evidence stay, re-labelled with the claims that now support them.

    Raises:
        StaleHead: the head moved, which the scope's exclusive guard prevents.
    """
    rules = policy or MergePolicy()
    state = load_state_of_memory(tenant_id=tenant_id, memory_id=memory_id, now=now)
    new = fold_state(state=state, policy=rules)
    difference = compare_timelines(old=Timeline(parts=tuple(stored.part for stored in state.parts)), new=new)
    candidate = load_candidate(tenant_id=tenant_id, candidate_id=next(iter(state.candidates.values())))
    if candidate is None:
        message = "a claim has the candidate it came from"
        raise LookupError(message)
    decision = Decision(
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
                timeline=new,
                claims=state.claims,
                rule=rules.belief_rule(memory_type=candidate.memory_type),
                now=now,
            ),
        ),
        policy_version=rules.version,
    )
    committed = commit_decision(
        tenant_id=tenant_id,
        candidate=candidate,
        state=state,
        decision=decision,
        epoch=state.epoch,
        now=now,
        principal_id=candidate.proposer_id,
        right="",
        settles_candidate=False,
    )
    if committed.outcome != "committed":
        raise StaleHead(committed.version)


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
    SELECT version, has_open_conflict, modality, confidence, support, opposition, independent_evidence_count,
        derived_at, memory_type,
        (SELECT max(version) FROM memory_versions WHERE tenant_id = head.tenant_id AND memory_id = head.id)
    FROM memory_heads head WHERE tenant_id = %s AND id = %s
"""


def check_memory(*, tenant_id: str, memory_id: str, policy: MergePolicy) -> list[Mismatch]:
    """Return where one memory's tables differ from its evidence; empty when they agree."""
    row = fetch_all(sql=_HEAD, params=[tenant_id, memory_id])[0]
    derived_at, memory_type = row[7], row[8]
    state = load_state_of_memory(tenant_id=tenant_id, memory_id=memory_id, now=derived_at, as_derived=True)
    if not state.claims:
        # Everything it rested on was revoked: it holds nothing.
        return [_differ(memory_id, "parts", len(state.parts), 0)] if state.parts else []
    timeline = fold_state(state=state, policy=policy)
    found = []
    difference = compare_timelines(old=Timeline(parts=tuple(stored.part for stored in state.parts)), new=timeline)
    if difference.close or difference.write:
        found.append(_differ(memory_id, "parts", len(difference.close), len(difference.write)))
    if row[1] != (timeline.conflict is not None):
        found.append(_differ(memory_id, "open conflict", row[1], timeline.conflict is not None))
    members = set(state.conflict.members) if state.conflict is not None else set()
    derived_members = {source.as_text() for source in timeline.conflict.members} if timeline.conflict else set()
    if members != derived_members:
        found.append(_differ(memory_id, "conflict members", len(members), len(derived_members)))
    belief = derive_belief(
        timeline=timeline,
        claims=state.claims,
        rule=policy.belief_rule(memory_type=memory_type),
        now=derived_at,
    )
    stored = row[2:7]
    derived = _belief_row(belief)
    if stored != derived:
        found.append(_differ(memory_id, "belief", stored, derived))
    found += [
        _differ(memory_id, "basis", stored, derived)
        for stored, derived in find_unlike_bases(tenant_id=tenant_id, state=state, policy=policy)
    ]
    if row[9] is not None and row[9] > row[0]:
        found.append(_differ(memory_id, "version", row[0], row[9]))
    return found


def _belief_row(belief: Belief) -> tuple[str, float, float, float, int]:
    return (
        str(belief.modality),
        belief.confidence,
        belief.support,
        belief.opposition,
        belief.independent_evidence_count,
    )


def _differ(memory_id: str, what: str, stored: object, derived: object) -> Mismatch:
    return Mismatch(memory_id=memory_id, what=what, stored=str(stored), derived=str(derived))
