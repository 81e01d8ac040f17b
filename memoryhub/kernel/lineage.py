"""Lineage: what goes back to the same root counts once, and nothing goes back to itself. Pure.

Source: Seed 000 §5.4 (a summary of a source is no second support); ADR 0022.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby

from memoryhub.kernel.values import Facet

Roots = AbstractSet[str]


class CyclicLineage(ValueError):
    """Say that evidence would go back to itself."""


def group_lineages(*, facets: Iterable[Facet]) -> list[list[Facet]]:
    """Return the facets in groups that share no root, without those that add nothing (`group_roots`)."""
    known = list(facets)
    groups = group_roots(pieces=[facet.roots or frozenset({facet.key}) for facet in known])
    return [[known[place] for place in group] for group in groups]


def group_roots(*, pieces: Sequence[Roots]) -> list[list[int]]:
    """Return the places of the pieces that count, by lineage; a piece is given as its roots.

    Pieces are taken by the number of their roots. One adds nothing and joins nothing if those with fewer roots have
    all of its roots between them, or if it would join lineages of theirs that stand apart without it: a summary of
    two records leaves two records. All others are grouped as the connected components over their roots.

    The same set gives the same groups, in any order and however often a piece is named.
    """
    lineages = _Lineages()
    for _, level in groupby(sorted(range(len(pieces)), key=lambda at: len(pieces[at])), key=lambda at: len(pieces[at])):
        lineages.add({place: pieces[place] for place in level})
    return lineages.list_groups()


def count_lineages(*, pieces: Iterable[Roots]) -> int:
    """Return how many independent lineages the pieces amount to."""
    return len(group_roots(pieces=list(pieces)))


def adds_lineage(*, piece: Roots, beside: Iterable[Roots]) -> bool:
    """Tell whether a piece raises the number of independent lineages of those it stands beside."""
    others = list(beside)
    return count_lineages(pieces=[*others, piece]) > count_lineages(pieces=others)


def number_lineages(*, pieces: Sequence[Roots]) -> list[int]:
    """Return the number of each piece's lineage, from 1 on in the order in which lineages first appear.

    A piece that adds nothing is shown with the lineage that one of its roots belongs to.
    """
    lineage_of: dict[int, int] = {}
    by_root: dict[str, int] = {}
    for number, group in enumerate(group_roots(pieces=pieces)):
        for place in group:
            lineage_of[place] = number
            by_root |= dict.fromkeys(pieces[place], number)
    for place in sorted(range(len(pieces)), key=lambda place: len(pieces[place])):
        if place not in lineage_of:
            number = min(by_root[root] for root in pieces[place] if root in by_root)
            lineage_of[place] = number
            for root in pieces[place]:
                by_root.setdefault(root, number)
    shown: dict[int, int] = {}
    return [shown.setdefault(lineage_of[place], len(shown) + 1) for place in range(len(pieces))]


class _Lineages:
    """Hold the lineages so far as a forest over their roots."""

    def __init__(self) -> None:
        self.above: dict[str, str] = {}  # a root that counts, and one of the same lineage
        self.known: set[str] = set()  # every root of a piece with fewer roots, whether or not it counted
        self.kept: dict[int, Roots] = {}

    def add(self, level: Mapping[int, Roots]) -> None:
        """Add the pieces that have the same number of roots, all of them judged by what has fewer."""
        counted = {place: roots for place, roots in level.items() if self._counts(roots)}
        for roots in counted.values():
            first, *others = roots
            for root in others:
                self.above[self._find(root)] = self._find(first)
            self._find(first)
        self.kept |= counted
        self.known.update(*level.values())

    def _counts(self, roots: Roots) -> bool:
        if roots <= self.known:
            return False
        return len({self._find(root) for root in roots if root in self.above}) <= 1

    def _find(self, root: str) -> str:
        """Return what stands for the lineage of a root; one that is new stands for itself."""
        above = self.above
        top = above.setdefault(root, root)
        while above[top] != top:
            above[top] = above[above[top]]
            top = above[top]
        return top

    def list_groups(self) -> list[list[int]]:
        """Return the places of the pieces that count, by lineage."""
        groups: dict[str, list[int]] = {}
        for place, roots in self.kept.items():
            groups.setdefault(self._find(next(iter(roots))), []).append(place)
        return list(groups.values())


def find_roots(*, item: str, edges: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Return the items that `item` goes back to and that go back to nothing; itself, if it is one.

    `edges` maps an item to what it was derived from.

    Raises:
        CyclicLineage: a path from `item` leads back to itself.
    """
    found: set[str] = set()
    done: set[str] = set()
    path: list[tuple[str, list[str]]] = [(item, sorted(edges.get(item, ())))]
    on_path = {item}
    if not path[0][1]:
        return frozenset({item})
    while path:
        here, waiting = path[-1]
        if not waiting:
            path.pop()
            on_path.discard(here)
            done.add(here)
            continue
        below = waiting.pop()
        if below in on_path:
            raise CyclicLineage(f"{below} would go back to itself")
        if below in done:
            continue
        sources = sorted(edges.get(below, ()))
        if sources:
            path.append((below, sources))
            on_path.add(below)
        else:
            found.add(below)
            done.add(below)
    return frozenset(found)


def check_edge(*, item: str, derived_from: str, edges: Mapping[str, Iterable[str]]) -> None:
    """Refuse an edge that would close a cycle.

    Raises:
        CyclicLineage: `derived_from` is `item`, or already goes back to it.
    """
    waiting = [derived_from]
    seen: set[str] = set()
    while waiting:
        here = waiting.pop()
        if here == item:
            raise CyclicLineage(f"{item} would go back to itself")
        if here not in seen:
            seen.add(here)
            waiting.extend(edges.get(here, ()))
