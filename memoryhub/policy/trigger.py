"""Trigger: when is an event looked at for something to remember? Pure.

Source: Seed 003 §2.4. Whatever has words or data is looked at: a silence here would read as "nothing
happened" (Seed 003 §2.2, invariant 4).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SILENT_SOURCE_TYPES = frozenset({"retrieval", "heartbeat"})


@dataclass(frozen=True, slots=True)
class EventFacts:
    """Hold what the trigger may look at: the envelope, never the words."""

    source_type: str
    has_body: bool
    is_replay: bool = False


def list_extractors(*, event: EventFacts, active: Iterable[str]) -> tuple[str, ...]:
    """Return the extractors that get a job for an event, in one order.

    None for an event without a body (a barrier stands before it), for one that was already received, and for
    what the system itself writes down about its own answers.
    """
    if not event.has_body or event.is_replay or event.source_type in SILENT_SOURCE_TYPES:
        return ()
    return tuple(sorted(set(active)))
