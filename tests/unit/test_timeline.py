"""The timeline, case by case."""

from __future__ import annotations

from collections.abc import Sequence

from memoryhub.policy.merge import MergeRuleV1
from memoryhub.types.claims import Claim, Ruling, Timeline
from memoryhub.types.enums import Stance
from memoryhub.types.timeline import fold_timeline
from tests.unit.memories import MAINTAINED, POLICY, claim, oppose, ruling, show, source

RULE = MergeRuleV1(contest_window=POLICY.contest_window, predicate=MAINTAINED)


def fold(claims: Sequence[Claim], rulings: Sequence[Ruling] = ()) -> Timeline:
    return fold_timeline(claims=claims, rulings=rulings, rule=RULE)


def stranger(name: str, day: int, value: str | None, end: int | None = None) -> Claim:
    base = claim(name, day, value, "eve", end)
    return claim(name, day, value, "eve", end, author=type(base.author)("eve"))


def test_a_bounded_claim_is_cut_out_of_what_stood() -> None:
    timeline = fold([claim("a", 0, "x"), claim("b", 5, "y", end=8)])
    assert show(timeline) == [(0, 5, "x", "a"), (5, 8, "y", "b"), (8, None, "x", "a")]
    assert timeline.parts[2].since == timeline.parts[0].since


def test_a_late_older_claim_fills_the_past_and_never_becomes_current() -> None:
    timeline = fold([claim("b", 10, "y"), claim("a", 3, "x")])
    assert show(timeline) == [(3, 10, "x", "a"), (10, None, "y", "b")]
    assert timeline.parts[1].replaced_digest == "x"


def test_the_same_value_supports_and_extends_one_part() -> None:
    timeline = fold([claim("a", 0, "x", end=5), claim("b", 3, "x", end=9)])
    assert show(timeline) == [(0, 9, "x", "a")]
    assert timeline.parts[0].supporters == (source("a"), source("b"))


def test_a_claim_over_several_parts_supports_one_and_replaces_the_other() -> None:
    claims = [claim("a", 0, "x"), claim("b", 5, "y", end=8), claim("c", 6, "x")]
    timeline = fold(claims)
    assert show(timeline) == [
        (0, 5, "x", "a"),
        (5, 6, "y", "b"),
        (6, 8, "x", "c"),
        (8, None, "x", "a"),
    ]
    assert timeline.parts[3].supporters == (source("a"), source("c"))


def test_absence_is_a_part_and_a_value_always_replaces_it() -> None:
    timeline = fold([claim("a", 0, "x"), claim("b", 5, None, "bot"), stranger("c", 6, "x")])
    assert show(timeline) == [(0, 5, "x", "a"), (5, 6, None, "b"), (6, None, "x", "c")]
    assert timeline.conflict is None
    assert show(fold([claim("a", 2, None)])) == [(2, None, None, "a")]


def test_absence_over_a_value_is_judged_like_any_claim() -> None:
    timeline = fold([claim("a", 0, "x"), stranger("b", 5, None)])
    assert show(timeline) == [(0, None, "x", "a")]
    assert timeline.conflict is not None
    assert timeline.conflict.reason == "author_may_not_supersede"


def test_one_contested_segment_contests_the_whole_claim() -> None:
    timeline = fold([claim("a", 0, "x", end=5), stranger("b", 3, "y", end=9)])
    assert show(timeline) == [(0, 5, "x", "a")]
    assert timeline.conflict is not None
    assert timeline.conflict.standing == source("a")
    assert timeline.conflict.members == (source("b"),)


def test_claims_join_an_open_conflict_unless_they_say_what_stands() -> None:
    claims = [
        claim("a", 0, "x"),
        stranger("b", 3, "y"),
        claim("c", 4, "z"),
        claim("d", 5, "x", "bot"),
        claim("e", 6, "y", "bot"),
    ]
    timeline = fold(claims)
    assert show(timeline) == [(0, None, "x", "a")]
    assert timeline.conflict is not None
    assert timeline.conflict.members == (source("b"), source("c"), source("e"))
    assert timeline.parts[0].supporters == (source("a"), source("d"))


def test_what_opposes_or_narrows_moves_nothing() -> None:
    claims = [
        claim("a", 0, "x"),
        oppose("b", 1, Stance.CONTRADICTS),
        oppose("c", 2, Stance.QUALIFIES),
    ]
    timeline = fold(claims)
    assert show(timeline) == [(0, None, "x", "a")]
    assert timeline.opposing == (source("b"), source("c"))
    assert fold(claims, [ruling(1, "b", None)]).opposing == (source("c"),)


def test_a_ruling_lets_its_winner_replace_whatever_stands() -> None:
    claims = [claim("a", 0, "x"), stranger("b", 3, "y")]
    assert show(fold(claims, [ruling(1, "b", "b")])) == [(0, 3, "x", "a"), (3, None, "y", "b")]
    later = fold(claims, [ruling(1, "b", "b", since=7)])
    assert show(later) == [(0, 7, "x", "a"), (7, None, "y", "b")]
    assert later.conflict is None


def test_a_winner_whose_period_is_over_moves_nothing() -> None:
    claims = [claim("a", 0, "x"), stranger("b", 3, "y", end=5)]
    timeline = fold(claims, [ruling(1, "b", "b", since=6)])
    assert show(timeline) == [(0, None, "x", "a")]
    assert timeline.dismissed == {source("b"): "ruling-1"}


def test_a_ruling_without_a_winner_dismisses_all_it_names() -> None:
    claims = [claim("a", 0, "x"), stranger("b", 3, "y"), claim("c", 4, "z"), claim("d", 5, "w")]
    timeline = fold(claims, [ruling(1, "bc", None)])
    assert show(timeline) == [(0, 5, "x", "a"), (5, None, "w", "d")]
    assert timeline.dismissed == {source("b"): "ruling-1", source("c"): "ruling-1"}
    assert timeline.conflict is None


def test_a_ruling_leaves_the_history_before_its_winner() -> None:
    claims = [claim("a", 0, "x"), stranger("b", 3, "y"), claim("c", 4, "z")]
    timeline = fold(claims, [ruling(1, "abc", "c")])
    assert show(timeline) == [(0, 4, "x", "a"), (4, None, "z", "c")]
    assert timeline.dismissed == {source("b"): "ruling-1"}


def test_what_a_ruling_leaves_out_is_taken_as_ever() -> None:
    claims = [claim("a", 0, "x"), stranger("b", 3, "y"), claim("c", 4, "z")]
    timeline = fold(claims, [ruling(1, "b", "b")])
    assert show(timeline) == [(0, 3, "x", "a"), (3, 4, "y", "b"), (4, None, "z", "c")]
    assert timeline.conflict is None


def test_the_latest_ruling_counts() -> None:
    claims = [claim("a", 0, "x"), stranger("b", 3, "y")]
    rulings = [ruling(2, "b", None), ruling(1, "b", "b")]
    assert show(fold(claims, rulings)) == [(0, None, "x", "a")]
    assert show(fold(claims, [*rulings, ruling(3, "b", "b")])) == [
        (0, 3, "x", "a"),
        (3, None, "y", "b"),
    ]


def test_keeping_a_conflict_holds_until_it_grows() -> None:
    claims = [claim("a", 0, "x"), stranger("b", 3, "y")]
    kept = fold(claims, [ruling(1, "b", None, keeps=True)])
    assert kept.conflict is not None
    assert kept.conflict.kept
    grown = fold([*claims, stranger("c", 4, "z")], [ruling(1, "b", None, keeps=True)])
    assert grown.conflict is not None
    assert not grown.conflict.kept


def test_the_story_of_an_end_of_support() -> None:
    """Hold the worked example of `docs/explanation/merge.md`."""
    claims = [
        claim("a", 59, "1 Apr", "ana"),
        claim("b", 129, "30 Apr", "bot"),
        claim("c", 139, "1 Apr", "ana"),
        claim("d", 152, "30 Apr", "bot"),
    ]
    open_ = fold(claims)
    assert open_.conflict is not None
    assert open_.conflict.reason == "put_back_in_contest_window"
    assert open_.conflict.members == (source("c"),)
    ruled = ruling(1, "bcd", "b")
    settled = fold(claims, [ruled])
    assert show(settled) == [(59, 129, "1 Apr", "a"), (129, None, "30 Apr", "b")]
    assert settled.parts[1].supporters == (source("b"), source("d"))
    assert settled.dismissed == {source("c"): "ruling-1"}
    late = fold([claim("e", 109, "15 Apr"), *claims], [ruled])
    assert show(late) == [
        (59, 109, "1 Apr", "a"),
        (109, 129, "15 Apr", "e"),
        (129, None, "30 Apr", "b"),
    ]
