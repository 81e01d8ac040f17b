"""Lineage, derivation and arbitration, without a memory in sight."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from memoryhub.kernel.arbitration import arbitrate, find_settlements
from memoryhub.kernel.derivation import derive
from memoryhub.kernel.lineage import (
    CyclicLineage,
    adds_lineage,
    check_edge,
    find_roots,
    group_lineages,
    number_lineages,
)
from memoryhub.kernel.values import Arbitration, DerivationRule, Facet

NOW = datetime(2026, 5, 20, tzinfo=UTC)
PLAIN = DerivationRule(key="belief", principal_cap=0.95)


def facet(
    key: str,
    weight: float = 0.5,
    roots: str = "",
    *,
    principal: str = "",
    opposes: bool = False,
    superseded: bool = False,
    trust: str = "",
) -> Facet:
    return Facet(
        key=key,
        weight=weight,
        observed_at=NOW,
        roots=frozenset(roots or key),
        principals=frozenset({principal or key}),
        opposes=opposes,
        superseded=superseded,
        trust=trust,
    )


def test_what_shares_a_root_is_one_lineage() -> None:
    facets = [facet("a", roots="x"), facet("b", roots="y"), facet("c", roots="z")]
    assert len(group_lineages(facets=facets)) == 3
    assert len(group_lineages(facets=[*facets, facet("d", roots="x")])) == 3
    assert len(group_lineages(facets=[*facets[:2], facet("d", roots="zw"), facet("e", roots="vw")])) == 3


@pytest.mark.parametrize("roots", ["xy", "xyz"])
def test_a_summary_of_two_records_takes_no_support_away_and_adds_none(roots: str) -> None:
    rests_on = [facet("a", roots="x"), facet("b", roots="y")]
    alone = derive(facets=rests_on, rule=PLAIN, as_of=NOW)
    assert (alone.support, alone.independent_count) == (0.75, 2)
    summary = facet("s", 0.9, roots=roots)
    found = derive(facets=[summary, *rests_on], rule=PLAIN, as_of=NOW)
    assert (found.support, found.independent_count) == (0.75, 2)
    assert derive(facets=[summary], rule=PLAIN, as_of=NOW).independent_count == 1


def test_a_claim_is_independent_if_it_raises_the_count() -> None:
    x, y, summary = frozenset("x"), frozenset("y"), frozenset("xy")
    assert adds_lineage(piece=x, beside=[])
    assert not adds_lineage(piece=x, beside=[summary])
    assert adds_lineage(piece=y, beside=[summary, x])  # now both records speak for themselves
    assert not adds_lineage(piece=summary, beside=[x, y])
    assert not adds_lineage(piece=x, beside=[x])


def test_what_adds_nothing_is_shown_with_a_lineage_of_its_roots() -> None:
    pieces = [frozenset(roots) for roots in ("xy", "y", "x", "xyw", "z", "wxyz")]
    assert number_lineages(pieces=pieces) == [1, 1, 2, 1, 3, 1]


def test_a_principal_reaches_no_further_than_the_trust_of_its_sources() -> None:
    rule = DerivationRule(key="belief", caps={"first": 0.95, "third": 0.7})
    ten = [facet(str(n), 0.6, roots=str(n), principal="bot", trust="third") for n in range(10)]
    assert derive(facets=ten, rule=rule, as_of=NOW).support == 0.7
    word = facet("w", 0.5, principal="bot", trust="first")
    assert derive(facets=[*ten, word], rule=rule, as_of=NOW).support == 0.85
    strong = facet("s", 0.9, principal="bot", trust="first")
    assert derive(facets=[*ten, word, strong], rule=rule, as_of=NOW).support == 0.95
    heavy = [facet("h", 0.9, roots="0", principal="bot", trust="third"), ten[0]]
    assert derive(facets=heavy, rule=rule, as_of=NOW).support == 0.7


def test_ten_events_of_one_bot_do_not_reach_certainty() -> None:
    ten = [facet(str(n), 0.9, roots=f"{n}", principal="bot") for n in range(10)]
    assert derive(facets=ten, rule=PLAIN, as_of=NOW).support == 0.95
    with_person = [*ten, facet("p", 0.9, principal="ana")]
    assert derive(facets=with_person, rule=PLAIN, as_of=NOW).support == pytest.approx(0.995)


def test_opposition_takes_from_confidence_and_not_from_support() -> None:
    found = derive(facets=[facet("a", 0.8), facet("b", 0.5, opposes=True)], rule=PLAIN, as_of=NOW)
    assert (found.support, found.opposition, found.weight) == (0.8, 0.5, 0.4)


def test_the_same_facet_twice_counts_once_and_order_does_not_matter() -> None:
    facets = [facet("a", 0.3), facet("b", 0.7), facet("c", 0.11), facet("d", 0.2, opposes=True)]
    found = derive(facets=facets, rule=PLAIN, as_of=NOW)
    assert derive(facets=[*reversed(facets), *facets], rule=PLAIN, as_of=NOW) == found


def test_a_belief_is_evidence_for_a_higher_one() -> None:
    lower = derive(facets=[facet("a", roots="x"), facet("b", roots="y")], rule=PLAIN, as_of=NOW)
    other = derive(facets=[facet("c", roots="y")], rule=DerivationRule(key="other"), as_of=NOW)
    higher = derive(facets=[lower, other], rule=DerivationRule(key="reflection"), as_of=NOW)
    assert higher.roots == {"x", "y"}
    assert (higher.weight, higher.independent_count) == (0.75, 2)


def test_weight_fades_from_when_it_was_observed() -> None:
    def halve_by_day(age: timedelta) -> float:
        return math.pow(0.5, age / timedelta(days=1))

    rule = DerivationRule(key="belief", retention=halve_by_day)
    later = derive(facets=[facet("a", 0.8)], rule=rule, as_of=NOW + timedelta(days=2))
    assert later.support == 0.2
    assert derive(facets=[facet("a", 0.8)], rule=rule, as_of=NOW - timedelta(days=2)).support == 0.8


def test_roots_are_where_derivation_ends() -> None:
    edges = {"reflection": ["a", "b"], "a": ["e1", "e2"], "b": ["e2"]}
    assert find_roots(item="reflection", edges=edges) == {"e1", "e2"}
    assert find_roots(item="e1", edges=edges) == {"e1"}


def test_nothing_goes_back_to_itself() -> None:
    edges = {"a": ["b"], "b": ["c"]}
    with pytest.raises(CyclicLineage):
        check_edge(item="c", derived_from="a", edges=edges)
    with pytest.raises(CyclicLineage):
        check_edge(item="c", derived_from="c", edges=edges)
    check_edge(item="a", derived_from="c", edges=edges)
    with pytest.raises(CyclicLineage):
        find_roots(item="a", edges=edges | {"c": ["a"]})


def ruling(sequence: int, winner: str | None) -> Arbitration:
    return Arbitration(
        key=f"ruling-{sequence}",
        settles=frozenset({"a", "b"}),
        winner=winner,
        sequence=sequence,
        decided_by="erin",
        observed_at=NOW,
    )


def test_a_ruling_is_evidence_and_marks_what_lost() -> None:
    kept = arbitrate(facets=[facet("a"), facet("b"), facet("c")], arbitrations=[ruling(1, "a")])
    assert {one.key: one.superseded for one in kept} == {
        "a": False,
        "b": True,
        "c": False,
        "ruling-1": False,
    }
    found = derive(facets=kept, rule=PLAIN, as_of=NOW)
    assert found.superseded_count == 1
    assert found.support > 0.95


def test_overturning_is_one_more_ruling() -> None:
    rulings = [ruling(2, "b"), ruling(1, "a")]
    assert find_settlements(arbitrations=rulings)["a"].key == "ruling-2"
    kept = {one.key: one.superseded for one in arbitrate(facets=[facet("a"), facet("b")], arbitrations=rulings)}
    assert kept == {"a": True, "b": False, "ruling-2": False}
