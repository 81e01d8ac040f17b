"""Cognitive types: one shape of forgetting, other constants for each type. Pure.

An installed package adds a type of its own by an entry point in the group `memoryhub.cognitive_types`: its name is
the type's, its object a `Decay`. Source: Wixted and Ebbesen 1991 (retention follows a power law); Seed 003 §2.3.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from importlib.metadata import entry_points

from memoryhub.types.enums import MemoryType

GROUP = "memoryhub.cognitive_types"
LONGEST_NAME = 40
NAME = rf"[a-z][a-z0-9_]{{0,{LONGEST_NAME - 1}}}"
_NONE = timedelta(0)


class UnknownCognitiveType(LookupError):
    """Say that nobody registered the type."""


class CognitiveTypeTaken(ValueError):
    """Say that the type is registered with other constants."""


class BadCognitiveType(ValueError):
    """Say that a name or a constant is none that a type can have."""


@dataclass(frozen=True, slots=True)
class Decay:
    """Hold the constants of R(t) = min(1, a · (1 + t/τ)^(-b)), with τ as a period: a > 0, τ > 0, b ≥ 0."""

    a: float
    tau: timedelta
    b: float

    def __post_init__(self) -> None:
        """Refuse constants by which something would be remembered better with time, or not at all.

        Raises:
            BadCognitiveType: one of them is outside its bounds, or no finite number.
        """
        if not (math.isfinite(self.a) and self.a > 0):
            raise BadCognitiveType(f"a is a number above 0, not {self.a}")
        if self.tau <= _NONE:
            raise BadCognitiveType(f"τ is a period longer than nothing, not {self.tau}")
        if not (math.isfinite(self.b) and self.b >= 0):
            raise BadCognitiveType(f"b is a number from 0 on, not {self.b}")

    def retain(self, age: timedelta) -> float:
        """Return the share in 0..1 that is left after an age."""
        if age <= _NONE:
            return min(1.0, self.a)
        return min(1.0, self.a * math.pow(1.0 + age / self.tau, -self.b))


SHIPPED: dict[str, Decay] = {
    MemoryType.EPISODIC: Decay(a=1.0, tau=timedelta(days=7), b=0.5),
    MemoryType.SEMANTIC: Decay(a=1.1, tau=timedelta(days=365), b=0.1),
    MemoryType.PROCEDURAL: Decay(a=1.1, tau=timedelta(days=180), b=0.15),
    MemoryType.REFLECTIVE: Decay(a=1.0, tau=timedelta(days=730), b=0.02),
}


@cache
def _load_types() -> dict[str, Decay]:
    """Return the shipped types and those of installed packages; what is registered later is added to them.

    Raises:
        CognitiveTypeTaken: a package names a type that is there already. BadCognitiveType: it brings no `Decay`.
    """
    found: dict[str, Decay] = {}
    for name, decay in SHIPPED.items():
        _add(found, str(name), decay)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        _add(found, entry.name, entry.load())
    return found


def _add(found: dict[str, Decay], name: str, decay: object) -> None:
    if not re.fullmatch(NAME, name, re.ASCII):
        raise BadCognitiveType(f"{name!r} is no name of a type: small letters, digits and _, {LONGEST_NAME} at most")
    if not isinstance(decay, Decay):
        raise BadCognitiveType(f"the type {name} comes with a Decay, not with {type(decay).__name__}")
    if found.setdefault(name, decay) != decay:
        raise CognitiveTypeTaken(f"{name} is registered with other constants")


def register_cognitive_type(*, name: str, decay: Decay) -> None:
    """Add an application's own type; adding it again with the same constants does nothing new.

    Raises:
        CognitiveTypeTaken: the name stands for other constants. BadCognitiveType: it is no name of a type.
    """
    _add(_load_types(), name, decay)


def list_cognitive_types() -> tuple[str, ...]:
    """Return the names of all types, the shipped ones first."""
    return tuple(_load_types())


def is_cognitive_type(*, name: str) -> bool:
    """Tell whether somebody registered a type of that name."""
    return name in _load_types()


def get_decay(*, memory_type: str) -> Decay:
    """Return the constants of a type.

    Raises:
        UnknownCognitiveType: nobody registered it.
    """
    try:
        return _load_types()[memory_type]
    except KeyError as error:
        raise UnknownCognitiveType(f"no cognitive type {memory_type!r}") from error
