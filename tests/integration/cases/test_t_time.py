"""Class T, time: what held is answered as it held, on both clocks, and a late source keeps its own date.

Held elsewhere: 5,000 random pairs of instants against a model (T10), the mail that came late
(`tests/unit/test_ledger.py`), late changes of real histories (T19), the order of what is said of one instant
(`tests/unit/test_merge.py`).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoryhub.lib import clock
from tests.api.client import Api, a_memory, work
from tests.cast import Cast

TICK = timedelta(microseconds=1)
QUESTION = {"query": "latest release of django"}


def day(number: int, *, year: int = 2024) -> datetime:
    return datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=number)


def text(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")


def write(api: Api, value: Any, start: datetime, end: datetime | None = None, **more: Any) -> dict[str, Any]:
    """Write a value for a valid period; returns the answer."""
    period = {"occurred_at": text(start), "valid_to": None if end is None else text(end)}
    told = api.post("memories", a_memory(value=value, **period, **more))
    assert told.status in (200, 201), told.raw
    answer: dict[str, Any] = told.json
    return answer


def recall(api: Api, valid_at: datetime, recorded_at: datetime) -> list[Any]:
    as_of = {"valid_at": text(valid_at), "recorded_at": text(recorded_at)}
    told = api.post("memories/search", {**QUESTION, "as_of": as_of})
    assert told.status == 200, told.raw
    return [item["value"] for item in told.json["items"]]


def read(api: Api, memory_id: str, valid_at: datetime, recorded_at: datetime) -> Any:
    asked = api.get(f"memories/{memory_id}/as-of?valid_at={text(valid_at)}&recorded_at={text(recorded_at)}").json
    assert (asked["memory"] is None) == (asked["outcome"] == "not_held")
    return None if asked["memory"] is None else asked["memory"]["value"]


def test_a_table_of_instants_on_both_clocks(api: Api) -> None:
    """Write three periods with a gap, correct the first one later, and ask at every boundary and beside it."""
    first = write(api, "a", day(0), day(10))
    write(api, "b", day(20), day(30))
    last = write(api, "c", day(30))
    corrected = write(api, "d", day(5), day(10))
    work()
    memory = first["memory_id"]
    known = [datetime.fromisoformat(told["recorded_at"]) for told in (first, last, corrected)]
    before, early, late, today = known[0] - TICK, known[0], known[2] - TICK, clock.now()
    table: list[tuple[datetime, dict[datetime, str | None]]] = [
        (day(0) - TICK, {before: None, early: None, late: None, today: None}),
        (day(0), {before: None, early: "a", late: "a", today: "a"}),
        (day(5) - TICK, {before: None, early: "a", late: "a", today: "a"}),
        (day(5), {before: None, early: "a", late: "a", today: "d"}),
        (day(10) - TICK, {before: None, early: "a", late: "a", today: "d"}),
        (day(10), {before: None, early: None, late: None, today: None}),
        (day(20) - TICK, {before: None, early: None, late: None, today: None}),
        (day(20), {before: None, early: None, late: "b", today: "b"}),
        (day(30) - TICK, {before: None, early: None, late: "b", today: "b"}),
        (day(30), {before: None, early: None, late: "c", today: "c"}),
        (today, {before: None, early: None, late: "c", today: "c"}),
    ]
    for valid_at, answers in table:
        for recorded_at, value in answers.items():
            assert read(api, memory, valid_at, recorded_at) == value, (valid_at, recorded_at)
            assert recall(api, valid_at, recorded_at) == ([] if value is None else [value]), (valid_at, recorded_at)


def test_what_is_to_come_is_not_told_today(api: Api) -> None:
    today = clock.now()
    write(api, "now", today - timedelta(days=2))
    told = write(api, "soon", today + timedelta(days=2))
    work()
    shown = api.get(f"memories/{told['memory_id']}").json
    assert shown["value"] == "now"
    assert [item["value"] for item in api.post("memories/search", QUESTION).json["items"]] == ["now"]
    assert recall(api, today + timedelta(days=3), clock.now()) == ["soon"]


def test_what_has_ended_is_still_told_of_its_time(api: Api) -> None:
    told = write(api, "offer", day(0), day(10))
    work()
    assert api.post("memories/search", QUESTION).json["items"] == []
    assert recall(api, day(9), clock.now()) == ["offer"]
    assert read(api, told["memory_id"], day(9), clock.now()) == "offer"


@pytest.mark.parametrize("occurred", [day(0, year=1999), day(200, year=2021), day(3) + TICK])
def test_a_source_that_is_sent_late_keeps_its_own_date(api: Api, occurred: datetime) -> None:
    before = clock.now()
    told = write(api, "old", occurred)
    shown = api.get(f"memories/{told['memory_id']}").json
    [step] = api.get(f"memories/{told['memory_id']}/history").json["items"]
    for part in (shown, step["parts"][0]):
        assert (part["occurred_at"], part["valid_from"]) == (text(occurred), text(occurred))
        assert before <= datetime.fromisoformat(part["ingested_at"]) <= clock.now()
        assert before <= datetime.fromisoformat(part["recorded_from"]) <= clock.now()
    [lineage] = api.get(f"memories/{told['memory_id']}/evidence").json["lineages"]
    assert lineage["items"][0]["observed_at"] == text(occurred)


def test_an_older_source_that_comes_last_fills_the_past(api: Api) -> None:
    current = write(api, "new", day(30))
    older = write(api, "old", day(10))
    assert (older["action"], older["memory_id"]) == ("ADD", current["memory_id"])
    shown = api.get(f"memories/{current['memory_id']}").json
    assert (shown["value"], shown["occurred_at"]) == ("new", text(day(30)))
    assert read(api, current["memory_id"], day(29), clock.now()) == "old"


@pytest.mark.parametrize("values", [("wrong", "right"), ("是", "不是"), (True, False)])
def test_a_correction_without_a_number_is_not_lost(api: Api, cast: Cast, values: tuple[Any, Any]) -> None:
    """Hold it eight times over, since event ids are drawn anew: what is meant holds from the same instant on."""
    wrong, right = values
    for number in range(8):
        about: dict[str, Any] = {"conditions": {"case": str(number)}, "actor": cast.alice.username}
        said = write(api, wrong, day(0), **about)
        meant = api.post(
            "memories",
            a_memory(value=right, occurred_at=text(day(0) + timedelta(minutes=5)), valid_from=text(day(0)), **about),
        ).json
        assert (meant["action"], meant["reason"]) == ("SUPERSEDE", "corrects_history")
        assert read(api, said["memory_id"], day(0), clock.now()) == right
        believed_until = datetime.fromisoformat(meant["recorded_at"]) - TICK
        assert read(api, said["memory_id"], day(0), believed_until) == wrong
