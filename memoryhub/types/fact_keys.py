"""Fact keys: one spelling for one relation, and the declared pattern that a key falls under. Pure.

A key is a machine name, so its twins are the same key: other case, full-width letters, combining marks, invisible
characters and blanks at its ends make no other relation. Source: Unicode Standard Annex 31 (NFKC_Casefold).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST = 200
MOST_SEGMENTS = 16
ANY = "*"
PATTERN = r"[\w](?:[\w-]*[\w])?"  # of one segment, after folding
_SEGMENT = re.compile(PATTERN)
# Alphabets whose letters look alike: one key is written in one of them.
_ALIKE = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC")
_SELECTORS = (("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"))
# Letters and marks by their category, and yet nothing to see.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")


class BadFactKey(ValueError):
    """Say that a text is no fact key, whatever its spelling."""


def fold_fact_key(*, text: str) -> str:
    """Return what all spellings of one key have in common; folding again changes nothing.

    Raises:
        BadFactKey: the key would not match the pattern: up to 16 segments with dots between, each of letters,
            digits, `_` and, inside, `-`; 200 characters at most; one of the alphabets that look alike.
    """
    key = _fold(text)
    _check(key, key.split("."))
    return key


def fold_pattern(*, text: str) -> str:
    """Return what all spellings of one pattern have in common; `*` stands for any one segment.

    Raises:
        BadFactKey: it is no key even with its `*` taken as segments, or it names no segment at all.
    """
    pattern = _fold(text)
    segments = pattern.split(".")
    named = [segment for segment in segments if segment != ANY]
    if not named:
        raise BadFactKey("a pattern names at least one segment")
    _check(pattern, named)
    if len(segments) > MOST_SEGMENTS:
        raise BadFactKey(f"a fact key has {MOST_SEGMENTS} segments at most")
    return pattern


def _fold(text: str) -> str:
    """Fold until nothing changes: removing what is invisible can bring a letter and its mark together."""
    while True:
        seen = drop_invisible(text=unicodedata.normalize("NFKC", text))
        folded = unicodedata.normalize("NFKC", seen.casefold()).strip()
        if folded == text:
            return folded
        text = folded


def drop_invisible(*, text: str) -> str:
    """Return a text without the characters that nobody sees."""
    return text if text.isascii() else "".join(character for character in text if not _is_invisible(character))


def _is_invisible(character: str) -> bool:
    if character.isascii():
        return False
    is_format = character in _BLANK or unicodedata.category(character) == "Cf"
    return is_format or any(low <= character <= high for low, high in _SELECTORS)


def _check(key: str, segments: list[str]) -> None:
    if not key:
        raise BadFactKey("a fact key is not empty")
    if len(key) > LONGEST:
        raise BadFactKey(f"a fact key has {LONGEST} characters at most")
    if len(segments) > MOST_SEGMENTS:
        raise BadFactKey(f"a fact key has {MOST_SEGMENTS} segments at most")
    if not all(_SEGMENT.fullmatch(segment) for segment in segments):
        raise BadFactKey("a fact key is segments of letters, digits, _ and - with dots between, such as a.b_c")
    if not key.isascii() and len(_list_alphabets(key)) > 1:
        raise BadFactKey("a fact key mixes alphabets whose letters look alike")


def _list_alphabets(key: str) -> set[str]:
    found = set()
    for character in key:
        if character.isalpha():
            name = unicodedata.name(character, "").split(" ", 1)[0]
            if name in _ALIKE:
                found.add(name)
    return found


def rank_pattern(*, pattern: str) -> str:
    """Return by what patterns are ordered, the most specific first: fewer `*`, and those further to the right.

    A key without `*` ranks as an empty text, before every pattern.
    """
    segments = pattern.split(".")
    wild = segments.count(ANY)
    return f"{wild:02}{''.join('1' if segment == ANY else '0' for segment in segments)}" if wild else ""


def matches_pattern(*, key: str, pattern: str) -> bool:
    """Tell whether a folded key falls under a folded pattern, segment by segment."""
    segments, wanted = key.split("."), pattern.split(".")
    return len(segments) == len(wanted) and all(
        one in (ANY, segment) for segment, one in zip(segments, wanted, strict=True)
    )


def choose_pattern(*, key: str, patterns: Iterable[str]) -> str | None:
    """Return the most specific of the folded patterns that a folded key falls under, or None."""
    fitting = [pattern for pattern in patterns if matches_pattern(key=key, pattern=pattern)]
    return min(fitting, key=lambda pattern: (rank_pattern(pattern=pattern), pattern), default=None)


@dataclass(frozen=True, slots=True)
class NamedKey:
    """Hold a key in the one spelling it is stored in, and the folded form that all its spellings share."""

    spelling: str
    fold: str


def name_key(*, fold: str, declared: str | None) -> NamedKey:
    """Return the stored spelling of a folded key: the declared one where it is declared without `*`, else the fold."""
    is_exact = declared is not None and ANY not in declared
    return NamedKey(spelling=declared if is_exact and declared is not None else fold, fold=fold)
