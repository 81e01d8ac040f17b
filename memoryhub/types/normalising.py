"""Normalisers: what makes two spellings of a value one value, before its digest and its schema. Pure.

A closed list. Each is a function from a value to a value; done twice it changes nothing more, and what it cannot read
it leaves as it is, so that the schema refuses it by name. They look into lists and objects, at every text and number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

_NUMBER = re.compile(r"[+-]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_ISO_DAY = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})", re.ASCII)
_CHINESE_DAY = re.compile(r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]", re.ASCII)
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\s+([a-z]{3,9})\.?,?\s+(\d{4})", re.ASCII | re.IGNORECASE)
_MONTH_FIRST = re.compile(r"([a-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})", re.ASCII | re.IGNORECASE)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_ISO_DURATION = re.compile(
    r"P(?=.)(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})W)?(?:(\d{1,9})D)?"
    r"(?:T(?=.)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?",
    re.ASCII,
)
_SAID_DURATION = re.compile(r"(\d{1,9})\s*([a-z]+|[天日周月年时分秒个小钟星期礼拜]+)", re.ASCII | re.IGNORECASE)
# Each unit as (months, days, seconds).
_UNITS: dict[str, tuple[int, int, int]] = {
    **dict.fromkeys(("year", "years", "yr", "yrs", "年"), (12, 0, 0)),
    **dict.fromkeys(("month", "months", "月", "个月"), (1, 0, 0)),
    **dict.fromkeys(("week", "weeks", "周", "星期", "个星期", "礼拜", "个礼拜"), (0, 7, 0)),
    **dict.fromkeys(("day", "days", "d", "天", "日"), (0, 1, 0)),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h", "小时", "个小时"), (0, 0, 3600)),
    **dict.fromkeys(("minute", "minutes", "min", "mins", "分钟", "分"), (0, 0, 60)),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s", "秒", "秒钟"), (0, 0, 1)),
}
_EMAIL = re.compile(r"([^@\s]{1,64})@([^@\s]{1,255})")
_MOST_DIGITS = 300
_PORTS = {"http": 80, "https": 443, "ftp": 21}
_UNRESERVED = "-._~"
_RESERVED_IN_PATH = "/!$&'()*+,;=:@%"


class UnknownNormaliser(ValueError):
    """Say that a name is none of the closed list."""


def _trim(text: str) -> str:
    return text.strip()


def _casefold(text: str) -> str:
    while (folded := text.casefold()) != text:
        text = folded
    return text


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def compose_value(*, value: Any) -> Any:
    """Return a JSON value whose texts are in NFC, names of fields too: what is the same text to Unicode is one text.

    Fields whose names would become one stay as they are.
    """
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, list):
        return [compose_value(value=item) for item in value]
    if isinstance(value, dict):
        composed = {unicodedata.normalize("NFC", name): compose_value(value=item) for name, item in value.items()}
        return composed if len(composed) == len(value) else value
    return value


def _read_number(text: str) -> Any:
    """Return the number that a text writes in decimal digits, where a number can hold it exactly.

    A separator of thousands is left alone, it is a guess; so is what would be rounded, or has more than 300 digits.
    """
    plain = text.strip()
    if not _NUMBER.fullmatch(plain):
        return text
    exact = Decimal(plain)
    if not exact:
        return 0
    if exact.adjusted() > _MOST_DIGITS:
        return text
    if (whole := int(exact)) == exact:
        return whole
    number = float(plain)
    return number if Decimal(repr(number)) == exact else text


def _read_date(text: str) -> str:
    """Return a day as ISO 8601; where day and month cannot be told apart (03/05/2026) the text stays as it is."""
    plain = unicodedata.normalize("NFKC", text).strip()
    if found := _ISO_DAY.fullmatch(plain):
        parts = (found[1], found[3], found[4])
    elif found := _CHINESE_DAY.fullmatch(plain):
        parts = (found[1], found[2], found[3])
    elif found := _DAY_FIRST.fullmatch(plain):
        parts = (found[3], _number_month(found[2]), found[1])
    elif found := _MONTH_FIRST.fullmatch(plain):
        parts = (found[3], _number_month(found[1]), found[2])
    else:
        return text
    try:
        return date(*(int(part) for part in parts)).isoformat()
    except ValueError:
        return text


def _number_month(word: str) -> str:
    word = word.lower()
    numbers = [number for number, name in enumerate(_MONTHS, start=1) if name.startswith(word)]
    return str(numbers[0]) if numbers else "0"


def _read_duration(text: str) -> str:
    """Return a duration as ISO 8601: months carried to years, weeks to days, seconds to hours, and nothing further."""
    plain = unicodedata.normalize("NFKC", text).strip()
    if found := _ISO_DURATION.fullmatch(plain.upper()):
        years, months, weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return _write_duration(12 * years + months, 7 * weeks + days, 3600 * hours + 60 * minutes + seconds)
    total = [0, 0, 0]
    at = 0
    while at < len(plain):
        found = _SAID_DURATION.match(plain, at)
        unit = _UNITS.get(found[2].lower()) if found else None
        if found is None or unit is None:
            return text
        total = [held + int(found[1]) * more for held, more in zip(total, unit, strict=True)]
        at = found.end()
        while at < len(plain) and plain[at] in " ,":
            at += 1
    return _write_duration(*total) if plain else text


def _write_duration(months: int, days: int, seconds: int) -> str:
    years, months = divmod(months, 12)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    day = "".join(f"{count}{unit}" for count, unit in ((years, "Y"), (months, "M"), (days, "D")) if count)
    time = "".join(f"{count}{unit}" for count, unit in ((hours, "H"), (minutes, "M"), (seconds, "S")) if count)
    return f"P{day}{'T' if time else ''}{time}" if day or time else "PT0S"


def _read_email(text: str) -> str:
    """Return an address with its domain in small letters; what stands before the @ is the receiver's business."""
    found = _EMAIL.fullmatch(text.strip().removeprefix("mailto:"))
    return f"{found[1]}@{found[2].lower().rstrip('.')}" if found else text


def _read_url(text: str) -> str:
    """Return an address with small scheme and host, without the port that goes without saying (RFC 3986, 6.2)."""
    plain = text.strip()
    try:
        parts = urlsplit(plain)
        host, port = parts.hostname, parts.port
    except ValueError:
        return text
    if not parts.scheme or not host or any(character.isspace() for character in plain):
        return text
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    place = f"[{host}]" if ":" in host else host
    if port is not None and port != _PORTS.get(parts.scheme):
        place += f":{port}"
    return urlunsplit((parts.scheme, user + place, _encode(parts.path) or "/", parts.query, parts.fragment))


def _encode(path: str) -> str:
    """Return a path with plain letters written plainly and the others in capital hex digits."""

    def write(found: re.Match[str]) -> str:
        character = unquote(found[0], encoding="latin-1")
        is_plain = character.isascii() and (character.isalnum() or character in _UNRESERVED)
        return character if is_plain else found[0].upper()

    return quote(re.sub(r"%[0-9A-Fa-f]{2}", write, path), safe=_RESERVED_IN_PATH + _UNRESERVED)


_OF_TEXTS: dict[str, Callable[[str], Any]] = {
    "trim": _trim,
    "casefold": _casefold,
    "nfkc": _nfkc,
    "number": _read_number,
    "date": _read_date,
    "duration": _read_duration,
    "email": _read_email,
    "url": _read_url,
}
NORMALISERS = ("none", *_OF_TEXTS)


def read_normalisers(*, text: str) -> tuple[str, ...]:
    """Return the names that a stored list holds, with commas between; `none` and an empty text hold no other.

    Raises:
        UnknownNormaliser: a name is none of the closed list.
    """
    return check_normalisers(names=[name for name in text.split(",") if name])


def check_normalisers(*, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names without `none`, in their order.

    Raises:
        UnknownNormaliser: a name is none of the closed list.
    """
    kept = tuple(names)
    for name in kept:
        if name not in NORMALISERS:
            raise UnknownNormaliser(f"{name!r} is no normaliser; known are {', '.join(NORMALISERS)}")
    return tuple(name for name in kept if name != "none")


def normalise_value(*, value: Any, names: Iterable[str]) -> Any:
    """Return the value in the one spelling that its normalisers give it; absence stays absence.

    Raises:
        UnknownNormaliser: a name is none of the closed list.
    """
    steps = [_OF_TEXTS[name] for name in check_normalisers(names=names)]
    if not steps:
        return value
    return _settle(value, steps)


def _settle(value: Any, steps: list[Callable[[str], Any]]) -> Any:
    if isinstance(value, str):
        return _apply(value, steps)
    if isinstance(value, list):
        return [_settle(item, steps) for item in value]
    if isinstance(value, dict):
        return {name: _settle(item, steps) for name, item in value.items()}
    return value


def _apply(text: str, steps: list[Callable[[str], Any]]) -> Any:
    """Run the list until nothing changes: a later step may make what an earlier one would change again."""
    seen = [text]
    while True:
        settled: Any = seen[-1]
        for step in steps:
            if isinstance(settled, str):
                settled = step(settled)
        if not isinstance(settled, str):
            return settled
        if settled in seen:
            return min(seen[seen.index(settled) :])
        seen.append(settled)
