"""Decisions, one after another, held against the fold of the whole set."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memoryhub.policy.ledger import MemoryLedger
from memoryhub.policy.merge import decide
from memoryhub.types.claims import Claim, Ruling
from memoryhub.types.decision import PredicateFacts
from memoryhub.types.enums import MergeAction, Stance
from memoryhub.types.timeline import fold_timeline
from tests.property.strategies import (
    BEGINNING,
    POLICY,
    PREDICATES,
    Case,
    at,
    draw_case,
    draw_claim,
    draw_claims,
    rule_for,
    to_candidate,
)

KEY = "m"


def play(steps: list[Claim | Ruling], predicate: PredicateFacts, *, uses_tail: bool = True) -> MemoryLedger:
    ledger = MemoryLedger(policy=POLICY, predicates={KEY: predicate}, uses_tail=uses_tail)
    now = at(40)
    for step in steps:
        now += timedelta(seconds=1)
        if isinstance(step, Ruling):
            ledger.rule(key=KEY, ruling=step, now=now)
        else:
            ledger.propose(key=KEY, candidate=to_candidate(step), now=now)
    return ledger


@st.composite
def draw_steps(draw: st.DrawFn, case: Case) -> list[Claim | Ruling]:
    claims = draw(st.permutations(case.claims))
    rest: list[Claim | Ruling] = [*claims[1:], *case.rulings]
    return [claims[0], *draw(st.permutations(rest))]


@given(case=draw_case(), data=st.data())
def test_decisions_add_up_to_the_fold(case: Case, data: st.DataObject) -> None:
    ledger = play(data.draw(draw_steps(case)), case.predicate)
    whole = fold_timeline(claims=case.claims, rulings=case.rulings, rule=rule_for(case.predicate))
    memory = ledger.memories[KEY]
    held = [(p.part.valid, p.part.value_digest, p.part.opener) for p in memory.list_current()]
    assert held == [(part.valid, part.value_digest, part.opener) for part in whole.parts]
    assert memory.conflict == whole.conflict


@given(case=draw_case(), data=st.data())
def test_any_order_of_arrival_ends_in_the_same_state(case: Case, data: st.DataObject) -> None:
    one = play(data.draw(draw_steps(case)), case.predicate)
    other = play(data.draw(draw_steps(case)), case.predicate)
    assert one.write_canonical(with_recorded=False) == other.write_canonical(with_recorded=False)


@given(case=draw_case(), data=st.data())
def test_the_tail_decides_as_the_whole_and_a_replay_is_byte_equal(case: Case, data: st.DataObject) -> None:
    steps = data.draw(draw_steps(case))
    by_tail = play(steps, case.predicate).write_canonical()
    assert by_tail == play(steps, case.predicate).write_canonical()
    assert by_tail == play(steps, case.predicate, uses_tail=False).write_canonical()


@given(
    held=draw_claims(quiet=True),
    newest=draw_claim(50, first_day=13),
    predicate=PREDICATES,
)
def test_a_newest_claim_is_decided_from_the_tail_in_full(
    held: list[Claim], newest: Claim, predicate: PredicateFacts
) -> None:
    timeline = fold_timeline(claims=held, rulings=(), rule=rule_for(predicate))
    if not timeline.parts or timeline.conflict is not None:
        return
    start = timeline.parts[-1]
    if start.valid.start >= newest.valid.start:
        return
    tail = [c for c in held if c.valid.start >= start.since or c.stance is not Stance.SUPPORTS]
    common = {
        "candidate": to_candidate(newest),
        "rulings": (),
        "predicate": predicate,
        "policy": POLICY,
        "now": at(40),
    }
    assert decide(claims=tail, start=start, **common) == decide(claims=held, **common)  # type: ignore[arg-type]


@given(case=draw_case(), data=st.data())
def test_a_step_taken_again_changes_nothing(case: Case, data: st.DataObject) -> None:
    steps = data.draw(draw_steps(case))
    ledger = play(steps, case.predicate)
    before = ledger.write_canonical()
    for claim in case.claims:
        again = ledger.propose(key=KEY, candidate=to_candidate(claim), now=at(60))
        assert (again.action, again.reason) == (MergeAction.NO_OP, "same_source")
    assert ledger.write_canonical() == before


@given(case=draw_case(), data=st.data())
def test_recorded_time_rises_and_versions_have_no_gap(case: Case, data: st.DataObject) -> None:
    steps = data.draw(draw_steps(case))
    ledger = MemoryLedger(policy=POLICY, predicates={KEY: case.predicate})
    versions = [0]
    for step in steps:  # the caller's clock stands still
        if isinstance(step, Ruling):
            ledger.rule(key=KEY, ruling=step, now=BEGINNING)
        else:
            ledger.propose(key=KEY, candidate=to_candidate(step), now=BEGINNING)
        versions.append(ledger.memories[KEY].version)
    assert all(new - old in (0, 1) for old, new in pairwise(versions))
    parts = ledger.memories[KEY].parts
    for held in parts:
        assert held.recorded_to is None or held.recorded_to > held.recorded_from
    for index, one in enumerate(parts):
        for other in parts[index + 1 :]:
            ends = one.recorded_to
            apart = ends is not None and ends <= other.recorded_from
            assert apart or not one.part.valid.overlaps(other.part.valid)


@given(case=draw_case())
def test_what_an_action_is_called_is_what_it_does(case: Case) -> None:
    for index, claim in enumerate(case.claims):
        decision = decide(
            candidate=to_candidate(claim),
            claims=case.claims[:index],
            rulings=case.rulings,
            predicate=case.predicate,
            policy=POLICY,
            now=at(40),
        )
        changes = decision.changes
        if decision.action is MergeAction.NO_OP:
            assert not changes.close
            assert not changes.write
            assert not changes.conflict_changed
        if decision.action is MergeAction.ADD:
            assert changes.write
        if decision.action is MergeAction.SUPERSEDE:
            assert changes.close
        if decision.action is MergeAction.CONFLICT:
            assert changes.conflict is not None
            assert changes.conflict_changed
        assert changes.belief is not None
