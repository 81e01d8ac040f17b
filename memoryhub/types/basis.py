"""What a claim rests on beside words: lower memories, each at a version. Pure.

Source: Seed 003 §2.3.1 and §2.6; ADR 0009.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memoryhub.types.enums import Modality, Trust


@dataclass(frozen=True, slots=True)
class LowerBelief:
    """Hold the belief a lower memory brings: a facet like any other, faded as far as it has at `observed_at`.

    `weight` is its confidence in 0..1. `roots` and `principals` are those of the claims that support it, `trust` is
    the best of theirs, `lineages` how many independent ones they are. One without roots brings nothing.
    """

    weight: float
    observed_at: datetime
    roots: frozenset[str]
    principals: frozenset[str]
    trust: Trust
    lineages: int = 1


@dataclass(frozen=True, slots=True)
class Basis:
    """Hold one lower memory as a claim rests on it: its version, what stood there, and the belief it brought.

    With `carries` the claim rests on memories alone, and weighs what they derive to times `share`, in 0..1; without
    it the memory is only cited.
    """

    lower: str
    version: int
    value_digest: str | None
    belief: LowerBelief
    carries: bool = True
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class LowerFacts:
    """Hold a lower memory as it stands: its belief, and the part that stands at the instant of it.

    `state` is the state of that part, or of what was taken back; empty where nothing stands.
    """

    memory: str
    version: int
    value_digest: str | None
    state: str
    modality: Modality
    has_open_conflict: bool
    belief: LowerBelief
