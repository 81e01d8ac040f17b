"""What people say, through the rules, admission and merge, to what is remembered of it. English and Chinese."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.memory.models import Predicate
from memoryhub.types.enums import RevocationMode, RevocationTarget
from memoryhub.usecases.ingest import EventInput, ingest_events
from memoryhub.usecases.revoke import revoke
from memoryhub.usecases.run_jobs import run_due_jobs
from tests.cast import Cast, make_cast

BEGAN = datetime(2026, 5, 4, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    with tenant_context(cast.tenant_id):
        Predicate.objects.create(
            tenant=cast.tenant,
            fact_key="invoice.payment_terms_days",
            name="payment terms / 付款期限",
            value_schema={"type": "integer"},
        )
    return cast


def say(cast: Cast, *texts: str, source_type: str = "message", session: str = "s") -> None:
    """Let Alice say things an hour apart in her own scope, or a tool report them; all work is done in between."""
    events = [
        EventInput(
            event_id=f"{session}/{place}",
            scope=("user", cast.alice.username),
            source_type=source_type,
            occurred_at=BEGAN + place * HOUR,
            payload={"text": text},
            actor=None if source_type == "tool_result" else cast.alice.username,
            session=session,
            source_seq=place,
        )
        for place, text in enumerate(texts)
    ]
    for event in events:
        [result] = ingest_events(caller=cast.caller, events=[event], now=clock.now())
        assert result.outcome == "accepted"
        while run_due_jobs(now=clock.now()):
            pass


def ask(cast: Cast, sql: str) -> list[Any]:
    """Read something of the tenant."""
    with tenant_context(cast.tenant_id, read_only=True):
        return fetch_all(sql=sql, params=[])


def list_actions(cast: Cast) -> list[Any]:
    """Return action, reason and status of every candidate, in order."""
    return ask(
        cast,
        "SELECT decision.action, candidate.status, candidate.reason FROM memory_candidates candidate"
        " LEFT JOIN merge_decisions decision ON decision.candidate_id = candidate.id ORDER BY candidate.occurred_at",
    )


def list_held(cast: Cast) -> list[Any]:
    """Return what stands: key, value, since when, until when."""
    return ask(
        cast,
        "SELECT head.fact_key, version.value #>> '{}', version.valid_from, version.valid_to"
        " FROM memory_versions version"
        " JOIN memory_heads head ON head.id = version.memory_id"
        " WHERE version.recorded_to IS NULL AND version.state = 'active' ORDER BY version.valid_from",
    )


@pytest.mark.parametrize("text", ["From now on, please answer me in Chinese.", "以后都请用中文回答我。"])
def test_a_lasting_preference_is_an_explicit_memory_of_the_user(text: str, cast: Cast) -> None:
    say(cast, text)
    assert list_held(cast) == [("preference.language", "zh", BEGAN, None)]
    assert ask(cast, "SELECT epistemic_status FROM memory_versions") == [("explicit",)]
    assert ask(cast, "SELECT kind FROM scopes WHERE id = (SELECT scope_id FROM memory_heads)") == [("user",)]


@pytest.mark.parametrize(
    ("lasting", "once"),
    [
        ("From now on, please answer me in Chinese.", "Write this report in English, please."),
        ("以后都请用中文回答我。", "这份材料请用英文写。"),
    ],
)
def test_a_parameter_of_the_task_changes_no_preference(lasting: str, once: str, cast: Cast) -> None:
    say(cast, lasting, once)
    assert list_held(cast) == [("preference.language", "zh", BEGAN, None)]
    assert len(list_actions(cast)) == 1


@pytest.mark.parametrize("text", ["Maybe it is the load balancer.", "可能是缓存节点的问题"])
def test_a_suspicion_is_a_lead_that_is_not_believed(text: str, cast: Cast) -> None:
    say(cast, text)
    assert ask(cast, "SELECT kind, epistemic_status, extractor FROM memory_candidates") == [
        ("lead", "inferred", "rules")
    ]
    assert [row for row in ask(cast, "SELECT modality FROM memory_heads") if row[0] == "believed"] == []
    assert ask(cast, "SELECT epistemic_status FROM memory_versions WHERE epistemic_status = 'validated'") == []


@pytest.mark.parametrize("text", ["All tests passed.", "全部测试均已通过"])
def test_success_without_a_result_keeps_the_event_and_asks_for_validation(text: str, cast: Cast) -> None:
    say(cast, text, source_type="tool_result")
    assert ask(cast, "SELECT status, reason FROM memory_candidates") == [("needs_confirmation", "validation_missing")]
    assert ask(cast, "SELECT payload->>'text' FROM source_event_bodies") == [(text,)]
    assert list_held(cast) == []


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("Our payment terms are 30 days.", "No, I meant 45 days."),
        ("我们的付款期限是30天。", "不对，应该是45天。"),
    ],
)
def test_a_correction_supersedes_the_speakers_own_value(wrong: str, right: str, cast: Cast) -> None:
    say(cast, wrong, "The weather is fine.", right)
    assert [action for action, *_ in list_actions(cast)] == ["ADD", "SUPERSEDE"]
    assert list_held(cast)[-1][:2] == ("invoice.payment_terms_days", "45")


def test_a_correction_of_a_dated_statement_goes_back_to_its_date(cast: Cast) -> None:
    say(cast, "Our payment terms are 30 days since March 2024.", "No, I meant 45 days.")
    assert list_held(cast) == [("invoice.payment_terms_days", "45", datetime(2024, 3, 1, tzinfo=UTC), None)]


def test_a_correction_in_another_session_finds_nothing_to_correct(cast: Cast) -> None:
    say(cast, "Our payment terms are 30 days.")
    say(cast, "No, I meant 45 days.", session="t")
    assert [row[1] for row in list_held(cast)] == ["30"]


def test_a_correction_does_not_read_what_stands_behind_a_barrier(cast: Cast) -> None:
    say(cast, "Our payment terms are 30 days since March 2024.")
    [[event_id]] = ask(cast, "SELECT id::text FROM source_events")
    revoke(
        caller=cast.person(cast.erin),
        scope=("user", cast.alice.username),
        target=RevocationTarget.EVENT,
        target_id=event_id,
        mode=RevocationMode.RESTRICT,
        reason="user_request",
        now=clock.now(),
    )
    assert ask(cast, "SELECT count(*) FROM source_event_bodies WHERE payload IS NOT NULL") == [(1,)]
    correction = EventInput(
        event_id="s/1",
        scope=("user", cast.alice.username),
        source_type="message",
        occurred_at=BEGAN + HOUR,
        payload={"text": "No, I meant 45 days."},
        actor=cast.alice.username,
        session="s",
        source_seq=1,
    )
    ingest_events(caller=cast.caller, events=[correction], now=clock.now())
    while run_due_jobs(now=clock.now()):
        pass
    assert ask(cast, "SELECT value #>> '{}' FROM memory_candidates WHERE source_event_id <> '" + event_id + "'") == []


@pytest.mark.parametrize(
    ("yes", "no"), [("I like tea.", "I don't like tea any more."), ("我喜欢茶。", "我不喜欢茶了。")]
)
def test_a_negation_is_a_claim_of_its_own_and_no_duplicate(yes: str, no: str, cast: Cast) -> None:
    say(cast, yes, no)
    assert [action for action, *_ in list_actions(cast)] == ["ADD", "SUPERSEDE"]
    assert list_held(cast) == [
        ("preference.likes", "true", BEGAN, BEGAN + HOUR),
        ("preference.likes", "false", BEGAN + HOUR, None),
    ]


def test_one_liking_leaves_another_alone(cast: Cast) -> None:
    say(cast, "I like tea.", "I like coffee.", "I prefer short answers.")
    assert [action for action, *_ in list_actions(cast)] == ["ADD"] * 3
    assert [row[1] for row in list_held(cast)] == ["true"] * 3


def test_since_and_until_are_the_valid_time(cast: Cast) -> None:
    say(cast, "Our payment terms are 45 days from 1 June until 1 July.")
    assert list_held(cast) == [
        (
            "invoice.payment_terms_days",
            "45",
            datetime(2026, 6, 1, tzinfo=UTC),
            datetime(2026, 7, 1, tzinfo=UTC),
        )
    ]


@pytest.mark.parametrize("text", ["He wants the window seat.", "他们不喜欢开窗", "Hans's payment terms are 30 days."])
def test_whom_nobody_can_name_is_a_question_to_a_person(text: str, cast: Cast) -> None:
    say(cast, text)
    assert [row[1:] for row in list_actions(cast)] == [("needs_confirmation", "subject_unclear")]
    assert list_held(cast) == []
