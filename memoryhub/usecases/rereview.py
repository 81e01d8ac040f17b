"""Rereview: a person looks again at a memory that lost what it rested on, and keeps it or lets it end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memoryhub.lib.ids import new_id
from memoryhub.memory.candidate_queries import is_evidence_gone
from memoryhub.memory.loading import load_candidate, load_state_of_memory
from memoryhub.memory.lowers import load_lowers
from memoryhub.memory.operations import Resting, Ruled, commit_decision
from memoryhub.policy.merge import decide_ruling
from memoryhub.policy.reflection import Followed, decide_followed, keep_bases, rest_all
from memoryhub.types.claims import Ruling
from memoryhub.types.enums import MergeAction, Stance
from memoryhub.usecases.follow_lowers import describe_held

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from memoryhub.memory.records import CandidateRecord, Committed, MemoryState
    from memoryhub.policy.merge import MergePolicy
    from memoryhub.policy.reflection import Bases, Held
    from memoryhub.types.claims import Part, SourceIdentity
    from memoryhub.types.decision import Decision


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Hold a memory under review: its state, the parts that are looked at, and the claim that opened the first."""

    state: MemoryState
    held: Held
    parts: tuple[Part, ...]
    candidate: CandidateRecord

    @property
    def parties(self) -> frozenset[str]:
        """Who stands behind a claim that the parts rest on."""
        supporters = {source for part in self.parts for source in part.supporters}
        return frozenset(claim.author.principal for claim in self.state.claims if claim.source in supporters)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Hold who looked again, with which right, and what the item is closed with."""

    tenant_id: str
    principal_id: str
    right: str
    item_id: str
    outcome: str
    reason: str
    note: str


class NothingLeft(Exception):
    """Say that nothing is left that a memory could rest on."""


def load_reviewed(*, tenant_id: str, memory_id: str, now: datetime, policy: MergePolicy) -> Reviewed | None:
    """Read a memory as a person looks at it again; None if nothing of it is under review."""
    state = load_state_of_memory(tenant_id=tenant_id, memory_id=memory_id, now=now)
    held = describe_held(tenant_id=tenant_id, state=state, policy=policy)
    parts = tuple(part for part in held.parts if part in held.in_review)
    candidate = load_candidate(tenant_id=tenant_id, candidate_id=state.candidates[parts[0].opener]) if parts else None
    if candidate is None:
        return None
    # What it rested on before stands in nobody's way, revoked or not: what counts is what it rests on from now on.
    return Reviewed(state, held, parts, replace(candidate, roots=(), evidence_ids=()))


def keep_reviewed(
    *, reviewed: Reviewed, judgement: Judgement, now: datetime, policy: MergePolicy
) -> tuple[Decision, Committed]:
    """Let a memory stand: from now on it rests on the lower memories as they are, and on what evidence is left.

    Raises:
        NothingLeft: every lower memory was taken back, and no other evidence can be used.
    """
    held = reviewed.held
    lower_ids = [basis.lower for bases in held.bases.values() for basis in bases]
    lowers = load_lowers(tenant_id=judgement.tenant_id, memory_ids=lower_ids)
    bases = keep_bases(held=held, lowers={lower_id: lower.facts for lower_id, lower in lowers.items()})
    supporters = {source for part in reviewed.parts for source in part.supporters}
    if not any(_has_ground(judgement.tenant_id, reviewed.state, bases, source) for source in supporters):
        raise NothingLeft
    followed = Followed(MergeAction.ATTACH_EVIDENCE, "kept_after_review", bases, restores=reviewed.parts)
    decision = decide_followed(held=held, followed=followed, policy=policy, now=now)
    weights = {claim.source: claim.weight for claim in rest_all(held=held, bases=bases, policy=policy)}
    seen = {lower_id: lower.facts.version for lower_id, lower in lowers.items()}
    resting = Resting(bases=bases, weights=weights, seen=seen)
    return decision, _commit(reviewed, judgement, decision, now, resting=resting, ruling=None, evidence=None)


def _has_ground(tenant_id: str, state: MemoryState, bases: Bases, source: SourceIdentity) -> bool:
    carrying = [basis for basis in bases.get(source, ()) if basis.carries]
    if carrying:
        return any(basis.belief.roots for basis in carrying)
    return not is_evidence_gone(tenant_id=tenant_id, candidate_id=state.candidates[source])


def end_reviewed(
    *,
    reviewed: Reviewed,
    judgement: Judgement,
    now: datetime,
    policy: MergePolicy,
    make_evidence: Callable[[Ruling], dict[str, Any]],
) -> tuple[Decision, Committed]:
    """Let a memory end: a ruling settles against every claim that gives it a value."""
    state = reviewed.state
    ruling = Ruling(
        key=str(new_id()),
        settles=_list_supporting(state),
        winner=None,
        effective_from=None,
        sequence=1 + max((ruling.sequence for ruling in state.rulings), default=0),
    )
    decision = decide_ruling(
        ruling=ruling,
        claims=state.claims,
        rulings=state.rulings,
        predicate=state.predicate,
        policy=policy,
        memory_type=state.memory_type,
        now=now,
    )
    return decision, _commit(
        reviewed, judgement, decision, now, resting=None, ruling=ruling, evidence=make_evidence(ruling)
    )


def _list_supporting(state: MemoryState) -> frozenset[SourceIdentity]:
    return frozenset(claim.source for claim in state.claims if claim.stance is Stance.SUPPORTS)


def _commit(
    reviewed: Reviewed,
    judgement: Judgement,
    decision: Decision,
    now: datetime,
    *,
    resting: Resting | None,
    ruling: Ruling | None,
    evidence: dict[str, Any] | None,
) -> Committed:
    return commit_decision(
        tenant_id=judgement.tenant_id,
        candidate=reviewed.candidate,
        state=reviewed.state,
        decision=decision,
        epoch=reviewed.state.epoch,
        now=now,
        principal_id=judgement.principal_id,
        right=judgement.right,
        decider_id=judgement.principal_id,
        ruled=Ruled(
            ruling=ruling,
            evidence=evidence,
            item_id=judgement.item_id,
            outcome=judgement.outcome,
            reason=judgement.reason,
            note=judgement.note,
        ),
        settles_candidate=ruling is not None,
        resting=resting,
    )
