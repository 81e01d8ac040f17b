"""Read one candidate: what was proposed, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memoryhub.access.callers import Caller
from memoryhub.access.queries import ScopeForbidden, ScopeNotFound, access_scope_by_id
from memoryhub.lib.db import fetch_all, fetch_records

VIEW = "view_memory"
PROPOSE = "propose_memory"


class CandidateNotFound(Exception):
    """Say that there is no such candidate, or none the caller may know of."""


@dataclass(frozen=True, slots=True)
class CandidateFull:
    """Hold one candidate with the names of what it points to; an erased or revoked one has no words."""

    id: str
    scope_id: str
    scope_kind: str
    scope_key: str
    subject: str
    kind: str
    memory_type: str
    fact_key: str
    conditions: dict[str, Any]
    content: str
    value: Any
    epistemic_status: str
    confidence: float
    stance: str
    valid_from: datetime
    valid_to: datetime | None
    proposer_id: str
    proposer: str
    author: str
    extractor: str
    policy_version: str
    status: str
    reason: str
    action: str | None
    memory_id: str | None
    created_at: datetime
    decided_at: datetime | None
    is_revoked: bool


def access_candidate(*, caller: Caller, candidate_id: str) -> CandidateFull:
    """Return a candidate if the caller may view memories of its scope, or proposed it and still may propose there.

    Raises:
        CandidateNotFound: unknown, of another tenant, or in a scope the caller may not know of.
        ScopeForbidden: the caller may know of the scope but lacks the right.
    """
    rows = fetch_records(
        sql="""
            SELECT candidate.id::text, candidate.scope_id::text, scope.kind AS scope_kind,
                scope.key AS scope_key, subject.label AS subject, candidate.kind,
                candidate.memory_type, candidate.fact_key, candidate.conditions, candidate.content, candidate.value,
                candidate.epistemic_status, candidate.confidence, candidate.stance, candidate.valid_from,
                candidate.valid_to, candidate.proposer_id::text,
                coalesce(nullif(proposer.display_name, ''), proposer.username) AS proposer,
                coalesce(nullif(author.display_name, ''), author.username) AS author, candidate.extractor,
                candidate.policy_version, candidate.status, candidate.reason, (
                    SELECT action FROM merge_decisions decision
                    WHERE decision.tenant_id = candidate.tenant_id AND decision.candidate_id = candidate.id
                    ORDER BY decision.recorded_at, decision.id LIMIT 1) AS action,
                candidate.memory_id::text, candidate.created_at, candidate.decided_at,
                find_barrier_v1(candidate.tenant_id, candidate.scope_id, candidate.subject_id, candidate.memory_id,
                    candidate.fact_key, ARRAY[candidate.source_event_id], candidate.deletion_epoch) IS NOT NULL
                    AS is_revoked
            FROM memory_candidates candidate
            JOIN scopes scope ON scope.tenant_id = candidate.tenant_id AND scope.id = candidate.scope_id
            JOIN subjects subject ON subject.tenant_id = candidate.tenant_id AND subject.id = candidate.subject_id
            JOIN principals proposer ON proposer.id = candidate.proposer_id
            JOIN principals author ON author.id = candidate.author_id
            WHERE candidate.tenant_id = %s AND candidate.id = %s
        """,
        params=[caller.tenant_id, candidate_id],
    )
    if not rows:
        raise CandidateNotFound
    candidate = CandidateFull(**rows[0])
    try:
        access_scope_by_id(caller=caller, right=VIEW, scope_id=candidate.scope_id)
    except ScopeNotFound:
        raise CandidateNotFound from None
    except ScopeForbidden:
        if candidate.proposer_id != caller.principal_id:
            raise
        access_scope_by_id(caller=caller, right=PROPOSE, scope_id=candidate.scope_id)
    if candidate.is_revoked:
        return replace(candidate, subject="", conditions={}, content="", value=None)
    return candidate


def is_evidence_gone(*, tenant_id: str, candidate_id: str) -> bool:
    """Tell whether a candidate rests on evidence of which none can be used any more; one without any never lost it."""
    rows = fetch_all(
        sql="""
            SELECT count(*) > 0 AND bool_and(item.availability <> 'available')
            FROM candidate_evidence link
            JOIN evidence item ON item.tenant_id = link.tenant_id AND item.id = link.evidence_id
            WHERE link.tenant_id = %s AND link.candidate_id = %s
        """,
        params=[tenant_id, candidate_id],
    )
    return bool(rows[0][0])
