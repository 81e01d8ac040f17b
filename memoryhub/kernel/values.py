"""What derivation works on: facets and the rule they are combined by. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Facet:
    """Hold one piece of evidence, or one belief derived from such pieces: the shape is the same.

    `weight` is in 0..1 at `observed_at` and decays from there. `roots` are the records everything in it goes
    back to. `trust` is the class of its source, in the words of whoever makes the rule. `support`, `opposition` and
    `independent_count` are what a derivation found; a piece that no derivation made supports itself. `superseded`
    marks what a ruling settled against.
    """

    key: str
    weight: float
    observed_at: datetime
    roots: frozenset[str]
    principals: frozenset[str]
    opposes: bool = False
    superseded: bool = False
    support: float = 0.0
    opposition: float = 0.0
    independent_count: int = 1
    superseded_count: int = 0
    trust: str = ""


@dataclass(frozen=True, slots=True)
class DerivationRule:
    """Hold what a derivation is told: the key of its result, how weight fades, and the caps for one principal.

    `caps` gives for a trust how far the lineages of one principal reach together that have this trust or one with a
    lower cap; a trust that is not named has `principal_cap`. `retention` gives the share in 0..1 that is left after
    an age. Without it nothing fades.
    """

    key: str
    principal_cap: float = 1.0
    caps: Mapping[str, float] = field(default_factory=dict)
    retention: Callable[[timedelta], float] | None = None


@dataclass(frozen=True, slots=True)
class Arbitration:
    """Hold a ruling as the kernel sees it: what it settles, what it keeps, and which of two came last."""

    key: str
    settles: frozenset[str]
    winner: str | None
    sequence: int
    decided_by: str
    observed_at: datetime
