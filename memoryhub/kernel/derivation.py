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
    principal up to the rule's cap for their trust, then across principals. The result's weight, its confidence, is
    the support that opposition leaves.
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
        return round(_weigh(facets[0], rule, as_of), _DIGITS), facets[0].independent_count
    by_principal: dict[frozenset[str], dict[float, list[float]]] = {}
    lineages = group_lineages(facets=facets)
    for lineage in lineages:
        weight, cap, principals = max(
            (_weigh(facet, rule, as_of), _cap(facet, rule), sorted(facet.principals)) for facet in lineage
        )
        by_principal.setdefault(frozenset(principals), {}).setdefault(cap, []).append(weight)
    # A belief that is evidence for a higher one brings as many lineages as it rests on: counted at the roots.
    count = sum(max(facet.independent_count for facet in lineage) for lineage in lineages)
    return round(_noisy_or([_share(by_cap) for by_cap in by_principal.values()]), _DIGITS), count


def _share(by_cap: dict[float, list[float]]) -> float:
    """Return how far one principal reaches: what has a low cap stays below it, whatever stands beside it."""
    reached = 0.0
    for cap, weights in sorted(by_cap.items()):
        reached = min(_noisy_or([reached, *weights]), cap)
    return reached


def _cap(facet: Facet, rule: DerivationRule) -> float:
    return rule.caps.get(facet.trust, rule.principal_cap)


def _weigh(facet: Facet, rule: DerivationRule, as_of: datetime) -> float:
    kept = 1.0 if rule.retention is None else rule.retention(max(as_of - facet.observed_at, _NOW))
    return min(facet.weight * kept, _cap(facet, rule))


def _noisy_or(shares: list[float]) -> float:
    doubt = 1.0
    for share in sorted(shares):  # in one order, because floats do not associate
        doubt *= 1.0 - share
    return 1.0 - doubt
