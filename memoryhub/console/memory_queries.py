"""Read what the memory page and the list of memories show beside the memory's own queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryhub.access.callers import Caller
from memoryhub.access.queries import list_scopes
from memoryhub.console.queue_queries import Facet
from memoryhub.lib.db import fetch_all, fetch_records
from memoryhub.memory.queries import VIEW

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """One claim of a memory with one piece of its evidence; a claim without evidence has an empty `kind`."""

    source: str
    candidate_id: str
    stance: str
    value: Any
    weight: float
    roots: list[str]
    author: str
    trust: str
    source_type: str
    valid_from: datetime
    effective: bool
    received_at: datetime
    kind: str
    position: str
    span_start: int | None
    span_end: int | None
    digest: str
    availability: str
    quote: str | None
    salt: str | None
    is_dismissed: bool
    words: Any


# The claims of a memory, and one candidate that may not be among them yet: each with its pieces of evidence.
_CLAIMS = """
    WITH made AS (
        SELECT candidate_id AS id FROM memory_evidence
        WHERE tenant_id = %(tenant)s AND memory_id = %(memory)s AND withdrawn_by IS NULL
        UNION SELECT %(candidate)s::uuid
    )
    SELECT coalesce(claim.source_kind, candidate.source_kind) || ':'
            || coalesce(claim.source_id, candidate.source_id, candidate.source_event_id) || ':'
            || coalesce(claim.statement, candidate.statement) AS source,
        candidate.id::text AS candidate_id, coalesce(claim.stance, candidate.stance) AS stance, candidate.value,
        coalesce(claim.weight, candidate.confidence) AS weight, coalesce(claim.roots, ARRAY(
            SELECT DISTINCT root.root FROM candidate_evidence held JOIN evidence_roots root
            ON root.tenant_id = held.tenant_id AND root.evidence_id = held.evidence_id
            WHERE held.tenant_id = candidate.tenant_id AND held.candidate_id = candidate.id))::text[] AS roots,
        coalesce(nullif(author.display_name, ''), author.username) AS author, event.trust, event.source_type,
        candidate.valid_from, candidate.effective, event.ingested_at AS received_at, coalesce(item.kind, '') AS kind,
        coalesce(item.position, '') AS position, item.span_start, item.span_end, coalesce(item.digest, '') AS digest,
        coalesce(item.availability, '') AS availability,
        CASE WHEN item.availability = 'available' THEN body.quote END AS quote,
        encode(body.salt, 'hex') AS salt, claim.superseded_at IS NOT NULL AS is_dismissed,
        CASE WHEN item.span_start IS NOT NULL AND item.availability = 'available' THEN words.payload END AS words
    FROM made
    JOIN memory_candidates candidate ON candidate.tenant_id = %(tenant)s AND candidate.id = made.id
    JOIN principals author ON author.id = candidate.author_id
    JOIN source_events event ON event.tenant_id = candidate.tenant_id AND event.id = candidate.source_event_id
    LEFT JOIN memory_evidence claim ON claim.tenant_id = candidate.tenant_id AND claim.memory_id = %(memory)s
        AND claim.candidate_id = candidate.id AND claim.withdrawn_by IS NULL
    LEFT JOIN candidate_evidence link ON link.tenant_id = candidate.tenant_id AND link.candidate_id = candidate.id
    LEFT JOIN evidence item ON item.tenant_id = candidate.tenant_id AND item.id = link.evidence_id
    LEFT JOIN evidence_bodies body ON body.tenant_id = candidate.tenant_id AND body.evidence_id = item.id
    LEFT JOIN source_event_bodies words ON words.tenant_id = candidate.tenant_id AND words.event_id = item.event_id
    ORDER BY candidate.valid_from, event.source_seq, event.event_key_digest, item.id
"""


def list_claims(*, tenant_id: str, memory_id: str | None, candidate_id: str | None = None) -> list[ClaimRow]:
    """Return every claim of a memory with its evidence, oldest first, and a candidate's beside them.

    Withdrawn claims are no part of the set.
    """
    params = {"tenant": tenant_id, "memory": memory_id, "candidate": candidate_id}
    return [ClaimRow(**row) for row in fetch_records(sql=_CLAIMS, params=params)]


def list_notes(*, tenant_id: str, memory_id: str) -> dict[str, str]:
    """Return what people wrote with their decisions on a memory, by the id of the decision."""
    rows = fetch_all(
        sql="""
            SELECT item.decision_id::text, said.text FROM review_items item
            JOIN review_comments said ON said.tenant_id = item.tenant_id AND said.item_id = item.id
            WHERE item.tenant_id = %s AND item.memory_id = %s AND item.decision_id IS NOT NULL AND said.text <> ''
            ORDER BY said.created_at
        """,
        params=[tenant_id, memory_id],
    )
    return dict(rows)


def list_withdrawn(*, tenant_id: str, memory_id: str) -> frozenset[str]:
    """Return the candidates whose claim a revocation took out of the set: their values are shown nowhere."""
    rows = fetch_all(
        sql="""
            SELECT candidate_id::text FROM memory_evidence
            WHERE tenant_id = %s AND memory_id = %s AND withdrawn_by IS NOT NULL
        """,
        params=[tenant_id, memory_id],
    )
    return frozenset(row[0] for row in rows)


def find_open_item(*, tenant_id: str, memory_id: str) -> tuple[str, str] | None:
    """Return (kind, id) of the item in which this memory waits for a person, or None."""
    rows = fetch_all(
        sql="""
            SELECT kind, id::text FROM review_items
            WHERE tenant_id = %s AND memory_id = %s AND state = 'open' AND kind <> 'rereview'
            ORDER BY opened_at LIMIT 1
        """,
        params=[tenant_id, memory_id],
    )
    return (rows[0][0], rows[0][1]) if rows else None


def find_rereview(*, tenant_id: str, memory_id: str) -> tuple[str, str] | None:
    """Return (id, reason) of the item in which this memory waits to be looked at again, or None."""
    rows = fetch_all(
        sql="""
            SELECT id::text, reason FROM review_items
            WHERE tenant_id = %s AND object_id = %s AND state = 'open' AND kind = 'rereview'
        """,
        params=[tenant_id, memory_id],
    )
    return (rows[0][0], rows[0][1]) if rows else None


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """What the list of memories is narrowed to."""

    text: str = ""
    scope: str = ""
    modality: str = ""


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One memory of the list, with what it answers now."""

    id: str
    scope_kind: str
    scope_key: str
    subject: str
    memory_type: str
    fact_key: str
    conditions: dict[str, Any]
    version: int
    modality: str
    confidence: float
    independent: int
    has_answer: bool
    value: Any
    valid_from: datetime | None
    valid_to: datetime | None


_LISTED = """
    FROM memory_heads head
    JOIN scopes scope ON scope.tenant_id = head.tenant_id AND scope.id = head.scope_id
    JOIN subjects subject ON subject.tenant_id = head.tenant_id AND subject.id = head.subject_id
    LEFT JOIN LATERAL (
        SELECT part.value, part.is_absent, part.valid_from, part.valid_to FROM memory_versions part
        WHERE part.tenant_id = head.tenant_id AND part.memory_id = head.id AND part.recorded_to IS NULL
          AND part.state IN ('active', 'needs_review') AND part.valid_from <= %(now)s
          AND (part.valid_to IS NULL OR part.valid_to > %(now)s)
        LIMIT 1
    ) answer ON true
    WHERE head.tenant_id = %(tenant)s AND head.scope_id = ANY (%(scopes)s::uuid[])
      AND NOT EXISTS (SELECT FROM unnest(%(words)s::text[]) AS word WHERE strpos(lower(concat_ws(' ', subject.label,
           head.fact_key, (SELECT string_agg(key || ' = ' || (value #>> '{}'), ', ') FROM jsonb_each(head.conditions)),
           answer.value #>> '{}')), lower(word)) = 0)
      AND (%(scope)s = '' OR scope.kind || ':' || scope.key = %(scope)s)
      AND (%(modality)s = '' OR head.modality = %(modality)s)
"""
# Conditions by their numbers, so that 1.10 follows 1.9.
_ORDER = """
    ORDER BY subject.label, head.fact_key,
        ARRAY(SELECT found[1]::numeric FROM regexp_matches(head.conditions::text, '[0-9]+', 'g') AS found),
        head.conditions::text, head.id
    LIMIT %(limit)s OFFSET %(offset)s
"""
_MEMORIES = (
    """
    SELECT head.id::text, scope.kind AS scope_kind, scope.key AS scope_key, subject.label AS subject, head.memory_type,
        head.fact_key, head.conditions, head.version, head.modality, head.confidence,
        head.independent_evidence_count AS independent,
        answer.valid_from IS NOT NULL AND NOT answer.is_absent AS has_answer, answer.value, answer.valid_from,
        answer.valid_to
"""
    + _LISTED
    + _ORDER
)
_MEMORY_FACETS = {
    "scope": "SELECT scope.kind || ':' || scope.key, count(*)" + _LISTED + "GROUP BY 1 ORDER BY 1",
    "modality": "SELECT head.modality, count(*)" + _LISTED + "GROUP BY 1 ORDER BY 1",
}


def list_memories(*, caller: Caller, wanted: MemoryFilter, now: datetime, offset: int) -> list[MemoryRow]:
    """Return one page of the memories the caller may see, by subject and key."""
    params = _describe(caller, wanted, now) | {"limit": PAGE_SIZE, "offset": offset}
    return [MemoryRow(**row) for row in fetch_records(sql=_MEMORIES, params=params)]


def list_memory_facets(*, caller: Caller, wanted: MemoryFilter, now: datetime, name: str) -> list[Facet]:
    """Return what the list can be narrowed to by scope or by modality."""
    params = _describe(caller, wanted, now) | {name: ""}
    return [Facet(value=row[0], count=row[1]) for row in fetch_all(sql=_MEMORY_FACETS[name], params=params)]


def count_memories(*, caller: Caller, wanted: MemoryFilter, now: datetime) -> int:
    """Count the memories of the list."""
    return int(fetch_all(sql="SELECT count(*)" + _LISTED, params=_describe(caller, wanted, now))[0][0])


def _describe(caller: Caller, wanted: MemoryFilter, now: datetime) -> dict[str, Any]:
    return {
        "tenant": caller.tenant_id,
        "scopes": [scope.id for scope in list_scopes(caller=caller, right=VIEW)],
        "words": wanted.text.split(),
        "scope": wanted.scope,
        "modality": wanted.modality,
        "now": now,
    }
