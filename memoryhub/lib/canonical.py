"""Canonical JSON: equal values have equal text, so that digests of them are equal.

Source: RFC 8785. Keys are sorted by UTF-16 code units, no blanks, text is kept as UTF-8. Numbers: a float
without a fraction is written as the integer it equals (1.0 and 1 are equal), others in their shortest
form; whole numbers are exact beyond 2^53, where the RFC would round them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

_SMALLEST_PLAIN_POWER = -6  # below, the RFC writes an exponent; Python already does from 1e-05 on


class NotCanonical(ValueError):
    """Say that a value has no canonical form: NaN, infinity, NUL, a lone surrogate, or no JSON type."""


def canonical_json(value: object, /) -> str:
    """Return the canonical text of a JSON value.

    Raises:
        NotCanonical: the value, or something in it, has no canonical form.
    """
    pieces: list[str] = []
    _write(value, pieces)
    return "".join(pieces)


def _write(value: object, pieces: list[str]) -> None:
    if value is None:
        pieces.append("null")
    elif value is True:
        pieces.append("true")
    elif value is False:
        pieces.append("false")
    elif isinstance(value, str):
        pieces.append(_text(value))
    elif isinstance(value, int):
        pieces.append(int.__repr__(value))
    elif isinstance(value, float):
        pieces.append(_number(value))
    elif isinstance(value, Mapping):
        _write_object(value, pieces)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            pieces.append("," if index else "[")
            _write(item, pieces)
        pieces.append("]" if value else "[]")
    else:
        raise NotCanonical(f"{type(value).__name__} is no JSON type")


def _write_object(value: Mapping[object, object], pieces: list[str]) -> None:
    names: list[str] = []
    for name in value:
        if not isinstance(name, str):
            raise NotCanonical(f"a key is text, not {type(name).__name__}")
        names.append(name)
    texts = {name: _text(name) for name in names}
    names.sort(key=lambda name: name.encode("utf-16-be"))
    for index, name in enumerate(names):
        pieces.append("," if index else "{")
        pieces.append(texts[name])
        pieces.append(":")
        _write(value[name], pieces)
    pieces.append("}" if names else "{}")


def _text(value: str) -> str:
    if "\x00" in value:
        raise NotCanonical("text holds a NUL")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise NotCanonical("text holds a lone surrogate") from error
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise NotCanonical("a number is finite")
    if value.is_integer():
        return str(int(value))
    digits, _, exponent = float.__repr__(value).partition("e")
    if not exponent:
        return digits
    power = int(exponent)
    if power >= _SMALLEST_PLAIN_POWER:
        sign = "-" if digits.startswith("-") else ""
        return f"{sign}0.{'0' * (-power - 1)}{digits.lstrip('-').replace('.', '')}"
    return f"{digits}e{power:+d}"
