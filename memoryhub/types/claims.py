"""What one source says of one memory, and what a person said of such claims.

Sources: design of claims and rulings, seed 003 invariants 3 and 5; ADR 0006.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from memoryhub.types.enums import Stance, Trust
from memoryhub.types.temporal import Period


@dataclass(frozen=True, slots=True, order=True)
class SourceIdentity:
    """Identify what a claim comes from: never the evidence row, so extracting again counts nothing.

    `kind` is `event`, `document`, `ruling` or `memory`; `key` is the id of that source; `statement` is 0
    unless one source states several periods.
    """

    kind: str
    key: str
    statement: int = 0

    def as_text(self) -> str:
        """Return `kind:key:statement`, the form rulings and the database use."""
        return f"{self.kind}:{self.key}:{self.statement}"


@dataclass(frozen=True, slots=True)
class Author:
    """Name who stands behind a claim, with rank and groups as they were when the claim was received."""

    principal: str
    rank: int = 0
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Claim:
    """Hold one value for one fact key, as one statement of one source gives it.

    `value_digest` is None for a claim of absence (a retraction). `effective` tells whether the valid period
    begins at a stated instant or at a first-party event's `occurred_at`; without it nobody supersedes alone.
    `order_digest` breaks ties of equal (`valid.start`, `observed_at`, `source_seq`). `weight` is in 0..1 before decay
    and is decayed from `observed_at`; `trust` caps how far the claims of one principal reach together. `lineages` is
    how many independent lineages it goes back to: more than one if it rests on memories.
    """

    source: SourceIdentity
    value_digest: str | None
    valid: Period
    author: Author
    roots: frozenset[str]
    weight: float
    observed_at: datetime
    source_seq: int = 0
    order_digest: str = ""
    stance: Stance = Stance.SUPPORTS
    effective: bool = True
    validated: bool = False
    trust: Trust = Trust.FIRST_PARTY
    lineages: int = 1


@dataclass(frozen=True, slots=True)
class Echo:
    """Hold what a claim repeats: the claims with its value that an earlier answer of its session held.

    `roots` are those of all of them, `weight` is that of the lightest, and the oldest was observed at `observed_at`.
    """

    roots: frozenset[str]
    weight: float
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class Ruling:
    """Hold a person's or policy's settlement of the claims in `settles`.

    `winner` is one of them, the source of the claim that holds from `effective_from` on (without it, from that
    claim's own beginning), or None: then every claim it names is dismissed and what stood before, which it must
    not name, keeps standing. `keeps_conflict` records that the reviewer looked and left the conflict open.
    `sequence` orders rulings on the same claims: the highest one counts (an overturning is one more ruling).
    """

    key: str
    settles: frozenset[SourceIdentity]
    winner: SourceIdentity | None
    effective_from: datetime | None
    sequence: int
    keeps_conflict: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Hold one value over one valid period, as the fold of the claims gives it.

    `value_digest` None is a part of absence. `replaced_digest` is the value this part took the place of at
    its beginning (None if it opened a free period or replaced absence); `since` is when the value first came
    to stand (a remainder after a split keeps the `since` of the part it was cut from). `supporters` are the
    sources that support exactly this part, its opener first.
    """

    value_digest: str | None
    valid: Period
    opener: SourceIdentity
    author: Author
    since: datetime
    replaced_digest: str | None
    validated: bool
    supporters: tuple[SourceIdentity, ...]


@dataclass(frozen=True, slots=True)
class OpenConflict:
    """Hold the claims of one memory that source, conditions and time do not settle.

    `standing` is the opener of the part that stood; `members` are the contesting claims, the first one
    opened the conflict at `opened_from` (valid time) for `reason`.
    """

    standing: SourceIdentity
    members: tuple[SourceIdentity, ...]
    opened_from: datetime
    reason: str
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    """Hold the whole fold: parts in valid-time order without overlap, and at most one open conflict.

    `dismissed` maps a claim's source to the key of the ruling that settled against it.
    """

    parts: tuple[Part, ...] = ()
    conflict: OpenConflict | None = None
    opposing: tuple[SourceIdentity, ...] = ()
    dismissed: dict[SourceIdentity, str] = field(default_factory=dict)
