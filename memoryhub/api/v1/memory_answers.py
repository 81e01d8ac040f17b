"""Turn what is read of a memory into answers, with every field by the name of the record."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from memoryhub.api.v1.shapes_out import (
    ConflictingClaimOut,
    ConflictOut,
    DecisionOut,
    DocumentOut,
    EvidenceOut,
    HistoryEntry,
    LineageOut,
    LinkOut,
    LowerOut,
    MemoryOut,
    NamespaceOut,
    ProvenanceOut,
    ValidationOut,
    VersionOut,
)
from memoryhub.memory.lowers import Links, RestsOn
from memoryhub.memory.queries import (
    READABLE_STATES,
    ConflictingClaim,
    DecisionRecord,
    EvidenceRecord,
    MemoryRecord,
    PartRecord,
)


def tell_claim(claim: ConflictingClaim) -> ConflictingClaimOut:
    """Return one claim of an open conflict."""
    return ConflictingClaimOut(
        candidate_id=claim.candidate_id,
        value=claim.value,
        content=claim.content,
        author=claim.author_name,
        valid_from=claim.valid_from,
        valid_to=claim.valid_to,
        is_standing=claim.is_standing,
    )


def tell_conflict(*, conflict_id: str | None, claims: Sequence[ConflictingClaim]) -> ConflictOut | None:
    """Return the open conflict, or None if there is none."""
    if conflict_id is None and not claims:
        return None
    return ConflictOut(conflict_id=conflict_id, claims=[tell_claim(claim) for claim in claims])


def tell_namespace(memory: MemoryRecord) -> NamespaceOut:
    """Return where a memory belongs, by the names people use."""
    return NamespaceOut(tenant_id=memory.tenant_slug, scope=memory.scope_kind, scope_id=memory.scope_key)


def tell_provenance(part: PartRecord) -> ProvenanceOut:
    """Return what a part rests on."""
    return ProvenanceOut(
        source_event_ids=list(part.source_event_ids),
        evidence_refs=list(part.evidence_refs),
        independent_evidence_count=part.independent_evidence_count,
    )


def tell_validation(part: PartRecord) -> ValidationOut:
    """Return who validated a part, and how."""
    return ValidationOut(method=part.validation_method, reviewed_by=part.reviewed_by, validated_at=part.validated_at)


def tell_version(memory: MemoryRecord, part: PartRecord) -> VersionOut:
    """Return one part of a memory; of one that was taken back nothing that it was about."""
    is_shown = part.state in READABLE_STATES
    return VersionOut(
        schema_version=part.schema_version,
        memory_id=memory.id,
        authority=memory.authority,
        namespace=tell_namespace(memory),
        memory_type=memory.memory_type,
        fact_key=memory.fact_key,
        subject=memory.subject if is_shown else "",
        content=part.content,
        value=part.value,
        is_absent=part.is_absent,
        conditions=memory.conditions if is_shown else {},
        epistemic_status=part.epistemic_status,
        state=part.state,
        version=part.version,
        part=part.part,
        supersedes=part.supersedes,
        superseded_by=part.superseded_by,
        provenance=tell_provenance(part),
        validation=tell_validation(part),
        author=part.author_name,
        occurred_at=part.occurred_at,
        ingested_at=part.ingested_at,
        valid_from=part.valid_from,
        valid_to=part.valid_to,
        recorded_from=part.recorded_from,
        recorded_to=part.recorded_to,
        review_after=part.review_after,
        retention_class=part.retention_class,
        access_policy_id=part.access_policy_id,
        deletion_epoch=part.deletion_epoch,
        authority_revision=part.authority_revision,
        content_hash=part.content_hash,
    )


def tell_memory(
    memory: MemoryRecord,
    *,
    part: PartRecord | None,
    withheld: str | None,
    claims: Sequence[ConflictingClaim],
    links: Links,
) -> MemoryOut:
    """Return a memory as it holds now; `withheld` is the state of what was taken back."""
    is_shown = withheld is None
    return MemoryOut(
        schema_version=1 if part is None else part.schema_version,
        memory_id=memory.id,
        authority=memory.authority,
        namespace=tell_namespace(memory),
        memory_type=memory.memory_type,
        fact_key=memory.fact_key,
        subject=memory.subject if is_shown else "",
        content=None if part is None else part.content,
        value=None if part is None else part.value,
        is_absent=part is not None and part.is_absent,
        conditions=memory.conditions if is_shown else {},
        epistemic_status=None if part is None else part.epistemic_status,
        modality=memory.modality,
        confidence=memory.confidence,
        support=memory.support,
        opposition=memory.opposition,
        state=withheld if part is None else part.state,
        version=memory.version,
        version_id=None if part is None else part.id,
        supersedes=None if part is None else part.supersedes,
        provenance=ProvenanceOut(
            source_event_ids=[] if part is None else list(part.source_event_ids),
            evidence_refs=[] if part is None else list(part.evidence_refs),
            independent_evidence_count=memory.independent_evidence_count,
        ),
        validation=ValidationOut(method="", reviewed_by=None, validated_at=None)
        if part is None
        else tell_validation(part),
        author=None if part is None else part.author_name,
        occurred_at=None if part is None else part.occurred_at,
        ingested_at=None if part is None else part.ingested_at,
        valid_from=None if part is None else part.valid_from,
        valid_to=None if part is None else part.valid_to,
        recorded_from=None if part is None else part.recorded_from,
        recorded_to=None if part is None else part.recorded_to,
        review_after=None if part is None else part.review_after,
        retention_class=None if part is None else part.retention_class,
        access_policy_id=None if part is None else part.access_policy_id,
        deletion_epoch=memory.deletion_epoch,
        authority_revision="" if part is None else part.authority_revision,
        content_hash=None if part is None else part.content_hash,
        conflict=tell_conflict(conflict_id=memory.conflict_id, claims=claims),
        derived_from=[_tell_link(link) for link in links.derived_from],
        derived_into=[_tell_link(link) for link in links.derived_into],
    )


def _tell_link(link: RestsOn) -> LinkOut:
    return LinkOut(
        memory_id=link.memory_id,
        subject=link.subject,
        fact_key=link.fact_key,
        memory_type=link.memory_type,
        version=link.version,
        current_version=link.current_version,
        rests=link.carries,
        holds=link.holds,
        reason=link.fall,
    )


def tell_step(memory: MemoryRecord, *, decision: DecisionRecord, parts: Sequence[PartRecord]) -> HistoryEntry:
    """Return one step of a memory's history."""
    return HistoryEntry(
        version=decision.resulting_version,
        recorded_at=decision.recorded_at,
        decision=DecisionOut(
            decision_id=decision.id,
            action=decision.action,
            reason=decision.reason,
            requires_person=decision.requires_person,
            verb=decision.verb,
            verb_reason=decision.verb_reason,
            policy_version=decision.policy_version,
            decided_by=decision.decider_name,
            expected_version=decision.expected_version,
            candidate_id=decision.candidate_id,
            author=decision.author_name,
        ),
        parts=[tell_version(memory, part) for part in parts],
    )


def tell_lineages(records: Sequence[EvidenceRecord]) -> list[LineageOut]:
    """Group evidence by lineage."""
    ordered = sorted(records, key=lambda record: record.lineage)
    lineages = []
    for number, group in groupby(ordered, key=lambda record: record.lineage):
        held = list(group)
        lineages.append(
            LineageOut(
                lineage=number,
                roots=sorted({root for record in held for root in record.roots}),
                items=[_tell_evidence(record) for record in held],
            )
        )
    return lineages


def _tell_evidence(record: EvidenceRecord) -> EvidenceOut:
    return EvidenceOut(
        evidence_id=record.evidence_key,
        kind=record.kind,
        event_id=record.event_id,
        source_type=record.source_type,
        trust=record.trust,
        author=record.author_name,
        stance=record.stance,
        quote=record.quote,
        span_start=record.span_start,
        span_end=record.span_end,
        document=None if record.document is None else DocumentOut(**record.document),
        memory=None if record.lower is None else LowerOut(memory_id=record.lower[0], version=record.lower[1]),
        digest_matches=record.digest_matches,
        availability=record.availability,
        value=record.value,
        weight=record.weight,
        observed_at=record.observed_at,
        recorded_at=record.recorded_at,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        superseded_at=record.superseded_at,
        candidate_id=record.candidate_id,
    )
