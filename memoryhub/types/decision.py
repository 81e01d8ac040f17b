"""What a merge decision says, and what it was decided from."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from memoryhub.types.claims import Claim, OpenConflict, Part, SourceIdentity
from memoryhub.types.enums import (
    CandidateKind,
    Cardinality,
    EpistemicStatus,
    MergeAction,
    Modality,
    ScopeKind,
    Trust,
)


@dataclass(frozen=True, slots=True)
class PredicateFacts:
    """Hold what the tenant declared of a fact key; an undeclared key is `one`, free value."""

    cardinality: Cardinality = Cardinality.ONE
    sensitive: bool = False
    requires_confirmation: bool = False
    authority_group: str = ""
    yields_only_to_validation: bool = False


@dataclass(frozen=True, slots=True)
class CandidateFacts:
    """Hold the facts of a candidate that a policy may look at: no branch is named here, only facts.

    `sounds_inferred`: its own words present it as a guess. `claims_success`: they say that something worked;
    `result_shown`: its evidence holds the result that would show it. `instruction_like` and `claims_authority`: it,
    or what it was read from, speaks to the agent, or says that somebody allowed it. `lower_holds`: every lower memory
    it names holds as it was named, and it is none of them (`rests_on_itself`). `leaves_scope`: one of them is of
    another scope that is no wider. `states_preference`: its key is one of preferences, whatever kind it calls itself.
    """

    claim: Claim
    kind: CandidateKind
    memory_type: str
    epistemic_status: EpistemicStatus
    scope_kind: ScopeKind
    trust: Trust
    confidence: float
    future_value: bool = True
    evidence_available: bool = True
    sounds_inferred: bool = False
    claims_success: bool = False
    result_shown: bool = True
    instruction_like: bool = False
    claims_authority: bool = False
    scope_authorised: bool = True
    barred: bool = False
    confirmed: bool = False
    source_traceable: bool = True
    subject_unclear: bool = False
    forbidden_content: bool = False
    evidence_scope_kind: ScopeKind | None = None
    lower_holds: bool = True
    rests_on_itself: bool = False
    leaves_scope: bool = False
    states_preference: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    """Hold what the admission came to.

    `action` and `reason` are set when a check failed, and `check` is its name; `question` is why a person is asked.
    Nothing is set when the candidate was admitted.
    """

    action: MergeAction | None = None
    reason: str = ""
    check: str = ""
    question: str = ""


@dataclass(frozen=True, slots=True)
class Belief:
    """Hold what the evidence amounts to at one instant, for the part that stands then."""

    modality: Modality
    confidence: float
    support: float
    opposition: float
    independent_evidence_count: int
    derived_at: datetime


@dataclass(frozen=True, slots=True)
class Changes:
    """Hold the difference between two timelines.

    `close` are the parts of the old timeline that no longer hold as they were; `write` are the parts of the
    new timeline that did not hold before; both empty means that no version row is written.
    `conflict` is the conflict of the new timeline; `dissolves` tells that an open conflict went away.
    `claim` is the candidate's claim as it enters the set when `adds_claim` says so: a lead enters it weaker.
    """

    close: tuple[Part, ...] = ()
    write: tuple[Part, ...] = ()
    conflict: OpenConflict | None = None
    conflict_changed: bool = False
    dissolves: bool = False
    belief: Belief | None = None
    adds_claim: bool = False
    newly_dismissed: dict[SourceIdentity, str] = field(default_factory=dict)
    claim: Claim | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Hold one merge decision: the action, why, whether a person must decide, and the difference it makes.

    `admission` is what the admission came to: a reason code, or `admitted`. Empty where no candidate was admitted, as
    by a ruling.
    """

    action: MergeAction
    reason: str
    requires_person: bool
    changes: Changes
    policy_version: str
    admission: str = ""
