"""Read the queues: what waits for a person, in the scopes where the viewer may decide it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryhub.access.callers import Caller
from memoryhub.access.queries import list_scopes
from memoryhub.kernel.lineage import count_lineages
from memoryhub.lib.db import fetch_all, fetch_records
from memoryhub.types.enums import ReviewKind

REVIEW = "review_memory"
PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """What a list of items is narrowed to; the same filter drives the next item after a decision."""

    kind: str
    text: str = ""
    scope: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One open item of a queue. `standing` None and no `has_standing` mean that nothing stands yet."""

    id: str
    opened_at: datetime
    reason: str
    waiting_on: str
    lease_holder_id: str | None
    lease_holder: str | None
    lease_expires_at: datetime | None
    subject: str
    scope_kind: str
    scope_key: str
    memory_type: str
    fact_key: str
    conditions: dict[str, Any]
    value: Any
    has_standing: bool
    standing: Any
    support: int
    opposition: int
    sources: int
    proposer: str
    memory_id: str | None


@dataclass(frozen=True, slots=True)
class Facet:
    """One value a list can be narrowed to, and how many items it would leave."""

    value: str
    count: int


def list_reviewable_scopes(*, caller: Caller, kind: str) -> list[str]:
    """Return the ids of the scopes whose items of a kind the caller may decide.

    A confirmation is the owner's to give; a reviewer of the scope sees it too.
    """
    return [
        scope.id
        for scope in list_scopes(caller=caller)
        if REVIEW in scope.rights or (kind == ReviewKind.CONFIRMATION and scope.owner_id == caller.principal_id)
    ]


def count_open_items(*, caller: Caller, now: datetime) -> dict[str, int]:
    """Count the open items of each kind that the caller may decide; a kind that they may not is left out."""
    counts = {}
    for kind in (ReviewKind.CONFLICT, ReviewKind.CONFIRMATION, ReviewKind.REREVIEW):
        scopes = list_reviewable_scopes(caller=caller, kind=kind)
        if not scopes:
            continue
        rows = fetch_all(
            sql="""
                SELECT count(*) FROM review_items
                WHERE tenant_id = %s AND kind = %s AND state = 'open' AND scope_id = ANY (%s::uuid[])
                  AND (deferred_until IS NULL OR deferred_until <= %s)
            """,
            params=[caller.tenant_id, kind, scopes, now],
        )
        counts[str(kind)] = rows[0][0]
    return counts


_MATCHING = """
    FROM review_items item
    JOIN memory_candidates candidate ON candidate.tenant_id = item.tenant_id AND candidate.id = item.candidate_id
    JOIN scopes scope ON scope.tenant_id = item.tenant_id AND scope.id = item.scope_id
    JOIN subjects subject ON subject.tenant_id = item.tenant_id AND subject.id = candidate.subject_id
    WHERE item.tenant_id = %(tenant)s AND item.kind = %(kind)s AND item.state = 'open'
      AND item.scope_id = ANY (%(scopes)s::uuid[])
      AND (item.deferred_until IS NULL OR item.deferred_until <= %(now)s)
      AND NOT EXISTS (SELECT FROM unnest(%(words)s::text[]) AS word WHERE strpos(lower(concat_ws(' ', subject.label,
           candidate.fact_key, (SELECT string_agg(key || ' = ' || (value #>> '{}'), ', ')
           FROM jsonb_each(candidate.conditions)), candidate.content, candidate.value #>> '{}')), lower(word)) = 0)
      AND (%(scope)s = '' OR scope.kind || ':' || scope.key = %(scope)s)
      AND (%(reason)s = '' OR item.reason = %(reason)s)
"""
_IDS = "SELECT item.id::text" + _MATCHING + "ORDER BY item.opened_at, item.id"
_ROWS = (
    "WITH matching AS (SELECT item.*"  # noqa: S608  constants of this module
    + _MATCHING
    + """ORDER BY item.opened_at, item.id LIMIT %(limit)s OFFSET %(offset)s)
    SELECT item.id::text, item.opened_at, item.reason, item.waiting_on, item.lease_holder_id::text,
        coalesce(nullif(holder.display_name, ''), holder.username) AS lease_holder, item.lease_expires_at,
        subject.label AS subject, scope.kind AS scope_kind, scope.key AS scope_key, candidate.memory_type,
        candidate.fact_key, candidate.conditions, candidate.value, standing.id IS NOT NULL AS has_standing,
        standing.value AS standing, claims.support, claims.opposition,
        coalesce(claims.sources, 1) AS sources,
        coalesce(nullif(proposer.display_name, ''), proposer.username) AS proposer, item.memory_id::text
    FROM matching item
    JOIN memory_candidates candidate ON candidate.tenant_id = item.tenant_id AND candidate.id = item.candidate_id
    JOIN scopes scope ON scope.tenant_id = item.tenant_id AND scope.id = item.scope_id
    JOIN subjects subject ON subject.tenant_id = item.tenant_id AND subject.id = candidate.subject_id
    JOIN principals proposer ON proposer.id = candidate.proposer_id
    LEFT JOIN principals holder ON holder.id = item.lease_holder_id
    LEFT JOIN LATERAL (
        SELECT part.id, part.value, part.value_digest, part.valid_from FROM memory_versions part
        WHERE part.tenant_id = item.tenant_id AND part.memory_id = item.memory_id AND part.recorded_to IS NULL
          AND (part.valid_to IS NULL OR part.valid_to > candidate.valid_from)
          AND (candidate.valid_to IS NULL OR part.valid_from < candidate.valid_to)
        ORDER BY part.value_digest IS NOT DISTINCT FROM candidate.value_digest, part.valid_from LIMIT 1
    ) standing ON true
    LEFT JOIN LATERAL (
        SELECT coalesce(jsonb_agg(DISTINCT claim.roots) FILTER (WHERE claim.value_digest IS NOT DISTINCT FROM
                   standing.value_digest), '[]') AS support,
               coalesce(jsonb_agg(DISTINCT claim.roots) FILTER (WHERE claim.value_digest IS NOT DISTINCT FROM
                   candidate.value_digest), '[]') AS opposition,
               count(*) AS sources
        FROM memory_evidence claim
        WHERE claim.tenant_id = item.tenant_id AND claim.memory_id = item.memory_id AND claim.withdrawn_by IS NULL
          AND (standing.valid_from IS NULL OR claim.valid_from >= standing.valid_from)
    ) claims ON item.memory_id IS NOT NULL
    ORDER BY item.opened_at, item.id
"""
)
_FACETS = {
    "scope": "SELECT scope.kind || ':' || scope.key, count(*)" + _MATCHING + "GROUP BY 1 ORDER BY 1",
    "reason": "SELECT item.reason, count(*)" + _MATCHING + "GROUP BY 1 ORDER BY 1",
}


def list_item_ids(*, caller: Caller, wanted: QueueFilter, now: datetime) -> list[str]:
    """Return the ids of all matching items, oldest first."""
    return [row[0] for row in fetch_all(sql=_IDS, params=_describe(caller, wanted, now))]


def list_items(*, caller: Caller, wanted: QueueFilter, now: datetime, offset: int) -> list[ItemRow]:
    """Return one page of matching items, oldest first."""
    params = _describe(caller, wanted, now) | {"limit": PAGE_SIZE, "offset": offset}
    return [ItemRow(**_count_sides(row)) for row in fetch_records(sql=_ROWS, params=params)]


def _count_sides(row: dict[str, Any]) -> dict[str, Any]:
    """Count the lineages of each side; a candidate without a memory stands alone against nothing."""
    support, opposition = row["support"], row["opposition"]
    return row | {
        "support": 0 if support is None else count_lineages(pieces=map(set, support)),
        "opposition": 1 if opposition is None else count_lineages(pieces=map(set, opposition)),
    }


def list_facets(*, caller: Caller, wanted: QueueFilter, now: datetime, name: str) -> list[Facet]:
    """Return what the matching items can be narrowed to by scope or by reason."""
    params = _describe(caller, wanted, now) | {name: ""}
    return [Facet(value=row[0], count=row[1]) for row in fetch_all(sql=_FACETS[name], params=params)]


def _describe(caller: Caller, wanted: QueueFilter, now: datetime) -> dict[str, Any]:
    return {
        "tenant": caller.tenant_id,
        "scopes": list_reviewable_scopes(caller=caller, kind=wanted.kind),
        "kind": wanted.kind,
        "words": wanted.text.split(),
        "scope": wanted.scope,
        "reason": wanted.reason,
        "now": now,
    }
