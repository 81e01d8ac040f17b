"""Jobs: who is next, when one is given up, and what an extraction that is refused in part leaves behind."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from memoryhub.access import operations
from memoryhub.access.models import Tenant
from memoryhub.access.tenancy import tenant_context
from memoryhub.extraction.interfaces import EventText, ExtractionContext, ExtractionFailed, Proposal
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.memory.models import Predicate
from memoryhub.outbox.operations import LEASE, MAX_ATTEMPTS, Claimed, claim_jobs, finish_job, load_job
from memoryhub.types.enums import CandidateKind, EpistemicStatus, MemoryType
from memoryhub.usecases import extract, run_jobs
from memoryhub.usecases.ingest import EventInput, ingest_events
from memoryhub.usecases.run_jobs import BATCH, run_due_jobs, run_job
from tests.cast import EARLY, Cast, make_cast

LANGUAGE = "From now on answer in Chinese."


def say(cast: Cast, text: str) -> None:
    """Let Bob say something; one job to look at it is waiting then."""
    [result] = ingest_events(
        caller=cast.caller,
        events=[
            EventInput(
                event_id=str(new_id()),
                scope=("project", "platform"),
                source_type="message",
                occurred_at=EARLY,
                payload={"text": text},
                actor=cast.bob.username,
            )
        ],
        now=clock.now(),
    )
    assert result.outcome == "accepted"


def ask(cast: Cast, sql: str) -> list[Any]:
    """Read something of the tenant."""
    with tenant_context(cast.tenant_id, read_only=True):
        return fetch_all(sql=sql, params=[])


def list_jobs(cast: Cast, kind: str = "extract") -> list[Any]:
    """Return state, attempts and note of the tenant's jobs of a kind."""
    return ask(cast, f"SELECT state, attempts, last_error FROM processing_jobs WHERE kind = '{kind}' ORDER BY id")


def finish_others() -> None:
    """Do what other tests left behind."""
    while run_due_jobs(now=clock.now()):
        pass


def claim_of(cast: Cast, *, now: datetime) -> list[Claimed]:
    """Claim everything that is due, and return what is of this tenant."""
    return [one for one in claim_jobs(limit=1_000, now=now) if one.tenant_id == cast.tenant_id]


class WorkerDied(BaseException):
    """Stand for the end of a process in the middle of its work."""


def test_a_job_that_takes_its_worker_with_it_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(**_: object) -> None:
        raise WorkerDied

    monkeypatch.setattr(run_jobs, "extract_event", die)
    cast = make_cast()
    say(cast, LANGUAGE)
    now = clock.now()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        [claimed] = claim_of(cast, now=now)
        assert claim_of(cast, now=now) == [], "a job that is held is not given away"
        with pytest.raises(WorkerDied):
            run_job(claimed=claimed, now=now)
        assert list_jobs(cast) == [("running", attempt, "")]
        now += LEASE + timedelta(seconds=1)
    assert claim_of(cast, now=now) == []
    assert list_jobs(cast) == [("dead", MAX_ATTEMPTS, "LeaseExpired")]
    assert claim_of(cast, now=now + timedelta(days=1)) == []


def test_what_was_claimed_beside_a_killer_is_not_given_up_for_it() -> None:
    """A batch that dies again and again before it comes to a job is no attempt at that job."""
    cast = make_cast()
    say(cast, LANGUAGE)
    now = clock.now()
    for _ in range(MAX_ATTEMPTS + 3):
        assert len(claim_of(cast, now=now)) == 1
        now += LEASE + timedelta(seconds=1)
    assert list_jobs(cast) == [("running", 1, "")]
    [claimed] = claim_of(cast, now=now)
    assert run_job(claimed=claimed, now=now) == "succeeded"


def test_tenants_take_turns() -> None:
    finish_others()
    busy, quiet = make_cast(), make_cast()
    for _ in range(2 * BATCH):
        say(busy, LANGUAGE)
    say(quiet, LANGUAGE)
    claimed = claim_jobs(limit=BATCH, now=clock.now())
    assert len(claimed) == BATCH
    assert [one.tenant_id for one in claimed[:3]] == [busy.tenant_id, quiet.tenant_id, busy.tenant_id]


def test_a_look_takes_few_jobs() -> None:
    finish_others()
    cast = make_cast()
    for _ in range(BATCH + 2):
        say(cast, "Nothing lasting is said here.")
    assert run_due_jobs(now=clock.now()).total() == BATCH
    assert run_due_jobs(now=clock.now()).total() == 2


def work(cast: Cast) -> None:
    """Do what is due for this tenant."""
    now = clock.now()
    while claimed := claim_of(cast, now=now):
        for one in claimed:
            run_job(claimed=one, now=now)


def read_candidates(cast: Cast) -> list[Any]:
    """Return fact key and words of what was proposed."""
    return ask(cast, "SELECT split_part(fact_key, '.', 1), content FROM memory_candidates ORDER BY statement")


def test_a_refused_proposal_leaves_the_others_and_the_words() -> None:
    cast = make_cast()
    with tenant_context(cast.tenant_id):
        Predicate.objects.create(
            tenant=cast.tenant, fact_key="preference.likes", value_schema={"type": "string", "maxLength": 5}
        )
    words = "我一直喜欢很长很长的回答。" + LANGUAGE
    say(cast, words)
    work(cast)
    assert list_jobs(cast) == [("succeeded", 1, "value_refused")]
    assert read_candidates(cast) == [("preference", LANGUAGE), ("transcript", words)]


def test_an_undeclared_type_of_people_is_noted_and_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    declare = operations.declare_entity_type

    def declare_all_but_people(*, tenant: Tenant, name: str) -> None:
        if name != "person":
            declare(tenant=tenant, name=name)

    monkeypatch.setattr(operations, "declare_entity_type", declare_all_but_people)
    cast = make_cast()
    say(cast, LANGUAGE)
    work(cast)
    assert list_jobs(cast) == [("succeeded", 1, "undeclared_entity_type")]
    assert read_candidates(cast) == []


def test_at_most_twenty_proposals_are_made_of_an_event() -> None:
    cast = make_cast()
    say(cast, LANGUAGE * 25)
    work(cast)
    assert list_jobs(cast) == [("succeeded", 1, "more_than_20")]
    assert len(read_candidates(cast)) == extract.MOST_PROPOSALS == 20


class Stubborn:
    """An extractor that says what it was given, or fails."""

    version = "stubborn/1"

    def __init__(self, *subjects: str) -> None:
        self.subjects = subjects

    def extract(self, event: EventText, context: ExtractionContext) -> list[Proposal]:  # noqa: ARG002  words are enough
        if not self.subjects:
            raise ExtractionFailed
        return [
            Proposal(
                kind=CandidateKind.FACT,
                memory_type=MemoryType.SEMANTIC,
                subject=subject or event.subject,
                fact_key="release.note",
                content=event.text,
                value=event.text,
                epistemic_status=EpistemicStatus.OBSERVED,
                confidence=0.5,
                span=(0, len(event.text)),
            )
            for subject in self.subjects
        ]


@pytest.mark.parametrize(
    ("subjects", "note", "keys"),
    [
        ((), "extraction_failed", ["transcript"]),
        (("planet:mars",), "undeclared_entity_type", ["transcript"]),
        (("no subject", "product:django"), "bad_subject_key", ["release", "transcript"]),
        (("planet:mars", "no subject", "x:y"), "undeclared_entity_type bad_subject_key", ["transcript"]),
    ],
)
def test_refusals_are_noted_in_codes(
    subjects: tuple[str, ...], note: str, keys: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract, "get_extractor", lambda **_: Stubborn(*subjects))
    cast = make_cast()
    say(cast, "Django is at 4.1.")
    work(cast)
    assert list_jobs(cast) == [("succeeded", 1, note)]
    assert [key for key, _ in read_candidates(cast)] == keys


def test_a_job_that_two_workers_hold_is_done_once() -> None:
    """A lease that ran out gives the job to a second worker; it waits for the first, and finds the work done."""
    cast = make_cast()
    say(cast, LANGUAGE)
    [claimed] = claim_of(cast, now=clock.now())
    ended: list[str] = []

    def work() -> None:
        try:
            ended.append(run_job(claimed=claimed, now=clock.now()))
        finally:
            connection.close()

    second = threading.Thread(target=work)
    with tenant_context(cast.tenant_id):
        assert load_job(tenant_id=cast.tenant_id, job_id=claimed.id) is not None
        second.start()
        second.join(timeout=0.5)
        assert second.is_alive(), "the second worker did not wait"
        finish_job(tenant_id=cast.tenant_id, job_id=claimed.id, now=clock.now())
    second.join(timeout=10)
    assert ended == ["gone"]
    assert list_jobs(cast) == [("succeeded", 1, "")]
