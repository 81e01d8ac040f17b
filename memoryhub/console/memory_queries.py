"""Read one memory or many: head, parts, claims with their evidence, decisions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryhub.access.callers import Caller
from memoryhub.access.queries import ScopeNotFound, access_scope_by_id, list_scopes
from memoryhub.console.queue_queries import Facet
from memoryhub.console.rows import read_json, read_row
from memoryhub.lib.db import fetch_all

VIEW = "view_memory"
PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class HeadRow:
    """One memory as it stands."""

    id: str
    scope_id: str
    scope_kind: str
    scope_key: str
    subject: str
    memory_type: str
    fact_key: str
    conditions: dict[str, Any]
    version: int
    has_open_conflict: bool
    modality: str
    confidence: float
    support: float
    opposition: float
    independent: int
    authority: str
    retention_class: str


@dataclass(frozen=True, slots=True)
class PartRow:
    """One part of one version, held now or once."""

    id: str
    version: int
    part: int
    value: Any
    value_digest: str | None
    state: str
    epistemic_status: str
    author: str
    author_rank: int
    valid_from: datetime
    valid_to: datetime | None
    recorded_from: datetime
    recorded_to: datetime | None
    content: str


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """One claim of a memory with one piece of its evidence; a claim without evidence has `evidence_id` None."""

    source: str
    candidate_id: str
    stance: str
    value: Any
    value_digest: str | None
    weight: float
    roots: list[str]
    author: str
    trust: str
    source_type: str
    valid_from: datetime
    effective: bool
    received_at: datetime
    evidence_id: str | None
    kind: str
    position: str
    span_start: int | None
    span_end: int | None
    digest: str
    availability: str
    quote: str | None
    salt: bytes | None
    is_dismissed: bool
    words: Any
    is_claim: bool


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One decision on a memory, with the value it was about."""

    action: str
    reason: str
    requires_person: bool
    policy_version: str
    decider: str | None
    author: str
    expected_version: int
    resulting_version: int
    recorded_at: datetime
    value: Any
    replaced: Any
    has_replaced: bool
    note: str
    outcome: str


_HEAD = """
    SELECT head.id::text, head.scope_id::text, scope.kind, scope.key, subject.label, head.memory_type, head.fact_key,
        head.conditions, head.version, head.has_open_conflict, head.modality, head.confidence, head.support,
        head.opposition, head.independent_evidence_count, head.authority, scope.retention_class
    FROM memory_heads head
    JOIN scopes scope ON scope.tenant_id = head.tenant_id AND scope.id = head.scope_id
    JOIN subjects subject ON subject.tenant_id = head.tenant_id AND subject.id = head.subject_id
    WHERE head.tenant_id = %(tenant)s
"""


def _read_head(row: tuple[Any, ...]) -> HeadRow:
    return HeadRow(*read_row(row[:17], 7))


def access_memory(*, caller: Caller, memory_id: str) -> HeadRow:
    """Return a memory that the caller may see.

    Raises:
        ScopeNotFound: unknown, or in a scope the caller may not know of.
        ScopeForbidden: the caller may know of the scope, but not see its memories.
    """
    rows = fetch_all(sql=_HEAD + "AND head.id = %(id)s", params={"tenant": caller.tenant_id, "id": memory_id})
    if not rows:
        raise ScopeNotFound
    head = _read_head(rows[0])
    access_scope_by_id(caller=caller, right=VIEW, scope_id=head.scope_id)
    return head


def list_parts(*, tenant_id: str, memory_id: str) -> list[PartRow]:
    """Return every part of every version, newest first."""
    rows = fetch_all(
        sql="""
            SELECT part.id::text, part.version, part.part, part.value, part.value_digest, part.state,
                part.epistemic_status, coalesce(nullif(author.display_name, ''), author.username), part.author_rank,
                part.valid_from, part.valid_to, part.recorded_from, part.recorded_to, part.content
            FROM memory_versions part JOIN principals author ON author.id = part.author_id
            WHERE part.tenant_id = %s AND part.memory_id = %s
            ORDER BY part.version DESC, part.part DESC
        """,
        params=[tenant_id, memory_id],
    )
    return [PartRow(*read_row(row, 3)) for row in rows]


# The claims of a memory, and one candidate that may not be among them yet: each with its pieces of evidence.
_CLAIMS = """
    WITH made AS (
        SELECT candidate_id AS id FROM memory_evidence
        WHERE tenant_id = %(tenant)s AND memory_id = %(memory)s AND withdrawn_by IS NULL
        UNION SELECT %(candidate)s::uuid
    )
    SELECT coalesce(claim.source_kind, 'event') || ':' || coalesce(claim.source_id, candidate.source_event_id) || ':'
            || coalesce(claim.statement, candidate.statement),
        candidate.id::text, coalesce(claim.stance, candidate.stance), candidate.value, candidate.value_digest,
        coalesce(claim.weight, candidate.confidence), coalesce(claim.roots, ARRAY(
            SELECT DISTINCT root.root FROM candidate_evidence held JOIN evidence_roots root
            ON root.tenant_id = held.tenant_id AND root.evidence_id = held.evidence_id
            WHERE held.tenant_id = candidate.tenant_id AND held.candidate_id = candidate.id))::text[],
        coalesce(nullif(author.display_name, ''), author.username), event.trust, event.source_type,
        candidate.valid_from, candidate.effective, event.ingested_at, item.id::text, coalesce(item.kind, ''),
        coalesce(item.position, ''), item.span_start, item.span_end, coalesce(item.digest, ''),
        coalesce(item.availability, ''), body.quote, body.salt, claim.superseded_at IS NOT NULL,
        CASE WHEN item.span_start IS NOT NULL THEN words.payload END, claim.id IS NOT NULL
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
    return [ClaimRow(*read_row(row, 3, 23)) for row in fetch_all(sql=_CLAIMS, params=params)]


def list_decisions(*, tenant_id: str, memory_id: str) -> list[DecisionRow]:
    """Return the decisions on a memory, newest first."""
    rows = fetch_all(
        sql="""
            SELECT decision.action, decision.reason, decision.requires_person, decision.policy_version,
                coalesce(nullif(decider.display_name, ''), decider.username),
                coalesce(nullif(author.display_name, ''), author.username), decision.expected_version,
                decision.resulting_version, decision.recorded_at, candidate.value, replaced.value,
                replaced.id IS NOT NULL, coalesce(comment.text, ''), coalesce(item.outcome, '')
            FROM merge_decisions decision
            JOIN memory_candidates candidate
                ON candidate.tenant_id = decision.tenant_id AND candidate.id = decision.candidate_id
            JOIN principals author ON author.id = candidate.author_id
            LEFT JOIN principals decider ON decider.id = decision.decider_id
            LEFT JOIN review_items item ON item.tenant_id = decision.tenant_id AND item.decision_id = decision.id
            LEFT JOIN LATERAL (
                SELECT said.text FROM review_comments said
                WHERE said.tenant_id = item.tenant_id AND said.item_id = item.id
                ORDER BY said.created_at DESC LIMIT 1
            ) comment ON true
            LEFT JOIN LATERAL (
                SELECT before.id, before.value FROM memory_versions part
                JOIN memory_versions before ON before.tenant_id = part.tenant_id AND before.id = part.supersedes
                WHERE part.tenant_id = decision.tenant_id AND part.decision_id = decision.id
                  AND part.candidate_id = decision.candidate_id
                  AND before.value_digest IS DISTINCT FROM part.value_digest
                LIMIT 1
            ) replaced ON true
            WHERE decision.tenant_id = %s AND decision.memory_id = %s
            ORDER BY decision.recorded_at DESC, decision.id DESC
        """,
        params=[tenant_id, memory_id],
    )
    return [DecisionRow(*read_row(row, 9, 10)) for row in rows]


def find_open_item(*, tenant_id: str, memory_id: str) -> tuple[str, str] | None:
    """Return (kind, id) of the item in which this memory waits for a person, or None."""
    rows = fetch_all(
        sql="""
            SELECT kind, id::text FROM review_items
            WHERE tenant_id = %s AND memory_id = %s AND state = 'open' ORDER BY opened_at LIMIT 1
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

    head: HeadRow
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
      AND (%(text)s = '' OR strpos(lower(subject.label || ' ' || head.fact_key || ' ' || head.conditions::text || ' '
           || coalesce(answer.value::text, '')), lower(%(text)s)) > 0)
      AND (%(scope)s = '' OR scope.kind || ':' || scope.key = %(scope)s)
      AND (%(modality)s = '' OR head.modality = %(modality)s)
"""
_MEMORIES = (
    """
    SELECT head.id::text, head.scope_id::text, scope.kind, scope.key, subject.label, head.memory_type, head.fact_key,
        head.conditions, head.version, head.has_open_conflict, head.modality, head.confidence, head.support,
        head.opposition, head.independent_evidence_count, head.authority, scope.retention_class,
        answer.valid_from IS NOT NULL AND NOT answer.is_absent, answer.value, answer.valid_from, answer.valid_to
"""
    + _LISTED
    + "ORDER BY subject.label, head.fact_key, head.conditions::text, head.id LIMIT %(limit)s OFFSET %(offset)s"
)
_MEMORY_FACETS = {
    "scope": "SELECT scope.kind || ':' || scope.key, count(*)" + _LISTED + "GROUP BY 1 ORDER BY 1",
    "modality": "SELECT head.modality, count(*)" + _LISTED + "GROUP BY 1 ORDER BY 1",
}


def list_memories(*, caller: Caller, wanted: MemoryFilter, now: datetime, offset: int) -> list[MemoryRow]:
    """Return one page of the memories the caller may see, by subject and key."""
    params = _describe(caller, wanted, now) | {"limit": PAGE_SIZE, "offset": offset}
    return [
        MemoryRow(_read_head(row), row[17], read_json(row[18]), row[19], row[20])
        for row in fetch_all(sql=_MEMORIES, params=params)
    ]


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
        "text": wanted.text,
        "scope": wanted.scope,
        "modality": wanted.modality,
        "now": now,
    }
