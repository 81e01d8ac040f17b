"""How the console writes instants, ages and values."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.utils import translation

from memoryhub.console import words

MOMENT = datetime(2022, 9, 15, 12, 45, 7, tzinfo=UTC)


def test_an_instant_names_its_zone() -> None:
    assert words.format_moment(moment=MOMENT) == "15 Sep 2022, 12:45 UTC"
    assert words.format_moment(moment=MOMENT.astimezone(timezone(timedelta(hours=8)))) == "15 Sep 2022, 12:45 UTC"


def test_midnight_is_a_day_and_none_is_open() -> None:
    assert words.format_moment(moment=datetime(2022, 9, 5, tzinfo=UTC)) == "5 Sep 2022"
    assert words.format_moment(moment=None) == "open"


def test_chinese_readers_get_numbers() -> None:
    with translation.override("zh-hans"):
        assert words.format_moment(moment=MOMENT) == "2022-09-15 12:45 UTC"
        assert words.format_moment(moment=None) == "今"


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (timedelta(seconds=5), "under 1 min"),
        (timedelta(minutes=12), "12 min"),
        (timedelta(hours=1, minutes=5), "1 h 05 min"),
        (timedelta(days=3, hours=4), "3 d 04 h"),
        (timedelta(days=24, hours=4), "24 d"),
    ],
)
def test_an_age_has_two_units_at_most(age: timedelta, text: str) -> None:
    assert words.format_age(age=age) == text


@pytest.mark.parametrize(("value", "text"), [("4.1", "4.1"), (45, "45"), ({"b": 1, "a": "二"}, '{"a": "二", "b": 1}')])
def test_a_value_is_text_or_json(value: object, text: str) -> None:
    assert words.format_value(value=value) == text


def test_an_absence_says_so() -> None:
    assert words.format_value(value=None) == "no value (retraction)"


@pytest.mark.parametrize(
    ("steps", "labels"),
    [
        ([timedelta(), timedelta(days=2)], ["15 Sep", "17 Sep"]),
        ([timedelta(), timedelta(days=400)], ["15 Sep 2022", "20 Oct 2023"]),
        ([timedelta(), timedelta(minutes=2)], ["12:45", "12:47"]),
        ([timedelta(), timedelta(seconds=2)], ["12:45:07", "12:45:09"]),
        ([timedelta(), timedelta(milliseconds=5)], ["12:45:07.000000", "12:45:07.005000"]),
        ([timedelta(), timedelta(hours=1), timedelta(days=2)], ["15 Sep 12:45", "15 Sep 13:45", "17 Sep 12:45"]),
        ([timedelta()], ["15 Sep"]),
    ],
)
def test_ticks_are_as_short_as_keeps_them_apart(steps: list[timedelta], labels: list[str]) -> None:
    assert words.label_ticks(moments=[MOMENT + step for step in steps]) == labels
