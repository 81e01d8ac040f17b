"""Lose evidence: it expired or is out of reach. That disproves nothing; what rested on it alone waits for a person."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memoryhub.access.operations import record_audit
from memoryhub.access.queries import ScopeNotFound, access_scope_by_id
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import fetch_all, naming_errors
from memoryhub.memory.exceptions import StaleHead
from memoryhub.memory.loading import load_claimed, load_state_of_memory
from memoryhub.memory.lowers import hold_bases
from memoryhub.memory.operations import Resting, commit_decision
from memoryhub.policy.belief import derive_belief
from memoryhub.policy.difference import compare_timelines
from memoryhub.policy.merge import MergePolicy
from memoryhub.policy.reflection import Followed, decide_followed
from memoryhub.types.claims import Timeline
from memoryhub.types.decision import Changes, Decision
from memoryhub.types.enums import Availability, MergeAction
from memoryhub.usecases.follow_lowers import describe_held, follow_within
from memoryhub.usecases.rederive import fold_state

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from memoryhub.access.callers import Caller
    from memoryhub.memory.records import MemoryState
    from memoryhub.policy.reflection import Held
    from memoryhub.types.claims import Part, SourceIdentity

RIGHT = "administer_scope"
LOST = {Availability.EXPIRED: "evidence_expired", Availability.UNREACHABLE: "evidence_unreachable"}
_ASKED = "evidence_"  # how the reason begins why something that lost its evidence is under review


class EvidenceNotKnown(Exception):
    """Say that there is no such evidence, or none the caller may know of."""


class AvailabilityRefused(Exception):
    """Say that evidence does not become that: revoking and erasing have their own ways, and what is gone stays gone."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Hold how many memories were affected: relabelled, sent to a person, or taken out of review again."""

    relabelled: int = 0
    reviewed: int = 0
    restored: int = 0


def lose_evidence(
    *, caller: Caller, evidence_key: str, availability: Availability, now: datetime, policy: MergePolicy | None = None
) -> Lost:
    """Record that one piece of evidence expired, cannot be reached, or can be reached again.

    A memory with other evidence that can be used stays; what expired leaves its set of claims, and its parts name the
    claims that support them now. A part without any goes to `needs_review` and is no longer adopted by itself. The
    belief in what it says does not fall by that.

    Raises:
        EvidenceNotKnown, ScopeForbidden: the caller may not know of it, or lacks the right `administer_scope`.
        AvailabilityRefused: it cannot become that from what it is.
        StoreFailure: the database could not be asked; nothing was changed.
    """
    if availability not in (*LOST, Availability.AVAILABLE):
        raise AvailabilityRefused
    rules = policy or MergePolicy()
    with naming_errors(), tenant_context(caller.tenant_id):
        evidence_id, scope_id = _access_evidence(caller, evidence_key)
        _change(caller.tenant_id, evidence_id, scope_id, availability)
        memory_ids = _list_memories(caller.tenant_id, evidence_id)
        done = [
            _settle(
                tenant_id=caller.tenant_id,
                memory_id=memory_id,
                withdraws=availability is Availability.EXPIRED,
                reason=LOST.get(availability, "evidence_available_again"),
                now=now,
                policy=rules,
            )
            for memory_id in memory_ids
        ]
        follow_within(tenant_id=caller.tenant_id, scope_id=scope_id, memory_ids=memory_ids, now=now)
        record_audit(
            caller=caller,
            action="evidence.availability_changed",
            object_ids={"evidence": evidence_id, "scope": scope_id},
            outcome=str(availability),
            reason="",
            now=now,
        )
    return Lost(
        relabelled=sum(one.relabelled for one in done),
        reviewed=sum(one.reviewed for one in done),
        restored=sum(one.restored for one in done),
    )


def _access_evidence(caller: Caller, evidence_key: str) -> tuple[str, str]:
    rows = fetch_all(
        sql="SELECT id::text, scope_id::text FROM evidence WHERE tenant_id = %s AND evidence_key = %s",
        params=[caller.tenant_id, evidence_key],
    )
    if not rows:
        raise EvidenceNotKnown
    try:
        access_scope_by_id(caller=caller, right=RIGHT, scope_id=rows[0][1])
    except ScopeNotFound:
        raise EvidenceNotKnown from None
    return rows[0][0], rows[0][1]


def _change(tenant_id: str, evidence_id: str, scope_id: str, availability: Availability) -> None:
    """Take the scope's guard as a deletion does, so that nobody decides on what is being lost; then say what it is.

    What rests on memories follows in the same transaction: that lock comes before any head.
    """
    fetch_all(sql="SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", params=[scope_id])
    hold_bases(tenant_id=tenant_id)
    before = [Availability.AVAILABLE, Availability.UNREACHABLE]
    if availability is Availability.AVAILABLE:
        before = [Availability.UNREACHABLE]
    rows = fetch_all(
        sql="""
            UPDATE evidence SET availability = %s
            WHERE tenant_id = %s AND id = %s AND availability = ANY (%s) AND availability <> %s RETURNING id
        """,
        params=[availability, tenant_id, evidence_id, [str(state) for state in before], availability],
    )
    if not rows:
        raise AvailabilityRefused


def _list_memories(tenant_id: str, evidence_id: str) -> list[str]:
    rows = fetch_all(
        sql="""
            SELECT DISTINCT claim.memory_id::text FROM candidate_evidence link
            JOIN memory_evidence claim ON claim.tenant_id = link.tenant_id AND claim.candidate_id = link.candidate_id
            WHERE link.tenant_id = %s AND link.evidence_id = %s AND claim.withdrawn_by IS NULL ORDER BY 1
        """,
        params=[tenant_id, evidence_id],
    )
    return [row[0] for row in rows]


def _settle(
    *, tenant_id: str, memory_id: str, withdraws: bool, reason: str, now: datetime, policy: MergePolicy
) -> Lost:
    """Do to one memory what its evidence, as it is available now, amounts to."""
    relabelled = withdraws and _relabel(tenant_id=tenant_id, memory_id=memory_id, reason=reason, now=now, policy=policy)
    state = load_state_of_memory(tenant_id=tenant_id, memory_id=memory_id, now=now)
    held = describe_held(tenant_id=tenant_id, state=state, policy=policy)
    groundless = set(_list_groundless(held, _find_lost(tenant_id, state)))
    reviews = tuple(part for part in held.parts if part in groundless and part not in held.in_review)
    restores = tuple(
        part
        for part in held.parts
        if part in held.in_review and part not in groundless and held.asked.startswith(_ASKED)
    )
    if reviews or restores:
        followed = Followed(MergeAction.ATTACH_EVIDENCE, reason, reviews=reviews, restores=restores)
        decision = decide_followed(held=held, followed=followed, policy=policy, now=now)
        resting = Resting(bases={}, weights={}, reviews=reviews, asks=reason if reviews else "")
        _commit(tenant_id, state, decision, (reviews or restores)[0], now, resting=resting)
    return Lost(relabelled=int(relabelled), reviewed=int(bool(reviews)), restored=int(bool(restores)))


def _relabel(*, tenant_id: str, memory_id: str, reason: str, now: datetime, policy: MergePolicy) -> bool:
    """Take what expired out of the set of claims where other claims support the same; tells whether any was."""
    state = load_state_of_memory(tenant_id=tenant_id, memory_id=memory_id, now=now)
    held = describe_held(tenant_id=tenant_id, state=state, policy=policy)
    lost = _find_lost(tenant_id, state)
    kept = {source for part in _list_groundless(held, lost) for source in part.supporters}
    supporting = {source for part in held.parts for source in part.supporters}
    gone = (lost & supporting) - kept
    if not gone:
        return False
    left = replace(state, claims=tuple(claim for claim in state.claims if claim.source not in gone))
    timeline = fold_state(state=left, policy=policy)
    difference = compare_timelines(old=Timeline(parts=held.parts), new=timeline)
    decision = Decision(
        action=MergeAction.SUPERSEDE if difference.supersedes else MergeAction.ATTACH_EVIDENCE,
        reason=reason,
        requires_person=False,
        changes=Changes(
            close=difference.close,
            write=difference.write,
            conflict=timeline.conflict,
            conflict_changed=True,
            dissolves=timeline.conflict is None,
            belief=derive_belief(
                timeline=timeline,
                claims=left.claims,
                rule=policy.belief_rule(memory_type=state.memory_type),
                now=now,
            ),
        ),
        policy_version=policy.version,
    )
    _commit(tenant_id, left, decision, timeline.parts[-1], now, withdraws=gone)
    return True


def _find_lost(tenant_id: str, state: MemoryState) -> set[SourceIdentity]:
    """Return the sources of claims that have evidence, none of which can be used; those that rest on memories have."""
    rows = fetch_all(
        sql="""
            SELECT link.candidate_id::text FROM candidate_evidence link
            JOIN evidence item ON item.tenant_id = link.tenant_id AND item.id = link.evidence_id
            WHERE link.tenant_id = %s AND link.candidate_id = ANY (%s::uuid[])
            GROUP BY 1 HAVING bool_and(item.availability <> 'available')
        """,
        params=[tenant_id, list(state.candidates.values())],
    )
    bare = {row[0] for row in rows}
    return {source for source, candidate_id in state.candidates.items() if candidate_id in bare}


def _list_groundless(held: Held, lost: Collection[SourceIdentity]) -> list[Part]:
    return [part for part in held.parts if all(source in lost for source in part.supporters)]


def _commit(
    tenant_id: str,
    state: MemoryState,
    decision: Decision,
    about: Part,
    now: datetime,
    *,
    resting: Resting | None = None,
    withdraws: Sequence[SourceIdentity] | set[SourceIdentity] = (),
) -> None:
    candidate = load_claimed(tenant_id=tenant_id, candidate_id=state.candidates[about.opener])
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
        resting=resting,
        withdraws=sorted(withdraws),
    )
    if committed.outcome != "committed":
        raise StaleHead(committed.version)
