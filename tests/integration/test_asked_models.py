"""Jobs that ask a model: outside of every transaction, once, within a budget, and never for nothing."""

from __future__ import annotations

import json
import threading
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from memoryhub.access.operations import grant_tenant_rights
from memoryhub.access.tenancy import tenant_context
from memoryhub.extraction.models import ModelAnswer
from memoryhub.kernel.models import SourceEventBody
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.memory.models import MemoryCandidate
from memoryhub.outbox.models import ProcessingJob
from memoryhub.outbox.operations import LEASE, Claimed, claim_jobs
from memoryhub.types.enums import RevocationTarget
from memoryhub.usecases import run_jobs
from memoryhub.usecases.declare_pattern import declare_pattern
from memoryhub.usecases.ingest import EventInput, ingest_events
from memoryhub.usecases.revoke import revoke
from memoryhub.usecases.run_jobs import MOST_QUESTIONS, run_job
from tests.api.client import Api
from tests.cast import EARLY, Cast, make_cast
from tests.endpoint import Act, Endpoint, Exchange, answer, hang, refuse, serve

WORDS = "I would take the window seat any day."
SEAT = {
    "quote": "the window seat",
    "kind": "preference",
    "fact_key": "preference.seat",
    "subject": "speaker",
    "value": "window",
    "conditions": [],
    "negated": False,
    "explicit": True,
    "confidence": 0.8,
    "valid_from": None,
}
GOOD = answer({"proposals": [SEAT]}, tokens=700)


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def configure(settings: Any, endpoint: Endpoint, **more: Any) -> None:
    """Point the product at an endpoint."""
    values = {"URL": endpoint.url, "NAME": "small", "RETRIES": 0, "TIMEOUT": 1.0, **more}
    for name, value in values.items():
        setattr(settings, f"MODEL_{name}", value)


def say(cast: Cast, text: str = WORDS) -> str:
    """Let Bob say something; returns the id of the event."""
    event = EventInput(
        event_id=str(new_id()),
        scope=("project", "platform"),
        source_type="message",
        occurred_at=EARLY,
        payload={"text": text},
        actor=cast.bob.username,
    )
    [result] = ingest_events(caller=cast.caller, events=[event], now=clock.now())
    assert result.outcome == "accepted"
    return str(result.id)


def claim(cast: Cast, *, now: datetime | None = None) -> list[Claimed]:
    """Claim what is due of this tenant, the jobs of the model only."""
    claimed = [one for one in claim_jobs(limit=1_000, now=now or clock.now()) if one.tenant_id == cast.tenant_id]
    with tenant_context(cast.tenant_id, read_only=True):
        jobs = {str(job.pk) for job in ProcessingJob.objects.filter(extractor_version="openai/1")}
    return [one for one in claimed if one.id in jobs]


def read(cast: Cast, query: str) -> list[Any]:
    """Read something of the tenant."""
    with tenant_context(cast.tenant_id, read_only=True):
        return fetch_all(sql=query, params=[])


def list_jobs(cast: Cast) -> list[Any]:
    """Return state, attempts and note of the jobs of the model."""
    return read(cast, "SELECT state, attempts, last_error FROM processing_jobs WHERE extractor_version = 'openai/1'")


def list_proposed(cast: Cast) -> list[Any]:
    """Return what the model's jobs proposed."""
    return read(
        cast,
        "SELECT split_part(fact_key, '.', 1), epistemic_status FROM memory_candidates WHERE extractor = 'openai'"
        " ORDER BY statement",
    )


def test_what_a_model_states_becomes_a_candidate_and_its_answer_is_on_record(cast: Cast, settings: Any) -> None:
    with serve(GOOD) as endpoint:
        configure(settings, endpoint)
        say(cast)
        [claimed] = claim(cast)
        assert run_job(claimed=claimed, now=clock.now()) == "succeeded"
    assert list_jobs(cast) == [("succeeded", 1, "")]
    assert list_proposed(cast) == [("preference", "explicit")]
    with tenant_context(cast.tenant_id, read_only=True):
        kept = ModelAnswer.objects.get()
        candidate = MemoryCandidate.objects.get(extractor="openai")
    assert json.loads(kept.answer) == {"proposals": [SEAT]}
    assert (kept.model, kept.tokens) == ("small", 700)
    assert candidate.rule_digest == kept.question_digest
    assert candidate.value == "window"


def test_what_a_model_thinks_aloud_and_a_customer_number_are_not_on_record(cast: Cast, settings: Any) -> None:
    grant_tenant_rights(tenant=cast.tenant, principal=cast.alice, rights=("administer_tenant",))
    now = clock.now()
    declare_pattern(caller=cast.person(cast.alice), kind="customer", pattern=r"C-\d{6}", now=now)
    told = json.dumps({"reasoning": "HIDDEN one", "proposals": [{**SEAT, "fact_key": "a.b", "value": "C-123456"}]})
    for number, text in enumerate(
        (f"HIDDEN two</think>HIDDEN three {told} HIDDEN four", "<think>HIDDEN five</think> no")
    ):
        with serve(answer(text)) as endpoint:
            configure(settings, endpoint)
            say(cast, f"{WORDS} For the {number}. time.")
            [claimed] = claim(cast)
            run_job(claimed=claimed, now=clock.now())
    with tenant_context(cast.tenant_id, read_only=True):
        kept = [one.answer for one in ModelAnswer.objects.order_by("answered_at")]
    assert len(kept) == 2
    assert "HIDDEN" not in "".join(kept)
    assert "123456" not in "".join(kept)
    assert "[removed: customer]" in kept[0]


def test_nothing_is_asked_while_it_is_off(cast: Cast, settings: Any) -> None:
    settings.MODEL_URL = ""
    say(cast)
    assert claim(cast) == []


def test_a_job_made_before_it_was_switched_off_keeps_the_words(cast: Cast, settings: Any) -> None:
    with serve(GOOD) as endpoint:
        configure(settings, endpoint)
        say(cast)
        settings.MODEL_URL = ""
        [claimed] = claim(cast)
        run_job(claimed=claimed, now=clock.now())
        assert endpoint.requests == []
    assert list_jobs(cast) == [("succeeded", 1, "extractor_missing")]
    assert [key for key, _ in list_proposed(cast)] == ["transcript"]


def test_no_transaction_is_open_while_the_model_is_asked(cast: Cast, settings: Any) -> None:
    seen: list[Any] = []

    def look(exchange: Exchange) -> None:
        states = fetch_all(
            sql="SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND xact_start IS NOT NULL AND application_name LIKE 'memoryhub%%'",
            params=[],
        )
        locks = fetch_all(
            sql="SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()", params=[]
        )
        seen.append((states[0][0], locks[0][0]))
        connection.close()
        GOOD(exchange)

    with serve(look) as endpoint:
        configure(settings, endpoint, TIMEOUT=10.0)
        say(cast)
        [claimed] = claim(cast)
        run_job(claimed=claimed, now=clock.now())
    assert seen == [(0, 0)]
    assert list_jobs(cast) == [("succeeded", 1, "")]


def test_a_busy_model_is_asked_again_later_and_then_the_words_stand(cast: Cast, settings: Any) -> None:
    with serve(refuse(503)) as endpoint:
        configure(settings, endpoint)
        say(cast)
        now = clock.now()
        for attempt in range(1, MOST_QUESTIONS):
            [claimed] = claim(cast, now=now)
            assert run_job(claimed=claimed, now=now) == "retrying"
            assert list_jobs(cast) == [("retrying", attempt, "Unanswered")]
            assert list_proposed(cast) == []
            now += timedelta(minutes=11)
        [claimed] = claim(cast, now=now)
        assert run_job(claimed=claimed, now=now) == "succeeded"
        assert len(endpoint.requests) == MOST_QUESTIONS
    assert list_jobs(cast) == [("succeeded", MOST_QUESTIONS, "model_failed")]
    assert list_proposed(cast) == [("transcript", "observed")]


def test_a_model_that_comes_back_is_read_after_all(cast: Cast, settings: Any) -> None:
    with serve(refuse(429), GOOD) as endpoint:
        configure(settings, endpoint)
        say(cast)
        now = clock.now()
        run_job(claimed=claim(cast, now=now)[0], now=now)
        now += timedelta(minutes=1)
        run_job(claimed=claim(cast, now=now)[0], now=now)
    assert list_jobs(cast) == [("succeeded", 2, "")]
    assert list_proposed(cast) == [("preference", "explicit")]


@pytest.mark.parametrize(
    ("act", "note", "keys"),
    [
        (answer("no json"), "answer_unreadable", ["transcript"]),
        (answer(None, refusal="no"), "model_declined", ["transcript"]),
        (refuse(401), "model_key_refused", ["transcript"]),
        (answer({"proposals": [{**SEAT, "quote": "the aisle"}]}), "quote_not_in_text", ["transcript"]),
        (
            answer({"proposals": [SEAT, {**SEAT, "kind": "order"}]}),
            "proposal_malformed",
            ["preference", "transcript"],
        ),
        (
            answer({"proposals": [{**SEAT, "subject": "planet:mars"}]}),
            "undeclared_entity_type",
            ["transcript"],
        ),
        (answer({"proposals": []}), "", []),
    ],
)
def test_what_cannot_be_read_or_is_refused_leaves_the_words(
    act: Act, note: str, keys: list[str], cast: Cast, settings: Any
) -> None:
    with serve(act) as endpoint:
        configure(settings, endpoint)
        say(cast)
        [claimed] = claim(cast)
        run_job(claimed=claimed, now=clock.now())
    assert list_jobs(cast) == [("succeeded", 1, note)]
    assert [key for key, _ in list_proposed(cast)] == keys
    [[event_key]] = read(cast, "SELECT event_key FROM source_event_bodies")
    assert Api(cast.secret).get(f"events/{event_key}/status").json["notes"] == ([note] if note else [])


def test_a_worker_that_dies_after_the_answer_does_not_ask_again(
    cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(**_: Any) -> None:
        raise KeyboardInterrupt

    with serve(GOOD) as endpoint:
        configure(settings, endpoint)
        say(cast)
        now = clock.now()
        [claimed] = claim(cast, now=now)
        with monkeypatch.context() as patch:
            patch.setattr(run_jobs, "propose_answer", die)
            with pytest.raises(KeyboardInterrupt):
                run_job(claimed=claimed, now=now)
        assert list_proposed(cast) == []
        now += LEASE + timedelta(seconds=1)
        [claimed] = claim(cast, now=now)
        assert run_job(claimed=claimed, now=now) == "succeeded"
        assert len(endpoint.requests) == 1
    assert list_proposed(cast) == [("preference", "explicit")]


def test_who_lost_the_job_while_the_model_thought_ends_nothing(cast: Cast, settings: Any) -> None:
    arrived, go_on = threading.Event(), threading.Event()

    def think(exchange: Exchange) -> None:
        if len(exchange.endpoint.requests) == 1:
            arrived.set()
            go_on.wait(10)
        GOOD(exchange)

    ended: list[str] = []

    def work(claimed: Claimed) -> None:
        try:
            ended.append(run_job(claimed=claimed, now=clock.now()))
        finally:
            connection.close()

    with serve(think) as endpoint:
        configure(settings, endpoint, TIMEOUT=20.0)
        say(cast)
        now = clock.now()
        first = threading.Thread(target=work, args=claim(cast, now=now))
        first.start()
        assert arrived.wait(10)
        later = now + LEASE + timedelta(seconds=1)
        [again] = claim(cast, now=later)
        assert run_job(claimed=again, now=later) == "succeeded"
        go_on.set()
        first.join(timeout=20)
    assert ended == ["gone"]
    assert list_proposed(cast) == [("preference", "explicit")]
    assert [row[0] for row in list_jobs(cast)] == ["succeeded"]


def test_an_event_beyond_the_budget_of_events_is_not_sent(cast: Cast, settings: Any) -> None:
    with serve(GOOD) as endpoint:
        configure(settings, endpoint, EVENT_TOKENS=3_000)
        say(cast, "word " * 3_000)
        [claimed] = claim(cast)
        run_job(claimed=claimed, now=clock.now())
        assert endpoint.requests == []
    assert list_jobs(cast) == [("succeeded", 1, "event_over_budget")]
    assert [key for key, _ in list_proposed(cast)] == ["transcript"]


def test_a_tenant_spends_no_more_than_its_day_and_another_is_not_touched(cast: Cast, settings: Any) -> None:
    other = make_cast()
    with serve(answer({"proposals": [SEAT]}, tokens=4_000)) as endpoint:
        configure(settings, endpoint, DAILY_TOKENS=9_000)
        for _ in range(4):
            say(cast)
        now = clock.now()
        for claimed in claim(cast, now=now):
            run_job(claimed=claimed, now=now)
        assert len(endpoint.requests) == 2
        assert sorted(row[2] for row in list_jobs(cast)) == ["", "", "tenant_over_budget", "tenant_over_budget"]
        say(other)
        run_job(claimed=claim(other)[0], now=now)
        assert [row[2] for row in list_jobs(other)] == [""]
        say(cast)
        tomorrow = now + timedelta(days=1)
        run_job(claimed=claim(cast, now=tomorrow)[0], now=tomorrow)
        assert len(endpoint.requests) == 4
    assert sorted(key for key, _ in list_proposed(cast)) == ["preference"] * 3 + ["transcript"] * 2


def test_workers_at_once_spend_no_more_than_one_after_the_other(cast: Cast, settings: Any) -> None:
    barrier = threading.Barrier(4)
    codes: list[str] = []

    def work(claimed: Claimed) -> None:
        try:
            barrier.wait(10)
            codes.append(run_job(claimed=claimed, now=now))
        finally:
            connection.close()

    with serve(answer({"proposals": []}, tokens=4_000)) as endpoint:
        configure(settings, endpoint, DAILY_TOKENS=9_000, TIMEOUT=20.0)
        for _ in range(4):
            say(cast)
        now = clock.now()
        threads = [threading.Thread(target=work, args=(claimed,)) for claimed in claim(cast, now=now)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
        assert codes == ["succeeded"] * 4
        assert len(endpoint.requests) <= 2
    assert read(cast, "SELECT sum(tokens) <= 9000 FROM model_answers") == [(True,)]


def test_an_answer_that_never_came_stays_counted(cast: Cast, settings: Any) -> None:
    with serve(hang) as endpoint:
        configure(settings, endpoint, TIMEOUT=0.2)
        say(cast)
        [claimed] = claim(cast)
        assert run_job(claimed=claimed, now=clock.now()) == "retrying"
    [(tokens, answered)] = read(cast, "SELECT tokens, answered_at FROM model_answers")
    assert tokens > 2_000
    assert answered is None


def test_an_event_that_goes_while_the_model_thinks_proposes_nothing(cast: Cast, settings: Any) -> None:
    def erase(exchange: Exchange) -> None:
        try:
            with tenant_context(cast.tenant_id):
                SourceEventBody.objects.filter(event_id=UUID(event_id)).update(
                    payload=None, event_key=None, salt=None, erased_at=clock.now()
                )
        finally:
            connection.close()
        GOOD(exchange)

    with serve(erase) as endpoint:
        configure(settings, endpoint, TIMEOUT=10.0)
        event_id = say(cast)
        [claimed] = claim(cast)
        run_job(claimed=claimed, now=clock.now())
    assert list_jobs(cast) == [("succeeded", 1, "event_gone")]
    assert list_proposed(cast) == []


def test_words_behind_a_barrier_do_not_leave_the_house(cast: Cast, settings: Any) -> None:
    with serve(GOOD) as endpoint:
        configure(settings, endpoint)
        event_id = say(cast)
        revoke(
            caller=cast.person(cast.erin),
            scope=("project", "platform"),
            target=RevocationTarget.EVENT,
            target_id=event_id,
            reason="user_request",
            now=clock.now(),
        )
        for claimed in claim(cast):
            run_job(claimed=claimed, now=clock.now())
        assert endpoint.requests == []
    assert list_proposed(cast) == []
