"""The timeline: claims and rulings become parts, in valid-time order, never in order of arrival. Pure.

Claims are taken by (placed start, instant of the source, source's own sequence, digest): of two that speak of one
instant, the later said comes after (ADR 0024). A ruling places its winner at the instant it is effective from.
Because the order is that of valid time, what stands at or after a claim's start always begins with one unbroken run;
the rest of its period is free.

Where a claim meets what stands:

* it opposes or narrows (`contradicts`, `qualifies`): it moves nothing;
* a ruling made it the winner: it replaces whatever stands over its placed period, whoever wrote that, and
  also while a conflict is open;
* no conflict is open: it opens a part where nothing stands, supports what says the same and extends it into
  free time, and replaces what differs if the rule lets it. If the rule contests one segment the whole claim
  is contested: a conflict opens, and no part moves;
* a conflict is open: it supports what stands if that says the same wherever its period is covered (without
  extending it), and otherwise joins the conflict.

A claim that a ruling settled and did not make the winner:

* is dismissed if the ruling names no winner;
* is dismissed from the winner's place on, unless it says what the winner says: a ruling outranks what it
  settles from its instant on, and no late claim brings back what a person settled against;
* before the winner's place it is a part of history, and is dismissed only where it would be contested or would
  join a conflict (ADR 0006).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memoryhub.types.claims import (
    Author,
    Claim,
    OpenConflict,
    Part,
    Ruling,
    SourceIdentity,
    Timeline,
)
from memoryhub.types.enums import Stance
from memoryhub.types.temporal import Period

PlacedOrder = tuple[datetime, datetime, int, str, SourceIdentity]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Say whether a claim may replace what stands, or why it is contested."""

    replaces: bool
    reason: str = ""


REPLACE = Verdict(replaces=True)


def contest(reason: str, /) -> Verdict:
    """Return the verdict that a claim is contested for a reason."""
    return Verdict(replaces=False, reason=reason)


class ReplacementRule(Protocol):
    """Say who may replace whom; the policy hands it in."""

    def judge(self, *, standing: Part, claim: Claim) -> Verdict:
        """Return whether the claim may replace the part, which says something else."""


@dataclass(slots=True)
class _Piece:
    """Hold one part while it is being worked on."""

    value: str | None
    start: datetime
    end: datetime | None
    opener: SourceIdentity
    author: Author
    since: datetime
    replaced: str | None
    opener_validated: bool


@dataclass(slots=True)
class _Placed:
    """Hold one claim where the rulings place it."""

    claim: Claim
    start: datetime
    end: datetime | None
    ruling: Ruling | None
    wins: bool
    is_set_aside: bool = False

    def order(self) -> PlacedOrder:
        return _order_from(self.start, self.claim)


def placed_order(*, claim: Claim) -> PlacedOrder:
    """Return the place of a claim that no ruling settles among the others."""
    return _order_from(claim.valid.start, claim)


def _order_from(start: datetime, claim: Claim) -> PlacedOrder:
    return (start, claim.observed_at, claim.source_seq, claim.order_digest, claim.source)


def fold_timeline(
    *,
    claims: Iterable[Claim],
    rulings: Iterable[Ruling],
    rule: ReplacementRule,
    start: Part | None = None,
    earlier: Iterable[Claim] = (),
) -> Timeline:
    """Return what a set of claims and rulings amounts to; the same set gives the same timeline.

    `start` makes it a fold of the tail: `start` is the newest part of the fold of `earlier`, no conflict is
    open there, no ruling names them, and every one of `claims` is placed after every one of `earlier` and after
    the beginning of `start`. Then the result is the full fold from `start` on. `earlier` moves nothing: of it
    only what was placed since `start.since` and what opposes is looked at, the rest may be left out.
    """
    return _Fold(rule=rule, rulings=list(rulings), start=start, earlier=earlier).run(claims)


class _Fold:
    """Hold the state of one fold."""

    def __init__(
        self,
        *,
        rule: ReplacementRule,
        rulings: Sequence[Ruling],
        start: Part | None,
        earlier: Iterable[Claim],
    ) -> None:
        self.rule = rule
        self.rulings = rulings
        self.settled = _find_settlements(rulings)
        self.pieces: list[_Piece] = []
        self.live: dict[str | None, list[_Placed]] = {}
        self.validated: list[_Placed] = []
        self.members: list[SourceIdentity] = []
        self.conflict: tuple[SourceIdentity, datetime, str] | None = None
        self.opposing: list[SourceIdentity] = []
        self.dismissed: dict[SourceIdentity, str] = {}
        if start is not None:
            self._begin_at(start, earlier)

    def _begin_at(self, start: Part, earlier: Iterable[Claim]) -> None:
        opener_validated = start.validated
        for placed in self._place(earlier):
            if placed.claim.source == start.opener:
                opener_validated = placed.claim.validated
            if placed.claim.stance is not Stance.SUPPORTS:
                self.opposing.append(placed.claim.source)
            else:
                self._count(placed)
        self.pieces.append(
            _Piece(
                value=start.value_digest,
                start=start.valid.start,
                end=start.valid.end,
                opener=start.opener,
                author=start.author,
                since=start.since,
                replaced=start.replaced_digest,
                opener_validated=opener_validated,
            )
        )

    def run(self, claims: Iterable[Claim]) -> Timeline:
        for placed in self._place(claims):
            self._take(placed)
        return Timeline(
            parts=tuple([self._finish(piece) for piece in self.pieces]),
            conflict=self._finish_conflict(),
            opposing=tuple(self.opposing),
            dismissed=self.dismissed,
        )

    def _place(self, claims: Iterable[Claim]) -> list[_Placed]:
        """Return the claims in order, each source once."""
        placed: list[_Placed] = []
        for claim in claims:
            ruling = self.settled.get(claim.source) if self.settled else None
            wins = ruling is not None and ruling.winner == claim.source
            start, end = claim.valid.start, claim.valid.end
            if wins and ruling is not None and ruling.effective_from is not None:
                start = ruling.effective_from
            placed.append(_Placed(claim=claim, start=start, end=end, ruling=ruling, wins=wins))
        if self.settled:
            _set_losers_aside(placed)
        if len(placed) > 1:
            placed.sort(key=_Placed.order)
            first_of_source: dict[SourceIdentity, _Placed] = {}
            for one in placed:
                first_of_source.setdefault(one.claim.source, one)
            placed = list(first_of_source.values())
        return placed

    def _take(self, placed: _Placed) -> None:
        claim = placed.claim
        if placed.is_set_aside:
            self._dismiss(placed)
            return
        if claim.stance is not Stance.SUPPORTS:
            if placed.ruling is not None and not placed.wins:
                self._dismiss(placed)
            else:
                self.opposing.append(claim.source)
            return
        first = self._find_first(placed.start)
        covered = self._count_covered(first, placed.end)
        if not placed.wins:
            if self.conflict is not None:
                self._take_under_conflict(placed, first, covered)
                return
            contested = self._find_contested(claim, first, covered)
            if contested is not None:
                if placed.ruling is not None:
                    self._dismiss(placed)
                else:
                    self.conflict = (contested[0], placed.start, contested[1])
                    self.members.append(claim.source)
                return
        self._apply(placed, first, covered)
        self._count(placed)

    def _take_under_conflict(self, placed: _Placed, first: int, covered: int) -> None:
        value = placed.claim.value_digest
        if covered and all(p.value == value for p in self.pieces[first : first + covered]):
            self._count(placed)
        elif placed.ruling is not None:
            self._dismiss(placed)
        else:
            self.members.append(placed.claim.source)

    def _dismiss(self, placed: _Placed) -> None:
        if placed.ruling is not None:
            self.dismissed[placed.claim.source] = placed.ruling.key

    def _count(self, placed: _Placed) -> None:
        self.live.setdefault(placed.claim.value_digest, []).append(placed)
        if placed.claim.validated:
            self.validated.append(placed)

    def _find_first(self, start: datetime) -> int:
        """Return the index of the first piece that ends after an instant."""
        index = len(self.pieces)
        while index:
            end = self.pieces[index - 1].end
            if end is not None and end <= start:
                break
            index -= 1
        return index

    def _count_covered(self, first: int, end: datetime | None) -> int:
        """Return how many pieces from the first one on begin before an end."""
        if end is None:
            return len(self.pieces) - first
        return sum(1 for piece in self.pieces[first:] if piece.start < end)

    def _find_contested(self, claim: Claim, first: int, covered: int) -> tuple[SourceIdentity, str] | None:
        """Return the opener of the first piece that the claim may not replace, and why not."""
        for piece in self.pieces[first : first + covered]:
            if piece.value is None or piece.value == claim.value_digest:
                continue  # whoever brings a value where none holds contradicts nobody
            verdict = self.rule.judge(standing=self._show(piece), claim=claim)
            if not verdict.replaces:
                return piece.opener, verdict.reason
        return None

    def _apply(self, placed: _Placed, first: int, covered: int) -> None:
        """Let the claim support, replace, open and extend over its period."""
        value, start, end = placed.claim.value_digest, placed.start, placed.end
        done = self.pieces[:first]
        tail: _Piece | None = None
        tail_is_own = False
        reached: datetime | None = start
        after: list[_Piece] = self.pieces[first + covered :]
        for piece in self.pieces[first : first + covered]:
            reached = piece.end
            if piece.value == value:
                done.append(piece)
                tail, tail_is_own = piece, False
                continue
            segment_end = _earlier_end(piece.end, end)
            if segment_end != piece.end and segment_end is not None:
                after.insert(0, _cut(piece, start=segment_end))
            if piece.start < start:
                done.append(piece)
                piece.end = start
            if tail is not None and tail_is_own:
                tail.end = segment_end
            else:
                tail, tail_is_own = _open(placed, max(piece.start, start), segment_end, piece.value), True
                done.append(tail)
        if reached is not None and (end is None or reached < end):
            if tail is not None:
                tail.end = end
            else:
                done.append(_open(placed, reached, end, None))
        self.pieces = done + after

    def _is_validated(self, piece: _Piece) -> bool:
        return piece.opener_validated or any(_supports(placed, piece) for placed in self.validated)

    def _show(self, piece: _Piece, supporters: tuple[SourceIdentity, ...] = ()) -> Part:
        return Part(
            value_digest=piece.value,
            valid=Period(piece.start, piece.end),
            opener=piece.opener,
            author=piece.author,
            since=piece.since,
            replaced_digest=piece.replaced,
            validated=self._is_validated(piece),
            supporters=supporters or (piece.opener,),
        )

    def _finish(self, piece: _Piece) -> Part:
        opener = piece.opener
        others = [
            placed.claim.source
            for placed in self.live.get(piece.value, ())
            if _supports(placed, piece) and placed.claim.source != opener
        ]
        return self._show(piece, (opener, *others))

    def _finish_conflict(self) -> OpenConflict | None:
        if self.conflict is None:
            return None
        standing, opened_from, reason = self.conflict
        looked_at = {s for ruling in self.rulings if ruling.keeps_conflict for s in ruling.settles}
        return OpenConflict(
            standing=standing,
            members=tuple(self.members),
            opened_from=opened_from,
            reason=reason,
            kept=looked_at.issuperset(self.members),
        )


def _find_settlements(rulings: Sequence[Ruling]) -> dict[SourceIdentity, Ruling]:
    """Return for each settled source the ruling with the highest sequence; keeping settles nothing."""
    settled: dict[SourceIdentity, Ruling] = {}
    if rulings:
        for ruling in sorted(rulings, key=lambda ruling: (ruling.sequence, ruling.key)):
            if not ruling.keeps_conflict:
                settled |= dict.fromkeys(ruling.settles, ruling)
    return settled


def _set_losers_aside(placed: list[_Placed]) -> None:
    """Mark what the rulings dismiss wherever it stands, and winners that are left no period."""
    winners = {one.claim.source: one for one in placed if one.wins}
    for one in placed:
        if one.wins:
            one.is_set_aside = one.end is not None and one.end <= one.start
        elif one.ruling is not None:
            winner = winners.get(one.ruling.winner) if one.ruling.winner is not None else None
            one.is_set_aside = one.ruling.winner is None or (
                winner is not None
                and winner.order() < one.order()
                and winner.claim.value_digest != one.claim.value_digest
            )


def _supports(placed: _Placed, piece: _Piece) -> bool:
    """Tell whether a counted claim says what the piece says, since it came to stand and within its period."""
    return (
        placed.claim.value_digest == piece.value
        and placed.start >= piece.since
        and (piece.end is None or placed.start < piece.end)
        and (placed.end is None or placed.end > piece.start)
    )


def _open(placed: _Placed, start: datetime, end: datetime | None, replaced: str | None) -> _Piece:
    claim = placed.claim
    return _Piece(
        value=claim.value_digest,
        start=start,
        end=end,
        opener=claim.source,
        author=claim.author,
        since=placed.start,
        replaced=replaced,
        opener_validated=claim.validated,
    )


def _cut(piece: _Piece, *, start: datetime) -> _Piece:
    """Return the rest of a piece from an instant on."""
    return _Piece(
        value=piece.value,
        start=start,
        end=piece.end,
        opener=piece.opener,
        author=piece.author,
        since=piece.since,
        replaced=piece.replaced,
        opener_validated=piece.opener_validated,
    )


def _earlier_end(one: datetime | None, other: datetime | None) -> datetime | None:
    if one is None:
        return other
    if other is None:
        return one
    return min(one, other)
