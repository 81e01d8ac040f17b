"""Keys of services by their published shapes: a well-kept detector does this, see ADR 0023. Pure: it asks nobody."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from kingfisher_sdk import Rules, Scanner

_SHORTEST = 16  # no service's key is shorter


@cache
def load_detector() -> Scanner:
    """Return the detector with all its rules; making it takes a quarter of a second, and is done once a process."""
    return Scanner(Rules(confidence="low"))


def find_service_keys(*, text: str) -> Iterator[tuple[int, int]]:
    """Yield where keys of services stand, as half-open ranges of characters, from the last to the first."""
    if len(text) < _SHORTEST:
        return
    found = load_detector().scan(text)
    if not found:
        return
    data = text.encode()
    spans = {(one.location["start_offset"], one.location["end_offset"]) for one in found}
    earliest = len(data)
    for start, end in sorted(spans, reverse=True):
        end = min(end, earliest)  # noqa: PLW2901  two rules that overlap take out what both cover
        if start < end:
            earliest = start
            begins = len(data[:start].decode())
            yield begins, begins + len(data[start:end].decode())
