"""Extract: let an extractor look at one event, and propose what it finds."""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memoryhub.access.callers import Actor, Caller, derive_digest_key
from memoryhub.access.models import PrincipalKind
from memoryhub.access.queries import ScopeAccess, load_own_patterns
from memoryhub.extraction import ExtractorMissing, get_extractor
from memoryhub.extraction.fallback import propose_transcript
from memoryhub.extraction.interfaces import (
    Answer,
    DeclaredPredicate,
    EventText,
    ExtractionContext,
    ExtractionFailed,
    Extractor,
    ModelExtractor,
    Proposal,
    Question,
)
from memoryhub.extraction.operations import find_answer, record_answer, reserve_question
from memoryhub.extraction.rules import may_correct
from memoryhub.lib.db import fetch_all, fetch_records
from memoryhub.policy.screening import compile_own_pattern, redact_text
from memoryhub.types.entity import BadSubjectKey, MentionUnknown, UndeclaredEntityType
from memoryhub.types.enums import Cardinality, Trust
from memoryhub.types.fact_keys import BadFactKey
from memoryhub.usecases.align import ValueRefused
from memoryhub.usecases.propose import (
    CandidateInput,
    CandidateReused,
    EvidenceInput,
    EvidenceNotQuoted,
    PeriodRefused,
    SourceFacts,
    append_candidate,
    draft_candidate,
    judge_source,
    redact_proposal,
    words_of,
)

if TYPE_CHECKING:
    from datetime import datetime

_EVENT = """
    SELECT record.id::text, record.scope_id::text, record.trust, record.occurred_at, record.source_seq,
        record.event_key_digest, record.root::text, body.payload, body.event_key,
        author.id::text, author.rank, author.username, list_group_names_v1(author.id),
        sender.id::text, sender.kind, sender.username, sender.rank,
        scope.kind, scope.key, scope.name, scope.owner_id::text, scope.deletion_epoch, scope.retention_class,
        scope.access_policy_id::text, tenant.slug, encode(tenant.digest_salt, 'hex'),
        record.deletion_epoch, record.source_type, record.session_key, author.kind, record.content_ref
    FROM source_events record
    JOIN principals author ON author.id = record.actor_id
    JOIN principals sender ON sender.id = record.sender_id
    JOIN scopes scope ON scope.tenant_id = record.tenant_id AND scope.id = record.scope_id
    JOIN tenants tenant ON tenant.id = record.tenant_id
    LEFT JOIN source_event_bodies body ON body.event_id = record.id
    WHERE record.tenant_id = %s AND record.id = %s
"""
# A day of one scope is looked through at most, along the index of its times.
_EARLIER = """
    SELECT body.payload, record.occurred_at, record.source_seq
    FROM source_events record JOIN source_event_bodies body ON body.event_id = record.id
    WHERE record.tenant_id = %(tenant)s AND record.scope_id = %(scope)s AND record.session_key = %(session)s
      AND record.actor_id = %(actor)s AND record.id <> %(event)s AND body.payload IS NOT NULL
      AND record.source_type = %(source_type)s
      AND record.occurred_at BETWEEN %(at)s - interval '1 day' AND %(at)s
      AND (record.occurred_at, record.source_seq) < (%(at)s, %(seq)s)
      AND record.trust = %(trust)s
      AND find_barrier_v1(record.tenant_id, record.scope_id, NULL, NULL, NULL, ARRAY[record.id, record.root],
                          record.deletion_epoch) IS NULL
    ORDER BY record.occurred_at DESC, record.source_seq DESC LIMIT 5
"""


MOST_PROPOSALS = 20
_REFUSALS: dict[type[Exception], str] = {
    BadFactKey: "bad_fact_key",
    MentionUnknown: "mention_unknown",
    BadSubjectKey: "bad_subject_key",
    UndeclaredEntityType: "undeclared_entity_type",
    ValueRefused: "value_refused",
    PeriodRefused: "period_refused",
    CandidateReused: "candidate_reused",
    EvidenceNotQuoted: "evidence_not_quoted",
}


@dataclass(frozen=True, slots=True)
class Extracted:
    """Say how many proposals were made, and in a note of codes which were not."""

    proposed: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """Hold one event as it was read for an extractor, with what the extractor may know beside it."""

    event_id: str
    event_key: str
    extractor_version: str
    extractor: Extractor | ModelExtractor | None
    words: EventText
    context: ExtractionContext
    caller: Caller
    scope: ScopeAccess
    source: SourceFacts


@dataclass(frozen=True, slots=True)
class Asking:
    """Hold a question to a model that may be asked now, while no transaction is open."""

    extractor: ModelExtractor
    question: Question
    reserved_id: str


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold what came of a question: an answer, or why there is none."""

    answer: Answer | None
    failure: ExtractionFailed | None = None


class Unanswered(Exception):
    """Say that a model gave no answer this time, and that the job is worth another attempt."""


def extract_event(*, tenant_id: str, event_id: str, extractor_version: str, now: datetime) -> Extracted | Asking:
    """Propose what an extractor finds in an event, inside an open transaction: the first 20 proposals of it.

    When the extractor fails, or a proposal is refused, the words themselves are proposed at low confidence; the
    other proposals are made all the same. Failure, refusals and more than 20 stand in the note. An event without
    a body (erased, or behind a barrier) proposes nothing.

    A model is not asked here: unless its answer is on record already, what comes back is the question. It is to be
    asked with `ask_model` when this transaction has ended, and the answer given to `keep_answer` and then
    `propose_answer`. Tokens are set aside for it (`event_over_budget`, `tenant_over_budget`); words of a source that
    was revoked do not leave the house.
    """
    look = read_event(tenant_id=tenant_id, event_id=event_id, extractor_version=extractor_version)
    if look is None:
        return Extracted(0)
    if look.extractor is None:
        return propose_found(look=look, found=None, notes=("extractor_missing",), now=now)
    if isinstance(look.extractor, ModelExtractor):
        return _prepare_question(look=look, extractor=look.extractor, now=now)
    try:
        found = look.extractor.extract(look.words, look.context)
    except ExtractionFailed as failure:
        return propose_found(look=look, found=None, notes=(failure.code,), now=now)
    return propose_found(look=look, found=found, notes=(), now=now)


def _prepare_question(*, look: Look, extractor: ModelExtractor, now: datetime) -> Extracted | Asking:
    question = extractor.describe_question(look.words, look.context)
    if question.tokens > extractor.event_tokens:
        return propose_found(look=look, found=None, notes=("event_over_budget",), now=now)
    if _is_barred(look):
        return Extracted(0, "source_revoked")
    reserved = reserve_question(
        tenant_id=look.caller.tenant_id,
        event_id=look.event_id,
        extractor_version=look.extractor_version,
        question=question,
        daily_tokens=extractor.daily_tokens,
        now=now,
    )
    if reserved.outcome == "known":
        return _propose_recorded(
            look=look, extractor=extractor, question=question, answer=reserved.answer or "", now=now
        )
    if reserved.id is None:
        return propose_found(look=look, found=None, notes=("tenant_over_budget",), now=now)
    return Asking(extractor=extractor, question=question, reserved_id=reserved.id)


def _is_barred(look: Look) -> bool:
    source = look.source
    rows = fetch_all(
        sql="SELECT find_barrier_v1(%s, %s, NULL, NULL, NULL, ARRAY[%s, %s]::uuid[], %s)",
        params=[look.caller.tenant_id, source.scope_id, source.id, source.root, source.deletion_epoch],
    )
    return rows[0][0] is not None


def ask_model(*, asking: Asking) -> Asked:
    """Ask; seconds may pass, so no transaction may be open."""
    try:
        return Asked(answer=asking.extractor.ask(asking.question))
    except ExtractionFailed as failure:
        return Asked(answer=None, failure=failure)


def keep_answer(*, tenant_id: str, asking: Asking, asked: Asked, now: datetime) -> None:
    """Record an answer in a transaction of its own, so that whatever happens next it is not asked for again."""
    if asked.answer is not None:
        own = [compile_own_pattern(kind=kind, pattern=said) for kind, said in load_own_patterns(tenant_id=tenant_id)]
        answer = replace(asked.answer, text=redact_text(asked.answer.text, own=own)[0])
        record_answer(tenant_id=tenant_id, reserved_id=asking.reserved_id, answer=answer, now=now)


def propose_answer(
    *, tenant_id: str, event_id: str, extractor_version: str, asking: Asking, asked: Asked, retries: bool, now: datetime
) -> Extracted:
    """Propose what an answer says, inside an open transaction; the event is read again, since it may be gone.

    Raises:
        Unanswered: there is no answer, another attempt may bring one, and `retries` says that it will be made.
    """
    look = read_event(tenant_id=tenant_id, event_id=event_id, extractor_version=extractor_version)
    if look is None:
        return Extracted(0, "event_gone")
    if asked.failure is not None:
        if asked.failure.is_passing and retries:
            raise Unanswered(asked.failure.code)
        return propose_found(look=look, found=None, notes=(asked.failure.code,), now=now)
    answer = find_answer(tenant_id=tenant_id, reserved_id=asking.reserved_id) or ""
    return _propose_recorded(look=look, extractor=asking.extractor, question=asking.question, answer=answer, now=now)


def _propose_recorded(
    *, look: Look, extractor: ModelExtractor, question: Question, answer: str, now: datetime
) -> Extracted:
    try:
        found, notes = extractor.read_answer(answer, look.words, look.context, question)
    except ExtractionFailed as failure:
        return propose_found(look=look, found=None, notes=(failure.code,), now=now)
    return propose_found(look=look, found=found, notes=notes, now=now)


def read_event(*, tenant_id: str, event_id: str, extractor_version: str) -> Look | None:
    """Return an event as an extractor sees it, or None if there are no words of it (any more)."""
    rows = fetch_all(sql=_EVENT, params=[tenant_id, event_id])
    if not rows or rows[0][7] is None:
        return None
    row = rows[0]
    payload = json.loads(row[7]) if isinstance(row[7], str) else row[7]
    text = words_of(payload)
    trust = Trust(row[2])
    caller = Caller(
        principal_id=row[13],
        tenant_id=tenant_id,
        tenant_slug=row[24],
        kind=row[14],
        name=row[15],
        rank=row[16],
        groups=frozenset(),
        actions=None,
        digest_key=derive_digest_key(salt=bytes.fromhex(row[25])),
    )
    scope = ScopeAccess(
        id=row[1],
        kind=row[17],
        key=row[18],
        name=row[19],
        owner_id=row[20],
        deletion_epoch=row[21],
        retention_class=row[22],
        access_policy_id=row[23],
        rights=frozenset(),
    )
    source = SourceFacts(
        id=row[0],
        scope_id=row[1],
        sender_id=row[13],
        actor=Actor(row[9], row[10], frozenset(row[12])),
        trust=trust,
        occurred_at=row[3],
        source_seq=row[4],
        order_digest=row[5],
        text=text,
        root=row[6],
        deletion_epoch=row[26],
        is_person=row[29] == PrincipalKind.HUMAN,
        **judge_source(
            source_type=row[27], payload=payload, content_ref=row[30], is_person=row[29] == PrincipalKind.HUMAN
        ),
    )
    words = EventText(
        text=text,
        subject=f"person:{row[11]}",
        is_first_party=trust is Trust.FIRST_PARTY,
        occurred_at=row[3],
        source_type=row[27],
        source_seq=row[4],
    )
    try:
        extractor = get_extractor(version=extractor_version)
    except ExtractorMissing:
        extractor = None
    context = ExtractionContext(
        entity_types=_list_entity_types(tenant_id=tenant_id) if isinstance(extractor, ModelExtractor) else frozenset(),
        predicates=_list_predicates(tenant_id=tenant_id),
        earlier=_list_earlier(tenant_id=tenant_id, source=source, words=words, session=row[28]),
    )
    return Look(event_id, row[8], extractor_version, extractor, words, context, caller, scope, source)


def _list_entity_types(*, tenant_id: str) -> frozenset[str]:
    rows = fetch_all(sql="SELECT name FROM entity_types WHERE tenant_id = %s", params=[tenant_id])
    return frozenset(str(row[0]) for row in rows)


def _list_predicates(*, tenant_id: str) -> tuple[DeclaredPredicate, ...]:
    """Return the tenant's fact keys with what people call them; a pattern of keys has no value of its own."""
    rows = fetch_records(
        sql="SELECT * FROM predicates WHERE tenant_id = %s AND strpos(fact_key, '*') = 0 ORDER BY fact_key",
        params=[tenant_id],
    )
    return tuple(
        DeclaredPredicate(
            fact_key=row["fact_key"],
            labels=list_labels(fact_key=row["fact_key"], name=row.get("name") or ""),
            value_schema=row["value_schema"] if isinstance(row["value_schema"], dict) else None,
            is_many=row["cardinality"] == Cardinality.MANY,
        )
        for row in rows
    )


def list_labels(*, fact_key: str, name: str) -> tuple[str, ...]:
    """Return the words for a predicate: the names it was given, and its key where that has several words.

    Names in several languages stand in one text, with `/`, `;` or `|` between.
    """
    named = [part.strip() for part in re.split("[/;|；、]", name) if part.strip()]
    last = fact_key.rpartition(".")[2]
    if "_" in last:
        named.append(last.replace("_", " "))
    return tuple(dict.fromkeys(named))


def _list_earlier(*, tenant_id: str, source: SourceFacts, words: EventText, session: str) -> tuple[EventText, ...]:
    if not session or not may_correct(text=words.text):
        return ()
    rows = fetch_records(
        sql=_EARLIER,
        params={
            "tenant": tenant_id,
            "scope": source.scope_id,
            "session": session,
            "actor": source.actor.id,
            "event": source.id,
            "source_type": words.source_type,
            "trust": str(source.trust),
            "at": words.occurred_at,
            "seq": words.source_seq,
        },
    )
    return tuple(
        replace(
            words,
            text=words_of(row["payload"]),
            occurred_at=row["occurred_at"],
            source_seq=row["source_seq"],
        )
        for row in rows
    )


def propose_found(*, look: Look, found: list[Proposal] | None, notes: tuple[str, ...], now: datetime) -> Extracted:
    """Propose what was found, or the words themselves where nothing could be read (None) or something was refused.

    `notes` are codes of what failed or was refused so far.
    """
    transcript = propose_transcript(event=look.words, key=look.event_id)
    told = list(notes)
    refused = found is None or bool(notes)
    found = found or []
    if len(found) > MOST_PROPOSALS:
        told.append(f"more_than_{MOST_PROPOSALS}")
    waiting = deque(found[:MOST_PROPOSALS])
    if refused:
        waiting.append(transcript)
    proposed = number = 0
    while waiting:
        proposal = waiting.popleft()
        try:
            _propose(look, _describe(proposal, look, number), now)
            proposed += 1
        except tuple(_REFUSALS) as refusal:
            told.append(_REFUSALS[type(refusal)])
            if proposal is not transcript and transcript not in waiting:
                waiting.append(transcript)
        number += 1
    return Extracted(proposed, " ".join(dict.fromkeys(told)))


def _propose(look: Look, proposal: CandidateInput, now: datetime) -> None:
    """Propose; somebody whom nobody declared, and whose type the words do not tell, is a question to a person."""
    redacted = redact_proposal(caller=look.caller, proposal=proposal)
    try:
        draft = draft_candidate(caller=look.caller, scope=look.scope, proposal=redacted, source=look.source, now=now)
    except MentionUnknown:
        if redacted.mention is None:
            raise
        asked = replace(redacted, mention=replace(redacted.mention, is_uncertain=True))
        draft = draft_candidate(caller=look.caller, scope=look.scope, proposal=asked, source=look.source, now=now)
    append_candidate(caller=look.caller, draft=draft, now=now)


def _describe(proposal: Proposal, look: Look, number: int) -> CandidateInput:
    return CandidateInput(
        scope=(look.scope.kind, look.scope.key),
        subject=proposal.subject if proposal.mention is None else "",
        mention=proposal.mention,
        fact_key=proposal.fact_key,
        content=proposal.content,
        value=proposal.value,
        kind=proposal.kind,
        memory_type=proposal.memory_type,
        conditions=proposal.conditions,
        epistemic_status=proposal.epistemic_status,
        confidence=proposal.confidence,
        stance=proposal.stance,
        valid_from=proposal.valid_from,
        valid_to=proposal.valid_to,
        statement=number,
        extractor=look.extractor_version.partition("/")[0],
        extractor_version=look.extractor_version,
        rule_digest=proposal.rule_digest,
        evidence=(EvidenceInput(event_id=look.event_key, span=proposal.span),),
    )
