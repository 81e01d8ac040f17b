"""Make a decision so: everything it changes goes to the database in one round trip, or nothing does."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.db import fetch_json, naming_errors
from memoryhub.lib.hashing import sha256_hex
from memoryhub.lib.ids import new_id
from memoryhub.memory.loading import read_instant, source_of
from memoryhub.memory.records import Committed
from memoryhub.policy.belief import count_supporting_lineages
from memoryhub.types.enums import CandidateStatus, Cardinality, ConflictState, MergeAction, ReviewKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from memoryhub.memory.records import CandidateRecord, MemoryState
    from memoryhub.types.basis import Basis
    from memoryhub.types.claims import Claim, OpenConflict, Part, Ruling, SourceIdentity
    from memoryhub.types.decision import Belief, Changes, Decision


@dataclass(frozen=True, slots=True)
class Ruled:
    """Hold what a person adds to a decision: the ruling, its evidence, and the item it closes.

    `outcome` is the verb as the reviewer chose it, `reason` the code it needs; `note` goes with the item, never into
    the decision.
    """

    ruling: Ruling | None
    evidence: Mapping[str, Any] | None
    item_id: str
    outcome: str
    reason: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Resting:
    """Hold what a decision does to what a memory rests on: the bases that are laid, and what a person must look at.

    `bases` are all that a claim rests on from now on, `weights` what such a claim then weighs. The parts in `reviews`
    are written as `needs_review`, every other one as `active`; `asks` opens a review item for that reason. `seen` are
    the versions of the lower memories that all this was decided from.
    """

    bases: Mapping[SourceIdentity, Sequence[Basis]]
    weights: Mapping[SourceIdentity, float]
    reviews: Sequence[Part] = ()
    asks: str = ""
    seen: Mapping[str, int] = field(default_factory=dict)


def _iso(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()


def commit_decision(
    *,
    tenant_id: str,
    candidate: CandidateRecord,
    state: MemoryState,
    decision: Decision,
    epoch: int,
    now: datetime,
    principal_id: str,
    right: str,
    decider_id: str | None = None,
    event: Mapping[str, Any] | None = None,
    evidence: Sequence[Mapping[str, Any]] = (),
    new_candidate: Mapping[str, Any] | None = None,
    ruled: Ruled | None = None,
    replaces: str = "",
    settles_candidate: bool = True,
    resting: Resting | None = None,
    withdraws: Sequence[SourceIdentity] = (),
) -> Committed:
    """Commit one decision through `commit_decision_v1`: one round trip, under the scope's guard.

    `principal_id` and `right` are authorised again inside the commit; an empty right asks for none.
    `settles_candidate` False leaves the candidate as it is: a memory is folded again because a source went.
    `resting` is what changes below a memory that rests on others. `withdraws` are claims that leave the set because
    their evidence is gone; `state` is without them.
    `replaces` is the candidate in whose place this one is put: a reviewer named the subject of it.
    `decider_id` is None when a policy decided. Rows written: decision, head, parts, claims, ruling, conflict set,
    review item, outbox; with an explicit write also the event, its evidence and the candidate.

    Raises:
        EventReceivedMeanwhile: another request received the same event; look for the replay.
        StoreFailure: the database could not be asked; nothing is known.
    """
    payload = _build_payload(candidate=candidate, state=state, decision=decision, now=now, resting=resting)
    payload |= {
        "tenant": tenant_id,
        "epoch": epoch,
        "principal": principal_id,
        "decider": decider_id,
        "evidence": [*evidence],
    }
    if right:
        payload["right"] = right
    if event is not None:
        payload["event"] = event
    if new_candidate is not None:
        payload["candidate"] = new_candidate
    if ruled is not None:
        _add_ruling(payload, ruled)
    if withdraws:
        payload["withdraws"] = [
            {"kind": source.kind, "source": source.key, "statement": source.statement} for source in withdraws
        ]
    if replaces:
        told = {"id": replaces, "status": str(CandidateStatus.SUPERSEDED), "reason": "subject_named"}
        payload["other_candidates"] = [*payload.get("other_candidates", []), told]
    if not payload["evidence"]:
        del payload["evidence"]
    if not settles_candidate:
        del payload["status"]
    with naming_errors():
        answer = fetch_json(sql="SELECT commit_decision_v1(%s::jsonb)", params=[json.dumps(payload)])
    return _read_answer(answer)


def _read_answer(answer: dict[str, Any]) -> Committed:
    return Committed(
        outcome=answer["outcome"],
        memory_id=answer.get("memory"),
        version=answer.get("version"),
        recorded_at=read_instant(answer.get("recorded_at")),
        decision_id=answer.get("decision"),
        epoch=answer.get("epoch"),
        barrier=answer.get("barrier"),
        decided_by=answer.get("decided_by"),
        decided_at=read_instant(answer.get("decided_at")),
        outcome_of=answer.get("outcome_of"),
    )


def _build_payload(
    *,
    candidate: CandidateRecord,
    state: MemoryState,
    decision: Decision,
    now: datetime,
    resting: Resting | None,
) -> dict[str, Any]:
    changes = decision.changes
    waits = decision.requires_person and resting is None
    changes_head = not waits and decision.action not in (MergeAction.NO_OP, MergeAction.REJECT)
    memory_id = state.memory_id or str(new_id())
    payload: dict[str, Any] = {
        "scope": candidate.scope_id,
        "now": now.isoformat(),
        "action": str(decision.action),
        "reason": decision.reason,
        "requires_person": decision.requires_person,
        "policy_version": decision.policy_version,
        "candidate_id": candidate.id,
        "expected_version": state.version,
        "changes_head": changes_head,
        "records_barrier": decision.action is MergeAction.REJECT,
        "memory": _describe_key(candidate, state, memory_id),
        "barrier_facts": {
            "subject": candidate.subject_id,
            "fact_key": candidate.fact_key,
            "sources": sorted({*candidate.sources, *(changes.claim.roots if changes.claim is not None else ())}),
        },
        "decision": _describe_decision(candidate, state, decision, now),
        "status": str(name_status(decision=decision, source=source_of(candidate))),
        "status_reason": "ruled_against" if source_of(candidate) in changes.newly_dismissed else decision.reason,
    }
    if waits:
        payload["opens_item"] = _open_item(
            kind=ReviewKind.CONFIRMATION, object_id=candidate.id, candidate_id=candidate.id, reason=decision.reason
        )
        return payload
    if changes.claim is not None and changes.adds_claim and (changes_head or state.version > 0):
        payload["claim"] = _describe_claim(changes.claim)
        if candidate.bases:
            payload["bases"] = _describe_bases(candidate.id, candidate.bases, changes.claim.weight)
            payload["lowers"] = _describe_lowers({basis.lower: basis.version for basis in candidate.bases})
    if changes_head:
        payload["belief"] = _describe_belief(changes.belief, changes.conflict)
        _add_parts(payload, candidate, state, changes)
        _add_conflict(payload, candidate, state, changes)
        if changes.newly_dismissed:
            payload["dismissed"] = [
                {"kind": source.kind, "source": source.key, "statement": source.statement, "ruling": ruling}
                for source, ruling in changes.newly_dismissed.items()
            ]
    if resting is not None:
        _add_resting(payload, state, resting, candidate)
    return payload


def _describe_lowers(versions: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"id": lower, "version": version} for lower, version in versions.items()]


def _describe_bases(candidate_id: str, bases: Iterable[Basis], claim_weight: float) -> list[dict[str, Any]]:
    return [
        {
            "candidate": candidate_id,
            "lower": basis.lower,
            "lower_version": basis.version,
            "carries": basis.carries,
            "share": basis.share,
            "claim_weight": claim_weight,
            "value_digest": basis.value_digest,
            "weight": basis.belief.weight,
            "observed_at": basis.belief.observed_at.isoformat(),
            "roots": sorted(basis.belief.roots),
            "principals": sorted(basis.belief.principals),
            "trust": str(basis.belief.trust),
            "lineages": basis.belief.lineages,
        }
        for basis in bases
    ]


def _add_resting(payload: dict[str, Any], state: MemoryState, resting: Resting, candidate: CandidateRecord) -> None:
    """Add what a memory rests on from now on; what it rested on before stands in its way no longer."""
    if resting.bases:
        payload["bases"] = [
            row
            for source, bases in resting.bases.items()
            for row in _describe_bases(state.candidates[source], bases, resting.weights[source])
        ]
    if resting.seen:
        payload["lowers"] = _describe_lowers(resting.seen)
    laid = {**state.bases, **resting.bases}
    roots = {root for bases in laid.values() for basis in bases for root in basis.belief.roots}
    payload["barrier_facts"]["sources"] = sorted({candidate.source_event_id, *roots})
    reviewed = {part.valid.start.isoformat() for part in resting.reviews}
    for row in payload.get("parts", ()):
        row["state"] = "needs_review" if row["valid_from"] in reviewed else "active"
    if resting.asks:
        payload["opens_item"] = _open_item(
            kind=ReviewKind.REREVIEW,
            object_id=state.memory_id or "",
            candidate_id=candidate.id,
            reason=resting.asks,
        )


def _describe_key(candidate: CandidateRecord, state: MemoryState, memory_id: str) -> dict[str, Any]:
    if state.memory_id is not None:
        return {"id": memory_id}
    return {
        "id": memory_id,
        "subject": candidate.subject_id,
        "memory_type": candidate.memory_type,
        "fact_key": candidate.fact_key,
        "conditions": candidate.conditions,
        "conditions_digest": candidate.conditions_digest,
        "value_key": value_key_of(candidate=candidate, cardinality=state.predicate.cardinality),
    }


def value_key_of(*, candidate: CandidateRecord, cardinality: Cardinality) -> str:
    """Return what the value adds to a memory's identity: its digest where several values are true at once."""
    return candidate.value_digest or "" if cardinality is Cardinality.MANY else ""


def _describe_decision(
    candidate: CandidateRecord, state: MemoryState, decision: Decision, now: datetime
) -> dict[str, Any]:
    """Return the decision's ids, its inputs as ids and digests so that it can be replayed, and how it was admitted."""
    facts: dict[str, Any] = {
        "claims": sorted(claim.source.as_text() for claim in state.claims),
        "rulings": [ruling.key for ruling in state.rulings],
        "from_tail": state.start is not None,
        "decided_for": now.isoformat(),
    }
    if state.echo is not None:
        facts["echo"] = {
            "roots": sorted(state.echo.roots),
            "weight": state.echo.weight,
            "observed_at": state.echo.observed_at.isoformat(),
        }
    digest = digest_inputs(
        facts=facts,
        candidate_id=candidate.id,
        value_digest=candidate.value_digest,
        policy_version=decision.policy_version,
    )
    if decision.admission:
        facts["admission"] = decision.admission
    return {"id": str(new_id()), "outbox_id": str(new_id()), "facts": facts, "inputs_digest": digest}


def digest_inputs(
    *, facts: Mapping[str, Any], candidate_id: str | None, value_digest: str | None, policy_version: str
) -> str:
    """Return the digest of what a decision was made from; how it was admitted is told beside, and follows from it."""
    inputs = {name: value for name, value in facts.items() if name != "admission"}
    inputs |= {"candidate": candidate_id, "value": value_digest, "policy": policy_version}
    return sha256_hex(canonical_json(inputs))


def name_status(*, decision: Decision, source: SourceIdentity) -> CandidateStatus:
    """Return what a decision makes of the candidate whose claim is known by `source`."""
    if decision.requires_person:
        return CandidateStatus.NEEDS_CONFIRMATION
    changes = decision.changes
    if decision.action is MergeAction.REJECT or source in changes.newly_dismissed:
        return CandidateStatus.REJECTED
    if changes.conflict is not None and source in changes.conflict.members:
        return CandidateStatus.PENDING
    return CandidateStatus.ACCEPTED


def _describe_claim(claim: Claim) -> dict[str, Any]:
    return {
        "id": str(new_id()),
        "kind": claim.source.kind,
        "source": claim.source.key,
        "statement": claim.source.statement,
        "stance": str(claim.stance),
        "value_digest": claim.value_digest,
        "valid_from": claim.valid.start.isoformat(),
        "valid_to": _iso(claim.valid.end),
        "effective": claim.effective,
        "validated": claim.validated,
        "author": claim.author.principal,
        "author_rank": claim.author.rank,
        "author_groups": sorted(claim.author.groups),
        "roots": sorted(claim.roots),
        "weight": claim.weight,
        "observed_at": claim.observed_at.isoformat(),
        "source_seq": claim.source_seq,
        "order_digest": claim.order_digest,
    }


def _describe_belief(belief: Belief | None, conflict: OpenConflict | None) -> dict[str, Any]:
    if belief is None:
        message = "a change of a head carries the belief it leads to"
        raise ValueError(message)
    return {
        "has_open_conflict": conflict is not None,
        "modality": str(belief.modality),
        "confidence": belief.confidence,
        "support": belief.support,
        "opposition": belief.opposition,
        "independent": belief.independent_evidence_count,
        "derived_at": belief.derived_at.isoformat(),
    }


def _add_parts(payload: dict[str, Any], candidate: CandidateRecord, state: MemoryState, changes: Changes) -> None:
    """Add the rows to close and the rows to write; each closed row and its successor name each other."""
    if not changes.close and not changes.write:
        return
    claims = {claim.source: claim for claim in state.claims}
    if changes.claim is not None:
        claims[changes.claim.source] = changes.claim
    candidates = {**state.candidates}
    if changes.claim is not None:
        candidates[changes.claim.source] = candidate.id
    held = {stored.part.valid.start: stored for stored in state.parts}
    closed = [held[part.valid.start] for part in changes.close]
    written = [(str(new_id()), part) for part in changes.write]
    successors: dict[str, str] = {}
    for stored in reversed(closed):
        fitting = [
            (part.value_digest != stored.part.value_digest, part.valid.start, row_id)
            for row_id, part in written
            if part.valid.overlaps(stored.part.valid) and row_id not in successors.values()
        ]
        if fitting:
            successors[stored.row_id] = max(fitting)[2]
    predecessors = {successor: row_id for row_id, successor in successors.items()}
    if closed:
        payload["close"] = [{"id": stored.row_id, "successor": successors.get(stored.row_id)} for stored in closed]
    if written:
        payload["parts"] = [
            {
                "id": row_id,
                "part": number,
                "candidate": candidates[part.opener],
                "supersedes": predecessors.get(row_id),
                "author": part.author.principal,
                "author_rank": part.author.rank,
                "author_groups": sorted(part.author.groups),
                "opener": part.opener.as_text(),
                "since": part.since.isoformat(),
                "replaced_digest": part.replaced_digest,
                "source_event_ids": sorted(source.key for source in part.supporters if source.kind == "event"),
                "independent": count_supporting_lineages(part=part, claims=claims),
                "is_validated": part.validated,
                **_describe_validation(part, candidate, changes.claim),
                "valid_from": part.valid.start.isoformat(),
                "valid_to": _iso(part.valid.end),
            }
            for number, (row_id, part) in enumerate(written, start=1)
        ]


def _describe_validation(part: Part, candidate: CandidateRecord, claim: Claim | None) -> dict[str, Any]:
    """Return who validated a part just now; what was validated before, the commit finds on the part it was."""
    validation = candidate.validation
    if validation is None or claim is None or not part.validated or claim.source not in part.supporters:
        return {}
    return {
        "validation_method": validation.method,
        "reviewed_by": claim.author.principal,
        "validated_at": claim.observed_at.isoformat(),
        "review_after": _iso(validation.review_after),
    }


def _add_conflict(payload: dict[str, Any], candidate: CandidateRecord, state: MemoryState, changes: Changes) -> None:
    before = state.conflict.members if state.conflict is not None else {}
    conflict = changes.conflict
    set_id = state.conflict.id if state.conflict is not None else str(new_id())
    now_in = {source.as_text() for source in conflict.members} if conflict is not None else set()
    against = {source.as_text() for source in changes.newly_dismissed}
    gone = {source: held for source, held in before.items() if source not in now_in and held is not None}
    gone |= {
        source.as_text(): state.candidates[source] for source in changes.newly_dismissed if source in state.candidates
    }
    if gone:
        payload["other_candidates"] = [
            {
                "id": held,
                "status": CandidateStatus.REJECTED if source in against else CandidateStatus.ACCEPTED,
                "reason": "ruled_against" if source in against else "conflict_settled",
            }
            for source, held in gone.items()
            if held != candidate.id
        ]
    if conflict is None:
        if state.conflict is not None:
            payload["conflict"] = {"id": set_id, "state": str(ConflictState.DISSOLVED)}
            payload["withdraws_items"] = [{"object_id": set_id, "outcome": "conflict_dissolved"}]
        return
    if not changes.conflict_changed and state.conflict is not None:
        return
    candidates = {source.as_text(): held for source, held in state.candidates.items()}
    if changes.claim is not None:
        candidates[changes.claim.source.as_text()] = candidate.id
    everyone = [(conflict.standing.as_text(), True), *((source.as_text(), False) for source in conflict.members)]
    payload["conflict"] = {
        "id": set_id,
        "state": str(ConflictState.OPEN),
        "reason": conflict.reason,
        "standing": conflict.standing.as_text(),
        "opened_from": conflict.opened_from.isoformat(),
        "kept": conflict.kept,
        "members": [
            {"id": str(new_id()), "source": source, "candidate": candidates.get(source), "is_standing": standing}
            for source, standing in everyone
        ],
    }
    if not conflict.kept:
        opener = conflict.members[0].as_text()
        payload["opens_item"] = _open_item(
            kind=ReviewKind.CONFLICT,
            object_id=set_id,
            candidate_id=candidates.get(opener) or candidate.id,
            reason=conflict.reason,
        )


def _open_item(*, kind: ReviewKind, object_id: str, candidate_id: str, reason: str) -> dict[str, Any]:
    return {
        "id": str(new_id()),
        "kind": str(kind),
        "object_id": object_id,
        "candidate": candidate_id,
        "reason": reason,
        "waiting_on": "",
    }


def _add_ruling(payload: dict[str, Any], ruled: Ruled) -> None:
    """Add a person's part: the ruling as one more piece of evidence, and the item it closes."""
    payload["verb"] = ruled.outcome
    payload["verb_reason"] = ruled.reason
    payload["closes_item"] = {
        "id": ruled.item_id,
        "outcome": ruled.outcome,
        "note": ruled.note,
        "note_id": str(new_id()),
    }
    if payload.get("conflict", {}).get("state") == ConflictState.DISSOLVED:
        payload["conflict"]["state"] = str(ConflictState.SETTLED)
    if ruled.evidence is not None:
        payload["evidence"].append(ruled.evidence)
    if ruled.ruling is not None and ruled.evidence is not None:
        ruling = ruled.ruling
        payload["ruling"] = {
            "id": ruling.key,
            "evidence": ruled.evidence["id"],
            "settles": sorted(source.as_text() for source in ruling.settles),
            "winner": None if ruling.winner is None else ruling.winner.as_text(),
            "effective_from": _iso(ruling.effective_from),
            "sequence": ruling.sequence,
            "keeps_conflict": ruling.keeps_conflict,
            "decided_by": payload["decider"],
        }


def describe_candidate(*, tenant_id: str, candidate: CandidateRecord) -> dict[str, Any]:
    """Return a candidate as `append_candidate_v1` takes it."""
    return {
        "id": candidate.id,
        "tenant": tenant_id,
        "kind": candidate.kind,
        "scope": candidate.scope_id,
        "subject": candidate.subject_id,
        "task_key": candidate.task_key,
        "memory_type": candidate.memory_type,
        "fact_key": candidate.fact_key,
        "conditions": candidate.conditions,
        "conditions_digest": candidate.conditions_digest,
        "content": candidate.content,
        "value": candidate.value,
        "value_digest": candidate.value_digest,
        "content_hash": candidate.content_hash,
        "epistemic_status": candidate.epistemic_status,
        "confidence": candidate.confidence,
        "stance": candidate.stance,
        "valid_from": candidate.valid_from.isoformat(),
        "valid_to": _iso(candidate.valid_to),
        "effective": candidate.effective,
        "trust": str(candidate.trust),
        "occurred_at": candidate.occurred_at.isoformat(),
        "extractor": candidate.extractor,
        "extractor_version": candidate.extractor_version,
        "rule_digest": candidate.rule_digest,
        "policy_version": candidate.policy_version,
        "deletion_epoch": candidate.deletion_epoch,
        "source_event": candidate.source_event_id,
        "source_kind": candidate.source_kind,
        "source_id": candidate.source_id or None,
        "statement": candidate.statement,
        "proposer": candidate.proposer_id,
        "author": candidate.author_id,
        "author_rank": candidate.author_rank,
        "author_groups": list(candidate.author_groups),
        "authority": "database",
        "created_at": _iso(candidate.created_at),
        "evidence": list(candidate.evidence_ids),
    }
