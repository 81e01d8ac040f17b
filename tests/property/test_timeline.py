"""The fold of claims and rulings, held against itself in every order and from every start."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memoryhub.types.claims import Claim, Timeline
from memoryhub.types.decision import PredicateFacts
from memoryhub.types.enums import Stance
from memoryhub.types.timeline import fold_timeline, placed_order
from tests.property.strategies import PREDICATES, Case, at, draw_case, draw_claims, rule_for


def fold(case: Case) -> Timeline:
    return fold_timeline(claims=case.claims, rulings=case.rulings, rule=rule_for(case.predicate))


@given(case=draw_case(), data=st.data())
def test_the_same_set_gives_the_same_timeline_in_any_order(case: Case, data: st.DataObject) -> None:
    shuffled = Case(
        data.draw(st.permutations(case.claims)),
        data.draw(st.permutations(case.rulings)),
        case.predicate,
    )
    assert fold(shuffled) == fold(case)


@given(case=draw_case(), data=st.data())
def test_the_same_source_twice_counts_once(case: Case, data: st.DataObject) -> None:
    again = data.draw(st.sampled_from(case.claims))
    assert fold(Case([*case.claims, again], case.rulings, case.predicate)) == fold(case)


@given(case=draw_case())
def test_parts_lie_in_order_and_share_no_instant(case: Case) -> None:
    for one, next_one in pairwise(fold(case).parts):
        assert one.valid.end is not None
        assert one.valid.end <= next_one.valid.start


@given(case=draw_case())
def test_every_claim_has_one_place(case: Case) -> None:
    timeline = fold(case)
    supporters = {s for part in timeline.parts for s in part.supporters}
    members = set(timeline.conflict.members) if timeline.conflict else set()
    placed = [supporters, members, set(timeline.opposing), set(timeline.dismissed)]
    assert sum(map(len, placed)) == len(set().union(*placed))
    sources = {claim.source for claim in case.claims}
    assert set().union(*placed) <= sources
    unplaced = {claim for claim in case.claims if claim.source not in set().union(*placed)}
    covered_over = {part.opener for part in timeline.parts}
    assert not {claim.source for claim in unplaced} & covered_over
    assert all(claim.stance is Stance.SUPPORTS for claim in unplaced)


@given(case=draw_case())
def test_a_part_says_what_its_supporters_say(case: Case) -> None:
    values = {claim.source: claim.value_digest for claim in case.claims}
    for part in fold(case).parts:
        assert part.supporters[0] == part.opener
        assert {values[s] for s in part.supporters} == {part.value_digest}


@given(claims=draw_claims(quiet=True))
def test_without_a_contest_the_last_claim_of_an_instant_holds(claims: list[Claim]) -> None:
    rule = rule_for(PredicateFacts(authority_group="maintainers"))
    parts = fold_timeline(claims=claims, rulings=(), rule=rule).parts
    in_order = sorted(claims, key=lambda claim: placed_order(claim=claim))
    for day in range(24):
        says = [
            claim.value_digest
            for claim in in_order
            if claim.stance is Stance.SUPPORTS and claim.valid.holds_at(at(day))
        ]
        stands = [part.value_digest for part in parts if part.valid.holds_at(at(day))]
        assert stands == says[-1:]


@given(case=draw_case())
def test_a_settled_claim_never_waits(case: Case) -> None:
    timeline = fold(case)
    settled = {s for r in case.rulings if not r.keeps_conflict for s in r.settles}
    if timeline.conflict is not None:
        assert settled.isdisjoint(timeline.conflict.members)


@given(head=draw_claims(), predicate=PREDICATES, data=st.data())
def test_the_tail_is_folded_as_the_whole(head: list[Claim], predicate: PredicateFacts, data: st.DataObject) -> None:
    rule = rule_for(predicate)
    before = fold_timeline(claims=head, rulings=(), rule=rule)
    if before.conflict is not None or not before.parts:
        return
    tail = data.draw(draw_claims(most=4, first_number=100, first_day=13))
    start = before.parts[-1]
    if any(claim.valid.start <= start.valid.start for claim in tail):
        return
    whole = fold_timeline(claims=[*head, *tail], rulings=(), rule=rule)
    needed = [c for c in head if c.valid.start >= start.since or c.stance is not Stance.SUPPORTS]
    found = fold_timeline(claims=tail, rulings=(), rule=rule, start=start, earlier=needed)
    assert whole.parts[: len(before.parts) - 1] == before.parts[:-1]
    assert found.parts == whole.parts[len(before.parts) - 1 :]
    assert found.conflict == whole.conflict
    assert found.opposing == whole.opposing
