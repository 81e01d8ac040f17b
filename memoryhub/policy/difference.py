"""The difference between two timelines, and its name. Pure.

Source: Seed 000 §5.3, ADR 0016.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memoryhub.types.claims import OpenConflict, Part, SourceIdentity, Timeline
from memoryhub.types.temporal import Period


@dataclass(frozen=True, slots=True)
class Difference:
    """Hold what the second timeline has that the first has not, and the reverse.

    `supersedes`: somewhere a value stood that no longer stands. `fills`: somewhere a value stands where none
    stood. `joined` are the members the conflict gained.
    """

    close: tuple[Part, ...]
    write: tuple[Part, ...]
    supersedes: bool
    fills: bool
    conflict: OpenConflict | None
    conflict_changed: bool
    joined: frozenset[SourceIdentity]
    dissolves: bool
    newly_dismissed: dict[SourceIdentity, str]


def compare_timelines(*, old: Timeline, new: Timeline) -> Difference:
    """Return the difference that leads from the old timeline to the new one."""
    before = {_to_key(part): part for part in old.parts}
    after = {_to_key(part): part for part in new.parts}
    close = tuple([part for key, part in before.items() if key not in after])
    write = tuple([part for key, part in after.items() if key not in before])
    was_in = old.conflict.members if old.conflict is not None else ()
    is_in = new.conflict.members if new.conflict is not None else ()
    return Difference(
        close=close,
        write=write,
        supersedes=any(not _is_kept(part, write) for part in close),
        fills=any(_list_uncovered(part.valid, [one.valid for one in close]) for part in write),
        conflict=new.conflict,
        conflict_changed=old.conflict != new.conflict,
        joined=frozenset(is_in).difference(was_in),
        dissolves=old.conflict is not None and new.conflict is None,
        newly_dismissed={
            source: ruling for source, ruling in new.dismissed.items() if old.dismissed.get(source) != ruling
        },
    )


def _to_key(part: Part) -> tuple[object, ...]:
    """Return what a stored part says of itself; support is counted apart from it."""
    valid = part.valid
    return (
        valid.start,
        valid.end,
        part.value_digest,
        part.opener,
        part.since,
        part.replaced_digest,
        part.validated,
    )


def _is_kept(part: Part, write: Iterable[Part]) -> bool:
    same = [one.valid for one in write if one.value_digest == part.value_digest]
    return not _list_uncovered(part.valid, same)


def _list_uncovered(period: Period, covers: Iterable[Period]) -> list[Period]:
    left = [period]
    for cover in covers:
        left = [rest for piece in left for rest in piece.cut(cover)]
    return left
