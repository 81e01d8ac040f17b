"""Time phrases, English and Chinese: from when on, or until when, a statement says that it holds. Pure.

A phrase without a year is read only where one year is clearly meant: "since March" is the last March, and "from 1 June"
is the nearest one if it is less than four months away. Anything else is left: the claim then holds from the event on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august",
         "sep sept september", "oct october", "nov november", "dec december"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "(?P<{}>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + ")"
_YEAR = "(?P<{}>(?:19|20)[0-9]{{2}})"
_DATE = (
    rf"(?:{_YEAR.format('y1')}-(?P<m1>[0-9]{{1,2}})(?:-(?P<d1>[0-9]{{1,2}}))?"
    rf"|(?:the )?(?P<d2>[0-9]{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH.format('m2')}(?:,? {_YEAR.format('y2')})?"
    rf"|{_MONTH.format('m3')}(?: (?P<d3>[0-9]{{1,2}})(?:st|nd|rd|th)?(?![0-9]))?(?:,? {_YEAR.format('y3')})?"
    rf"|{_YEAR.format('y4')}"
    r"|(?P<near>today|tomorrow|yesterday|next month|next year|next week|last month|last year))(?![\w-])"
)
_ENGLISH = re.compile(
    rf"(?i)\b(?:(?P<since>since)|(?P<until>until|till|up to)|(?:(?:starting|effective|valid)(?: from| on| as of"
    rf"| as from)?"
    rf"|from|as of|as from)) {_DATE}(?: (?:on|onwards?|forward|on ?wards?)\b)?"
)
_CHINESE_DATE = (
    r"(?:(?P<y1>(?:19|20)[0-9]{2}) ?[年/-] ?(?:(?P<m1>[0-9]{1,2}) ?(?:月|[/-])? ?(?:(?P<d1>[0-9]{1,2}) ?[日号]?)?)?"
    r"|(?P<m2>[0-9]{1,2}|十[一二]?|[一二三四五六七八九]) ?月份?(?: ?(?P<d2>[0-9]{1,2}) ?[日号])?"
    r"|(?P<near>今天|明天|昨天|下个?月|下周|明年|上个?月|去年))"
)
_CHINESE_SINCE = re.compile(rf"(?:从|自从?|打){_CHINESE_DATE}(?:开始|以来|以后|之后|起)")
_CHINESE_UNTIL = re.compile(rf"(?:直?到|截至|截止到?){_CHINESE_DATE}(?:为止|结束)")
_NUMERALS = {name: number for number, name in enumerate("一二三四五六七八九十", start=1)} | {"十一": 11, "十二": 12}
_CLEARLY_NEAR = timedelta(days=122)


@dataclass(frozen=True, slots=True)
class Stated:
    """Hold a period that a text states, and where the phrases stand in it."""

    valid_from: datetime | None = None
    valid_to: datetime | None = None
    spans: tuple[tuple[int, int], ...] = ()


def read_period(*, text: str, at: datetime) -> Stated:
    """Return the period that a text states, said at an instant; what is not clear is left out."""
    start = end = None
    spans: list[tuple[int, int]] = []
    for match in _ENGLISH.finditer(text):
        is_until = match["until"] is not None
        instant = _read(match, at=at, is_past=match["since"] is not None)
        spans.append(match.span())
        start, end = (start, end or instant) if is_until else (start or instant, end)
    for pattern, is_until in ((_CHINESE_SINCE, False), (_CHINESE_UNTIL, True)):
        for match in pattern.finditer(text):
            is_past = match.group().endswith("以来")
            instant = _read(match, at=at, is_past=is_past)
            spans.append(match.span())
            start, end = (start, end or instant) if is_until else (start or instant, end)
    if start is not None and end is not None and end <= start:
        return Stated(spans=tuple(spans))
    return Stated(valid_from=start, valid_to=end, spans=tuple(sorted(spans)))


def _read(match: re.Match[str], *, at: datetime, is_past: bool) -> datetime | None:
    found = match.groupdict()
    if found["near"]:
        return _read_near(found["near"].lower(), at)
    for number in "1234":
        year, month, day = (found.get(f"{name}{number}") for name in "ymd")
        if year or month:
            return _place(year, month, day, at=at, is_past=is_past)
    return None


def _place(year: str | None, month: str | None, day: str | None, *, at: datetime, is_past: bool) -> datetime | None:
    number = 1 if month is None else _MONTHS.get(month.lower()) or _NUMERALS.get(month) or int(month)
    place = 1 if day is None else int(day)
    if year is not None:
        return _make(int(year), number, place)
    years = [found for offset in (-1, 0, 1) if (found := _make(at.year + offset, number, place)) is not None]
    if is_past:
        return max((one for one in years if one <= at), default=None)
    near = [one for one in years if abs(one - at) < _CLEARLY_NEAR]
    return near[0] if len(near) == 1 else None


def _make(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def _read_near(name: str, at: datetime) -> datetime | None:
    today = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    name = name.replace("个", "")
    if name in ("today", "今天"):
        return today
    if name in ("tomorrow", "明天", "yesterday", "昨天"):
        return today + timedelta(days=1 if name in ("tomorrow", "明天") else -1)
    if name in ("next week", "下周"):
        return today + timedelta(days=7 - today.weekday())
    if name in ("next year", "明年", "last year", "去年"):
        return _make(today.year + (1 if name in ("next year", "明年") else -1), 1, 1)
    first = today.replace(day=1)
    if name in ("next month", "下月"):
        return (first + timedelta(days=32)).replace(day=1)
    return (first - timedelta(days=1)).replace(day=1)
