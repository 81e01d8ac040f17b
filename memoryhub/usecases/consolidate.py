"""Consolidate: decide what a candidate changes, and commit that; a loser reads again and decides again."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import fetch_all, naming_errors
from memoryhub.memory.exceptions import StaleHead
from memoryhub.memory.loading import load_candidate, load_state, source_of
from memoryhub.memory.lowers import ITSELF, attach_lowers
from memoryhub.memory.operations import commit_decision, name_status
from memoryhub.policy.echo import repeat_claim
from memoryhub.policy.merge import MergePolicy, WholeTimelineNeeded, decide, weigh_claim
from memoryhub.policy.reflection import rest_claim
from memoryhub.policy.screening import Speech, judge_speech, lost_its_claim, words_to_screen
from memoryhub.policy.wording import claims_success, holds_only_now, names_preference, sounds_inferred
from memoryhub.types.claims import Author, Claim, Echo
from memoryhub.types.decision import CandidateFacts, Decision
from memoryhub.types.enums import (
    CandidateKind,
    CandidateStatus,
    EpistemicStatus,
    MergeAction,
    ScopeKind,
    Stance,
    Trust,
)
from memoryhub.types.temporal import Period

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memoryhub.memory.records import CandidateRecord, Committed, MemoryState

MAX_ATTEMPTS = 20
PROPOSE = "propose_memory"
INGEST = "ingest_event"
REVIEW = "review_memory"
BY_REVIEWER = "review"
TASK = "task"  # the reserved condition of what holds for one task alone
_SILENT = Speech(instructs=False, claims_authority=False)
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_NAME_SIGNS = re.compile(r"[._\-/:]+")


@dataclass(frozen=True, slots=True)
class Consolidated:
    """Hold what became of a candidate: the action, its reason, and the memory if one was touched.

    `outcome` is `decided`, `waits` (a person must decide), `requeued` (the scope's epoch moved), or
    `was_decided` (nothing was left to do).
    """

    outcome: str
    action: str = ""
    reason: str = ""
    candidate_id: str = ""
    memory_id: str | None = None
    version: int | None = None
    recorded_at: datetime | None = None
    status: str = ""


def consolidate_candidate(
    *, tenant_id: str, candidate_id: str, now: datetime, policy: MergePolicy | None = None
) -> Consolidated:
    """Decide on a waiting candidate and commit the decision, in one transaction.

    Work that is refused only because the scope's epoch moved is queued again under the new epoch in the same
    transaction, so that erasing one person loses nobody else's acknowledged event.

    Raises:
        StaleHead: other writers were faster every time; the job is retried later.
        StoreFailure: the database could not be asked.
    """
    with naming_errors(), tenant_context(tenant_id):
        candidate = load_candidate(tenant_id=tenant_id, candidate_id=candidate_id)
        if candidate is None or not candidate.is_undecided:
            return Consolidated("was_decided", candidate_id=candidate_id)
        return settle_candidate(
            tenant_id=tenant_id, candidate=candidate, now=now, policy=policy or MergePolicy(), requeues=True
        )


def settle_candidate(
    *,
    tenant_id: str,
    candidate: CandidateRecord,
    now: datetime,
    policy: MergePolicy,
    requeues: bool,
    event: Mapping[str, Any] | None = None,
    evidence: Sequence[Mapping[str, Any]] = (),
    new_candidate: Mapping[str, Any] | None = None,
    state: MemoryState | None = None,
    confirmed: bool = False,
    expected_version: int | None = None,
) -> Consolidated:
    """Decide and commit inside an open transaction, again for every other writer that was faster.

    `state` is what was read already, for the first attempt. With `requeues`, work begun under an older epoch goes
    back to the queue; without it (an explicit write, begun in this very transaction) it goes on under the new one.
    `confirmed` says that a person who may has looked at it: then nobody is asked. With `expected_version` it is about
    what that person saw, and nothing is decided about anything newer.

    Raises:
        StaleHead: `MAX_ATTEMPTS` other writers were faster, or one where a version is expected.
    """
    epoch = candidate.deletion_epoch
    right = right_to_propose(candidate=candidate)
    barred = False
    authorised = True
    version = 0
    for _ in range(MAX_ATTEMPTS):
        candidate = attach_lowers(tenant_id=tenant_id, candidate=candidate)
        state = state or load_state(
            tenant_id=tenant_id,
            candidate=candidate,
            principal_id=candidate.proposer_id,
            epoch=epoch,
            now=now,
            right=right,
        )
        if expected_version is not None and state.version != expected_version:
            raise StaleHead(state.version)
        if state.epoch != epoch and not state.barrier:
            if requeues:
                _requeue(tenant_id=tenant_id, candidate=candidate, epoch=state.epoch, now=now)
                return Consolidated("requeued", candidate_id=candidate.id)
            epoch, state = state.epoch, None
            continue
        facts = describe_facts(
            candidate=candidate,
            echo=state.echo,
            is_barred=barred or state.barrier is not None,
            may=authorised and state.may,
            confirmed=confirmed,
        )
        decision, state = decide_on(
            tenant_id=tenant_id, candidate=candidate, facts=facts, state=state, policy=policy, now=now, epoch=epoch
        )
        committed = commit_decision(
            tenant_id=tenant_id,
            candidate=candidate,
            state=state,
            decision=decision,
            epoch=epoch,
            now=now,
            principal_id=candidate.proposer_id,
            right=right if facts.scope_authorised else "",
            **_without_words(event, evidence, new_candidate, is_barred=facts.barred),
        )
        if committed.outcome == "committed":
            return _tell(candidate=candidate, decision=decision, committed=committed, state=state)
        version, state = state.version, None
        barred = barred or committed.outcome == "barred"
        authorised = authorised and committed.outcome != "not_authorised"
    raise StaleHead(version)


def _without_words(
    event: Mapping[str, Any] | None,
    evidence: Sequence[Mapping[str, Any]],
    new_candidate: Mapping[str, Any] | None,
    *,
    is_barred: bool,
) -> dict[str, Any]:
    """Return what comes with an explicit write; of barred material no words are stored."""
    if not is_barred or event is None or new_candidate is None:
        return {"event": event, "evidence": evidence, "new_candidate": new_candidate}
    return {
        "event": {**event, "without_body": True},
        "evidence": [{**item, "quote": None} for item in evidence],
        "new_candidate": {**new_candidate, "content": "", "value": None, "conditions": {}, "content_hash": ""},
    }


def right_to_propose(*, candidate: CandidateRecord) -> str:
    """Return the right the proposer needs: what an extractor reads out of an event came in with the event."""
    if candidate.extractor == BY_REVIEWER:
        return REVIEW
    return PROPOSE if candidate.extractor == "caller" else INGEST


def decide_on(
    *,
    tenant_id: str,
    candidate: CandidateRecord,
    facts: CandidateFacts,
    state: MemoryState,
    policy: MergePolicy,
    now: datetime,
    epoch: int,
) -> tuple[Decision, MemoryState]:
    """Return the decision and the state it was made from; reads the whole set where the tail is not enough."""
    try:
        decision = decide(
            candidate=facts,
            claims=state.claims,
            rulings=state.rulings,
            predicate=state.predicate,
            policy=policy,
            now=now,
            start=state.start,
        )
    except WholeTimelineNeeded:
        whole = load_state(
            tenant_id=tenant_id,
            candidate=candidate,
            principal_id=candidate.proposer_id,
            epoch=epoch,
            now=now,
            whole=True,
        )
        state = replace(whole, echo=state.echo)  # what the facts were described with
        decision = decide(
            candidate=facts,
            claims=state.claims,
            rulings=state.rulings,
            predicate=state.predicate,
            policy=policy,
            now=now,
        )
    return decision, state


def describe_facts(
    *,
    candidate: CandidateRecord,
    echo: Echo | None = None,
    is_barred: bool = False,
    may: bool = True,
    confirmed: bool = False,
) -> CandidateFacts:
    """Return the candidate as a policy sees it: facts, and no branch. `echo` is what it repeats, if it does."""
    claim = describe_claim(candidate=candidate)
    after = candidate.after_recall
    if echo is not None and after is not None and claim.stance is Stance.SUPPORTS:
        claim = repeat_claim(claim=claim, echo=echo, root=after.root, memory_type=candidate.memory_type)
    words = words_to_screen(candidate.content, candidate.value)
    speech = _judge_speech(candidate)
    return CandidateFacts(
        claim=rest_claim(claim=claim, bases=candidate.bases, policy=MergePolicy()),
        kind=CandidateKind(candidate.kind),
        memory_type=candidate.memory_type,
        epistemic_status=EpistemicStatus(candidate.epistemic_status),
        scope_kind=ScopeKind(candidate.scope_kind),
        trust=candidate.trust,
        confidence=candidate.confidence,
        future_value=_has_future_value(candidate, words),
        source_traceable=bool(candidate.source_event_id and candidate.roots),
        evidence_available=candidate.has_evidence,
        lower_holds=not candidate.falls,
        rests_on_itself=candidate.falls == ITSELF,
        evidence_scope_kind=candidate.evidence_scope_kind,
        leaves_scope=candidate.leaves_scope,
        sounds_inferred=sounds_inferred(text=candidate.content),
        scope_authorised=may,
        forbidden_content=lost_its_claim(
            content=candidate.content,
            value=candidate.value,
            names=(candidate.fact_key, candidate.subject_label, candidate.conditions),
        ),
        barred=is_barred,
        claims_success=claims_success(text=words),
        result_shown=candidate.result_shown,
        instruction_like=speech.instructs,
        claims_authority=speech.claims_authority,
        confirmed=confirmed,
        subject_unclear=candidate.subject_unclear,
        states_preference=names_preference(fact_key=candidate.fact_key),
    )


def _has_future_value(candidate: CandidateRecord, words: str) -> bool:
    """Tell whether the candidate says something, and a preference something that outlasts the task at hand."""
    withheld = not candidate.content_hash  # a barrier took the words: nothing is known of them
    if not withheld and candidate.value_digest is not None and not words.strip("; ") and candidate.value in _NOTHING:
        return False
    is_preference = candidate.kind == CandidateKind.PREFERENCE or names_preference(fact_key=candidate.fact_key)
    return not (is_preference and TASK not in candidate.conditions and holds_only_now(text=candidate.content))


def _judge_speech(candidate: CandidateRecord) -> Speech:
    """Tell whether the candidate, or what it was read from, speaks to the agent or claims authority.

    What a proposer says on its own behalf is screened; so is whatever is not first party. The quotes are read as one
    text in the order of their events, so that an instruction cannot be split over several.
    """
    if candidate.trust is Trust.FIRST_PARTY and candidate.author_id != candidate.proposer_id:
        return _SILENT
    named = _NAME_SIGNS.sub(" ", candidate.fact_key), candidate.subject_label
    said = candidate.content, candidate.value, candidate.conditions
    together = {gap.join(candidate.quotes) for gap in ("", " ")}
    return judge_speech(text=words_to_screen(*named, *said, *sorted(together)))


def describe_claim(*, candidate: CandidateRecord) -> Claim:
    """Return the claim a candidate makes."""
    status = EpistemicStatus(candidate.epistemic_status)
    return Claim(
        source=source_of(candidate),
        value_digest=candidate.value_digest,
        valid=Period(candidate.valid_from, candidate.valid_to),
        author=Author(candidate.author_id, candidate.author_rank, frozenset(candidate.author_groups)),
        roots=frozenset(candidate.roots),
        weight=weigh_claim(trust=candidate.trust, epistemic_status=status, confidence=candidate.confidence),
        observed_at=candidate.occurred_at,
        source_seq=candidate.source_seq,
        order_digest=candidate.order_digest,
        stance=Stance(candidate.stance),
        effective=candidate.effective,
        validated=status is EpistemicStatus.VALIDATED,
        trust=candidate.trust,
    )


def _requeue(*, tenant_id: str, candidate: CandidateRecord, epoch: int, now: datetime) -> None:
    """Put the work in the queue again under the epoch that stands now."""
    fetch_all(sql="SELECT requeue_candidate_v1(%s, %s, %s, %s)", params=[tenant_id, candidate.id, epoch, now])


def _tell(*, candidate: CandidateRecord, decision: Decision, committed: Committed, state: MemoryState) -> Consolidated:
    touched = not decision.requires_person and decision.action is not MergeAction.REJECT
    status = name_status(decision=decision, source=source_of(candidate))
    return Consolidated(
        outcome="decided" if status in (CandidateStatus.ACCEPTED, CandidateStatus.REJECTED) else "waits",
        action=str(decision.action),
        reason=decision.reason,
        candidate_id=candidate.id,
        memory_id=(committed.memory_id if touched else state.memory_id),
        version=committed.version,
        recorded_at=committed.recorded_at,
        status=str(status),
    )
