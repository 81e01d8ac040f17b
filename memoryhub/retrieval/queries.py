"""Find memories by their terms, and read what an answer shows of them, at two instants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memoryhub.lib.db import fetch_all, fetch_records
from memoryhub.retrieval.terms import write_terms

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memoryhub.types.temporal import AsOf


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """Hold one memory as it held at the two instants, with the belief of its head."""

    memory_id: str
    version: int
    part: int
    scope_id: str
    scope_kind: str
    scope_key: str
    subject: str
    memory_type: str
    fact_key: str
    conditions: dict[str, Any]
    content: str
    value: Any
    epistemic_status: str
    modality: str
    confidence: float
    independent_evidence_count: int
    valid_from: datetime
    valid_to: datetime | None
    recorded_from: datetime
    recorded_to: datetime | None
    occurred_at: datetime
    head_version: int
    has_open_conflict: bool
    relevance: float
    state: str


_FOUND = """
    SELECT head.id::text AS memory_id, held.version, held.part, head.scope_id::text, scope.kind AS scope_kind,
        scope.key AS scope_key, subject.label AS subject, head.memory_type, head.fact_key, head.conditions,
        held.content, held.value, held.epistemic_status,
        head.modality, head.confidence, held.independent_evidence_count, held.valid_from, held.valid_to,
        held.recorded_from, held.recorded_to, held.occurred_at, head.version AS head_version,
        head.has_open_conflict, found.relevance, held.state
    FROM search_memories_v1(%(tenant)s, %(scopes)s::uuid[], %(terms)s::text[], %(valid)s, %(recorded)s, %(limit)s) found
    JOIN memory_heads head ON head.tenant_id = %(tenant)s AND head.id = found.memory
    JOIN memory_versions held ON held.tenant_id = %(tenant)s AND held.id = found.version_row
    JOIN scopes scope ON scope.tenant_id = head.tenant_id AND scope.id = head.scope_id
    JOIN subjects subject ON subject.tenant_id = head.tenant_id AND subject.id = head.subject_id
    WHERE held.scope_id = ANY (%(scopes)s::uuid[])
    ORDER BY found.relevance DESC, head.id
"""


def search_memories(
    *, tenant_id: str, scope_ids: Sequence[str], text: str, as_of: AsOf, limit: int
) -> list[FoundMemory]:
    """Return memories that held at the two instants and share a term with the text, most relevant first.

    Every row is read from heads and versions as they stand: the projection only says where to look.
    """
    terms = write_terms(text=text)
    if not terms or not scope_ids:
        return []
    rows = fetch_records(
        sql=_FOUND,
        params={
            "tenant": tenant_id,
            "scopes": list(scope_ids),
            "terms": terms,
            "valid": as_of.valid_at,
            "recorded": as_of.recorded_at,
            "limit": limit,
        },
    )
    return [FoundMemory(**row) for row in rows]


def has_caught_up(*, tenant_id: str, memory_id: str, version: int) -> bool:
    """Return whether this server holds the version of a memory and a search can find it.

    Looks at the head, at its document, and only where that is behind or away (there is nothing to find) at what
    still waits to be told to the search, never at all that was told.
    """
    rows = fetch_all(
        sql="""
            SELECT EXISTS (SELECT FROM memory_heads
                           WHERE tenant_id = %(tenant)s AND id = %(memory)s AND version >= %(version)s)
                AND (EXISTS (SELECT FROM search_documents
                             WHERE tenant_id = %(tenant)s AND memory_id = %(memory)s AND applied_version >= %(version)s)
                     OR NOT EXISTS (SELECT FROM outbox
                                    WHERE state = 'waiting' AND tenant_id = %(tenant)s AND key = %(memory)s
                                      AND version <= %(version)s AND 'search' <> ALL (told_to))
                        AND NOT EXISTS (SELECT FROM outbox
                                        WHERE state = 'dead' AND tenant_id = %(tenant)s AND key = %(memory)s
                                          AND version <= %(version)s AND 'search' <> ALL (told_to)))
        """,
        params={"tenant": tenant_id, "memory": memory_id, "version": version},
    )
    return bool(rows[0][0])
