"""Projection: what an answer shows, in which order, and what stays out and why. Pure.

Source: Seed 003 §2.4; ADR 0010 (what holds only for the task outranks what holds in general).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from memoryhub.policy.forgetting import find_fading
from memoryhub.types.cognitive import get_decay
from memoryhub.types.enums import Modality, ScopeKind

_CLOSENESS = {ScopeKind.USER: 1.0, ScopeKind.PROJECT: 0.9, ScopeKind.ORGANIZATION: 0.8}
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class ProjectionPolicy:
    """Hold the parameters of a projection policy's version."""

    epsilon: float = 0.15
    contested_share: float = 0.5
    version: str = "projection/v1"


@dataclass(frozen=True, slots=True)
class RecalledFacts:
    """Hold what the value of one recalled memory depends on; `relevance` and `confidence` are in 0..1."""

    relevance: float
    confidence: float
    modality: Modality
    memory_type: str
    scope_kind: ScopeKind
    age: timedelta
    is_bound_to_task: bool = False


@dataclass(frozen=True, slots=True)
class Worth:
    """Hold the value of one recalled memory, its parts, and why it stays out (empty if it does not)."""

    value: float
    relevance: float
    belief: float
    closeness: float
    recency: float
    is_bound_to_task: bool
    exclusion: str = ""

    def rank(self) -> tuple[bool, float]:
        """Return what answers are sorted by, highest first: bound to the task, then the value."""
        return (self.is_bound_to_task, self.value)


def value_memory(*, facts: RecalledFacts, policy: ProjectionPolicy) -> Worth:
    """Return relevance × belief × closeness of the scope × recency, and whether it stays out.

    A disputed memory counts with a fixed share, so that a strong opposition does not hide the dispute.
    """
    belief = facts.confidence
    if facts.modality is Modality.DISPUTED:
        belief = max(belief, policy.contested_share)
    closeness = _CLOSENESS[facts.scope_kind]
    recency = get_decay(memory_type=facts.memory_type).retain(facts.age)
    exclusion = find_fading(modality=facts.modality, confidence=facts.confidence, epsilon=policy.epsilon)
    return Worth(
        value=round(facts.relevance * belief * closeness * recency, _DIGITS),
        relevance=facts.relevance,
        belief=belief,
        closeness=closeness,
        recency=recency,
        is_bound_to_task=facts.is_bound_to_task,
        exclusion=exclusion,
    )
