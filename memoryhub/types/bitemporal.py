"""Bitemporal algebra: the five things that can be done to what holds over valid time. Pure.

Each is a function from segments to segments and belongs to one kind of claim, so that a timeline is nothing but the
operations of its claims, done in the order of valid time. Recorded time needs no operation: what was held at an instant
is the timeline of the claims that had been recorded by then. Source: Snodgrass 1999; ADR 0016, ADR 0024.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from memoryhub.types.claims import Claim, Timeline
from memoryhub.types.temporal import Period


class Operation(StrEnum):
    """Name what a claim does to the segments that it meets."""

    SPLIT = "split"
    CORRECT = "correct"
    BACK_FILL = "back_fill"
    CLOSE = "close"
    RETRACT = "retract"


class NotThatOperation(ValueError):
    """Say that what stands there makes it another operation."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Hold one value over one period; `value` None is absence: it is known that nothing holds."""

    value: str | None
    valid: Period


Segments = Sequence[Segment]


def list_segments(*, timeline: Timeline) -> tuple[Segment, ...]:
    """Return the values of a timeline over valid time, in its order."""
    return tuple(Segment(part.value_digest, part.valid) for part in timeline.parts)


def value_at(*, segments: Segments, instant: datetime) -> Segment | None:
    """Return the segment that holds at an instant; None is free time, of which nothing is known."""
    return next((segment for segment in segments if segment.valid.holds_at(instant)), None)


def split(*, segments: Segments, valid: Period, value: str) -> tuple[Segment, ...]:
    """Put another value inside one segment, which goes on after it: of one come three.

    Raises:
        NotThatOperation: the period is not inside one segment, or that one says the same.
    """
    _expect(Operation.SPLIT, segments, valid, value)
    return _paint(segments, valid, value)


def correct(*, segments: Segments, valid: Period, value: str) -> tuple[Segment, ...]:
    """Let another value hold over a period in which something stood, and also where it was free.

    Raises:
        NotThatOperation: nothing else stands there, or it stands on both sides too.
    """
    _expect(Operation.CORRECT, segments, valid, value)
    return _paint(segments, valid, value)


def back_fill(*, segments: Segments, valid: Period, value: str) -> tuple[Segment, ...]:
    """Let a value hold in time of which nothing was known, or that nothing holds; all else stays.

    Raises:
        NotThatOperation: a value stands there.
    """
    _expect(Operation.BACK_FILL, segments, valid, value)
    return _paint(segments, valid, value)


def close(*, segments: Segments, at: datetime) -> tuple[Segment, ...]:
    """End what stands: from an instant on nothing holds, and that is known.

    Raises:
        NotThatOperation: no value stands from there on.
    """
    _expect(Operation.CLOSE, segments, Period(at), None)
    return _paint(segments, Period(at), None)


def retract(*, segments: Segments, valid: Period) -> tuple[Segment, ...]:
    """Take back what stands within a period that ends; what stood before comes back after it.

    Raises:
        NotThatOperation: no value stands there, or the period has no end.
    """
    _expect(Operation.RETRACT, segments, valid, None)
    return _paint(segments, valid, None)


def name_operation(*, segments: Segments, valid: Period, value: str | None) -> Operation | None:
    """Return which operation a claim is on these segments; None changes nothing of what is said."""
    met = [segment for segment in segments if segment.valid.overlaps(valid)]
    standing = [segment for segment in met if segment.value is not None]
    if value is None:
        if not standing:
            return None
        return Operation.CLOSE if valid.end is None else Operation.RETRACT
    if not standing:
        return Operation.BACK_FILL
    if len(met) == 1 and met[0].value != value and len(met[0].valid.cut(valid)) == 2:  # noqa: PLR2004  both sides
        return Operation.SPLIT
    return Operation.CORRECT if any(segment.value != value for segment in standing) else None


def apply_claim(*, segments: Segments, claim: Claim) -> tuple[Segment, ...]:
    """Do what a claim does that nobody contests; one that changes nothing may still reach into free time."""
    operation = name_operation(segments=segments, valid=claim.valid, value=claim.value_digest)
    if operation is None:
        return _paint(segments, claim.valid, claim.value_digest)
    return _DO[operation](segments, claim)


_DO: dict[Operation, Callable[[Segments, Claim], tuple[Segment, ...]]] = {
    Operation.SPLIT: lambda held, claim: split(segments=held, valid=claim.valid, value=_say(claim)),
    Operation.CORRECT: lambda held, claim: correct(segments=held, valid=claim.valid, value=_say(claim)),
    Operation.BACK_FILL: lambda held, claim: back_fill(segments=held, valid=claim.valid, value=_say(claim)),
    Operation.CLOSE: lambda held, claim: close(segments=held, at=claim.valid.start),
    Operation.RETRACT: lambda held, claim: retract(segments=held, valid=claim.valid),
}


def _say(claim: Claim) -> str:
    if claim.value_digest is None:
        raise NotThatOperation("a claim of absence says no value")
    return claim.value_digest


def _expect(wanted: Operation, segments: Segments, valid: Period, value: str | None) -> None:
    found = name_operation(segments=segments, valid=valid, value=value)
    if found is not wanted:
        raise NotThatOperation(f"this is no {wanted} but {found or 'nothing new'}")


def _paint(segments: Iterable[Segment], valid: Period, value: str | None) -> tuple[Segment, ...]:
    """Return the segments with one value over one period; neighbours that say the same are one."""
    pieces = [Segment(value, valid)]
    pieces += [replace(segment, valid=rest) for segment in segments for rest in segment.valid.cut(valid)]
    pieces.sort(key=lambda piece: piece.valid.start)
    joined: list[Segment] = []
    for piece in pieces:
        if joined and joined[-1].value == piece.value and joined[-1].valid.end == piece.valid.start:
            joined[-1] = Segment(piece.value, Period(joined[-1].valid.start, piece.valid.end))
        else:
            joined.append(piece)
    return tuple(joined)
