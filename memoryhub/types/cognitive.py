"""Cognitive types: one shape of forgetting, other constants for each type. Pure.

Source: Wixted and Ebbesen 1991 (retention follows a power law); Seed 003 §2.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

from memoryhub.types.enums import MemoryType

_NONE = timedelta(0)


class UnknownCognitiveType(LookupError):
    """Say that nobody registered the type."""


class CognitiveTypeTaken(ValueError):
    """Say that the type is registered with other constants."""


@dataclass(frozen=True, slots=True)
class Decay:
    """Hold the constants of R(t) = min(1, a · (1 + t/τ)^(-b)), with τ as a period."""

    a: float
    tau: timedelta
    b: float

    def retain(self, age: timedelta) -> float:
        """Return the share in 0..1 that is left after an age."""
        if age <= _NONE:
            return min(1.0, self.a)
        return min(1.0, self.a * math.pow(1.0 + age / self.tau, -self.b))


_DECAYS: dict[str, Decay] = {
    MemoryType.EPISODIC: Decay(a=1.0, tau=timedelta(days=7), b=0.5),
    MemoryType.SEMANTIC: Decay(a=1.1, tau=timedelta(days=365), b=0.1),
    MemoryType.PROCEDURAL: Decay(a=1.1, tau=timedelta(days=180), b=0.15),
    MemoryType.REFLECTIVE: Decay(a=1.0, tau=timedelta(days=730), b=0.02),
}


def register_cognitive_type(*, name: str, decay: Decay) -> None:
    """Add an application's own type; adding it again with the same constants does nothing new.

    Raises:
        CognitiveTypeTaken: the name stands for other constants.
    """
    if _DECAYS.setdefault(name, decay) != decay:
        raise CognitiveTypeTaken(f"{name} is registered with other constants")


def get_decay(*, memory_type: str) -> Decay:
    """Return the constants of a type.

    Raises:
        UnknownCognitiveType: nobody registered it.
    """
    try:
        return _DECAYS[memory_type]
    except KeyError as error:
        raise UnknownCognitiveType(f"no cognitive type {memory_type!r}") from error
