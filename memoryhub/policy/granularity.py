"""Granularity: at which level is something kept, and when is it time to reflect? Pure.

Source: Seed 003 §2.3 and §2.4; ADR 0009 (a reflection rests on lower memories and replaces none).
"""

from __future__ import annotations

from dataclasses import dataclass

from memoryhub.types.enums import CandidateKind, MemoryType

_LEVELS = {
    CandidateKind.FACT: MemoryType.SEMANTIC,
    CandidateKind.PREFERENCE: MemoryType.SEMANTIC,
    CandidateKind.EXPERIENCE: MemoryType.EPISODIC,
    CandidateKind.LEAD: MemoryType.EPISODIC,
}


@dataclass(frozen=True, slots=True)
class GranularityPolicy:
    """Hold how many new lower memories make a reflection worth while."""

    reflect_after: int = 20
    version: str = "granularity/v1"


def choose_level(*, kind: CandidateKind) -> MemoryType:
    """Return the cognitive type of a candidate whose proposer named none."""
    return _LEVELS[kind]


def is_time_to_reflect(*, held: int, reflected: int, policy: GranularityPolicy) -> bool:
    """Tell whether enough lower memories are held that no reflection rests on yet."""
    return held - reflected >= policy.reflect_after
