"""Valid time and recorded time: half-open periods and the pair of instants a question is asked for.

Source: Snodgrass 1999 (two orthogonal times); every period is half-open and an open end is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


class EmptyPeriod(ValueError):
    """Say that a period would end before or at its beginning."""


@dataclass(frozen=True, slots=True, order=False)
class Period:
    """Hold a half-open period [start, end); `end` None is open."""

    start: datetime
    end: datetime | None = None

    def __post_init__(self) -> None:
        """Refuse an empty or reversed period.

        Raises:
            EmptyPeriod: `end` is not after `start`.
        """
        if self.end is not None and self.end <= self.start:
            message = f"a period ends after it begins, not {self.start.isoformat()} to {self.end.isoformat()}"
            raise EmptyPeriod(message)

    def holds_at(self, instant: datetime) -> bool:
        """Tell whether the instant lies in the period."""
        return self.start <= instant and (self.end is None or instant < self.end)

    def overlaps(self, other: Period) -> bool:
        """Tell whether the two periods share an instant."""
        return (self.end is None or other.start < self.end) and (other.end is None or self.start < other.end)

    def meet(self, other: Period) -> Period | None:
        """Return what the two share, or None."""
        if not self.overlaps(other):
            return None
        ends = [end for end in (self.end, other.end) if end is not None]
        return Period(max(self.start, other.start), min(ends) if ends else None)

    def cut(self, other: Period) -> tuple[Period, ...]:
        """Return what is left of this period without the other: none, one or two pieces."""
        shared = self.meet(other)
        if shared is None:
            return (self,)
        pieces = []
        if self.start < shared.start:
            pieces.append(Period(self.start, shared.start))
        if shared.end is not None and (self.end is None or shared.end < self.end):
            pieces.append(Period(shared.end, self.end))
        return tuple(pieces)


@dataclass(frozen=True, slots=True)
class AsOf:
    """Hold the two instants of a question: when it is true, and when the system held it."""

    valid_at: datetime
    recorded_at: datetime
