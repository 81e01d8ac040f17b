"""Keep the search projection in step with the heads, and write down what an answer held."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.db import fetch_all, fetch_records
from memoryhub.lib.ids import new_id
from memoryhub.retrieval.terms import write_vector

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

_DOCUMENT = """
    SELECT head.scope_id::text, head.version, subject.label, head.fact_key, head.conditions,
        coalesce((SELECT jsonb_agg(jsonb_build_array(held.content, held.value, held.recorded_to IS NULL))
                  FROM memory_versions held
                  WHERE held.tenant_id = head.tenant_id AND held.memory_id = head.id AND NOT held.is_absent
                    AND held.state IN ('active', 'superseded', 'needs_review')), '[]') AS parts
    FROM memory_heads head
    JOIN subjects subject ON subject.tenant_id = head.tenant_id AND subject.id = head.subject_id
    WHERE head.tenant_id = %(tenant)s AND head.id = %(memory)s
"""


def index_memory(*, tenant_id: str, memory_id: str, now: datetime, version: int = 0) -> bool:
    """Bring one memory's search document up to its head; returns whether it can be found afterwards.

    Takes the scope's guard, so that a revocation is never overtaken. What is told late or twice applies nothing
    older: `version`, if the document has it already, changes nothing; else the document is made from the head as it
    stands, and a newer one is left alone, also by a head without anything to find. 0 reads the head in any case.
    """
    if version and fetch_all(
        sql="""
            SELECT 1 FROM search_documents WHERE tenant_id = %s AND memory_id = %s AND applied_version >= %s
        """,
        params=[tenant_id, memory_id, version],
    ):
        return True
    fetch_all(
        sql="""
            SELECT pg_advisory_xact_lock_shared(hashtextextended(scope_id::text, 0)) FROM memory_heads
            WHERE tenant_id = %s AND id = %s
        """,
        params=[tenant_id, memory_id],
    )
    rows = fetch_records(sql=_DOCUMENT, params={"tenant": tenant_id, "memory": memory_id})
    if not rows:
        return False
    head = rows[0]
    if not head["parts"]:
        fetch_all(
            sql="DELETE FROM search_documents WHERE tenant_id = %s AND memory_id = %s AND applied_version <= %s",
            params=[tenant_id, memory_id, head["version"]],
        )
        return False
    fields = [
        ("A", f"{head['label']} {head['fact_key']}"),
        ("B", " ".join(f"{name} {value}" for name, value in head["conditions"].items())),
    ]
    for content, value, is_current in head["parts"]:
        fields += [("B" if is_current else "D", _words(value)), ("C" if is_current else "D", content)]
    fetch_all(
        sql="""
            INSERT INTO search_documents (id, tenant_id, memory_id, scope_id, applied_version, terms, updated_at)
            VALUES (%s, %s, %s, %s, %s, %s::tsvector, %s)
            ON CONFLICT ON CONSTRAINT search_documents_one_a_memory DO UPDATE SET
                applied_version = excluded.applied_version, terms = excluded.terms, updated_at = excluded.updated_at
            WHERE search_documents.applied_version <= excluded.applied_version
        """,
        params=[
            new_id(),
            tenant_id,
            memory_id,
            head["scope_id"],
            head["version"],
            write_vector(fields=fields),
            now,
        ],
    )
    return True


def _words(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value)


@dataclass(frozen=True, slots=True)
class RunItem:
    """Hold one memory's outcome in a run: ids, scores and a reason code, no text."""

    memory_id: str
    version: int
    outcome: str
    position: int
    score: dict[str, float]
    reason: str


def record_run(
    *,
    tenant_id: str,
    principal_id: str,
    scope_epochs: dict[str, int],
    query_digest: str,
    session_key: str,
    valid_at: datetime,
    recorded_at: datetime,
    policy_version: str,
    top_k: int,
    items: Sequence[RunItem],
    now: datetime,
) -> str:
    """Write down one answer with what it held and what it left out; returns the run's id."""
    run_id = str(new_id())
    fetch_all(
        sql="""
            WITH run AS (
                INSERT INTO retrieval_runs (id, tenant_id, principal_id, scope_ids, query_digest, session_key,
                    valid_at, recorded_at, policy_version, top_k, epochs, at, feedback)
                VALUES (%(run)s, %(tenant)s, %(principal)s, %(scopes)s::jsonb, %(query)s, %(session)s, %(valid)s,
                    %(recorded)s, %(policy)s, %(top_k)s, %(epochs)s::jsonb, %(now)s, '')
                RETURNING id
            )
            INSERT INTO retrieval_items (id, tenant_id, run_id, memory_id, version, outcome, position, score, reason,
                at)
            SELECT uuidv7(), %(tenant)s, run.id, item.memory_id, item.version, item.outcome, item.position,
                item.score, item.reason, %(now)s
            FROM run, jsonb_to_recordset(%(items)s::jsonb) AS item (memory_id uuid, version int, outcome text,
                position int, score jsonb, reason text)
        """,
        params={
            "run": run_id,
            "tenant": tenant_id,
            "principal": principal_id,
            "scopes": json.dumps(sorted(scope_epochs)),
            "query": query_digest,
            "session": session_key,
            "valid": valid_at,
            "recorded": recorded_at,
            "policy": policy_version,
            "top_k": top_k,
            "epochs": json.dumps(scope_epochs),
            "now": now,
            "items": json.dumps(
                [
                    {
                        "memory_id": item.memory_id,
                        "version": item.version,
                        "outcome": item.outcome,
                        "position": item.position,
                        "score": item.score,
                        "reason": item.reason,
                    }
                    for item in items
                ]
            ),
        },
    )
    return run_id
