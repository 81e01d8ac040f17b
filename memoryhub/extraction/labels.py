"""Find the names of declared predicates in a text. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from memoryhub.extraction.interfaces import DeclaredPredicate


class Labels:
    """Find the labels of declared predicates in a text: by their first two characters, so that many cost little."""

    def __init__(self, predicates: tuple[DeclaredPredicate, ...]) -> None:
        self.declared = {predicate.fact_key: predicate for predicate in predicates}
        self.by_start: defaultdict[str, list[tuple[str, DeclaredPredicate]]] = defaultdict(list)
        for predicate in predicates:
            for label in predicate.labels:
                plain = label.strip().lower()
                if len(plain) > 1:
                    self.by_start[plain[:2]].append((plain, predicate))
        for known in self.by_start.values():
            known.sort(key=lambda pair: (-len(pair[0]), pair[0], pair[1].fact_key))

    def find(self, text: str) -> Iterator[tuple[int, int, DeclaredPredicate]]:
        """Yield where a label stands, the longest at each place, none inside another."""
        plain = text.lower()
        if not self.by_start or len(plain) != len(text):
            return
        place = 0
        while place < len(plain) - 1:
            width = 1
            for label, predicate in self.by_start.get(plain[place : place + 2], ()):
                if plain.startswith(label, place) and _stands_alone(plain, place, place + len(label)):
                    yield place, place + len(label), predicate
                    width = len(label)
                    break
            place += width


def _stands_alone(text: str, begin: int, end: int) -> bool:
    before, after = text[begin - 1 : begin], text[end : end + 1]
    return not (_is_latin(text[begin]) and _is_latin(before)) and not (_is_latin(text[end - 1]) and _is_latin(after))


def _is_latin(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")
