"""Derivation: facets in, one facet out, so that a belief can be evidence for a higher one. Pure.

Source: Seed 003 §2.2, invariants 2 and 3. Any order gives the same result, and the same facet twice counts
once.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from memoryhub.kernel.lineage import group_lineages
from memoryhub.kernel.values import DerivationRule, Facet

_DIGITS = 9  # belief is compared after rounding, so that no mathematical library makes a difference
_NOW = timedelta(0)


def derive(*, facets: Iterable[Facet], rule: DerivationRule, as_of: datetime) -> Facet:
    """Return what the facets amount to at an instant.

    A lineage weighs as much as its heaviest item; lineages combine by noisy-or, first within a source
    principal up to the rule's cap, then across principals. The result's weight, its confidence, is the
    support that opposition leaves.
    """
    unique = {facet.key: facet for facet in facets}
    live = [facet for facet in unique.values() if not facet.superseded]
    support, count = _combine([f for f in live if not f.opposes], rule, as_of)
    opposition, _ = _combine([f for f in live if f.opposes], rule, as_of)
    supporters = [facet for facet in live if not facet.opposes]
    return Facet(
        key=rule.key,
        weight=round(support * (1.0 - opposition), _DIGITS),
        observed_at=as_of,
        roots=frozenset().union(*(facet.roots for facet in supporters)),
        principals=frozenset().union(*(facet.principals for facet in supporters)),
        support=support,
        opposition=opposition,
        independent_count=count,
        superseded_count=len(unique) - len(live),
    )


def _combine(facets: list[Facet], rule: DerivationRule, as_of: datetime) -> tuple[float, int]:
    if not facets:
        return 0.0, 0
    if len(facets) == 1:
        return round(min(_weigh(facets[0], rule, as_of), rule.principal_cap), _DIGITS), 1
    by_principal: dict[frozenset[str], list[float]] = {}
    lineages = group_lineages(facets=facets)
    for lineage in lineages:
        weight, principals = max((_weigh(facet, rule, as_of), sorted(facet.principals)) for facet in lineage)
        by_principal.setdefault(frozenset(principals), []).append(weight)
    shares = [min(_noisy_or(weights), rule.principal_cap) for weights in by_principal.values()]
    return round(_noisy_or(shares), _DIGITS), len(lineages)


def _weigh(facet: Facet, rule: DerivationRule, as_of: datetime) -> float:
    if rule.retention is None:
        return facet.weight
    return facet.weight * rule.retention(max(as_of - facet.observed_at, _NOW))


def _noisy_or(shares: list[float]) -> float:
    doubt = 1.0
    for share in sorted(shares):  # in one order, because floats do not associate
        doubt *= 1.0 - share
    return 1.0 - doubt
