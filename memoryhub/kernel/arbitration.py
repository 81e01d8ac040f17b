"""Arbitration: a ruling is one more piece of evidence, and overturning it is one more again. Pure.

Source: Seed 003 §2.2, invariant 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memoryhub.kernel.values import Arbitration, Facet


def find_settlements(*, arbitrations: Iterable[Arbitration]) -> dict[str, Arbitration]:
    """Return for each settled key the ruling that counts: the one with the highest sequence."""
    settled: dict[str, Arbitration] = {}
    for ruling in sorted(arbitrations, key=lambda ruling: (ruling.sequence, ruling.key)):
        settled |= dict.fromkeys(ruling.settles, ruling)
    return settled


def arbitrate(*, facets: Iterable[Facet], arbitrations: Iterable[Arbitration]) -> list[Facet]:
    """Return the facets as the rulings leave them, and each ruling with a winner as evidence beside it.

    What a ruling settled against is marked superseded and stays readable. A ruling that a later one
    overturned in full is no longer evidence.
    """
    settled = find_settlements(arbitrations=arbitrations)
    kept = []
    for facet in facets:
        ruling = settled.get(facet.key)
        lost = ruling is not None and ruling.winner != facet.key
        kept.append(replace(facet, superseded=True) if lost else facet)
    in_force = {ruling.key: ruling for ruling in settled.values() if ruling.winner is not None}
    rulings = [
        Facet(
            key=ruling.key,
            weight=1.0,
            observed_at=ruling.observed_at,
            roots=frozenset({ruling.key}),
            principals=frozenset({ruling.decided_by}),
        )
        for _, ruling in sorted(in_force.items())
    ]
    return kept + rulings
