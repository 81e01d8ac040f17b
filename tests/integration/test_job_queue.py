"""The queue of jobs: whose turn it is, how long one is held, and when it is put off, handed back or given up."""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection

from memoryhub.access import operations
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.ids import new_id
from memoryhub.outbox.operations import (
    LEASE,
    MAX_ATTEMPTS,
    Claimed,
    claim_jobs,
    count_attempt,
    fail_job,
    load_job,
)
from memoryhub.usecases import run_jobs
from memoryhub.usecases import shift as shift_module
from memoryhub.usecases.ingest import EventInput, ingest_events
from memoryhub.usecases.run_jobs import BATCH, run_due_jobs, run_job
from memoryhub.usecases.shift import Shift, keep_leases
from tests.cast import EARLY, Cast, make_cast
from tests.integration.test_jobs import LANGUAGE, ask, claim_of, finish_others, list_jobs, say, work


def say_often(cast: Cast, times: int) -> None:
    """Let the agent report so many things of no consequence, in one batch; each leaves one job."""
    results = ingest_events(
        caller=cast.caller,
        events=[
            EventInput(
                event_id=str(new_id()),
                scope=("project", "platform"),
                source_type="message",
                occurred_at=EARLY,
                payload={"text": f"Nothing lasting is said here, {number}."},
                actor=cast.bob.username,
            )
            for number in range(times)
        ],
        now=clock.now(),
    )
    assert {result.outcome for result in results} == {"accepted"}


def test_a_tenant_that_comes_late_is_in_the_next_batch() -> None:
    """However long a queue is that came before."""
    finish_others()
    busy, late = make_cast(), make_cast()
    say_often(busy, 500)
    say(late, LANGUAGE)
    assert late.tenant_id in {one.tenant_id for one in claim_jobs(limit=BATCH, now=clock.now())}


def test_more_tenants_than_a_batch_has_room_for_all_come_to_their_turn() -> None:
    finish_others()
    casts = [make_cast() for _ in range(5)]
    for cast in casts:
        say_often(cast, 6)
    shift, ended = Shift(now=clock.now), Counter[str]()
    for _ in range(5):
        ended += run_due_jobs(now=clock.now(), limit=2, shift=shift)
    done = [dict(ask(cast, "SELECT state, count(*) FROM processing_jobs GROUP BY state")) for cast in casts]
    assert ended == {"succeeded": 10}
    assert [states["succeeded"] for states in done] == [2] * 5


def test_a_shift_that_ends_hands_back_what_it_had_not_begun() -> None:
    finish_others()
    cast = make_cast()
    say_often(cast, 5)
    now = clock.now()
    turns = iter([True, True])
    shift = Shift(now=lambda: now, goes_on=lambda: next(turns, False))
    assert run_due_jobs(now=now, shift=shift) == {"succeeded": 2, "released": 3}
    assert sorted(list_jobs(cast)) == [("queued", 0, "")] * 3 + [("succeeded", 1, "")] * 2
    assert run_due_jobs(now=now) == {"succeeded": 3}, "what is handed back is due at once"


def test_a_lease_is_renewed_while_a_piece_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second worker that comes after the first lease finds nothing; without the renewal it takes all over."""
    finish_others()
    cast = make_cast()
    say_often(cast, 3)
    now = clock.now()
    [*claimed] = claim_of(cast, now=now)
    later = now + 2 * LEASE / 3
    monkeypatch.setattr(shift_module, "RENEW_AFTER", 0.05)
    with keep_leases(claims=claimed, shift=Shift(now=lambda: later)):
        time.sleep(0.5)
    assert claim_of(cast, now=now + LEASE) == []
    assert len(claim_of(cast, now=later + LEASE)) == 3, "it is held no longer than that"


def test_a_job_in_its_transaction_is_held_without_a_lease() -> None:
    cast = make_cast()
    say(cast, LANGUAGE)
    now = clock.now()
    [claimed] = claim_of(cast, now=now)
    others: list[Claimed] = []

    def claim_elsewhere() -> None:
        try:
            others.extend(claim_of(cast, now=now + 10 * LEASE))
        finally:
            connection.close()

    with tenant_context(cast.tenant_id):
        assert load_job(tenant_id=cast.tenant_id, job_id=claimed.id) is not None
        second = threading.Thread(target=claim_elsewhere)
        second.start()
        second.join(timeout=10)
    assert others == []
    assert len(claim_of(cast, now=now + 10 * LEASE)) == 1


def test_a_failure_of_a_worker_that_was_overtaken_does_not_count() -> None:
    cast = make_cast()
    say(cast, LANGUAGE)
    now = clock.now()
    [claimed] = claim_of(cast, now=now)
    with tenant_context(cast.tenant_id):
        job = load_job(tenant_id=cast.tenant_id, job_id=claimed.id)
    assert job is not None
    [again] = claim_of(cast, now=now + LEASE)
    assert again.is_again
    with tenant_context(cast.tenant_id):
        count_attempt(tenant_id=cast.tenant_id, job_id=again.id)
        assert fail_job(tenant_id=cast.tenant_id, job=job, error="TooLate", now=now + LEASE) == "gone"
    assert list_jobs(cast) == [("running", 2, "")]


def test_a_job_that_fails_comes_back_after_pauses_and_then_waits_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        message = "words that must not be kept"
        raise LookupError(message)

    monkeypatch.setattr(run_jobs, "extract_event", fail)
    cast = make_cast()
    say(cast, LANGUAGE)
    now, pauses = clock.now(), []
    for attempt in range(1, MAX_ATTEMPTS):
        [claimed] = claim_of(cast, now=now)
        assert run_job(claimed=claimed, now=now) == "retrying"
        assert list_jobs(cast) == [("retrying", attempt, "LookupError")]
        due = ask(cast, "SELECT next_attempt_at FROM processing_jobs")[0][0]
        assert claim_of(cast, now=due - timedelta(milliseconds=1)) == []
        pauses.append(due - now)
        now = due
    [claimed] = claim_of(cast, now=now)
    assert run_job(claimed=claimed, now=now) == "dead"
    assert pauses == sorted(pauses)
    assert pauses[-1] > timedelta(minutes=1)
    assert claim_of(cast, now=now + timedelta(days=365)) == []


def test_a_right_that_is_taken_away_stops_the_job_with_a_recorded_decision() -> None:
    """What an extractor reads out of an event comes in with the sender's right to ingest, as it is at the commit."""
    cast = make_cast()
    say(cast, LANGUAGE)
    assert operations.revoke_right(scope=cast.project, principal=cast.agent, right="ingest_event") == 1
    work(cast)
    assert list_jobs(cast) == [("succeeded", 1, "")]
    assert list_jobs(cast, "consolidate") == [("succeeded", 1, "")]
    assert ask(cast, "SELECT status, reason FROM memory_candidates") == [("rejected", "scope_not_authorised")]
    assert ask(cast, "SELECT action, reason FROM merge_decisions") == [("REJECT", "scope_not_authorised")]
    assert ask(cast, "SELECT count(*) FROM memory_heads") == [(0,)]


def test_a_right_that_stands_lets_the_same_job_through() -> None:
    cast = make_cast()
    say(cast, LANGUAGE)
    work(cast)
    assert ask(cast, "SELECT reason FROM merge_decisions WHERE reason = 'scope_not_authorised'") == []
    assert ask(cast, "SELECT count(*) FROM memory_candidates WHERE status <> 'rejected'") == [(1,)]
