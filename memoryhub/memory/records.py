"""What memory's tables say, as plain values: what goes into a decision and what a decision is written from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memoryhub.types.enums import CandidateStatus

if TYPE_CHECKING:
    from datetime import datetime

    from memoryhub.types.claims import Claim, Part, Ruling, SourceIdentity
    from memoryhub.types.decision import PredicateFacts
    from memoryhub.types.enums import Trust


@dataclass(frozen=True, slots=True)
class CandidateRecord:
    """Hold one candidate as it was proposed, with what its event adds.

    `value_digest` None is a claim of absence. `conditions_digest` is empty when there are no conditions.
    """

    id: str
    kind: str
    scope_id: str
    scope_kind: str
    subject_id: str
    memory_type: str
    fact_key: str
    conditions: dict[str, Any]
    conditions_digest: str
    content: str
    value: Any
    value_digest: str | None
    content_hash: str
    epistemic_status: str
    confidence: float
    stance: str
    valid_from: datetime
    valid_to: datetime | None
    effective: bool
    occurred_at: datetime
    extractor: str
    extractor_version: str
    deletion_epoch: int
    source_event_id: str
    statement: int
    proposer_id: str
    author_id: str
    author_rank: int
    author_groups: tuple[str, ...]
    trust: Trust
    source_seq: int
    order_digest: str
    roots: tuple[str, ...]
    has_evidence: bool
    evidence_ids: tuple[str, ...] = ()
    created_at: datetime | None = None
    task_key: str = ""
    policy_version: str = ""
    rule_digest: str = ""
    status: str = "pending"
    memory_id: str | None = None

    @property
    def is_undecided(self) -> bool:
        """Whether nothing was decided yet; a claim in an open conflict is pending as well, but has its memory."""
        return self.status == CandidateStatus.PENDING and self.memory_id is None

    @property
    def sources(self) -> list[str]:
        """The ids a barrier may name: the event, its roots and the evidence."""
        return [self.source_event_id, *self.roots, *self.evidence_ids]


@dataclass(frozen=True, slots=True)
class StoredPart:
    """Hold one part that is held now, with its row."""

    row_id: str
    candidate_id: str
    part: Part


@dataclass(frozen=True, slots=True)
class StoredConflict:
    """Hold the open conflict set of a memory; `standing` and the keys of `members` are sources as text."""

    id: str
    standing: str
    members: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class MemoryState:
    """Hold everything a decision on one memory is made from, as it was read.

    `start` is the newest part when the tail is enough, else None. `version` is 0 while there is no head.
    """

    memory_id: str | None
    version: int
    epoch: int
    may: bool
    barrier: str | None
    predicate: PredicateFacts
    parts: tuple[StoredPart, ...] = ()
    claims: tuple[Claim, ...] = ()
    candidates: dict[SourceIdentity, str] = field(default_factory=dict)
    rulings: tuple[Ruling, ...] = ()
    start: Part | None = None
    conflict: StoredConflict | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """Hold what the commit answered: `outcome` is `committed` or the name of a refusal."""

    outcome: str
    memory_id: str | None = None
    version: int | None = None
    recorded_at: datetime | None = None
    decision_id: str | None = None
    epoch: int | None = None
    barrier: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None
    outcome_of: str | None = None
