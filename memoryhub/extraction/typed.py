"""Values as people write them, read as a declared predicate wants them: numbers, yes and no, one of a list. Pure."""

from __future__ import annotations

import re
from typing import Any

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?[0-9]{1,3}(?:,[0-9]{3}){1,5}(?:\.[0-9]{1,9})?(?!\w)|[-+]?[0-9]{1,15}(?:\.[0-9]{1,9})?"
)
_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_WORD = re.compile(
    rf"(?i)\b({'|'.join(sorted(_WORDS, key=len, reverse=True))})(?:[- ](one|two|three|four|five|six|seven|eight"
    rf"|nine))?\b"
)
_DIGITS = {name: number for number, name in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10000}
_CHINESE = re.compile("[零〇一二两三四五六七八九十百千万]{1,12}")
_YES = re.compile(r"(?i)(?:yes|on|true|enabled|open|allowed|是|开|开启|打开|启用|允许|对)(?!\w)")
_NO = re.compile(r"(?i)(?:no|off|false|disabled|closed|not allowed|forbidden|否|关|关闭|停用|不允许|禁止)(?!\w)")
_EDGES = " \t\"'“”‘’「」`.,!:;。，！：；"
_TAIL = re.compile(
    r"(?i)(?: (?:now|please|instead|again|any ?more|though|too|then|for now|today))+$|(?:吧|了|啊|呢|哦)+$"
)
LONGEST = 100


class NoValue(Exception):
    """Say that a text holds no value of the wanted kind."""


def read_value(*, text: str, schema: dict[str, Any] | None) -> Any:
    """Return the value that a text begins with or names, as the schema wants it; without one a number or the text.

    Raises:
        NoValue: there is none, or two numbers where one is wanted.
    """
    text = trim_value(text[:LONGEST])
    if not text:
        raise NoValue
    if schema is None:
        try:
            return read_number(text) if _is_only_number(text) else text
        except NoValue:
            return text
    if isinstance(schema.get("enum"), list):
        return _read_choice(text, schema["enum"])
    wanted = schema.get("type", "string")
    kinds = wanted if isinstance(wanted, list) else [wanted]
    for kind in kinds:
        if kind in ("integer", "number"):
            number = read_number(text)
            if kind == "integer" and isinstance(number, float):
                raise NoValue
            return number
        if kind == "boolean":
            return _read_yes_or_no(text)
        if kind == "string":
            return text
    raise NoValue


def trim_value(text: str) -> str:
    """Return a value without quotation marks and closing particles."""
    return _TAIL.sub("", text.strip(_EDGES)).strip(_EDGES)


def _is_only_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def read_number(text: str) -> int | float:
    """Return the one number of a text, in digits, English words or Chinese numerals.

    Raises:
        NoValue: there is none, or more than one.
    """
    found = [_as_number(match.group()) for match in _NUMBER.finditer(text)]
    if not found:
        found = [_WORDS[match[1].lower()] + _WORDS.get((match[2] or "").lower(), 0) for match in _WORD.finditer(text)]
    if not found:
        found = [_read_chinese(match.group()) for match in _CHINESE.finditer(text)]
    if len(found) != 1:
        raise NoValue
    return found[0]


def _as_number(digits: str) -> int | float:
    plain = digits.replace(",", "")
    return float(plain) if "." in plain else int(plain)


def _read_chinese(text: str) -> int:
    total = section = digit = 0
    for character in text:
        if character in _DIGITS:
            digit = _DIGITS[character]
            continue
        unit = _UNITS[character]
        if unit == _UNITS["万"]:
            total, section, digit = (total + section + digit) * unit, 0, 0
        else:
            section, digit = section + (digit or 1) * unit, 0
    return total + section + digit


def _read_choice(text: str, choices: list[Any]) -> Any:
    plain = text.casefold()
    found = [
        choice
        for choice in choices
        if re.search(rf"(?<![^\W_]){re.escape(str(choice).casefold().replace('_', ' '))}(?![^\W_])", plain)
        or (not str(choice).isascii() and str(choice) in plain)
    ]
    if not found:
        raise NoValue
    return max(found, key=lambda choice: len(str(choice)))


def _read_yes_or_no(text: str) -> bool:
    if _NO.match(text):
        return False
    if _YES.match(text):
        return True
    raise NoValue
