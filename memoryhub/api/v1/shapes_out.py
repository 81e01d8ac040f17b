"""Shapes of what goes out."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class Answer(BaseModel):
    """Hold output."""

    model_config = ConfigDict(frozen=True)


class FaultOut(Answer):
    """One fault of the input."""

    pointer: str = Field(description="JSON pointer to the place; empty is the whole body.")
    code: str
    detail: str


class ProblemOut(Answer):
    """A refusal (RFC 9457). Some codes add a field: `limit`, `right`, `reason`, `candidate_id`, `memory_id`."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str = Field(description="From the closed list in docs/reference/problems.md.")
    errors: list[FaultOut]


class EventReceived(Answer):
    """An event that was accepted: it is on record, and nothing is remembered yet."""

    event_id: str
    id: str = Field(description="The record's id, which evidence and memories name.")
    status: str = Field(description="`accepted_for_processing`, also when it was received before.")
    status_url: str


class EventResult(Answer):
    """What became of one event of a batch, in its order."""

    event_id: str | None
    status: int = Field(description="What the call alone would have answered.")
    accepted: EventReceived | None = None
    problem: ProblemOut | None = None


class EventsReceived(Answer):
    """What became of a batch; one that is refused does not fail the others."""

    accepted: int
    refused: int
    results: list[EventResult]


class CandidateSummary(Answer):
    """What became of one candidate."""

    candidate_id: str
    status: str
    action: str | None
    reason: str
    fact_key: str
    memory_id: str | None
    decided_at: datetime | None


class EventStatusOut(Answer):
    """Where the extraction of an event stands."""

    event_id: str
    id: str
    state: str = Field(description="`queued`, `running`, `succeeded`, `failed` or `discarded`.")
    failure: str = Field(description="Why it failed, or why a person gave it up, without content.")
    notes: list[str] = Field(
        description="What an extractor could not do although its job ended, as codes, such as `model_failed`: then the"
        " words themselves were proposed."
    )
    candidates: list[CandidateSummary]


class CandidateProposed(Answer):
    """A candidate that stands and waits for its decision."""

    candidate_id: str
    status: str
    status_url: str


class CandidateResult(Answer):
    """What became of one candidate of a batch, in its order."""

    status: int = Field(description="What the call alone would have answered.")
    accepted: CandidateProposed | None = None
    problem: ProblemOut | None = None


class CandidatesProposed(Answer):
    """What became of a batch; one that is refused does not fail the others."""

    accepted: int
    refused: int
    results: list[CandidateResult]


class ScopeOut(Answer):
    """The name of a scope."""

    kind: str
    key: str


class CandidateOut(CandidateSummary):
    """A candidate as it was proposed, and what became of it."""

    scope: ScopeOut
    subject: str
    kind: str
    memory_type: str
    conditions: dict[str, JsonValue]
    content: str
    value: JsonValue
    epistemic_status: str
    confidence: float
    stance: str
    valid_from: datetime
    valid_to: datetime | None
    proposer: str
    author: str
    extractor: str
    policy_version: str
    created_at: datetime
    question: str | None = Field(description="The reason code of the question that waits for a person.")


class ConflictingClaimOut(Answer):
    """One claim of an open conflict."""

    candidate_id: str | None
    value: JsonValue
    content: str
    author: str
    valid_from: datetime
    valid_to: datetime | None
    is_standing: bool


class ConflictOut(Answer):
    """Claims that cannot be settled yet; none of them wins silently."""

    conflict_id: str | None
    claims: list[ConflictingClaimOut]


class MemoryWritten(Answer):
    """What an explicit write led to."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "status": "committed",
                    "action": "ADD",
                    "reason": "first_claim",
                    "event_id": "tutorial-1",
                    "candidate_id": "0199f0a0-0000-7000-8000-000000000002",
                    "memory_id": "0199f0a0-0000-7000-8000-000000000001",
                    "version": 1,
                    "recorded_at": "2026-05-03T09:00:00.123456Z",
                    "read_token": "bWVtb3J5...",
                    "conflict": None,
                    "question": None,
                }
            ]
        }
    )

    status: str = Field(description="`committed`, `evidence_attached`, `already_held` or `pending_review`.")
    action: str
    reason: str
    event_id: str
    candidate_id: str
    memory_id: str | None
    version: int | None
    recorded_at: datetime | None
    read_token: str | None = Field(description="Bring it to a search that must find this write.")
    conflict: ConflictOut | None
    question: str | None


class NamespaceOut(Answer):
    """Where a memory belongs."""

    tenant_id: str
    scope: str
    scope_id: str


class ProvenanceOut(Answer):
    """What a version rests on: ids, never words."""

    source_event_ids: list[str]
    evidence_refs: list[str]
    independent_evidence_count: int


class ValidationOut(Answer):
    """Who validated a version, and how."""

    method: str
    reviewed_by: str | None
    validated_at: datetime | None


class VersionOut(Answer):
    """One part of one version of a memory."""

    schema_version: int
    memory_id: str
    authority: str
    namespace: NamespaceOut
    memory_type: str
    fact_key: str
    subject: str
    content: str
    value: JsonValue
    is_absent: bool = Field(description="The claim is that there is no value: it was retracted.")
    conditions: dict[str, JsonValue]
    epistemic_status: str
    state: str
    version: int
    part: int
    supersedes: str | None
    superseded_by: str | None
    provenance: ProvenanceOut
    validation: ValidationOut
    author: str
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


class LinkOut(Answer):
    """The other end of a link between a memory and one that rests on it."""

    memory_id: str
    subject: str
    fact_key: str
    memory_type: str
    version: int = Field(description="The lower memory's version that is rested on.")
    current_version: int = Field(description="The lower memory's version now.")
    rests: bool = Field(description="The claim rests on lower memories alone; false where it only cites this one.")
    holds: bool = Field(description="Whether the lower memory still holds as it is rested on.")
    reason: str = Field(description="The reason code why it does not.")


class MemoryOut(Answer):
    """A memory as it holds now: the head's belief and the version that holds.

    Where no version holds now, its fields are null and `state` tells why, if it was taken back.
    """

    schema_version: int
    memory_id: str
    authority: str
    namespace: NamespaceOut
    memory_type: str
    fact_key: str
    subject: str
    content: str | None
    value: JsonValue
    is_absent: bool
    conditions: dict[str, JsonValue]
    epistemic_status: str | None
    modality: str
    confidence: float
    support: float
    opposition: float
    state: str | None
    version: int = Field(description="The head's version, which a change names as expected.")
    version_id: str | None = Field(description="The version that holds now.")
    supersedes: str | None
    provenance: ProvenanceOut
    validation: ValidationOut
    author: str | None
    occurred_at: datetime | None
    ingested_at: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_from: datetime | None
    recorded_to: datetime | None
    review_after: datetime | None
    retention_class: str | None
    access_policy_id: str | None
    deletion_epoch: int
    authority_revision: str
    content_hash: str | None
    conflict: ConflictOut | None
    derived_from: list[LinkOut] = Field(description="The lower memories it rests on or cites, where you may read them.")
    derived_into: list[LinkOut] = Field(description="The memories that rest on it or cite it, where you may read them.")


class DecisionOut(Answer):
    """One decision on a memory."""

    decision_id: str
    action: str
    reason: str
    requires_person: bool
    verb: str = Field(description="What a person chose: accept, keep_conflict, reject; empty where policy decided.")
    verb_reason: str = Field(description="The reason code of a rejection.")
    policy_version: str
    decided_by: str | None = Field(description="The person; null where the policy decided.")
    expected_version: int
    candidate_id: str | None
    author: str | None = Field(description="Whose claim it was about.")


class HistoryEntry(Answer):
    """One step of a memory's history: the decision, and the parts it wrote."""

    version: int
    recorded_at: datetime
    decision: DecisionOut
    parts: list[VersionOut]


class HistoryOut(Answer):
    """A page of a memory's history, oldest first."""

    memory_id: str
    items: list[HistoryEntry]
    next_cursor: str | None


class DocumentOut(Answer):
    """A document at a revision."""

    ref: str
    revision: str
    position: str


class LowerOut(Answer):
    """A lower memory at the version that was pointed at."""

    memory_id: str
    version: int


class EvidenceOut(Answer):
    """One piece of evidence of one claim."""

    evidence_id: str
    kind: str
    event_id: str | None = Field(description="The record's id.")
    source_type: str | None
    trust: str | None
    author: str
    stance: str
    quote: str | None = Field(description="Null where it may not or can no longer be read; that disproves nothing.")
    span_start: int | None
    span_end: int | None
    document: DocumentOut | None = Field(description="Where it points into a document and you may read it.")
    memory: LowerOut | None = Field(description="Where it is a lower memory and you may read it.")
    digest_matches: bool | None
    availability: str
    value: JsonValue
    weight: float
    observed_at: datetime
    recorded_at: datetime
    valid_from: datetime
    valid_to: datetime | None
    superseded_at: datetime | None
    candidate_id: str


class LineageOut(Answer):
    """Evidence that goes back to the same root: one independent support."""

    lineage: int
    roots: list[str]
    items: list[EvidenceOut]


class EvidencePage(Answer):
    """A page of a memory's evidence by lineage; a lineage may go on on the next page under its number."""

    memory_id: str
    lineages: list[LineageOut]
    next_cursor: str | None


class AsOfOut(Answer):
    """Two instants."""

    valid_at: datetime
    recorded_at: datetime


class MemoryAsOf(Answer):
    """What was held at one instant to be true at another."""

    memory_id: str
    as_of: AsOfOut
    outcome: str = Field(description="`held`, `not_held`, or `unavailable` where it was taken back since.")
    memory: VersionOut | None


class ScoreOut(Answer):
    """The parts of a memory's worth, each in 0..1."""

    value: float
    relevance: float
    belief: float
    closeness: float
    recency: float


class FoundOut(Answer):
    """One memory of an answer. Its content is data, never an instruction."""

    memory_id: str
    version: int
    scope: ScopeOut
    subject: str
    memory_type: str
    fact_key: str
    conditions: dict[str, JsonValue]
    content: str
    value: JsonValue
    epistemic_status: str
    modality: str
    confidence: float
    independent_evidence_count: int
    valid_from: datetime
    valid_to: datetime | None
    recorded_from: datetime
    recorded_to: datetime | None
    occurred_at: datetime
    score: ScoreOut
    conflict: ConflictOut | None = Field(description="Every claim, where the memory is disputed.")


class ExcludedOut(Answer):
    """One memory that was considered and left out."""

    memory_id: str
    version: int
    reason: str


class SearchOut(Answer):
    """The answer to a question, audited under its run."""

    run_id: str
    as_of: AsOfOut
    policy_version: str
    items: list[FoundOut]
    excluded: list[ExcludedOut]


class UsageOut(Answer):
    """How many rows of usage are new; what was reported before stays as it was."""

    run_id: str
    injected: int
    adopted: int


class PrincipalOut(Answer):
    """Who calls."""

    id: str
    kind: str
    name: str
    tenant: str


class PredicateOut(Answer):
    """What is declared of one fact key, or of every key of a pattern with `*`."""

    fact_key: str
    name: str = Field(description="What people call it.")
    cardinality: str = Field(description="`one`, or `many`: each value is a memory of its own.")
    value_schema: Any = Field(description="JSON Schema of the normalised value; null: any value.")
    normalisers: list[str] = Field(description="Applied in this order before the value is compared.")
    sensitive: bool
    requires_confirmation: bool
    authority_group: str = Field(description="The role whose members may supersede each other's claims.")
    yields_only_to_validation: bool


class PredicatesPage(Answer):
    """A page of declared keys."""

    items: list[PredicateOut]
    next_cursor: str | None


class ScopeRights(Answer):
    """One scope and what the caller may do there: its rights that the token leaves in."""

    kind: str
    key: str
    name: str
    rights: list[str]


class MeOut(Answer):
    """Who calls, what it may do, and how much at a time."""

    principal: PrincipalOut
    token_actions: list[str]
    scopes: list[ScopeRights]
    limits: dict[str, int]


def as_json(answer: BaseModel) -> dict[str, Any]:
    """Return the answer as JSON values."""
    return answer.model_dump(mode="json")
