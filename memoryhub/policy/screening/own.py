"""A tenant's own patterns of what must not be stored, such as its customer numbers. Pure.

They are written in RE2's syntax and run in RE2, which takes time in proportion to the text whatever the pattern is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

LONGEST_PATTERN = 200
MOST_PATTERNS = 50
_MEMORY = 1 << 20  # bytes of one compiled pattern
_KIND = re.compile(r"[a-z][a-z_]{0,19}")
# Nobody means a pattern that takes one of these out.
_ORDINARY = (
    "a",
    "the",
    "2026",
    "Django",
    "The platform team owns proxy-1.",
    "以后请一直用中文回答我。",
    "[removed: password]",
)


class PatternRefused(ValueError):
    """Say that a pattern cannot be used, and why; the message holds nothing of the pattern."""


@dataclass(frozen=True, slots=True)
class OwnPattern:
    """Hold one compiled pattern, and the kind of thing its marker names."""

    kind: str
    expression: Any


@lru_cache(maxsize=512)
def compile_own_pattern(*, kind: str, pattern: str) -> OwnPattern:
    """Compile a pattern of a tenant; `kind` is 1 to 20 lowercase letters and underscores.

    Raises:
        PatternRefused: it is too long or too large, no pattern of RE2, or takes out ordinary words or nothing at all.
    """
    if _KIND.fullmatch(kind) is None:
        raise PatternRefused("a kind is 1 to 20 lowercase letters and underscores")
    if not 0 < len(pattern) <= LONGEST_PATTERN:
        raise PatternRefused(f"a pattern has 1 to {LONGEST_PATTERN} characters")
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        expression = re2.compile(pattern, options)
    except re2.error as error:
        raise PatternRefused("this is no pattern of RE2, or it is too large") from error
    if expression.search("") is not None:
        raise PatternRefused("it matches where nothing stands")
    if any(expression.search(text) is not None for text in _ORDINARY):
        raise PatternRefused("it matches ordinary words")
    return OwnPattern(kind, expression)
