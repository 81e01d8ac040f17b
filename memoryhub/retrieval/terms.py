"""Turn words into search terms, English and Chinese, without asking the database to understand either. Pure.

A run of Han characters becomes its characters and its pairs, so that a word of two characters is found; other
words become themselves in small letters and, where they are made of pieces (`release-date`), the pieces as well;
of a number with dots (`4.1.13`) its beginnings (`4.1`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_RUN = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+|[^\W_]+(?:[._'-][^\W_]+)*", re.UNICODE
)
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_PIECE = re.compile(r"[._'-]")
_LONGEST_TERM = 200
MOST_TERMS = 2000
MOST_QUERY_TERMS = 64
_MOST_PLACES = 4
_PAIR = 2
_STOP = frozenset(
    re.split(" ", "a an and are as at be by for from how in is it of on or that the to was what when which with")
)


def list_terms(text: str) -> list[str]:
    """Return the terms of a text in order, with repeats."""
    terms: list[str] = []
    for match in _RUN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        run = match.group()
        if _HAN.match(run):
            terms += list(run)
            terms += [run[at : at + _PAIR] for at in range(len(run) - 1)]
        else:
            terms.append(run[:_LONGEST_TERM])
            terms += [piece[:_LONGEST_TERM] for piece in _list_pieces(run)]
    return terms


def _list_pieces(run: str) -> list[str]:
    """Return what a word is made of; of a number with dots its beginnings, since `1` says nothing of `4.1`."""
    pieces = _PIECE.split(run)
    if len(pieces) == 1:
        return []
    if all(piece.isdigit() for piece in pieces):
        return [".".join(pieces[:count]) for count in range(_PAIR, len(pieces))] if "." in run else []
    return pieces


def write_vector(*, fields: Iterable[tuple[str, str]]) -> str:
    """Return the text form of a tsvector from (weight A to D, words) pairs."""
    places: dict[str, list[str]] = {}
    position = 0
    for weight, text in fields:
        for term in list_terms(text):
            position = min(position + 1, 16383)
            held = places.setdefault(term, [])
            if len(held) < _MOST_PLACES:
                held.append(f"{position}{weight}")
            if len(places) >= MOST_TERMS:
                break
    return " ".join(f"{_quote(term)}:{','.join(at)}" for term, at in places.items())


def write_terms(*, text: str) -> list[str]:
    """Return the terms a question asks for, each quoted as a tsquery quotes it; empty when there is no word.

    Single Han characters are asked for only where the question has no pair, the commonest English words only
    where there is nothing else, and of a number with dots the whole only.
    """
    terms: dict[str, None] = {}
    for match in _RUN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        run = match.group()
        is_number = all(piece.isdigit() for piece in _PIECE.split(run))
        terms |= dict.fromkeys([run[:_LONGEST_TERM]] if is_number else list_terms(run))
    has_pair = any(len(term) == _PAIR and _HAN.match(term) for term in terms)
    kept = [term for term in terms if not (has_pair and len(term) == 1 and _HAN.match(term))]
    telling = [term for term in kept if term not in _STOP] or kept
    return [_quote(term) for term in telling[:MOST_QUERY_TERMS]]


def _quote(term: str) -> str:
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"
