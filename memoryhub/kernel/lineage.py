"""Lineage: what goes back to the same root counts once, and nothing goes back to itself. Pure.

Source: Seed 000 §5.4 (a summary of a source is no second support).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memoryhub.kernel.values import Facet


class CyclicLineage(ValueError):
    """Say that evidence would go back to itself."""


def group_lineages(*, facets: Iterable[Facet]) -> list[list[Facet]]:
    """Return the facets in groups that share no root: the connected components over roots."""
    lineages: list[tuple[set[str], list[Facet]]] = []
    for facet in facets:
        roots = set(facet.roots)
        members = [facet]
        apart = []
        for lineage in lineages:
            if lineage[0].isdisjoint(roots):
                apart.append(lineage)
            else:
                roots |= lineage[0]
                members += lineage[1]
        apart.append((roots, members))
        lineages = apart
    return [members for _, members in lineages]


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
