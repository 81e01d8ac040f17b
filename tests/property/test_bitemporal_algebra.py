"""The algebra against a model that cannot be wrong: a dict from each day to its value."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memoryhub.policy.merge import MergeRuleV1
from memoryhub.types.bitemporal import (
    Operation,
    Segments,
    apply_claim,
    back_fill,
    close,
    correct,
    list_segments,
    name_operation,
    retract,
    split,
    value_at,
)
from memoryhub.types.claims import Author, Claim
from memoryhub.types.decision import PredicateFacts
from memoryhub.types.temporal import Period
from memoryhub.types.timeline import fold_timeline, placed_order
from tests.property.strategies import at, source

LAST = 30
RULE = MergeRuleV1(contest_window=timedelta(0), predicate=PredicateFacts())
Model = dict[int, str | None]


@st.composite
def draw_claim(draw: st.DrawFn, number: int) -> Claim:
    """Return the numbered claim of one author whom nobody contests."""
    first = draw(st.integers(0, 14))
    length = draw(st.one_of(st.none(), st.integers(1, 8)))
    return Claim(
        source=source(number),
        value_digest=draw(st.sampled_from(["a", "b", "c", None])),
        valid=Period(at(first), None if length is None else at(first + length)),
        author=Author("ana"),
        roots=frozenset({f"r{number}"}),
        weight=0.9,
        observed_at=at(draw(st.integers(0, 3))),
        source_seq=draw(st.integers(0, 2)),
        order_digest=f"{number:03}",
    )


CLAIMS = st.integers(0, 9).flatmap(lambda count: st.tuples(*(draw_claim(number) for number in range(count))))


def list_days(valid: Period) -> list[int]:
    return [day for day in range(LAST) if valid.holds_at(at(day))]


def paint(model: Model, valid: Period, value: str | None) -> Model:
    """Return the model with one value on every day of a period."""
    return {**model, **dict.fromkeys(list_days(valid), value)}


def paint_all(claims: Iterable[Claim]) -> Model:
    """Return what a set of claims amounts to, in the order of valid time, whatever the order they came in."""
    model: Model = {}
    for claim in sorted(claims, key=lambda claim: placed_order(claim=claim)):
        model = paint(model, claim.valid, claim.value_digest)
    return model


def read(segments: Segments) -> Model:
    """Return the model that segments amount to; no two of them may cover one day."""
    found: Model = {}
    for segment in segments:
        for day in list_days(segment.valid):
            assert day not in found, "two segments cover one day"
            found[day] = segment.value
    assert list(segments) == sorted(segments, key=lambda segment: segment.valid.start)
    return found


def fold(claims: Iterable[Claim]) -> Segments:
    return list_segments(timeline=fold_timeline(claims=claims, rulings=(), rule=RULE))


@given(claims=CLAIMS, valid=draw_claim(99).map(lambda claim: claim.valid), value=st.sampled_from(["a", "b", "c", None]))
def test_an_operation_changes_the_days_of_its_period_and_no_others(
    claims: tuple[Claim, ...], valid: Period, value: str | None
) -> None:
    held: Segments = ()
    for claim in claims:
        held = apply_claim(segments=held, claim=claim)
    before = read(held)
    operation = name_operation(segments=held, valid=valid, value=value)
    meets = {before[day] for day in list_days(valid) if day in before}
    outside = [day for day in (min(list_days(valid)) - 1, max(list_days(valid)) + 1) if 0 <= day < LAST]
    if operation is None:
        # Nothing of what stands changes: it says the same, or takes away where nothing is.
        assert meets - {None} <= {value}
        return
    if value is None:
        after = close(segments=held, at=valid.start) if valid.end is None else retract(segments=held, valid=valid)
        assert operation is (Operation.CLOSE if valid.end is None else Operation.RETRACT)
        assert meets - {None}
    elif operation is Operation.BACK_FILL:
        after = back_fill(segments=held, valid=valid, value=value)
        assert meets <= {None}
    elif operation is Operation.SPLIT:
        after = split(segments=held, valid=valid, value=value)
        assert len(meets) == 1
        assert [before[day] for day in outside] == 2 * list(meets)
    else:
        after = correct(segments=held, valid=valid, value=value)
        assert meets - {None, value}
    assert read(after) == paint(before, valid, value)


@given(claims=CLAIMS)
def test_a_timeline_is_the_operations_of_its_claims_in_the_order_of_valid_time(claims: tuple[Claim, ...]) -> None:
    segments: Segments = ()
    for claim in sorted(claims, key=lambda claim: placed_order(claim=claim)):
        segments = apply_claim(segments=segments, claim=claim)
    assert read(segments) == paint_all(claims) == read(fold(claims)) == read(fold(reversed(claims)))


@given(claims=CLAIMS, arrival=st.randoms(use_true_random=False), day=st.integers(0, LAST - 1))
def test_on_both_clocks_the_answer_is_that_of_the_claims_recorded_by_then(
    claims: tuple[Claim, ...], arrival: object, day: int
) -> None:
    """Ask for every pair of instants: what a later arrival says of the past was not known before it came."""
    order = list(claims)
    arrival.shuffle(order)  # type: ignore[attr-defined]  # a random.Random
    instant: datetime = at(day)
    answers = []
    for recorded in range(len(order) + 1):
        known = order[:recorded]
        model = paint_all(known)
        segment = value_at(segments=fold(known), instant=instant)
        assert (segment is not None, segment and segment.value) == (day in model, model.get(day))
        answers.append((day in model, model.get(day)))
    # What is recorded later changes no earlier answer: asking again for an earlier instant gives it again.
    for recorded, answer in enumerate(answers):
        again = value_at(segments=fold(order[:recorded]), instant=instant)
        assert (again is not None, again and again.value) == answer
