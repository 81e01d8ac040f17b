"""Periods, forgetting, modality, scopes, subjects and transitions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memoryhub.types.cognitive import get_decay
from memoryhub.types.entity import BadSubjectKey, UndeclaredEntityType, fold_mention, parse_subject_key
from memoryhub.types.enums import (
    CANDIDATE_TRANSITIONS,
    JOB_TRANSITIONS,
    VERSION_TRANSITIONS,
    CandidateStatus,
    JobState,
    MemoryType,
    Modality,
    ScopeKind,
    VersionState,
)
from memoryhub.types.modality import Thresholds, read_modality
from memoryhub.types.scope import ScopeKey, is_wider
from memoryhub.types.status import ForbiddenTransition, check_transition, list_ends
from memoryhub.types.temporal import EmptyPeriod, Period


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def test_a_period_ends_after_it_begins() -> None:
    for end in (1, 2):
        with pytest.raises(EmptyPeriod):
            Period(day(2), day(end))


def test_a_period_holds_its_start_and_not_its_end() -> None:
    period = Period(day(2), day(4))
    assert [n for n in range(1, 6) if period.holds_at(day(n))] == [2, 3]
    assert Period(day(2)).holds_at(day(31))


def test_cutting_leaves_what_is_not_shared() -> None:
    whole = Period(day(2), day(9))
    assert whole.cut(Period(day(4), day(6))) == (Period(day(2), day(4)), Period(day(6), day(9)))
    assert whole.cut(Period(day(1))) == ()
    assert whole.cut(Period(day(9))) == (whole,)
    assert Period(day(2)).cut(Period(day(3), day(5))) == (Period(day(2), day(3)), Period(day(5)))


def test_types_forget_at_their_own_pace_in_one_shape() -> None:
    year = timedelta(days=365)
    left = {kind: get_decay(memory_type=kind).retain(year) for kind in MemoryType}
    assert left[MemoryType.EPISODIC] < left[MemoryType.PROCEDURAL] <= left[MemoryType.SEMANTIC]
    assert left[MemoryType.REFLECTIVE] > 0.98
    for kind in MemoryType:
        retained = [get_decay(memory_type=kind).retain(n * year) for n in range(20)]
        assert retained == sorted(retained, reverse=True)
        assert retained[0] == 1.0
        assert retained[-1] > 0


@pytest.mark.parametrize(
    ("confidence", "support", "opposition", "conflict", "superseded", "expected"),
    [
        (0.9, 0.9, 0.0, True, True, Modality.REFUTED),
        (0.9, 0.9, 0.0, True, False, Modality.DISPUTED),
        (0.2, 0.5, 0.4, False, False, Modality.DISPUTED),
        (0.0, 0.0, 0.1, False, False, Modality.DISPUTED),
        (0.7, 0.9, 0.15, False, False, Modality.DOUBTED),
        (0.8, 0.9, 0.14, False, False, Modality.BELIEVED),
        (0.75, 0.75, 0.0, False, False, Modality.POSSIBLE),
        (0.01, 0.01, 0.0, False, False, Modality.POSSIBLE),
        (0.0, 0.0, 0.0, False, False, Modality.POSSIBLE),
    ],
)
def test_the_first_modality_that_matches_wins(  # noqa: PLR0917  a table of cases
    confidence: float,
    support: float,
    opposition: float,
    conflict: bool,
    superseded: bool,
    expected: Modality,
) -> None:
    found = read_modality(
        confidence=confidence,
        support=support,
        opposition=opposition,
        has_open_conflict=conflict,
        all_support_superseded=superseded,
        thresholds=Thresholds(),
    )
    assert found is expected


def test_scopes_widen_from_one_person_to_all() -> None:
    assert is_wider(kind=ScopeKind.PROJECT, than=ScopeKind.USER)
    assert is_wider(kind=ScopeKind.ORGANIZATION, than=ScopeKind.PROJECT)
    assert not is_wider(kind=ScopeKind.USER, than=ScopeKind.USER)
    assert ScopeKey(ScopeKind.USER, "hans").as_text() == "user:hans"


def test_a_subject_names_a_declared_type() -> None:
    found = parse_subject_key(text="service:proxy-1:eu", declared={"service"})
    assert (found.entity_type, found.name) == ("service", "proxy-1:eu")
    assert found.as_text() == "service:proxy-1:eu"
    with pytest.raises(UndeclaredEntityType):
        parse_subject_key(text="person:hans", declared={"service"})
    for text in ("hans", "person:", ":hans", "Person:hans", "person: hans", "person:" + "x" * 201):
        with pytest.raises(BadSubjectKey):
            parse_subject_key(text=text, declared={"person", "Person"})


@pytest.mark.parametrize("sign", ["\u200b", "\u202e", "\n", "\x00", "\ud800", "\ufeff", "\U000e0041"])
def test_a_subject_has_no_twin_with_what_nobody_sees(sign: str) -> None:
    with pytest.raises(BadSubjectKey):
        parse_subject_key(text=f"person:ha{sign}ns", declared={"person"})


def test_a_joiner_belongs_to_a_name() -> None:
    assert parse_subject_key(text="person:می\u200cخواهم", declared={"person"}).name == "می\u200cخواهم"


def test_a_mention_is_read_without_what_nobody_sees() -> None:
    assert fold_mention(text="Ha\u200bns\ufeff  MEIER") == fold_mention(text="hans meier")


def test_transitions_follow_their_tables() -> None:
    check_transition(table=VERSION_TRANSITIONS, old=VersionState.ACTIVE, new=VersionState.SUPERSEDED)
    with pytest.raises(ForbiddenTransition):
        check_transition(table=VERSION_TRANSITIONS, old=VersionState.SUPERSEDED, new=VersionState.ACTIVE)
    assert list_ends(table=VERSION_TRANSITIONS) == {VersionState.ERASED}
    assert list_ends(table=JOB_TRANSITIONS) == {JobState.SUCCEEDED, JobState.CANCELLED, JobState.DISCARDED}
    assert CandidateStatus.PENDING not in list_ends(table=CANDIDATE_TRANSITIONS)


@pytest.mark.parametrize(
    ("table", "states"),
    [
        (CANDIDATE_TRANSITIONS, CandidateStatus),
        (VERSION_TRANSITIONS, VersionState),
        (JOB_TRANSITIONS, JobState),
    ],
)
def test_a_table_names_each_state_of_its_enum(
    table: dict[str, frozenset[str]],
    states: type[CandidateStatus | VersionState | JobState],
) -> None:
    assert set(table) == set(states)
    assert set().union(*table.values()) <= set(states)
