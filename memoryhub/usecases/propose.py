"""Propose: put a candidate beside its evidence; whether it becomes a memory is decided afterwards."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from memoryhub.access.callers import Actor
from memoryhub.access.models import EntityType
from memoryhub.access.operations import find_or_create_subject
from memoryhub.access.queries import ScopeForbidden, ScopeNotFound
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.db import fetch_all, fetch_json, fetch_records, naming_errors
from memoryhub.lib.hashing import new_salt
from memoryhub.lib.ids import new_id
from memoryhub.memory.exceptions import CandidateProposedMeanwhile, SourceRevoked
from memoryhub.memory.operations import describe_candidate
from memoryhub.memory.records import CandidateRecord
from memoryhub.policy.merge import MergePolicy
from memoryhub.policy.screening import redact_forbidden
from memoryhub.types.entity import BadSubjectKey, UndeclaredEntityType, parse_subject_key
from memoryhub.types.enums import (
    CandidateKind,
    Cardinality,
    EpistemicStatus,
    EvidenceKind,
    MemoryType,
    Stance,
    Trust,
)
from memoryhub.usecases.ingest import Desk

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memoryhub.access.callers import Caller
    from memoryhub.access.queries import ScopeAccess


class EvidenceNotFound(Exception):
    """Say that a named event is not in this scope, or not one the caller may know of."""


class EvidenceNotQuoted(Exception):
    """Say that a span lies outside the words of its event."""


class ValueRefused(Exception):
    """Say that the value does not fit what the tenant declared of the fact key."""


class PeriodRefused(Exception):
    """Say that the valid period would end before it begins."""


class CandidateReused(Exception):
    """Say that the same statement of the same event was proposed before with another value or content."""


_REFUSALS = (
    ScopeNotFound,
    ScopeForbidden,
    EvidenceNotFound,
    EvidenceNotQuoted,
    BadSubjectKey,
    UndeclaredEntityType,
    ValueRefused,
    PeriodRefused,
    CandidateReused,
    SourceRevoked,
)


@dataclass(frozen=True, slots=True)
class EvidenceInput:
    """Point at the words of an event: the whole of them, or a half-open range of characters."""

    event_id: str
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class CandidateInput:
    """Hold one proposed memory as a caller sends it; `value` None is a claim of absence."""

    scope: tuple[str, str]
    subject: str
    fact_key: str
    content: str
    value: Any
    evidence: Sequence[EvidenceInput] = ()
    kind: CandidateKind = CandidateKind.FACT
    memory_type: MemoryType = MemoryType.SEMANTIC
    conditions: dict[str, Any] = field(default_factory=dict)
    epistemic_status: EpistemicStatus = EpistemicStatus.OBSERVED
    confidence: float = 1.0
    stance: Stance = Stance.SUPPORTS
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    statement: int = 0
    task: str = ""
    extractor: str = "caller"
    extractor_version: str = "1"
    rule_digest: str = ""


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Hold what the source event of a candidate says of itself."""

    id: str
    scope_id: str
    sender_id: str
    actor: Actor
    trust: Trust
    occurred_at: datetime
    source_seq: int
    order_digest: str
    text: str | None
    root: str
    deletion_epoch: int


@dataclass(frozen=True, slots=True)
class Draft:
    """Hold a candidate and its evidence, ready to be appended."""

    candidate: CandidateRecord
    evidence: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Proposed:
    """Hold what became of a proposal: its id, its status, and whether it was there before."""

    candidate_id: str
    status: str
    is_replay: bool


def propose_candidate(*, caller: Caller, proposal: CandidateInput, now: datetime) -> Proposed:
    """Append a candidate with its evidence and a job that will decide on it.

    The same extraction proposed again answers the first candidate. Rows written: candidate, evidence, job.

    Raises:
        ScopeNotFound, ScopeForbidden: the right `propose_memory` is missing on the scope.
        EvidenceNotFound: an event is unknown in this scope. EvidenceNotQuoted: a span lies outside its words.
        BadSubjectKey, UndeclaredEntityType: the subject is no `type:name` of a declared type.
        ValueRefused: the value does not fit its predicate. PeriodRefused: the period ends before it begins.
        CandidateReused: this statement of this event was proposed before and said something else.
        SourceRevoked: a barrier stands in front of an event.
        StoreFailure: the database could not be asked; nothing was written.
    """
    result = propose_candidates(caller=caller, proposals=[proposal], now=now)[0]
    if isinstance(result, Exception):
        raise result
    return result


def propose_candidates(
    *, caller: Caller, proposals: Sequence[CandidateInput], now: datetime
) -> list[Proposed | Exception]:
    """Append many candidates in one transaction; one that is refused does not fail the others.

    Results stand in the order of the proposals: what became of each, or the exception that refuses it
    (see `propose_candidate`).

    Raises:
        StoreFailure: the database could not be asked; nothing was written.
    """
    try:
        with naming_errors(), tenant_context(caller.tenant_id):
            return _propose_all(caller=caller, proposals=proposals, now=now)
    except CandidateProposedMeanwhile:
        with naming_errors(), tenant_context(caller.tenant_id):
            return _propose_all(caller=caller, proposals=proposals, now=now)


def _propose_all(*, caller: Caller, proposals: Sequence[CandidateInput], now: datetime) -> list[Proposed | Exception]:
    """Propose in the order of keys, so that two batches that overlap cannot wait for each other in a circle."""
    desk = Desk(caller)
    results: dict[int, Proposed | Exception] = {}
    for place in sorted(range(len(proposals)), key=lambda place: _order_of(proposals[place])):
        try:
            results[place] = _propose(caller=caller, desk=desk, proposal=proposals[place], now=now)
        except _REFUSALS as refusal:
            results[place] = refusal
    return [results[place] for place in range(len(proposals))]


def _order_of(proposal: CandidateInput) -> tuple[str, str, str, int]:
    event_id = proposal.evidence[0].event_id if proposal.evidence else ""
    return event_id, proposal.fact_key, proposal.subject, proposal.statement


def _propose(*, caller: Caller, desk: Desk, proposal: CandidateInput, now: datetime) -> Proposed:
    scope = desk.find_scope(name=proposal.scope, right="propose_memory")
    proposal = redact_proposal(proposal=proposal)
    source = load_source(caller=caller, scope=scope, event_id=_first_event(proposal))
    draft = draft_candidate(caller=caller, scope=scope, proposal=proposal, source=source, now=now)
    return append_candidate(caller=caller, draft=draft, now=now)


def redact_proposal(*, proposal: CandidateInput) -> CandidateInput:
    """Return the proposal without forbidden material: what an event may not hold, a candidate may not either."""
    said, redactions = redact_forbidden(payload=[proposal.content, proposal.value, proposal.conditions])
    return replace(proposal, content=said[0], value=said[1], conditions=said[2]) if redactions else proposal


def _first_event(proposal: CandidateInput) -> str:
    if not proposal.evidence:
        raise EvidenceNotFound
    return proposal.evidence[0].event_id


def load_source(*, caller: Caller, scope: ScopeAccess, event_id: str) -> SourceFacts:
    """Return the event a candidate rests on, by the caller's own event id.

    Raises:
        EvidenceNotFound: there is none in this scope.
    """
    return _load_sources(caller=caller, scope=scope, event_ids=[event_id])[0]


def _load_sources(*, caller: Caller, scope: ScopeAccess, event_ids: Sequence[str]) -> list[SourceFacts]:
    digests = [caller.digest(f"event {event_id}") for event_id in event_ids]
    rows = fetch_records(
        sql="""
            SELECT record.event_key_digest, record.id::text, record.sender_id::text, record.actor_id::text, actor.rank,
                list_group_names_v1(record.actor_id) AS groups,
                record.trust, record.occurred_at, record.source_seq, body.payload, record.root::text,
                record.deletion_epoch,
                find_barrier_v1(record.tenant_id, record.scope_id, NULL, NULL, NULL, ARRAY[record.id, record.root],
                                record.deletion_epoch)::text AS barrier
            FROM source_events record
            JOIN principals actor ON actor.id = record.actor_id
            LEFT JOIN source_event_bodies body ON body.event_id = record.id
            WHERE record.tenant_id = %s AND record.scope_id = %s AND record.event_key_digest = ANY (%s)
        """,
        params=[caller.tenant_id, scope.id, digests],
    )
    found: dict[str, SourceFacts] = {}
    for row in rows:
        if row["barrier"] is not None:
            raise SourceRevoked(row["barrier"])
        found[row["event_key_digest"]] = SourceFacts(
            id=row["id"],
            scope_id=scope.id,
            sender_id=row["sender_id"],
            actor=Actor(row["actor_id"], row["rank"], frozenset(row["groups"])),
            trust=Trust(row["trust"]),
            occurred_at=row["occurred_at"],
            source_seq=row["source_seq"],
            order_digest=row["event_key_digest"],
            text=None if row["payload"] is None else words_of(row["payload"]),
            root=row["root"],
            deletion_epoch=row["deletion_epoch"],
        )
    if any(digest not in found for digest in digests):
        raise EvidenceNotFound
    return [found[digest] for digest in digests]


def digest_value(*, caller: Caller, value: Any) -> str | None:
    """Return the digest two claims of one value share; None for absence."""
    return None if value is None else caller.digest(f"value {canonical_json(value)}")


def words_of(payload: Any) -> str:
    """Return the words of a payload: its `text`, or the payload itself as canonical JSON."""
    if isinstance(payload, str):
        return payload
    if isinstance(payload, dict) and isinstance(payload.get("text"), str):
        return str(payload["text"])
    return canonical_json(payload)


def draft_candidate(
    *,
    caller: Caller,
    scope: ScopeAccess,
    proposal: CandidateInput,
    source: SourceFacts,
    now: datetime,
    subject_id: str | None = None,
) -> Draft:
    """Make the candidate and its evidence; nothing is written but a subject named for the first time.

    `subject_id` given means that the caller has found the subject and checked the value already.
    Epistemic status and author are the server's: `validated` comes only from a ruling, `explicit` only from
    first-party words.

    Raises:
        as `propose_candidate`.
    """
    if subject_id is None:
        check_value(caller=caller, proposal=proposal)
        subject_id = find_subject(caller=caller, key=proposal.subject, now=now)
    others = [pointer.event_id for pointer in proposal.evidence if pointer is not proposal.evidence[0]]
    sources = [source, *(_load_sources(caller=caller, scope=scope, event_ids=others) if others else [])]
    evidence = [
        _quote(caller=caller, scope=scope, source=one, span=pointer.span)
        for one, pointer in zip(sources, proposal.evidence, strict=False)
    ]
    conditions = canonical_json(proposal.conditions) if proposal.conditions else ""
    valid_from = proposal.valid_from or source.occurred_at
    if proposal.valid_to is not None and proposal.valid_to <= valid_from:
        raise PeriodRefused
    author, trust = _name_author(caller=caller, source=source)
    status = proposal.epistemic_status
    if status is EpistemicStatus.VALIDATED or (status is EpistemicStatus.EXPLICIT and trust is not Trust.FIRST_PARTY):
        status = EpistemicStatus.OBSERVED
    record = CandidateRecord(
        id=str(new_id()),
        kind=str(proposal.kind),
        scope_id=scope.id,
        scope_kind=scope.kind,
        subject_id=subject_id,
        memory_type=str(proposal.memory_type),
        fact_key=proposal.fact_key,
        conditions=proposal.conditions,
        conditions_digest=caller.digest(f"conditions {conditions}") if conditions else "",
        content=proposal.content,
        value=proposal.value,
        value_digest=digest_value(caller=caller, value=proposal.value),
        content_hash=caller.digest(canonical_json({"content": proposal.content, "value": proposal.value})),
        epistemic_status=str(status),
        confidence=proposal.confidence,
        stance=str(proposal.stance),
        valid_from=valid_from,
        valid_to=proposal.valid_to,
        effective=proposal.valid_from is not None or trust is Trust.FIRST_PARTY,
        occurred_at=source.occurred_at,
        extractor=proposal.extractor,
        extractor_version=proposal.extractor_version,
        deletion_epoch=min(one.deletion_epoch for one in sources),
        source_event_id=source.id,
        statement=proposal.statement,
        proposer_id=caller.principal_id,
        author_id=author.id,
        author_rank=author.rank,
        author_groups=tuple(sorted(author.groups)),
        trust=trust,
        source_seq=source.source_seq,
        order_digest=source.order_digest,
        roots=tuple(sorted({root for item in evidence for root in item["roots"]})),
        has_evidence=bool(evidence),
        evidence_ids=tuple(item["id"] for item in evidence),
        created_at=now,
        task_key=caller.digest(f"task {proposal.task}") if proposal.task else "",
        policy_version=MergePolicy().version,
        rule_digest=proposal.rule_digest,
    )
    return Draft(candidate=record, evidence=evidence)


def _name_author(*, caller: Caller, source: SourceFacts) -> tuple[Actor, Trust]:
    """Return who stands behind a claim, and how far it is trusted.

    Who sent an event speaks for its author. Anyone else who reads something out of it makes a claim of their own,
    with their own rank and groups, however trusted the event is.
    """
    if source.sender_id == caller.principal_id:
        return source.actor, source.trust
    trust = Trust.THIRD_PARTY if source.trust is Trust.FIRST_PARTY else source.trust
    return Actor(caller.principal_id, caller.rank, caller.groups), trust


def append_candidate(*, caller: Caller, draft: Draft, now: datetime) -> Proposed:
    """Append the drafted candidate, its evidence and the job that decides on it, under the scope's guard.

    Raises:
        CandidateReused: this statement of this event was proposed before and said something else.
    """
    found = fetch_json(
        sql="SELECT propose_candidate_v1(%s::jsonb, %s::jsonb, %s)",
        params=[
            json.dumps(describe_candidate(tenant_id=caller.tenant_id, candidate=draft.candidate)),
            json.dumps(draft.evidence),
            now,
        ],
    )
    if not found["same"]:
        raise CandidateReused
    return Proposed(candidate_id=found["candidate"], status=found["status"], is_replay=not found["new"])


def check_value(*, caller: Caller, proposal: CandidateInput) -> None:
    """Check the value against what the tenant declared of the fact key; an undeclared key takes any value.

    Raises:
        ValueRefused: it does not fit.
    """
    rows = fetch_records(
        sql="SELECT cardinality, value_schema AS schema FROM predicates WHERE tenant_id = %s AND fact_key = %s",
        params=[caller.tenant_id, proposal.fact_key],
    )
    for row in rows:
        check_declared(value=proposal.value, **row)


def check_declared(*, value: Any, cardinality: str | None, schema: dict[str, Any] | None) -> None:
    """Check a value against a predicate's cardinality and JSON Schema, None where nothing is declared.

    Raises:
        ValueRefused: it does not fit, or retracts a key of many values without saying which.
    """
    if value is None:
        if cardinality == Cardinality.MANY:
            raise ValueRefused("a key of many values is retracted value by value, not as a whole")
    elif schema is not None:
        check_schema(value=value, schema=schema)


def check_schema(*, value: Any, schema: dict[str, Any]) -> None:
    """Check a value against the JSON Schema its predicate declares.

    Raises:
        ValueRefused: it does not fit; the message says where, without the value.
    """
    from jsonschema import Draft202012Validator

    error = next(iter(Draft202012Validator(schema).iter_errors(value)), None)
    if error is not None:
        raise ValueRefused(f"{error.json_path} fails {error.validator}")


def find_subject(*, caller: Caller, key: str, now: datetime) -> str:
    """Return the id of the subject that `type:name` names, made on its first mention.

    Raises:
        BadSubjectKey, UndeclaredEntityType: it is no `type:name` of a declared type.
    """
    digest = caller.digest(f"subject {key}")
    rows = fetch_all(
        sql="""
            SELECT id::text FROM subjects WHERE tenant_id = %(tenant)s AND key_digest = %(digest)s
            UNION ALL
            SELECT subject_id::text FROM subject_aliases WHERE tenant_id = %(tenant)s AND key_digest = %(digest)s
        """,
        params={"tenant": caller.tenant_id, "digest": digest},
    )
    if rows:
        return str(rows[0][0])
    declared = {entity.name: entity for entity in EntityType.objects.filter(tenant_id=caller.tenant_id)}
    parsed = parse_subject_key(text=key, declared=declared)
    subject = find_or_create_subject(caller=caller, entity_type=declared[parsed.entity_type], key=key, now=now)
    return str(subject.pk)


def _quote(*, caller: Caller, scope: ScopeAccess, source: SourceFacts, span: tuple[int, int] | None) -> dict[str, Any]:
    text = source.text
    if span is not None and (text is None or not 0 <= span[0] < span[1] <= len(text)):
        raise EvidenceNotQuoted
    quote = text if span is None or text is None else text[span[0] : span[1]]
    salt = new_salt()
    evidence_id = str(new_id())
    return {
        "id": evidence_id,
        "evidence_key": f"ev_{evidence_id.replace('-', '')}",
        "kind": str(EvidenceKind.EVENT_SPAN),
        "source_kind": "event",
        "source_id": source.id,
        "scope": scope.id,
        "event": source.id,
        "span_start": None if span is None else span[0],
        "span_end": None if span is None else span[1],
        "position": "",
        "digest": caller.digest(quote or "", salt=salt),
        "observed_at": source.occurred_at.isoformat(),
        "quote": quote,
        "salt": salt.hex(),
        "roots": [source.root],
    }
