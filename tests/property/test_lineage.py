"""Lineages and what is derived from them: a set is what counts, not its order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from memoryhub.kernel.derivation import derive
from memoryhub.kernel.lineage import Roots, adds_lineage, count_lineages, group_roots, number_lineages
from memoryhub.kernel.values import DerivationRule, Facet
from memoryhub.policy.echo import repeat_claim
from memoryhub.types.claims import Author, Claim, Echo, SourceIdentity
from memoryhub.types.cognitive import get_decay
from memoryhub.types.enums import Trust
from memoryhub.types.temporal import Period

NOW = datetime(2026, 5, 20, tzinfo=UTC)
RULE = DerivationRule(
    key="belief", caps={"first": 0.95, "third": 0.7}, retention=lambda age: 0.5 ** (age / timedelta(days=9))
)
PIECES = st.lists(st.frozensets(st.sampled_from("abcdefg"), min_size=1, max_size=4), min_size=1, max_size=8)


def show(pieces: list[frozenset[str]]) -> set[frozenset[frozenset[str]]]:
    return {frozenset(pieces[place] for place in group) for group in group_roots(pieces=pieces)}


def count_components(pieces: list[frozenset[str]]) -> int:
    joined: list[Roots] = []
    for piece in pieces:
        apart = [one for one in joined if one.isdisjoint(piece)]
        joined = [*apart, piece.union(*(one for one in joined if not one.isdisjoint(piece)))]
    return len(joined)


def count_apart(pieces: list[frozenset[str]]) -> int:
    """Return the largest number of pieces of which no two share a root."""
    for size in range(len(pieces), 0, -1):
        for chosen in combinations(pieces, size):
            if all(one.isdisjoint(other) for one, other in combinations(chosen, 2)):
                return size
    return 0


@given(pieces=PIECES, data=st.data())
def test_lineages_are_of_a_set(pieces: list[frozenset[str]], data: st.DataObject) -> None:
    again = data.draw(st.permutations([*pieces, data.draw(st.sampled_from(pieces))]))
    assert show(again) == show(pieces)


@given(pieces=PIECES)
def test_a_lineage_is_never_counted_twice_and_none_is_lost(pieces: list[frozenset[str]]) -> None:
    assert count_components(pieces) <= count_lineages(pieces=pieces) <= count_apart(pieces)


@given(pieces=PIECES)
def test_lineages_share_no_root(pieces: list[frozenset[str]]) -> None:
    held = [frozenset().union(*group) for group in show(pieces)]
    assert all(one.isdisjoint(other) for one, other in combinations(held, 2))


@given(pieces=PIECES, data=st.data())
def test_a_summary_changes_nothing(pieces: list[frozenset[str]], data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.sampled_from(pieces), min_size=1))
    summary = frozenset().union(*parts)
    assert not adds_lineage(piece=summary, beside=pieces)
    assert count_lineages(pieces=[*pieces, summary]) == count_lineages(pieces=pieces)


@given(pieces=PIECES, own=st.frozensets(st.sampled_from("vwxyz"), min_size=4, max_size=5))
def test_one_more_piece_takes_no_lineage_from_what_has_fewer_roots(
    pieces: list[frozenset[str]], own: frozenset[str]
) -> None:
    """Cite everything there is beside a record of one's own: what stood apart stays apart."""
    bridge = own.union(*pieces)
    assert count_lineages(pieces=[*pieces, bridge]) == count_lineages(pieces=pieces)


@given(pieces=PIECES)
def test_every_piece_is_shown_with_a_lineage(pieces: list[frozenset[str]]) -> None:
    numbers = number_lineages(pieces=pieces)
    for group in group_roots(pieces=pieces):
        assert len({numbers[place] for place in group}) == 1
    assert len(set(numbers)) == count_lineages(pieces=pieces)


@st.composite
def draw_facets(draw: st.DrawFn) -> list[Facet]:
    return [
        Facet(
            key=str(number),
            weight=draw(st.sampled_from([0.2, 0.5, 0.6, 0.9])),
            observed_at=NOW - timedelta(days=draw(st.integers(0, 30))),
            roots=roots,
            principals=frozenset({draw(st.sampled_from(["ana", "bot", "cem"]))}),
            opposes=draw(st.sampled_from([False, False, True])),
            superseded=draw(st.sampled_from([False, False, True])),
            trust=draw(st.sampled_from(["first", "third"])),
        )
        for number, roots in enumerate(draw(PIECES))
    ]


@given(facets=draw_facets(), data=st.data())
def test_a_derivation_is_of_a_set(facets: list[Facet], data: st.DataObject) -> None:
    again = data.draw(st.permutations([*facets, data.draw(st.sampled_from(facets))]))
    found = derive(facets=facets, rule=RULE, as_of=NOW)
    assert derive(facets=again, rule=RULE, as_of=NOW) == found
    assert derive(facets=facets, rule=RULE, as_of=NOW) == found


@given(facets=draw_facets(), data=st.data())
def test_an_echo_changes_no_support_at_any_instant(facets: list[Facet], data: st.DataObject) -> None:
    """Repeat some of the pieces, sooner or later: whoever does, the belief is the same as without."""
    live = [facet for facet in facets if not facet.superseded and not facet.opposes]
    if not live:
        return
    echoed = data.draw(st.lists(st.sampled_from(live), min_size=1))
    memory_type = data.draw(st.sampled_from(["episodic", "semantic", "procedural", "reflective"]))
    said = Claim(
        source=SourceIdentity("event", "echo"),
        value_digest="a",
        valid=Period(NOW),
        author=Author(data.draw(st.sampled_from(["ana", "zoe"]))),
        roots=frozenset({"run"}),
        weight=1.0,
        observed_at=NOW + timedelta(days=data.draw(st.integers(-40, 900))),
        trust=Trust.FIRST_PARTY,
    )
    repeated = repeat_claim(
        claim=said,
        echo=Echo(
            roots=frozenset().union(*(facet.roots for facet in echoed)),
            weight=min(facet.weight for facet in echoed),
            observed_at=min(facet.observed_at for facet in echoed),
        ),
        root="run",
        memory_type=memory_type,
    )
    echo = Facet(
        key="echo",
        weight=repeated.weight,
        observed_at=repeated.observed_at,
        roots=repeated.roots,
        principals=frozenset({repeated.author.principal}),
        trust="first",
    )
    rule = replace(RULE, retention=get_decay(memory_type=memory_type).retain)
    for days in (-60, 0, 5, 900, 9_000):
        instant = NOW + timedelta(days=days)
        found = derive(facets=[*facets, echo], rule=rule, as_of=instant)
        alone = derive(facets=facets, rule=rule, as_of=instant)
        assert (found.independent_count, found.support) == (alone.independent_count, alone.support)


@given(facets=draw_facets(), data=st.data())
def test_belief_is_evidence_for_a_higher_one(facets: list[Facet], data: st.DataObject) -> None:
    """Derive from what was derived: roots are kept, and order matters on no level."""
    cut = data.draw(st.integers(0, len(facets)))
    lower = [
        derive(facets=some, rule=replace(RULE, key=name), as_of=NOW)
        for name, some in (("one", facets[:cut]), ("two", facets[cut:]))
    ]
    higher = derive(facets=lower, rule=RULE, as_of=NOW)
    assert derive(facets=reversed(lower), rule=RULE, as_of=NOW) == higher
    speaking = [facet.roots for facet in facets if not facet.superseded and not facet.opposes]
    assert higher.roots == frozenset().union(*speaking)
