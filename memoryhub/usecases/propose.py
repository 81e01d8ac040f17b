"""Propose: put a candidate beside its evidence; whether it becomes a memory is decided afterwards."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from memoryhub.access.callers import Actor
from memoryhub.access.models import PrincipalKind
from memoryhub.access.queries import ScopeForbidden, ScopeNotFound
from memoryhub.access.tenancy import tenant_context
from memoryhub.kernel.interfaces import EvidenceItem
from memoryhub.kernel.operations import describe_evidence
from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.db import fetch_all, fetch_json, fetch_records, naming_errors
from memoryhub.lib.ids import new_id
from memoryhub.memory.exceptions import CandidateProposedMeanwhile, DeclaredMeanwhile, MemoryNotFound, SourceRevoked
from memoryhub.memory.lowers import closes_circle
from memoryhub.memory.operations import describe_candidate
from memoryhub.memory.records import CandidateRecord
from memoryhub.policy.merge import MergePolicy
from memoryhub.policy.screening import redact_forbidden, redact_text
from memoryhub.policy.trust import is_first_hand, judge_claim, name_status
from memoryhub.policy.wording import shows_result
from memoryhub.types.cognitive import UnknownCognitiveType
from memoryhub.types.entity import BadSubjectKey, MentionUnknown, UndeclaredEntityType, spell_subject
from memoryhub.types.enums import (
    CandidateKind,
    EpistemicStatus,
    EvidenceKind,
    MemoryType,
    Stance,
    Trust,
)
from memoryhub.types.fact_keys import BadFactKey
from memoryhub.types.normalising import compose_value
from memoryhub.usecases.align import AlignedProposal, Catalogue, ValueRefused, align_proposal
from memoryhub.usecases.ingest import Desk, EventInput, describe_event, list_own_patterns
from memoryhub.usecases.quoting import (
    DocumentInput,
    EvidenceCycle,
    EvidenceNotHeld,
    EvidenceRefused,
    MemoryInput,
    cite_lowers,
    find_lowers,
    identify_document,
    list_roots,
    quote_document,
    quote_memory,
    redact_document,
    sort_pointers,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memoryhub.access.callers import Caller
    from memoryhub.access.queries import ScopeAccess
    from memoryhub.types.entity import Mention


class EvidenceNotFound(Exception):
    """Say that a named event is not in this scope, or not one the caller may know of."""


class EvidenceNotQuoted(Exception):
    """Say that a span lies outside the words of its event."""


class PeriodRefused(Exception):
    """Say that the valid period would end before it begins."""


class CandidateReused(Exception):
    """Say that the same statement of the same event was proposed before with another value or content."""


VIEW = "view_memory"
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_REFUSALS = (
    ScopeNotFound,
    ScopeForbidden,
    EvidenceNotFound,
    EvidenceNotQuoted,
    BadFactKey,
    BadSubjectKey,
    MentionUnknown,
    UndeclaredEntityType,
    UnknownCognitiveType,
    ValueRefused,
    PeriodRefused,
    CandidateReused,
    SourceRevoked,
    MemoryNotFound,
    EvidenceNotHeld,
    EvidenceRefused,
    EvidenceCycle,
)
_GUARD = "SELECT pg_advisory_xact_lock_shared(hashtextextended(%s, 0))"


@dataclass(frozen=True, slots=True)
class EvidenceInput:
    """Point at the words of an event: the whole of them, or a half-open range of characters."""

    event_id: str
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class CandidateInput:
    """Hold one proposed memory as a caller sends it; `value` None is a claim of absence.

    `subject` is a key, `type:name`. With a `mention` it is empty: the source has other words for whom it speaks of.
    """

    scope: tuple[str, str]
    subject: str
    fact_key: str
    content: str
    value: Any
    evidence: Sequence[EvidenceInput | DocumentInput | MemoryInput] = ()
    kind: CandidateKind = CandidateKind.FACT
    memory_type: str = MemoryType.SEMANTIC
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
    mention: Mention | None = None


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Hold what the source event of a candidate says of itself.

    `is_person` says that a person is its actor, `first_hand` that the actor itself says or does it.
    """

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
    is_person: bool
    first_hand: bool
    shows_result: bool = False
    is_tool_result: bool = False


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
        EvidenceNotFound: an event is unknown in this scope, or may not be read there. EvidenceNotQuoted: a span lies
            outside its words. MemoryNotFound: a lower memory, or its version, is not there for the caller.
        EvidenceNotHeld: a lower memory does not hold as it is cited. EvidenceRefused: this type cannot rest on it.
        EvidenceCycle: the memory would rest on itself.
        BadFactKey: the fact key is none. UnknownCognitiveType: nobody registered the memory type.
        BadSubjectKey, UndeclaredEntityType: the subject is no `type:name` of a declared type.
        MentionUnknown: nobody is called so, and no type says what a new subject would be.
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
    except (CandidateProposedMeanwhile, DeclaredMeanwhile):
        with naming_errors(), tenant_context(caller.tenant_id):
            return _propose_all(caller=caller, proposals=proposals, now=now)


def _propose_all(*, caller: Caller, proposals: Sequence[CandidateInput], now: datetime) -> list[Proposed | Exception]:
    """Propose in the order of keys, so that two batches that overlap cannot wait for each other in a circle."""
    desk, catalogue = Desk(caller), Catalogue(caller)
    results: dict[int, Proposed | Exception] = {}
    for place in sorted(range(len(proposals)), key=lambda place: _order_of(proposals[place])):
        try:
            results[place] = _propose(caller=caller, desk=desk, catalogue=catalogue, proposal=proposals[place], now=now)
        except _REFUSALS as refusal:
            results[place] = refusal
    return [results[place] for place in range(len(proposals))]


def _order_of(proposal: CandidateInput) -> tuple[str, str, str, int]:
    event_id = next((pointer.event_id for pointer in proposal.evidence if isinstance(pointer, EvidenceInput)), "")
    return event_id, proposal.fact_key, proposal.subject, proposal.statement


def _propose(*, caller: Caller, desk: Desk, catalogue: Catalogue, proposal: CandidateInput, now: datetime) -> Proposed:
    scope = desk.find_scope(name=proposal.scope, right="propose_memory")
    proposal = redact_proposal(caller=caller, proposal=proposal)
    source = _find_source(caller=caller, desk=desk, scope=scope, proposal=proposal, now=now)
    draft = draft_candidate(caller=caller, scope=scope, proposal=proposal, source=source, now=now, catalogue=catalogue)
    return append_candidate(caller=caller, draft=draft, now=now)


def redact_proposal(*, caller: Caller, proposal: CandidateInput) -> CandidateInput:
    """Return the proposal without forbidden material: what an event may not hold, a candidate may not either.

    Subject and conditions, by which a memory is known, come out in the one spelling in which they are compared.
    """
    proposal = replace(
        proposal,
        subject=spell_subject(text=proposal.subject),
        conditions=compose_value(value=proposal.conditions),
    )
    own = list_own_patterns(caller=caller)
    said, redactions = redact_forbidden(
        payload={
            "subject": proposal.subject,
            "fact_key": proposal.fact_key,
            "value": proposal.value,
            "content": proposal.content,
            "conditions": proposal.conditions,
        },
        own=own,
    )
    if any(isinstance(pointer, DocumentInput) for pointer in proposal.evidence):
        pointers = [
            redact_document(pointer=pointer, own=own) if isinstance(pointer, DocumentInput) else pointer
            for pointer in proposal.evidence
        ]
        proposal = replace(proposal, evidence=pointers)
    if proposal.mention is not None:
        words = redact_text(proposal.mention.words, own=own)[0]
        proposal = replace(proposal, mention=replace(proposal.mention, words=words))
    return replace(proposal, **said) if redactions else proposal


def _find_source(
    *, caller: Caller, desk: Desk, scope: ScopeAccess, proposal: CandidateInput, now: datetime
) -> SourceFacts:
    """Return the event that says what is proposed: the first one named, or else the proposal itself.

    Rows written: the envelope and the body of a proposal that names documents or memories and no event.
    """
    first = next((pointer for pointer in proposal.evidence if isinstance(pointer, EvidenceInput)), None)
    if first is not None:
        return load_source(caller=caller, scope=scope, event_id=first.event_id)
    if not proposal.evidence:
        raise EvidenceNotFound
    pointers = sort_pointers(pointers=proposal.evidence, memory_type=proposal.memory_type)
    said = {
        "text": proposal.content,
        "claim": {"subject": proposal.subject, "fact_key": proposal.fact_key, "value": proposal.value},
    }
    points = [asdict(pointer) for pointer in proposal.evidence]
    key = caller.digest(canonical_json([said, proposal.conditions, proposal.statement, list(proposal.scope), points]))
    event = EventInput(
        event_id=f"proposal:{key}",
        scope=proposal.scope,
        source_type="document" if pointers.documents else "statement",
        occurred_at=now,
        payload=said,
        task=proposal.task,
    )
    record = describe_event(desk=desk, event=event, now=now) | {"deletion_epoch": scope.deletion_epoch}
    fetch_all(sql=_GUARD, params=[scope.id])
    fetch_all(sql="SELECT append_records_v1(%s::jsonb)", params=[json.dumps([record])])
    return load_source(caller=caller, scope=scope, event_id=event.event_id)


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
                record.deletion_epoch, record.source_type, record.content_ref, actor.kind AS actor_kind,
                find_barrier_v1(record.tenant_id, record.scope_id, NULL, NULL, NULL, ARRAY[record.id, record.root],
                                record.deletion_epoch)::text AS barrier
            FROM source_events record
            JOIN principals actor ON actor.id = record.actor_id
            LEFT JOIN source_event_bodies body ON body.event_id = record.id
            WHERE record.tenant_id = %s AND record.scope_id = %s AND record.event_key_digest = ANY (%s)
        """,
        params=[caller.tenant_id, scope.id, digests],
    )
    may_read = VIEW in scope.rights and caller.may_use(VIEW)
    found: dict[str, SourceFacts] = {}
    for row in rows:
        if not may_read and row["sender_id"] != caller.principal_id:
            raise EvidenceNotFound
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
            is_person=row["actor_kind"] == PrincipalKind.HUMAN,
            is_tool_result=row["source_type"] == "tool_result",
            **judge_source(
                source_type=row["source_type"],
                payload=row["payload"],
                content_ref=row["content_ref"],
                is_person=row["actor_kind"] == PrincipalKind.HUMAN,
            ),
        )
    if any(digest not in found for digest in digests):
        raise EvidenceNotFound
    return [found[digest] for digest in digests]


def judge_source(*, source_type: str, payload: Any, content_ref: str, is_person: bool) -> dict[str, bool]:
    """Return whether an event is its actor's own word, and whether it holds the result of what was done."""
    fields = [name for name, held in payload.items() if held not in _NOTHING] if isinstance(payload, dict) else []
    return {
        "first_hand": is_first_hand(source_type=source_type, payload=payload, is_person=is_person),
        "shows_result": shows_result(
            kind=EvidenceKind.EVENT_SPAN, source_type=source_type, has_reference=bool(content_ref), fields=fields
        ),
    }


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
    aligned: AlignedProposal | None = None,
    catalogue: Catalogue | None = None,
) -> Draft:
    """Make the candidate and its evidence; nothing is written but a subject named for the first time.

    `aligned` given means that the caller has found key, value and subject already; `catalogue` are the keys that the
    request looked up before.
    Epistemic status and author are the server's: `validated` comes only from a ruling, `explicit` only from
    first-party words.

    Raises:
        as `propose_candidate`.
    """
    if aligned is None:
        aligned = align_proposal(
            catalogue=catalogue or Catalogue(caller), scope_id=scope.id, proposal=proposal, now=now
        )
    proposal = aligned.proposal
    pointers = sort_pointers(pointers=proposal.evidence, memory_type=proposal.memory_type)
    events = [pointer for pointer in proposal.evidence if isinstance(pointer, EvidenceInput)]
    others = [pointer.event_id for pointer in events[1:]]
    sources = [source, *(_load_sources(caller=caller, scope=scope, event_ids=others) if others else [])]
    conditions = canonical_json(proposal.conditions) if proposal.conditions else ""
    conditions_digest = caller.digest(f"conditions {conditions}") if conditions else ""
    # Proposed again it is the first one that counts, whatever became of what it rests on.
    is_known = bool(pointers.memories) and _is_proposed(
        caller=caller, source=source, aligned=aligned, conditions_digest=conditions_digest
    )
    lowers = [] if is_known else find_lowers(caller=caller, pointers=pointers.memories)
    evidence = [quote_memory(caller=caller, lower=lower) for lower in lowers]
    evidence += [
        quote_document(caller=caller, scope_id=scope.id, observed_at=source.occurred_at, pointer=pointer)
        for pointer in pointers.documents
    ]
    if not pointers.rests:
        evidence += [
            _quote(caller=caller, scope=scope, source=one, span=pointer.span)
            for one, pointer in zip(sources, events, strict=False)
        ]
    valid_from = proposal.valid_from or source.occurred_at
    if proposal.valid_to is not None and proposal.valid_to <= valid_from:
        raise PeriodRefused
    author, trust = _name_author(caller=caller, source=source, authority_group=aligned.authority_group)
    speaks = source.sender_id == caller.principal_id
    status = name_status(claimed=proposal.epistemic_status, trust=trust, is_person=source.is_person and speaks)
    record = CandidateRecord(
        id=str(new_id()),
        kind=str(proposal.kind),
        scope_id=scope.id,
        scope_kind=scope.kind,
        subject_id=aligned.subject_id,
        subject_unclear=aligned.subject_unclear,
        memory_type=str(proposal.memory_type),
        fact_key=proposal.fact_key,
        conditions=proposal.conditions,
        conditions_digest=conditions_digest,
        content=proposal.content,
        value=proposal.value,
        value_digest=digest_value(caller=caller, value=proposal.value),
        content_hash=caller.digest(canonical_json({"content": proposal.content, "value": proposal.value})),
        epistemic_status=str(status),
        confidence=proposal.confidence,
        stance=str(proposal.stance),
        valid_from=valid_from,
        valid_to=proposal.valid_to,
        effective=proposal.valid_from is not None or (speaks and source.first_hand),
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
        roots=list_roots(tenant_id=caller.tenant_id, evidence=evidence),
        has_evidence=bool(evidence),
        evidence_ids=tuple(item["id"] for item in evidence),
        created_at=now,
        task_key=caller.digest(f"task {proposal.task}") if proposal.task else "",
        policy_version=MergePolicy().version,
        rule_digest=proposal.rule_digest,
        subject_label=proposal.subject,
        quotes=tuple(item["quote"] for item in evidence if item["quote"] is not None),
        result_shown=any(one.shows_result for one in sources),
        source_kind="event" if pointers.document is None else "document",
        source_id=source.id
        if pointers.document is None
        else identify_document(caller=caller, pointer=pointers.document),
        cites=cite_lowers(lowers=lowers),
        rests=pointers.rests,
    )
    if closes_circle(tenant_id=caller.tenant_id, candidate=record):
        raise EvidenceCycle
    return Draft(candidate=record, evidence=evidence)


def _is_proposed(*, caller: Caller, source: SourceFacts, aligned: AlignedProposal, conditions_digest: str) -> bool:
    proposal = aligned.proposal
    rows = fetch_all(
        sql="""
            SELECT EXISTS (SELECT FROM memory_candidates
                WHERE tenant_id = %s AND source_event_id = %s AND extractor = %s AND extractor_version = %s
                  AND fact_key = %s AND subject_id = %s AND conditions_digest = %s AND statement = %s)
        """,
        params=[
            caller.tenant_id,
            source.id,
            proposal.extractor,
            proposal.extractor_version,
            proposal.fact_key,
            aligned.subject_id,
            conditions_digest,
            proposal.statement,
        ],
    )
    return bool(rows[0][0])


def _name_author(*, caller: Caller, source: SourceFacts, authority_group: str) -> tuple[Actor, Trust]:
    """Return who stands behind a claim, and how far it is trusted.

    Who sent an event speaks for its author. Anyone else who reads something out of it makes a claim of their own,
    with their own rank and groups, however trusted the event is.
    """
    if source.sender_id == caller.principal_id:
        trust = judge_claim(
            trust=source.trust,
            first_hand=source.first_hand,
            groups=source.actor.groups,
            authority_group=authority_group,
        )
        return source.actor, trust
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


def _quote(*, caller: Caller, scope: ScopeAccess, source: SourceFacts, span: tuple[int, int] | None) -> dict[str, Any]:
    text = source.text
    if span is not None and (text is None or not 0 <= span[0] < span[1] <= len(text)):
        raise EvidenceNotQuoted
    quote = text if span is None or text is None else text[span[0] : span[1]]
    item = EvidenceItem(
        key="",
        kind=EvidenceKind.TOOL_RESULT if source.is_tool_result else EvidenceKind.EVENT_SPAN,
        source=("event", source.id),
        scope=scope.id,
        observed_at=source.occurred_at,
        record=source.id,
        span=span,
        quote=quote,
    )
    return describe_evidence(key=caller.digest_key, item=item) | {"roots": [source.root]}
