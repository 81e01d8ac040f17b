"""The five operations on what holds over valid time, each on a line one can read.

A timeline is written day by day, one character a day: a letter is a value, `-` is absence, a blank is free time.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import groupby

import pytest

from memoryhub.types.bitemporal import (
    NotThatOperation,
    Operation,
    Segment,
    Segments,
    back_fill,
    close,
    correct,
    name_operation,
    retract,
    split,
    value_at,
)
from memoryhub.types.temporal import Period

DAYS = 12


def on(day: int) -> datetime:
    return datetime(2026, 5, 1, tzinfo=UTC) + timedelta(days=day)


def days(first: int, end: int | None = None) -> Period:
    return Period(on(first), None if end is None else on(end))


def read(line: str) -> Segments:
    """Return the segments that a line draws; what holds on its last day holds on."""
    segments, day = [], 0
    for letter, run in groupby(line):
        length = len(list(run))
        end = None if day + length == len(line) else day + length
        if letter != " ":
            segments.append(Segment(None if letter == "-" else letter, days(day, end)))
        day += length
    return segments


def draw(segments: Segments) -> str:
    """Return the line of some segments."""
    found = [value_at(segments=segments, instant=on(day)) for day in range(DAYS)]
    return "".join(" " if segment is None else segment.value or "-" for segment in found)


def test_a_split_leaves_the_value_on_both_sides() -> None:
    """Between 4 and 7 May it was b: one segment becomes three."""
    held = read("aaaaaaaaaaaa")
    found = split(segments=held, valid=days(4, 7), value="b")
    assert draw(found) == "aaaabbbaaaaa"
    assert len(found) == 3


def test_a_correction_replaces_what_stood() -> None:
    """From 4 May on it was b all the time; what came to stand later within the period is corrected with it."""
    assert draw(correct(segments=read("aaaaaaaaaaaa"), valid=days(4), value="b")) == "aaaabbbbbbbb"
    assert draw(correct(segments=read("aaaaccccdddd"), valid=days(2, 10), value="b")) == "aabbbbbbbbdd"
    assert draw(correct(segments=read("  aaaa  aaaa"), valid=days(0, 8), value="b")) == "bbbbbbbbaaaa"


def test_a_back_fill_moves_nothing_that_stands() -> None:
    """An older fact arrives late: it fills the time before, and does not become current."""
    assert draw(back_fill(segments=read("    aaaaaaaa"), valid=days(0, 4), value="b")) == "bbbbaaaaaaaa"
    assert draw(back_fill(segments=read("aaaa----aaaa"), valid=days(4, 8), value="b")) == "aaaabbbbaaaa"


def test_a_close_ends_what_stands() -> None:
    """From 8 May on nothing holds any more; until then it did."""
    assert draw(close(segments=read("aaaaaaaaaaaa"), at=on(8))) == "aaaaaaaa----"
    assert draw(close(segments=read("aaaabbbbbbbb"), at=on(2))) == "aa----------"


def test_a_retraction_takes_back_a_period() -> None:
    """From 4 to 7 May it did not hold; after that it does again."""
    assert draw(retract(segments=read("aaaaaaaaaaaa"), valid=days(4, 7))) == "aaaa---aaaaa"


@pytest.mark.parametrize(
    ("line", "valid", "value", "operation"),
    [
        ("aaaaaaaaaaaa", days(4, 7), "b", Operation.SPLIT),
        ("aaaaaaaaaaaa", days(4, 7), "a", None),
        ("aaaaaaaaaaaa", days(0, 7), "b", Operation.CORRECT),
        ("aaaabbbbbbbb", days(2, 7), "a", Operation.CORRECT),
        ("            ", days(2, 7), "a", Operation.BACK_FILL),
        ("aa--------aa", days(2, 7), "a", Operation.BACK_FILL),
        ("aaaaaaaaaaaa", days(4), None, Operation.CLOSE),
        ("aaaaaaaaaaaa", days(4, 7), None, Operation.RETRACT),
        ("aaaa--------", days(4), None, None),
        ("aaaa        ".rstrip() + " -", days(4), None, None),
    ],
)
def test_what_stands_there_names_the_operation(
    line: str, valid: Period, value: str | None, operation: Operation | None
) -> None:
    held = read(line)
    assert name_operation(segments=held, valid=valid, value=value) is operation
    tried: dict[Operation, Callable[[], Segments]] = {
        Operation.SPLIT: lambda: split(segments=held, valid=valid, value=value or "a"),
        Operation.CORRECT: lambda: correct(segments=held, valid=valid, value=value or "a"),
        Operation.BACK_FILL: lambda: back_fill(segments=held, valid=valid, value=value or "a"),
        Operation.CLOSE: lambda: close(segments=held, at=valid.start),
        Operation.RETRACT: lambda: retract(segments=held, valid=valid),
    }
    for name, do in tried.items():
        says_value = name not in {Operation.CLOSE, Operation.RETRACT}
        if name is operation:
            do()
        elif says_value == (value is not None):
            if name is Operation.CLOSE and operation is Operation.RETRACT:
                continue  # the same instant without an end is a close
            with pytest.raises(NotThatOperation):
                do()
