"""Extract: let an extractor look at one event, and propose what it finds."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryhub.access.callers import Actor, Caller, derive_digest_key
from memoryhub.access.queries import ScopeAccess
from memoryhub.extraction import get_extractor
from memoryhub.extraction.fallback import propose_transcript
from memoryhub.extraction.interfaces import EventText, ExtractionFailed, Proposal
from memoryhub.lib.db import fetch_all
from memoryhub.types.entity import BadSubjectKey, UndeclaredEntityType
from memoryhub.types.enums import Trust
from memoryhub.usecases.propose import (
    CandidateInput,
    CandidateReused,
    EvidenceInput,
    EvidenceNotQuoted,
    PeriodRefused,
    SourceFacts,
    ValueRefused,
    append_candidate,
    draft_candidate,
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
        record.deletion_epoch
    FROM source_events record
    JOIN principals author ON author.id = record.actor_id
    JOIN principals sender ON sender.id = record.sender_id
    JOIN scopes scope ON scope.tenant_id = record.tenant_id AND scope.id = record.scope_id
    JOIN tenants tenant ON tenant.id = record.tenant_id
    LEFT JOIN source_event_bodies body ON body.event_id = record.id
    WHERE record.tenant_id = %s AND record.id = %s
"""


MOST_PROPOSALS = 20
_REFUSALS: dict[type[Exception], str] = {
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


def extract_event(*, tenant_id: str, event_id: str, extractor_version: str, now: datetime) -> Extracted:
    """Propose what an extractor finds in an event, inside an open transaction: the first 20 proposals of it.

    When the extractor fails, or a proposal is refused, the words themselves are proposed at low confidence; the
    other proposals are made all the same. Failure, refusals and more than 20 stand in the note. An event without
    a body (erased, or behind a barrier) proposes nothing.
    """
    rows = fetch_all(sql=_EVENT, params=[tenant_id, event_id])
    if not rows or rows[0][7] is None:
        return Extracted(0)
    row = rows[0]
    text = words_of(json.loads(row[7]) if isinstance(row[7], str) else row[7])
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
    )
    words = EventText(
        text=text,
        subject=f"person:{row[11]}",
        is_first_party=trust is Trust.FIRST_PARTY,
        occurred_at=row[3],
    )
    transcript = propose_transcript(event=words, key=event_id)
    notes: list[str] = []
    try:
        found = get_extractor(version=extractor_version).extract(words)
    except ExtractionFailed:
        found = [transcript]
        notes.append("extraction_failed")
    if len(found) > MOST_PROPOSALS:
        notes.append(f"more_than_{MOST_PROPOSALS}")
    waiting = deque(found[:MOST_PROPOSALS])
    proposed = number = 0
    while waiting:
        proposal = waiting.popleft()
        try:
            draft = draft_candidate(
                caller=caller,
                scope=scope,
                proposal=_describe(proposal, scope, row[8], extractor_version, number),
                source=source,
                now=now,
            )
            append_candidate(caller=caller, draft=draft, now=now)
            proposed += 1
        except tuple(_REFUSALS) as refusal:
            notes.append(_REFUSALS[type(refusal)])
            if proposal is not transcript and transcript not in waiting:
                waiting.append(transcript)
        number += 1
    return Extracted(proposed, " ".join(dict.fromkeys(notes)))


def _describe(
    proposal: Proposal, scope: ScopeAccess, event_key: str, extractor_version: str, number: int
) -> CandidateInput:
    return CandidateInput(
        scope=(scope.kind, scope.key),
        subject=proposal.subject,
        fact_key=proposal.fact_key,
        content=proposal.content,
        value=proposal.value,
        evidence=(EvidenceInput(event_id=event_key, span=proposal.span),),
        kind=proposal.kind,
        memory_type=proposal.memory_type,
        conditions=proposal.conditions,
        epistemic_status=proposal.epistemic_status,
        confidence=proposal.confidence,
        statement=number,
        extractor=extractor_version.partition("/")[0],
        extractor_version=extractor_version,
    )
