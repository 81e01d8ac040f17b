"""T14: workers are killed inside their jobs, and some jobs kill every worker; each ends done or dead, with one effect.

The extractor of these tests is fickle: it says something new each time it is asked, as a model does. So an effect that
came twice would be seen; no unique key could hide it.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from itertools import cycle
from typing import Any

import pytest
from django.db import connection

from memoryhub.access.tenancy import tenant_context
from memoryhub.extraction.interfaces import Proposal
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.outbox import operations
from memoryhub.outbox.operations import LEASE, MAX_ATTEMPTS, Claimed, finish_job, load_job
from memoryhub.types.enums import CandidateKind, EpistemicStatus, MemoryType
from memoryhub.usecases import extract, run_jobs
from memoryhub.usecases.extract import extract_event
from memoryhub.usecases.ingest import EventInput, ingest_events
from memoryhub.usecases.rederive import check_memories
from memoryhub.usecases.run_jobs import run_due_jobs
from memoryhub.usecases.shift import Shift
from tests.cast import EARLY, Cast, make_cast
from tests.integration.faults import Point, run_in_child
from tests.integration.test_jobs import ask, claim_of, finish_others
from tests.promises import PromiseReport

JOBS = "memoryhub.usecases.run_jobs"
EXTRACT = "memoryhub.usecases.extract"
SCOPE = ("project", "platform")
POISON = "this kills whoever reads it"
POINTS = [
    Point(JOBS, "claim_jobs", is_after=True),
    Point(JOBS, "load_job", is_after=True),
    Point(JOBS, "extract_event"),
    Point(JOBS, "extract_event", is_after=True),
    Point(JOBS, "settle_candidate"),
    Point(JOBS, "settle_candidate", is_after=True),
    Point(EXTRACT, "append_candidate", is_after=True),
    Point("memoryhub.usecases.consolidate", "commit_decision", is_after=True),
    Point(JOBS, "finish_job"),
    Point(JOBS, "finish_job", is_after=True),
    Point(JOBS, "run_job", is_after=True),
    None,
]


class Fickle:
    """An extractor that says something new each time, and dies of poison."""

    version = "fickle/1"

    def extract(self, event: Any, *_: Any) -> list[Proposal]:
        if POISON in event.text:
            os.kill(os.getpid(), signal.SIGKILL)
        return [
            Proposal(
                kind=CandidateKind.FACT,
                memory_type=MemoryType.SEMANTIC,
                subject="product:django",
                fact_key=f"note.n{new_id().hex[-10:]}",
                content=event.text,
                value=event.text,
                epistemic_status=EpistemicStatus.EXPLICIT,
                confidence=0.9,
                span=(0, len(event.text)),
            )
        ]


@pytest.fixture
def cast(monkeypatch: pytest.MonkeyPatch) -> Cast:
    """A tenant of its own, whose events a fickle extractor reads; nothing else is due."""
    finish_others()
    monkeypatch.setattr(extract, "get_extractor", lambda **_: Fickle())
    return make_cast()


def say(cast: Cast, *texts: str) -> None:
    """Let the agent report some things in one batch; each leaves one job."""
    results = ingest_events(
        caller=cast.caller,
        events=[
            EventInput(
                event_id=str(new_id()),
                scope=SCOPE,
                source_type="message",
                occurred_at=EARLY,
                payload={"text": text},
                actor=cast.bob.username,
            )
            for text in texts
        ],
        now=clock.now(),
    )
    assert {result.outcome for result in results} == {"accepted"}


def let_leases_run_out(cast: Cast) -> None:
    """Let a minute pass for what the dead held."""
    with tenant_context(cast.tenant_id):
        fetch_all(
            sql="UPDATE processing_jobs SET next_attempt_at = %s, lease_expires_at = %s WHERE state = 'running'",
            params=[clock.now() - LEASE, clock.now()],
        )


def work_in_child(*, point: Point | None = None, within: float | None = None) -> bool:
    """Work until nothing is due, as a worker does; returns whether it was killed on the way."""

    def work() -> bool:
        shift = Shift(now=clock.now)
        while run_due_jobs(now=clock.now(), shift=shift):
            pass
        return True

    return run_in_child(work, point=point, within=within).was_killed


EFFECTS = {
    "events with other than one candidate": """
        SELECT count(*) FROM (
            SELECT record.id FROM source_events record
            LEFT JOIN memory_candidates made ON made.source_event_id = record.id
            JOIN processing_jobs job ON job.target_id = record.id AND job.state = 'succeeded'
            GROUP BY record.id HAVING count(DISTINCT made.id) <> 1) found
    """,
    "candidates with other than one decision": """
        SELECT count(*) FROM (
            SELECT made.id FROM memory_candidates made
            LEFT JOIN merge_decisions decision ON decision.candidate_id = made.id
            GROUP BY made.id HAVING count(decision.id) <> 1) found
    """,
    "candidates of events whose job is dead": """
        SELECT count(*) FROM memory_candidates made
        JOIN processing_jobs job ON job.target_id = made.source_event_id AND job.state = 'dead'
    """,
    "memories without their change in the outbox": """
        SELECT count(*) FROM memory_heads head
        WHERE (SELECT count(*) FROM outbox told WHERE told.key = head.id) <> head.version
    """,
    "jobs that did not end": """
        SELECT count(*) FROM processing_jobs WHERE state NOT IN ('succeeded', 'dead')
    """,
}


def find_faults(cast: Cast) -> list[str]:
    """Return which effects are missing or doubled, and what did not end."""
    found = []
    for what, sql in EFFECTS.items():
        [[count]] = ask(cast, sql)
        if count:
            found.append(f"{what}: {count}")
    return found + [f"{one.memory_id}: {one.what}" for one in check_memories(tenant_id=cast.tenant_id)]


@pytest.mark.promise("T14")
def test_a_worker_that_is_killed_in_a_job_leaves_it_to_the_next(
    cast: Cast, at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    """Kill at every point in turn, each time with a few jobs under way, until there were enough kills."""
    wanted, kills, said = at_scale(200, 1_000), Counter[str](), 0
    dice = random.Random(20261130)  # noqa: S311  a test that can be run again
    for point in cycle(POINTS):
        say(cast, *(f"thing {said + number} happened" for number in range(3)))
        said += 3
        if point is None:
            was_killed = work_in_child(within=dice.uniform(0.0, 0.08))
        else:
            was_killed = work_in_child(point=point)
            assert was_killed, f"nobody comes by {point}"
        kills[str(point or "at any moment")] += was_killed
        let_leases_run_out(cast)
        if kills.total() >= wanted:
            break
    while work_in_child():
        pass
    states = dict(ask(cast, "SELECT state, count(*) FROM processing_jobs GROUP BY state"))
    assert find_faults(cast) == []
    assert states == {"succeeded": 2 * said}, "an innocent job was given up"
    assert set(kills) >= {str(point) for point in POINTS if point is not None}
    promise_report(count=kills.total(), what="workers killed in a job")
    promise_report(count=2 * said, what="jobs done, each with one effect")


@pytest.mark.promise("T14")
def test_poison_ends_as_a_dead_letter_and_takes_nobody_along(
    cast: Cast, at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    """Mix poison among good jobs: each poisonous one kills its worker eight times, and no other job is given up."""
    poison, good = at_scale(50, 100), at_scale(100, 200)
    texts = [f"{POISON}, {number}" for number in range(poison)] + [f"good thing {number}" for number in range(good)]
    random.Random(20261130).shuffle(texts)  # noqa: S311  a test that can be run again
    say(cast, *texts)
    kills = 0
    while work_in_child():
        kills += 1
        let_leases_run_out(cast)
        assert kills <= MAX_ATTEMPTS * poison, "somebody died of more than the poison"
    states = dict(ask(cast, "SELECT state, count(*) FROM processing_jobs GROUP BY state"))
    assert states == {"dead": poison, "succeeded": 2 * good}
    assert ask(cast, "SELECT DISTINCT attempts, last_error FROM processing_jobs WHERE state = 'dead'") == [
        (MAX_ATTEMPTS, "LeaseExpired")
    ]
    assert find_faults(cast) == []
    assert kills > (MAX_ATTEMPTS - 2) * poison, "it was to be tried eight times"
    promise_report(count=poison, what="poison jobs dead after eight workers each")
    promise_report(count=good, what="good jobs beside them done")


# --- The twins --------------------------------------------------------------------------------------


def run_job_in_two_halves(*, claimed: Claimed, now: Any) -> str:
    """Do a job, commit, and only then say that it ended: the twin without the one transaction."""
    with tenant_context(claimed.tenant_id):
        job = load_job(tenant_id=claimed.tenant_id, job_id=claimed.id)
        if job is None:
            return "gone"
        run_jobs._do(tenant_id=claimed.tenant_id, job=job, now=now)
    with tenant_context(claimed.tenant_id):
        vars(run_jobs)["finish_job"](tenant_id=claimed.tenant_id, job_id=claimed.id, now=now)
    return "succeeded"


@pytest.mark.promise("T14")
def test_without_one_transaction_for_work_and_end_an_effect_comes_twice(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, promise_report: PromiseReport
) -> None:
    monkeypatch.setattr(run_jobs, "run_job", run_job_in_two_halves)
    say(cast, "one thing happened")
    assert work_in_child(point=Point(JOBS, "finish_job"))
    let_leases_run_out(cast)
    while work_in_child():
        pass
    assert find_faults(cast) == ["events with other than one candidate: 1"]
    promise_report(count=1, what="doubled effect in the twin without the one transaction")


def hold_in_two_workers(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let a second worker take a job over after its lease, while the first is still at it; returns how both ended."""
    say(cast, "one thing happened")
    now = clock.now()
    [first] = claim_of(cast, now=now)
    is_at_it, may_go = threading.Event(), threading.Event()
    ended: list[str] = []

    def extract_slowly(**arguments: Any) -> Any:
        if threading.current_thread() is slow:
            is_at_it.set()
            may_go.wait(3)
        return extract_event(**arguments)

    def work(claimed: Claimed) -> None:
        try:
            ended.append(run_jobs.run_job(claimed=claimed, now=clock.now()))
        finally:
            connection.close()

    monkeypatch.setattr(run_jobs, "extract_event", extract_slowly)
    slow = threading.Thread(target=work, args=(first,))
    quick = threading.Thread(target=work, args=(first,))
    slow.start()
    assert is_at_it.wait(10)
    quick.start()
    quick.join(1)
    may_go.set()
    slow.join(10)
    quick.join(10)
    monkeypatch.setattr(run_jobs, "extract_event", extract_event)
    while run_due_jobs(now=clock.now() + timedelta(seconds=1)):
        pass
    return sorted(ended)


@pytest.mark.promise("T14")
def test_two_workers_that_hold_a_job_do_it_once(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, promise_report: PromiseReport
) -> None:
    assert hold_in_two_workers(cast, monkeypatch) == ["gone", "succeeded"]
    assert find_faults(cast) == []
    promise_report(count=1, what="job held by two workers")


@pytest.mark.promise("T14")
def test_without_the_lock_on_a_job_two_workers_do_it_twice(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, promise_report: PromiseReport
) -> None:
    """The twin: a job is read without `FOR UPDATE`, and its end is not looked at."""

    def ask_without_lock(*, sql: str, params: Any) -> Any:
        return fetch_all(sql=sql.replace("FOR UPDATE\n", "\n"), params=params)

    monkeypatch.setattr(operations, "fetch_all", ask_without_lock)
    assert hold_in_two_workers(cast, monkeypatch) == ["succeeded", "succeeded"]
    assert "events with other than one candidate: 1" in find_faults(cast)
    promise_report(count=1, what="doubled effect in the twin without the lock")


def test_a_job_that_ended_is_not_ended_again(cast: Cast) -> None:
    say(cast, "one thing happened")
    [claimed] = claim_of(cast, now=clock.now())
    assert run_jobs.run_job(claimed=claimed, now=clock.now()) == "succeeded"
    with tenant_context(cast.tenant_id):
        finish_job(tenant_id=cast.tenant_id, job_id=claimed.id, now=clock.now(), state="cancelled")
    assert ask(cast, "SELECT state FROM processing_jobs WHERE kind = 'extract'") == [("succeeded",)]
