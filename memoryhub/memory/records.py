"""What memory's tables say, as plain values: what goes into a decision and what a decision is written from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memoryhub.types.enums import CandidateStatus

if TYPE_CHECKING:
    from datetime import datetime

    from memoryhub.types.basis import Basis
    from memoryhub.types.claims import Claim, Echo, Part, Ruling, SourceIdentity
    from memoryhub.types.decision import PredicateFacts
    from memoryhub.types.enums import ScopeKind, Trust


@dataclass(frozen=True, slots=True)
class Cited:
    """Name a lower memory at the version that was pointed at."""

    memory_id: str
    version: int


@dataclass(frozen=True, slots=True)
class AfterRecall:
    """Say that an agent said it in a session that had had an answer: the session, its one root, and when it came in."""

    session_key: str
    root: str
    received_at: datetime


@dataclass(frozen=True, slots=True)
class Validation:
    """Hold how a reviewer validated a claim, and when somebody is to look at it again, if ever."""

    method: str
    review_after: datetime | None = None


@dataclass(frozen=True, slots=True)
class CandidateRecord:
    """Hold one candidate as it was proposed, with what its event adds.

    The claim is counted by `source_kind` and `source_id`. `cites` are the lower memories it names, and `rests` tells
    that it rests on them alone; `bases` are what it rests on, as it entered the set or, while it waits, as they
    stand. `falls` says why they do not hold any more.

    `value_digest` None is a claim of absence. `conditions_digest` is empty when there are no conditions.
    `quotes` are the words of its evidence; `result_shown` says that some of it holds the result of what was done.
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
    validation: Validation | None = None
    subject_unclear: bool = False
    source_kind: str = "event"
    source_id: str = ""
    cites: tuple[Cited, ...] = ()
    rests: bool = False
    bases: tuple[Basis, ...] = ()
    falls: str = ""
    evidence_scope_kind: ScopeKind | None = None
    leaves_scope: bool = False
    subject_label: str = ""
    quotes: tuple[str, ...] = ()
    result_shown: bool = False
    after_recall: AfterRecall | None = None

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
    state: str = "active"


@dataclass(frozen=True, slots=True)
class StoredConflict:
    """Hold the open conflict set of a memory; `standing` and the keys of `members` are sources as text."""

    id: str
    standing: str
    members: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class MemoryState:
    """Hold everything a decision on one memory is made from, as it was read.

    `start` is the newest part when the tail is enough, else None. `version` is 0 while there is no head. `bases` are
    the lower memories that claims rest on or cite; the weight and the roots of such a claim follow from them.
    `echo` is what the candidate would repeat, if an earlier answer of its session held this memory.
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
    echo: Echo | None = None
    start: Part | None = None
    conflict: StoredConflict | None = None
    memory_type: str = ""
    bases: dict[SourceIdentity, tuple[Basis, ...]] = field(default_factory=dict)


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
