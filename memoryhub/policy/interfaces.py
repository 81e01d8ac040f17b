"""The interfaces of policy: Protocols, nothing else. Whoever replaces a policy writes one of these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from memoryhub.policy.granularity import GranularityPolicy
from memoryhub.policy.merge import MergePolicy
from memoryhub.policy.projection import ProjectionPolicy, RecalledFacts, Worth
from memoryhub.policy.trigger import EventFacts
from memoryhub.types.claims import Claim, Part, Ruling, SourceIdentity
from memoryhub.types.decision import Admission, CandidateFacts, Decision, PredicateFacts
from memoryhub.types.enums import Modality


class Trigger(Protocol):
    """Say when to remember."""

    def __call__(self, *, event: EventFacts, active: Iterable[str]) -> tuple[str, ...]:
        """Return the extractors that look at an event."""


class AdmissionCheck(Protocol):
    """Say what to remember."""

    def __call__(
        self, *, candidate: CandidateFacts, predicate: PredicateFacts, held: Collection[SourceIdentity] = ()
    ) -> Admission:
        """Return why a candidate may not enter, or what a person is asked; `held` are the memory's sources."""


class Granularity(Protocol):
    """Say how much detail to keep."""

    def __call__(self, *, held: int, reflected: int, policy: GranularityPolicy) -> bool:
        """Tell whether it is time to reflect."""


class Forgetting(Protocol):
    """Say when to forget."""

    def __call__(self, *, modality: Modality, confidence: float, epsilon: float) -> str:
        """Return why a memory stays out of an answer, or nothing."""


class Merge(Protocol):
    """Say what becomes of a candidate."""

    def __call__(
        self,
        *,
        candidate: CandidateFacts,
        claims: Sequence[Claim],
        rulings: Sequence[Ruling],
        predicate: PredicateFacts,
        policy: MergePolicy,
        now: datetime,
        start: Part | None = None,
    ) -> Decision:
        """Return the decision."""


class Projection(Protocol):
    """Say what an answer shows."""

    def __call__(self, *, facts: RecalledFacts, policy: ProjectionPolicy) -> Worth:
        """Return the value of one recalled memory."""
