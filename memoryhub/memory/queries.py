"""Read memories: the head, the versions on both clocks, the claims and their evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memoryhub.access.queries import ScopeNotFound, access_scope_by_id
from memoryhub.kernel.lineage import number_lineages
from memoryhub.lib.db import fetch_all, fetch_records
from memoryhub.memory.exceptions import MemoryNotFound
from memoryhub.types.enums import EvidenceKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memoryhub.access.callers import Caller
    from memoryhub.types.temporal import AsOf

VIEW = "view_memory"


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """Hold a memory's identity and what it is believed to be; `conflict_id` names its open conflict set."""

    id: str
    tenant_slug: str
    scope_id: str
    scope_kind: str
    scope_key: str
    subject: str
    memory_type: str
    fact_key: str
    conditions: dict[str, Any]
    version: int
    has_open_conflict: bool
    conflict_id: str | None
    modality: str
    confidence: float
    support: float
    opposition: float
    independent_evidence_count: int
    derived_at: datetime
    authority: str
    deletion_epoch: int
    last_recorded_at: datetime
    created_at: datetime


@dataclass(frozen=True, slots=True)
class PartRecord:
    """Hold one part of one version with every field of the record (seed 000 §4.2)."""

    id: str
    version: int
    part: int
    schema_version: int
    content: str
    value: Any
    is_absent: bool
    epistemic_status: str
    state: str
    supersedes: str | None
    superseded_by: str | None
    author_id: str
    author_name: str
    opener: str
    source_event_ids: tuple[str, ...]
    evidence_refs: tuple[str, ...]
    independent_evidence_count: int
    validation_method: str
    reviewed_by: str | None
    validated_at: datetime | None
    occurred_at: datetime
    ingested_at: datetime
    valid_from: datetime
    valid_to: datetime | None
    recorded_from: datetime
    recorded_to: datetime | None
    review_after: datetime | None
    retention_class: str
    access_policy_id: str
    deletion_epoch: int
    authority_revision: str
    content_hash: str
    candidate_id: str
    decision_id: str


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """Hold one decision on a memory: who, what, why, under which policy; `decider_name` None means the policy.

    `action` is the difference it made; `verb` and `verb_reason` are what a person chose and why.
    """

    id: str
    action: str
    reason: str
    requires_person: bool
    verb: str
    verb_reason: str
    policy_version: str
    decider_id: str | None
    decider_name: str | None
    expected_version: int
    resulting_version: int
    recorded_at: datetime
    candidate_id: str | None
    value: Any
    content: str
    author_name: str | None


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """Hold one piece of evidence of one claim; `quote` None means that it may not or can no longer be read.

    `document` says where it points in a document, `lower` which memory it is at which version, as far as the reader may
    know.

    `lineage` names the group of evidence that goes back to the same root; the roots decide it.
    """

    id: str
    evidence_key: str
    kind: str
    quote: str | None
    span_start: int | None
    span_end: int | None
    digest_matches: bool | None
    availability: str
    observed_at: datetime
    recorded_at: datetime
    source_type: str | None
    trust: str | None
    author_id: str
    author_name: str
    roots: tuple[str, ...]
    stance: str
    value: Any
    value_digest: str | None
    valid_from: datetime
    valid_to: datetime | None
    weight: float
    superseded_at: datetime | None
    candidate_id: str
    event_id: str | None
    document: dict[str, str] | None
    lower: tuple[str, int] | None
    lineage: int = 0


@dataclass(frozen=True, slots=True)
class ConflictingClaim:
    """Hold one claim of an open conflict, with who stands behind it."""

    candidate_id: str | None
    value: Any
    content: str
    author_name: str
    valid_from: datetime
    valid_to: datetime | None
    is_standing: bool


def access_memory(*, caller: Caller, memory_id: str, right: str = VIEW) -> MemoryRecord:
    """Return a memory if the caller holds the right on its scope: the only way from an outside id to a memory.

    Raises:
        MemoryNotFound: unknown, of another tenant, or in a scope the caller may not know of.
        ScopeForbidden: the caller may know of the scope but lacks the right.
    """
    rows = fetch_records(
        sql="""
            SELECT head.id::text, %(slug)s AS tenant_slug, head.scope_id::text, scope.kind AS scope_kind,
                scope.key AS scope_key, subject.label AS subject, head.memory_type, head.fact_key, head.conditions,
                head.version, head.has_open_conflict, (
                    SELECT id::text FROM conflict_sets
                    WHERE tenant_id = head.tenant_id AND memory_id = head.id AND state = 'open') AS conflict_id,
                head.modality, head.confidence, head.support, head.opposition, head.independent_evidence_count,
                head.derived_at, head.authority, head.deletion_epoch, head.last_recorded_at, head.created_at
            FROM memory_heads head
            JOIN scopes scope ON scope.tenant_id = head.tenant_id AND scope.id = head.scope_id
            JOIN subjects subject ON subject.tenant_id = head.tenant_id AND subject.id = head.subject_id
            WHERE head.tenant_id = %(tenant)s AND head.id = %(memory)s
        """,
        params={"tenant": caller.tenant_id, "memory": memory_id, "slug": caller.tenant_slug},
    )
    if not rows:
        raise MemoryNotFound
    memory = MemoryRecord(**rows[0])
    try:
        access_scope_by_id(caller=caller, right=right, scope_id=memory.scope_id)
    except ScopeNotFound:
        raise MemoryNotFound from None
    return memory


_PARTS = """
    SELECT held.id::text, held.version, held.part, held.schema_version, held.content, held.value, held.is_absent,
        held.epistemic_status, held.state, held.supersedes::text, held.superseded_by::text, held.author_id::text,
        coalesce(nullif(author.display_name, ''), author.username) AS author_name, held.opener,
        held.source_event_ids::text[], held.evidence_refs, held.independent_evidence_count,
        held.validation_method, held.reviewed_by_id::text AS reviewed_by,
        held.validated_at, held.occurred_at, held.ingested_at, held.valid_from, held.valid_to, held.recorded_from,
        held.recorded_to, held.review_after, held.retention_class, policy.key AS access_policy_id, held.deletion_epoch,
        held.authority_revision, held.content_hash, held.candidate_id::text, held.decision_id::text
    FROM memory_versions held
    JOIN principals author ON author.id = held.author_id
    JOIN access_policies policy ON policy.tenant_id = held.tenant_id AND policy.id = held.access_policy_id
    WHERE held.tenant_id = %(tenant)s AND held.memory_id = %(memory)s
"""
_READABLE = " AND held.state IN ('active', 'superseded', 'needs_review')"
READABLE_STATES = ("active", "superseded", "needs_review")
_AT = """
    AND held.valid_from <= %(valid)s AND (held.valid_to IS NULL OR %(valid)s < held.valid_to)
    AND held.recorded_from <= %(recorded)s AND (held.recorded_to IS NULL OR %(recorded)s < held.recorded_to)
"""


def _read_part(row: dict[str, Any]) -> PartRecord:
    row["source_event_ids"] = tuple(row["source_event_ids"])
    row["evidence_refs"] = tuple(row["evidence_refs"])
    return PartRecord(**row)


def list_parts(*, tenant_id: str, memory_id: str, decision_ids: Sequence[str] | None = None) -> list[PartRecord]:
    """Return every part a memory ever had, oldest version first; revoked and erased ones without their words.

    With `decision_ids`, only the parts that these decisions wrote.
    """
    rows = fetch_records(
        sql=_PARTS
        + ("" if decision_ids is None else " AND held.decision_id = ANY (%(decisions)s::uuid[])")
        + " ORDER BY held.version, held.part",
        params={"tenant": tenant_id, "memory": memory_id, "decisions": list(decision_ids or ())},
    )
    return [
        part if part.state in READABLE_STATES else replace(part, content="", value=None, content_hash="")
        for part in map(_read_part, rows)
    ]


def find_part(*, tenant_id: str, memory_id: str, as_of: AsOf) -> PartRecord | None:
    """Return the part that was held at one instant for another, or None; half-open on both clocks."""
    rows = fetch_records(
        sql=_PARTS + _READABLE + _AT,
        params={
            "tenant": tenant_id,
            "memory": memory_id,
            "valid": as_of.valid_at,
            "recorded": as_of.recorded_at,
        },
    )
    return _read_part(rows[0]) if rows else None


def find_withheld_state(*, tenant_id: str, memory_id: str, as_of: AsOf) -> str | None:
    """Return why what held at the two instants is not shown (`revoked`, `erased`, `expired`), or None if nothing did.

    What was revoked as a whole has ended since: the newest part that held for the instant speaks for it.
    """
    rows = fetch_all(
        sql="""
            SELECT held.state FROM memory_versions held
            WHERE held.tenant_id = %(tenant)s AND held.memory_id = %(memory)s
              AND held.state NOT IN ('active', 'superseded', 'needs_review')
              AND held.valid_from <= %(valid)s AND (held.valid_to IS NULL OR %(valid)s < held.valid_to)
              AND held.recorded_from <= %(recorded)s
            ORDER BY held.recorded_from DESC, held.id LIMIT 1
        """,
        params={"tenant": tenant_id, "memory": memory_id, "valid": as_of.valid_at, "recorded": as_of.recorded_at},
    )
    return str(rows[0][0]) if rows else None


def list_decisions(
    *,
    tenant_id: str,
    memory_id: str,
    after: tuple[datetime, int, str] | None = None,
    limit: int | None = None,
) -> list[DecisionRecord]:
    """Return the decisions on a memory, oldest first.

    `after` names the last one already read by (recorded_at, resulting version, id), which no two share.
    """
    recorded, version, last = after or (None, None, None)
    rows = fetch_records(
        sql="""
            SELECT decision.id::text, decision.action, decision.reason, decision.requires_person,
                decision.verb, decision.verb_reason, decision.policy_version, decision.decider_id::text,
                coalesce(nullif(decider.display_name, ''), decider.username) AS decider_name,
                decision.expected_version, decision.resulting_version, decision.recorded_at,
                decision.candidate_id::text,
                CASE WHEN claim.withdrawn_by IS NULL THEN candidate.value END AS value,
                CASE WHEN claim.withdrawn_by IS NULL THEN coalesce(candidate.content, '') ELSE '' END AS content,
                coalesce(nullif(author.display_name, ''), author.username) AS author_name
            FROM merge_decisions decision
            LEFT JOIN memory_candidates candidate
                ON candidate.tenant_id = decision.tenant_id AND candidate.id = decision.candidate_id
            LEFT JOIN memory_evidence claim ON claim.tenant_id = decision.tenant_id
                AND claim.memory_id = decision.memory_id AND claim.candidate_id = decision.candidate_id
            LEFT JOIN principals decider ON decider.id = decision.decider_id
            LEFT JOIN principals author ON author.id = candidate.author_id
            WHERE decision.tenant_id = %(tenant)s AND decision.memory_id = %(memory)s
              AND (%(recorded)s::timestamptz IS NULL
                   OR (decision.recorded_at, decision.resulting_version, decision.id)
                      > (%(recorded)s::timestamptz, %(version)s::int, %(last)s::uuid))
            ORDER BY decision.recorded_at, decision.resulting_version, decision.id LIMIT %(limit)s::bigint
        """,
        params={
            "tenant": tenant_id,
            "memory": memory_id,
            "limit": limit,
            "recorded": recorded,
            "version": version,
            "last": last,
        },
    )
    return [DecisionRecord(**row) for row in rows]


def list_evidence(*, caller: Caller, memory_id: str, may_read_quotes: bool = True) -> list[EvidenceRecord]:
    """Return the evidence of a memory's claims in the order of valid time, grouped by lineage.

    A quote is given only while it is available and to those who may view memories of its own scope; its digest
    tells whether it still says what was recorded. What a revocation covers is named without its words.
    """
    rows = fetch_records(
        sql="""
            SELECT item.id::text, item.evidence_key, item.kind,
                CASE WHEN claim.withdrawn_by IS NULL
                      AND has_scope_right_v1(%(principal)s, item.scope_id, 'view_memory') THEN body.quote END AS quote,
                item.span_start, item.span_end, item.digest, encode(body.salt, 'hex') AS salt,
                CASE WHEN claim.withdrawn_by IS NULL OR item.availability <> 'available' THEN item.availability
                     ELSE 'revoked' END AS availability,
                item.observed_at, item.recorded_at,
                event.source_type, event.trust, claim.author_id::text,
                coalesce(nullif(author.display_name, ''), author.username) AS author_name,
                claim.roots::text[] AS roots,
                claim.stance, CASE WHEN claim.withdrawn_by IS NULL THEN candidate.value END AS value,
                claim.value_digest, claim.valid_from, claim.valid_to, claim.weight, claim.superseded_at,
                claim.candidate_id::text, item.event_id::text, item.position, item.source_id::text,
                CASE WHEN item.availability = 'available' AND claim.withdrawn_by IS NULL
                     THEN place.payload END AS document,
                has_scope_right_v1(%(principal)s, item.scope_id, 'view_memory') AS may_read
            FROM memory_evidence claim
            JOIN memory_candidates candidate
                ON candidate.tenant_id = claim.tenant_id AND candidate.id = claim.candidate_id
            JOIN candidate_evidence link
                ON link.tenant_id = claim.tenant_id AND link.candidate_id = claim.candidate_id
            JOIN evidence item ON item.tenant_id = link.tenant_id AND item.id = link.evidence_id
            JOIN principals author ON author.id = claim.author_id
            LEFT JOIN evidence_bodies body ON body.evidence_id = item.id
            LEFT JOIN evidence_documents place ON place.evidence_id = item.id
            LEFT JOIN source_events event ON event.tenant_id = item.tenant_id AND event.id = item.event_id
            WHERE claim.tenant_id = %(tenant)s AND claim.memory_id = %(memory)s
            ORDER BY claim.valid_from, item.id, claim.candidate_id
        """,
        params={"tenant": caller.tenant_id, "memory": memory_id, "principal": caller.principal_id},
    )
    records = []
    for row in rows:
        salt, digest = row.pop("salt"), row.pop("digest")
        row["roots"] = tuple(row["roots"])
        row["digest_matches"] = None
        position, source_id, may_read = row.pop("position"), row.pop("source_id"), row.pop("may_read")
        is_lower = row["kind"] == EvidenceKind.MEMORY and may_read
        row["lower"] = (source_id, int(position.removeprefix("v"))) if is_lower else None
        row["document"] = row["document"] if may_read and may_read_quotes else None
        if not may_read_quotes or row["availability"] != "available":
            row["quote"] = None
        elif row["quote"] is not None and salt is not None:
            row["digest_matches"] = caller.digest(row["quote"], salt=bytes.fromhex(salt)) == digest
        records.append(EvidenceRecord(**row))
    numbers = number_lineages(pieces=[set(record.roots) or {record.id} for record in records])
    return [replace(record, lineage=number) for record, number in zip(records, numbers, strict=True)]


def list_conflicting_claims(*, tenant_id: str, memory_ids: Sequence[str]) -> dict[str, list[ConflictingClaim]]:
    """Return for each memory with an open conflict every claim in it, the standing one first."""
    rows = fetch_records(
        sql="""
            SELECT held.memory_id::text, member.candidate_id::text, candidate.value, candidate.content,
                coalesce(nullif(author.display_name, ''), author.username) AS author_name, candidate.valid_from,
                candidate.valid_to, member.is_standing
            FROM conflict_sets held
            JOIN conflict_members member ON member.tenant_id = held.tenant_id AND member.conflict_set_id = held.id
                AND member.left_at IS NULL
            JOIN memory_candidates candidate
                ON candidate.tenant_id = held.tenant_id AND candidate.id = member.candidate_id
            JOIN principals author ON author.id = candidate.author_id
            WHERE held.tenant_id = %s AND held.memory_id = ANY (%s::uuid[]) AND held.state = 'open'
            ORDER BY held.memory_id, member.is_standing DESC, candidate.valid_from, member.id
        """,
        params=[tenant_id, list(memory_ids)],
    )
    claims: dict[str, list[ConflictingClaim]] = {}
    for row in rows:
        claims.setdefault(row.pop("memory_id"), []).append(ConflictingClaim(**row))
    return claims


@dataclass(frozen=True, slots=True)
class CandidateStatusRecord:
    """Hold what became of one candidate."""

    id: str
    status: str
    reason: str
    action: str | None
    memory_id: str | None
    fact_key: str
    decided_at: datetime | None


@dataclass(frozen=True, slots=True)
class EventStatus:
    """Hold where the extraction of one event stands: `queued`, `running`, `succeeded` or `failed`."""

    id: str
    scope_id: str
    sender_id: str
    state: str
    failure: str
    notes: tuple[str, ...]
    candidates: tuple[CandidateStatusRecord, ...]


_STATE_OF_JOBS = (
    ("dead", "failed"),
    ("running", "running"),
    ("retrying", "queued"),
    ("queued", "queued"),
    ("discarded", "discarded"),
)


def find_event_status(*, caller: Caller, event_id: str) -> EventStatus | None:
    """Return where an event stands, by the caller's own event id; None if there is none in the tenant.

    Whoever shows it authorises the caller for `scope_id` first.
    """
    rows = fetch_all(
        sql="""
            SELECT id::text, scope_id::text, sender_id::text FROM source_events
            WHERE tenant_id = %s AND event_key_digest = %s
        """,
        params=[caller.tenant_id, caller.digest(f"event {event_id}")],
    )
    if not rows:
        return None
    record_id, scope_id, sender_id = rows[0]
    jobs = fetch_all(
        sql="""
            SELECT state, CASE WHEN state = 'discarded' THEN reason ELSE last_error END,
                kind = 'extract' AND state = 'succeeded' FROM processing_jobs
            WHERE tenant_id = %(tenant)s AND state <> 'cancelled' AND (target_id = %(event)s OR target_id IN (
                SELECT id FROM memory_candidates WHERE tenant_id = %(tenant)s AND source_event_id = %(event)s))
        """,
        params={"tenant": caller.tenant_id, "event": record_id},
    )
    states = {job: note for job, note, _ in jobs}
    state = next((name for job, name in _STATE_OF_JOBS if job in states), "succeeded")
    candidates = fetch_records(
        sql="""
            SELECT candidate.id::text, candidate.status, candidate.reason, (
                    SELECT action FROM merge_decisions decision
                    WHERE decision.tenant_id = candidate.tenant_id AND decision.candidate_id = candidate.id
                    ORDER BY decision.recorded_at, decision.id LIMIT 1) AS action,
                candidate.memory_id::text, candidate.fact_key, candidate.decided_at
            FROM memory_candidates candidate
            WHERE candidate.tenant_id = %s AND candidate.source_event_id = %s ORDER BY candidate.id
        """,
        params=[caller.tenant_id, record_id],
    )
    return EventStatus(
        id=record_id,
        scope_id=scope_id,
        sender_id=sender_id,
        state=state,
        failure=states.get("dead") or states.get("discarded", ""),
        notes=tuple(sorted({note for _, note, is_read in jobs if is_read and note})),
        candidates=tuple(CandidateStatusRecord(**row) for row in candidates),
    )
