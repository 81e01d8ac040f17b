"""The six actions, who may replace whom, and what a ruling is called."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memoryhub.policy.merge import WholeTimelineNeeded, decide, weigh_claim
from memoryhub.types.claims import Author
from memoryhub.types.decision import PredicateFacts
from memoryhub.types.enums import EpistemicStatus, MergeAction, Modality, Stance, Trust
from tests.unit.memories import (
    MAINTAINED,
    NOW,
    POLICY,
    at,
    candidate,
    claim,
    oppose,
    propose,
    ruling,
    settle,
    source,
)

A = claim("a", 0, "x")


def test_the_first_claim_is_added() -> None:
    decision = propose(A)
    assert (decision.action, decision.reason) == (MergeAction.ADD, "first_claim")
    assert [part.opener for part in decision.changes.write] == [source("a")]
    assert decision.changes.belief is not None
    assert decision.changes.belief.modality is Modality.BELIEVED
    assert decision.policy_version == "merge/v1"


def test_a_free_period_is_filled() -> None:
    decision = propose(claim("b", 2, "y", end=4), [claim("a", 6, "x")])
    assert (decision.action, decision.reason) == (MergeAction.ADD, "fills_free_period")
    extended = propose(claim("c", 1, "x", end=9), [claim("a", 0, "x", end=5)])
    assert extended.action is MergeAction.ADD
    assert [part.valid.end for part in extended.changes.close] == [at(5)]
    assert [part.valid.end for part in extended.changes.write] == [at(9)]


def test_the_same_source_counts_nothing() -> None:
    again = propose(replace(A, value_digest="other"), [A])
    assert (again.action, again.reason) == (MergeAction.NO_OP, "same_source")
    assert not again.changes.adds_claim


def test_the_same_claim_of_the_same_root_adds_nothing_new() -> None:
    echo = propose(claim("b", 1, "x", roots=frozenset({"a"})), [A])
    assert (echo.action, echo.reason) == (MergeAction.NO_OP, "lineage_already_counted")
    assert echo.changes.adds_claim


def test_an_independent_source_adds_support() -> None:
    decision = propose(claim("b", 1, "x", "bot"), [A])
    assert (decision.action, decision.reason) == (
        MergeAction.ATTACH_EVIDENCE,
        "independent_support",
    )
    assert not decision.changes.write
    assert decision.changes.belief is not None
    assert decision.changes.belief.independent_evidence_count == 2


@pytest.mark.parametrize(
    ("stance", "reason", "modality"),
    [
        (Stance.CONTRADICTS, "evidence_against", Modality.DOUBTED),
        (Stance.QUALIFIES, "narrows", Modality.BELIEVED),
    ],
)
def test_evidence_without_a_rival_value_is_attached(stance: Stance, reason: str, modality: Modality) -> None:
    against = oppose("b", 1, stance, weight=0.4)
    decision = propose(against, [A])
    assert (decision.action, decision.reason) == (MergeAction.ATTACH_EVIDENCE, reason)
    assert decision.changes.belief is not None
    assert decision.changes.belief.modality is modality
    echo = oppose("c", 2, stance, roots=against.roots)
    assert propose(echo, [A, against]).action is MergeAction.NO_OP


def test_a_newer_claim_replaces_and_an_older_one_corrects() -> None:
    newer = propose(claim("b", 5, "y"), [A])
    assert (newer.action, newer.reason) == (MergeAction.SUPERSEDE, "replaces_standing")
    assert newer.changes.close[0].opener == source("a")
    assert [part.opener.key for part in newer.changes.write] == ["a", "b"]
    older = propose(claim("c", 3, "z", end=4), [A, claim("b", 5, "y")])
    assert older.action is MergeAction.SUPERSEDE


def test_a_late_claim_that_leaves_the_present_alone_corrects_history() -> None:
    held = [A, claim("b", 5, "x2"), claim("c", 9, "x3")]
    late = propose(claim("d", 2, "y"), held)
    assert (late.action, late.reason) == (MergeAction.SUPERSEDE, "corrects_history")


@pytest.mark.parametrize(("wrong", "right"), [("a", "b"), ("b", "a")])
def test_a_correction_of_the_same_instant_needs_only_to_be_said_later(wrong: str, right: str) -> None:
    said = claim(wrong, 0, "x", observed_at=at(0))
    meant = claim(right, 0, "y", observed_at=at(1))
    correction = propose(meant, [said])
    assert (correction.action, correction.reason) == (MergeAction.SUPERSEDE, "corrects_history")
    assert [(part.value_digest, part.valid.start) for part in correction.changes.write] == [("y", at(0))]
    late = propose(said, [meant])
    assert (late.action, late.reason) == (MergeAction.ATTACH_EVIDENCE, "settled_by_order")
    assert [part.value_digest for part in late.changes.write] == ["y"]


def test_a_value_that_was_wrong_from_its_beginning_corrects_history() -> None:
    held = [A, claim("b", 5, "y")]
    assert propose(claim("c", 5, "z", observed_at=at(6)), held).reason == "corrects_history"
    assert propose(claim("c", 6, "z"), held).reason == "replaces_standing"
    assert propose(claim("c", 3, "z"), held).reason == "corrects_history"
    gone = [A, claim("b", 5, None)]
    assert propose(claim("c", 6, "z"), gone).reason == "replaces_standing"
    assert propose(claim("c", 5, "z", observed_at=at(6)), gone).reason == "corrects_history"


def test_a_retraction_supersedes() -> None:
    decision = propose(claim("b", 5, None), [A])
    assert decision.action is MergeAction.SUPERSEDE
    assert decision.changes.write[-1].value_digest is None


def other(**changes: object) -> Author:
    return replace(Author("eve"), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("author", "action"),
    [
        (other(), MergeAction.CONFLICT),
        (other(groups=frozenset({"readers"})), MergeAction.CONFLICT),
        (other(groups=frozenset({"maintainers"})), MergeAction.SUPERSEDE),
        (other(rank=1), MergeAction.SUPERSEDE),
        (other(principal="ana"), MergeAction.SUPERSEDE),
    ],
)
def test_who_may_supersede_alone(author: Author, action: MergeAction) -> None:
    decision = propose(claim("b", 5, "y", author=author), [A])
    assert decision.action is action
    if action is MergeAction.CONFLICT:
        assert decision.reason == "author_may_not_supersede"


def test_nobody_belongs_to_a_group_that_was_not_declared() -> None:
    author = other(groups=frozenset({""}))
    decision = propose(claim("b", 5, "y", author=author), [A], predicate=PredicateFacts())
    assert decision.action is MergeAction.CONFLICT


def test_without_an_effective_time_nobody_supersedes_alone() -> None:
    decision = propose(claim("b", 5, "y", effective=False), [A])
    assert (decision.action, decision.reason) == (MergeAction.CONFLICT, "no_effective_time")


def test_what_yields_only_to_validation_waits_for_one() -> None:
    strict = replace(MAINTAINED, yields_only_to_validation=True)
    validated = replace(A, validated=True)
    waits = propose(claim("b", 5, "y"), [validated], predicate=strict)
    assert (waits.action, waits.reason) == (MergeAction.CONFLICT, "yields_only_to_validation")
    assert propose(claim("b", 5, "y"), [A], predicate=strict).action is MergeAction.SUPERSEDE
    also = propose(claim("b", 5, "y", validated=True), [validated], predicate=strict)
    assert also.action is MergeAction.SUPERSEDE


@pytest.mark.parametrize(
    ("day", "by", "action"),
    [
        (35, "bot", MergeAction.CONFLICT),
        (36, "bot", MergeAction.SUPERSEDE),
        (6, "cem", MergeAction.SUPERSEDE),
    ],
)
def test_putting_back_is_contested_within_the_window(day: int, by: str, action: MergeAction) -> None:
    held = [claim("a", 0, "x", "bot"), claim("b", 5, "y", "cem")]
    decision = propose(claim("c", day, "x", by), held)
    assert decision.action is action
    if action is MergeAction.CONFLICT:
        assert decision.reason == "put_back_in_contest_window"


def test_removing_and_adding_again_is_no_put_back() -> None:
    held = [claim("a", 0, "x", "ana"), claim("b", 5, None, "bot")]
    assert propose(claim("c", 6, "x", "ana"), held).action is MergeAction.SUPERSEDE
    again = [*held, claim("c", 6, "x", "ana")]
    assert propose(claim("d", 7, None, "bot"), again).action is MergeAction.SUPERSEDE


def test_an_open_conflict_disputes_the_memory_and_takes_in_what_comes() -> None:
    contested = claim("b", 5, "y", "eve", author=other())
    opened = propose(contested, [A])
    assert opened.changes.conflict_changed
    assert not opened.changes.write
    assert opened.changes.belief is not None
    assert opened.changes.belief.modality is Modality.DISPUTED
    joins = propose(claim("c", 6, "z"), [A, contested])
    assert (joins.action, joins.reason) == (MergeAction.CONFLICT, "joins_open_conflict")
    supports = propose(claim("d", 6, "x", "bot"), [A, contested])
    assert supports.action is MergeAction.ATTACH_EVIDENCE


def test_a_late_claim_dissolves_a_conflict() -> None:
    put_back = [claim("a", 0, "x", "ana"), claim("b", 5, "y", "bot"), claim("c", 8, "x", "ana")]
    late = propose(claim("d", 6, "z", "bot"), put_back)
    assert late.changes.dissolves
    assert late.changes.conflict is None
    assert late.action is MergeAction.SUPERSEDE
    assert [part.opener.key for part in late.changes.write] == ["b", "d", "c"]


def test_a_late_claim_moves_the_past_and_opens_a_conflict_at_once() -> None:
    held = [claim("b", 5, "y", "bot"), claim("c", 8, "x", "ana")]
    late = propose(claim("a", 0, "x", "ana"), held)
    assert (late.action, late.reason) == (MergeAction.CONFLICT, "put_back_in_contest_window")
    assert late.changes.conflict is not None
    assert late.changes.conflict.members == (source("c"),)
    assert [part.opener.key for part in late.changes.close] == ["b", "c"]
    assert [part.opener.key for part in late.changes.write] == ["a", "b"]


def test_rulings_are_called_by_what_they_move() -> None:
    contested = claim("b", 5, "y", "eve", author=other())
    held = [A, contested]
    accepted = settle(ruling(1, "b", "b"), held)
    assert (accepted.action, accepted.changes.dissolves) == (MergeAction.SUPERSEDE, True)
    rejected = settle(ruling(1, "b", None), held)
    assert (rejected.action, rejected.reason) == (MergeAction.ATTACH_EVIDENCE, "conflict_settled")
    assert rejected.changes.newly_dismissed == {source("b"): "ruling-1"}
    kept = settle(ruling(1, "b", None, keeps=True), held)
    assert (kept.action, kept.reason) == (MergeAction.ATTACH_EVIDENCE, "conflict_kept")
    assert kept.changes.conflict is not None
    assert kept.changes.conflict.kept
    undone = settle(ruling(2, "b", None), held, [ruling(1, "b", "b")])
    assert undone.action is MergeAction.SUPERSEDE
    assert [part.opener.key for part in undone.changes.write] == ["a"]


def test_a_ruling_that_came_first_settles_the_claim_on_arrival() -> None:
    contested = claim("b", 5, "y", "eve", author=other())
    decision = propose(contested, [A], [ruling(1, "b", None)])
    assert (decision.action, decision.reason) == (MergeAction.NO_OP, "settled_by_ruling")
    assert decision.changes.newly_dismissed == {source("b"): "ruling-1"}


def test_the_tail_is_not_enough_for_what_is_not_newest() -> None:
    held = [A, claim("b", 5, "x")]
    start = propose(A).changes.write[0]
    for late, rulings in ((claim("c", 3, "y"), []), (claim("c", 9, "y"), [ruling(1, "b", None)])):
        with pytest.raises(WholeTimelineNeeded):
            decide(
                candidate=candidate(late),
                claims=held,
                rulings=rulings,
                predicate=MAINTAINED,
                policy=POLICY,
                now=NOW,
                start=start,
            )


def test_the_tail_is_not_enough_while_the_newest_part_lies_ahead() -> None:
    start = propose(claim("a", 40, "x")).changes.write[0]
    with pytest.raises(WholeTimelineNeeded):
        decide(
            candidate=candidate(claim("b", 50, "y")),
            claims=[claim("a", 40, "x")],
            rulings=(),
            predicate=MAINTAINED,
            policy=POLICY,
            now=at(30),
            start=start,
        )


def test_a_claim_weighs_by_source_directness_and_confidence() -> None:
    def weigh(trust: Trust, status: EpistemicStatus) -> float:
        return weigh_claim(trust=trust, epistemic_status=status, confidence=0.8)

    first = weigh(Trust.FIRST_PARTY, EpistemicStatus.EXPLICIT)
    assert first == pytest.approx(0.76)
    assert weigh(Trust.UNTRUSTED, EpistemicStatus.EXPLICIT) < weigh(Trust.THIRD_PARTY, EpistemicStatus.EXPLICIT)
    assert weigh(Trust.FIRST_PARTY, EpistemicStatus.INFERRED) < first


def test_evidence_against_that_wins_refutes_what_stood() -> None:
    against = oppose("b", 1, Stance.CONTRADICTS)
    decision = settle(ruling(1, "ab", None), [A, against])
    assert decision.action is MergeAction.SUPERSEDE
    assert [part.opener for part in decision.changes.close] == [source("a")]
    assert decision.changes.write == ()
    assert decision.changes.belief is not None
    assert decision.changes.belief.modality is Modality.REFUTED


def test_a_member_that_says_what_stands_does_not_speak_against_it() -> None:
    joins = claim("d", 6, "z", "eve", author=other())
    agrees = claim("c", 5, "x", author=other(principal="fay"))
    decision = propose(joins, [A, claim("b", 3, "y", end=9), agrees])
    alone = propose(joins, [A])
    assert decision.changes.conflict is not None
    assert decision.changes.conflict.members == (source("c"), source("d"))
    assert decision.changes.belief is not None
    assert alone.changes.belief is not None
    assert decision.changes.belief.opposition == alone.changes.belief.opposition


def test_a_stranger_cannot_set_a_memory_back_by_speaking_of_the_past() -> None:
    held = [claim("first", 1, "4.0"), claim("second", 20, "4.1")]
    late = claim("late", 5, "3.9", by="stranger", author=Author("stranger", 0, frozenset()))
    asked = propose(candidate(late), held)
    assert (asked.requires_person, asked.reason) == (True, "unsettles_history")
    answered = propose(candidate(late, confirmed=True), held)
    assert (answered.requires_person, answered.action) == (False, MergeAction.CONFLICT)
    newest = claim("newest", 30, "3.9", by="stranger", author=Author("stranger", 0, frozenset()))
    disputed = propose(candidate(newest), held)
    assert (disputed.requires_person, disputed.action) == (False, MergeAction.CONFLICT)
