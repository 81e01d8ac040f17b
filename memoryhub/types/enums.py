"""Every closed vocabulary, each with its transition table where it has one.

The CHECK constraints and the transition triggers of the database are generated from these tables.
"""

from __future__ import annotations

from enum import StrEnum


class ScopeKind(StrEnum):
    """Name the kind of owner a scope has; a memory belongs to exactly one scope."""

    USER = "user"
    PROJECT = "project"
    ORGANIZATION = "organization"


class MemoryType(StrEnum):
    """Name the cognitive type; an application may register more (`types.cognitive`)."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    REFLECTIVE = "reflective"


class EpistemicStatus(StrEnum):
    """Name the nature of the evidence; only a reviewer's ruling makes `validated`."""

    EXPLICIT = "explicit"
    OBSERVED = "observed"
    INFERRED = "inferred"
    VALIDATED = "validated"


class Modality(StrEnum):
    """Name the strength of belief."""

    BELIEVED = "believed"
    POSSIBLE = "possible"
    DOUBTED = "doubted"
    DISPUTED = "disputed"
    REFUTED = "refuted"


class Stance(StrEnum):
    """Say how a claim bears on the standing value."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    QUALIFIES = "qualifies"


class Trust(StrEnum):
    """Say how far a source is trusted; set by the server, never by the body."""

    FIRST_PARTY = "first_party"
    THIRD_PARTY = "third_party"
    UNTRUSTED = "untrusted"


class Authority(StrEnum):
    """Say where the authoritative form of a memory lives."""

    DATABASE = "database"
    GIT = "git"


class Cardinality(StrEnum):
    """Say whether a fact key holds one value or many; with `many` the value is part of the identity."""

    ONE = "one"
    MANY = "many"


class CandidateKind(StrEnum):
    """Name what a candidate proposes."""

    FACT = "fact"
    PREFERENCE = "preference"
    EXPERIENCE = "experience"
    LEAD = "lead"


class CandidateStatus(StrEnum):
    """Name what became of a candidate."""

    PENDING = "pending"
    NEEDS_CONFIRMATION = "needs_confirmation"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"


CANDIDATE_TRANSITIONS: dict[str, frozenset[str]] = {
    CandidateStatus.PENDING: frozenset(
        {
            CandidateStatus.NEEDS_CONFIRMATION,
            CandidateStatus.ACCEPTED,
            CandidateStatus.REJECTED,
            CandidateStatus.SUPERSEDED,
        }
    ),
    CandidateStatus.NEEDS_CONFIRMATION: frozenset(
        {
            CandidateStatus.PENDING,
            CandidateStatus.ACCEPTED,
            CandidateStatus.REJECTED,
            CandidateStatus.SUPERSEDED,
        }
    ),
    CandidateStatus.ACCEPTED: frozenset({CandidateStatus.REJECTED}),  # a ruling settles against it
    CandidateStatus.REJECTED: frozenset(),
    CandidateStatus.SUPERSEDED: frozenset(),
}


class VersionState(StrEnum):
    """Name the life of a version."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    NEEDS_REVIEW = "needs_review"
    REVOKED = "revoked"
    EXPIRED = "expired"
    ERASED = "erased"


VERSION_TRANSITIONS: dict[str, frozenset[str]] = {
    VersionState.ACTIVE: frozenset(
        {
            VersionState.SUPERSEDED,
            VersionState.NEEDS_REVIEW,
            VersionState.REVOKED,
            VersionState.EXPIRED,
            VersionState.ERASED,
        }
    ),
    VersionState.NEEDS_REVIEW: frozenset(
        {
            VersionState.ACTIVE,
            VersionState.SUPERSEDED,
            VersionState.REVOKED,
            VersionState.EXPIRED,
            VersionState.ERASED,
        }
    ),
    VersionState.SUPERSEDED: frozenset({VersionState.REVOKED, VersionState.ERASED}),
    VersionState.EXPIRED: frozenset({VersionState.REVOKED, VersionState.ERASED}),
    VersionState.REVOKED: frozenset({VersionState.ACTIVE, VersionState.ERASED}),
    VersionState.ERASED: frozenset(),
}


class MergeAction(StrEnum):
    """Name the difference a candidate makes to a memory's timeline."""

    ADD = "ADD"
    NO_OP = "NO_OP"
    ATTACH_EVIDENCE = "ATTACH_EVIDENCE"
    SUPERSEDE = "SUPERSEDE"
    CONFLICT = "CONFLICT"
    REJECT = "REJECT"


class EvidenceKind(StrEnum):
    """Name what a piece of evidence is."""

    EVENT_SPAN = "event_span"
    DOCUMENT = "document"
    TOOL_RESULT = "tool_result"
    REPRODUCTION = "reproduction"
    RULING = "ruling"
    MEMORY = "memory"


class Availability(StrEnum):
    """Say whether a quote can still be read; anything but `available` is not a disproof."""

    AVAILABLE = "available"
    EXPIRED = "expired"
    ERASED = "erased"
    REVOKED = "revoked"
    UNREACHABLE = "unreachable"


AVAILABILITY_TRANSITIONS: dict[str, frozenset[str]] = {
    Availability.AVAILABLE: frozenset(
        {Availability.EXPIRED, Availability.ERASED, Availability.REVOKED, Availability.UNREACHABLE}
    ),
    # An outage ends, and a barrier may be lifted; what expired or was erased does not come back.
    Availability.UNREACHABLE: frozenset(
        {Availability.AVAILABLE, Availability.EXPIRED, Availability.ERASED, Availability.REVOKED}
    ),
    Availability.REVOKED: frozenset({Availability.AVAILABLE, Availability.EXPIRED, Availability.ERASED}),
    Availability.EXPIRED: frozenset({Availability.ERASED, Availability.REVOKED}),
    Availability.ERASED: frozenset(),
}


class JobState(StrEnum):
    """Name where a processing job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"
    DISCARDED = "discarded"


JOB_TRANSITIONS: dict[str, frozenset[str]] = {
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    JobState.RUNNING: frozenset(
        {
            JobState.SUCCEEDED,
            JobState.RETRYING,
            JobState.DEAD,
            JobState.CANCELLED,
            JobState.RUNNING,
            JobState.QUEUED,  # a worker that ends hands back what it had not begun
        }
    ),
    JobState.RETRYING: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    JobState.DEAD: frozenset({JobState.QUEUED, JobState.DISCARDED}),
    JobState.SUCCEEDED: frozenset(),
    JobState.CANCELLED: frozenset(),
    JobState.DISCARDED: frozenset(),
}


class OutboxState(StrEnum):
    """Name whether a change still has to be told."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"
    DISCARDED = "discarded"


OUTBOX_TRANSITIONS: dict[str, frozenset[str]] = {
    OutboxState.WAITING: frozenset({OutboxState.DELIVERED, OutboxState.DEAD}),
    OutboxState.DEAD: frozenset({OutboxState.WAITING, OutboxState.DISCARDED}),
    OutboxState.DELIVERED: frozenset(),
    OutboxState.DISCARDED: frozenset(),
}


class DeadLetterReason(StrEnum):
    """Say why a person put a dead letter back into the queue, or discarded it."""

    CAUSE_FIXED = "cause_fixed"
    OUTAGE_OVER = "outage_over"
    CANNOT_SUCCEED = "cannot_succeed"
    NOT_NEEDED = "not_needed"
    OTHER = "other"


class RevocationMode(StrEnum):
    """Say what a barrier does."""

    ERASE_UP_TO_EPOCH = "erase_up_to_epoch"
    SUPPRESS = "suppress"
    RESTRICT = "restrict"
    LIFTED = "lifted"


REVOCATION_TRANSITIONS: dict[str, frozenset[str]] = {
    RevocationMode.RESTRICT: frozenset(
        {RevocationMode.ERASE_UP_TO_EPOCH, RevocationMode.SUPPRESS, RevocationMode.LIFTED}
    ),
    # Whoever asked that nothing more be learnt may change their mind; an erasure has no way back.
    RevocationMode.SUPPRESS: frozenset({RevocationMode.ERASE_UP_TO_EPOCH, RevocationMode.LIFTED}),
    RevocationMode.ERASE_UP_TO_EPOCH: frozenset(),
    RevocationMode.LIFTED: frozenset(),
}


class RevocationTarget(StrEnum):
    """Name what a barrier stands in front of."""

    SCOPE = "scope"
    SUBJECT = "subject"
    EVENT = "event"
    EVIDENCE = "evidence"
    LINEAGE = "lineage"
    MEMORY = "memory"
    FACT_KEY = "fact_key"
    CONTENT_DIGEST = "content_digest"


class ReviewKind(StrEnum):
    """Name why an item waits for a person."""

    CONFLICT = "conflict"
    CONFIRMATION = "confirmation"
    REREVIEW = "rereview"
    GIT_REVIEW = "git_review"
    PROMOTION = "promotion"


class ReviewState(StrEnum):
    """Name whether an item still waits."""

    OPEN = "open"
    DECIDED = "decided"
    WITHDRAWN = "withdrawn"


REVIEW_TRANSITIONS: dict[str, frozenset[str]] = {
    ReviewState.OPEN: frozenset({ReviewState.DECIDED, ReviewState.WITHDRAWN}),
    ReviewState.DECIDED: frozenset(),  # whoever looks again opens another item
    ReviewState.WITHDRAWN: frozenset(),
}


class ConflictState(StrEnum):
    """Name whether a conflict set still stands; `dissolved` means that later evidence settled it."""

    OPEN = "open"
    SETTLED = "settled"
    DISSOLVED = "dissolved"


CONFLICT_TRANSITIONS: dict[str, frozenset[str]] = {
    ConflictState.OPEN: frozenset({ConflictState.SETTLED, ConflictState.DISSOLVED}),
    ConflictState.SETTLED: frozenset(),  # what is disputed again is another set
    ConflictState.DISSOLVED: frozenset(),
}


class UsageOutcome(StrEnum):
    """Say what happened to one memory in one retrieval run."""

    RETRIEVED = "retrieved"
    INJECTED = "injected"
    ADOPTED = "adopted"
    EXCLUDED = "excluded"


# Every enum whose values follow each other, with its table: each column of one has the trigger made from it.
LIFECYCLES: dict[type[StrEnum], dict[str, frozenset[str]]] = {
    CandidateStatus: CANDIDATE_TRANSITIONS,
    VersionState: VERSION_TRANSITIONS,
    Availability: AVAILABILITY_TRANSITIONS,
    JobState: JOB_TRANSITIONS,
    OutboxState: OUTBOX_TRANSITIONS,
    RevocationMode: REVOCATION_TRANSITIONS,
    ReviewState: REVIEW_TRANSITIONS,
    ConflictState: CONFLICT_TRANSITIONS,
}
