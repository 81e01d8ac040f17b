"""T4: nothing that was revoked comes back, in whatever order a writer and a deleter take their turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest

from memoryhub.access.tenancy import tenant_context
from memoryhub.erasure.operations import Raised, raise_barrier
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.memory.exceptions import SourceRevoked, StaleHead
from memoryhub.outbox.operations import Claimed, claim_jobs, fail_job, load_job
from memoryhub.retrieval import operations as retrieval
from memoryhub.retrieval.operations import index_memory
from memoryhub.types.enums import RevocationMode, RevocationTarget
from memoryhub.usecases import consolidate, review, run_jobs
from memoryhub.usecases import revoke as revocation
from memoryhub.usecases import validate_memory as validation
from memoryhub.usecases.consolidate import Consolidated, consolidate_candidate
from memoryhub.usecases.ingest import Desk, EventInput, describe_event, ingest_events, receive_events
from memoryhub.usecases.propose import CandidateInput, EvidenceInput, propose_candidate
from memoryhub.usecases.review import DecidedByOther, ErasureStarted, ItemStale, Resolution, Verb
from memoryhub.usecases.revoke import revoke
from memoryhub.usecases.run_jobs import run_due_jobs, run_job
from memoryhub.usecases.validate_memory import NotValidatable
from memoryhub.usecases.write_memory import Written
from tests.acts import state_fact
from tests.cast import EARLY, Cast, make_cast
from tests.conftest import ConnectAs
from tests.integration.sessions import Session, list_orders, pause_around, pause_once, take_turns
from tests.integration.twins import LOCKS, functions_without
from tests.ledger import assert_ledger_is_clean
from tests.promises import PromiseReport

SCOPE = ("project", "platform")
REFUSALS = (ErasureStarted, DecidedByOther, ItemStale, NotValidatable, StaleHead)
FILES = [("memory", "commit_decision_v1"), ("memory", "ingest_events_v1"), ("erasure", "raise_barrier_v1")]
SWEEP = """
    UPDATE source_event_bodies SET payload = NULL, event_key = NULL, salt = NULL, erased_at = now()
    WHERE tenant_id = %(tenant)s AND erased_at IS NULL AND event_id IN (
        SELECT id FROM source_events
        WHERE tenant_id = %(tenant)s AND scope_id = %(scope)s AND deletion_epoch < %(epoch)s)
"""
_numbers = count(1)


@dataclass
class Race:
    """Hold one meeting of a writer and a deleter: what they are about, and what they were told."""

    cast: Cast
    subject: str = field(default_factory=lambda: f"product:p{next(_numbers)}-{new_id().hex[-6:]}")
    event_id: str = field(default_factory=lambda: str(new_id()))
    candidate_id: str = ""
    item_id: str = ""
    memory_id: str = ""
    received: str = ""
    job: Claimed | None = None
    ended: str = ""
    result: Consolidated | None = None
    barrier: Raised | None = None

    @property
    def tenant_id(self) -> str:
        return self.cast.tenant_id

    @property
    def subject_id(self) -> str:
        digest = self.cast.caller.digest(f"subject {self.subject}")
        return str(self.ask("SELECT id FROM subjects WHERE tenant_id = %(tenant)s AND key_digest = %(it)s", digest))

    def ask(self, sql: str, it: object = None) -> object:
        """Return the one value of a query that knows `tenant` and `it`."""
        with tenant_context(self.tenant_id, read_only=True):
            return fetch_all(sql=sql, params={"tenant": self.tenant_id, "it": it})[0][0]

    def state(self, value: str, **more: Any) -> Written:
        return state_fact(self.cast, value=value, subject=self.subject, **more)


def make_event(event_id: str, words: str = "4.1 is the latest release") -> EventInput:
    return EventInput(event_id=event_id, scope=SCOPE, source_type="commit", occurred_at=EARLY, payload={"text": words})


def make_proposal(event_id: str, subject: str, value: str = "4.1.1") -> CandidateInput:
    return CandidateInput(
        scope=SCOPE,
        subject=subject,
        fact_key="release.latest",
        content=f"the latest release is {value}",
        value=value,
        conditions={"cycle": "4.1"},
        evidence=(EvidenceInput(event_id),),
    )


# --- Deleters: four steps each --------------------------------------------------------------------


def revoke_subject(race: Race) -> None:
    """Begin and authorise; raise the barrier; fold again what keeps other evidence; commit."""
    subject_id = race.subject_id
    race.barrier = revoke(
        caller=race.cast.person(race.cast.erin),
        scope=SCOPE,
        target=RevocationTarget.SUBJECT,
        target_id=subject_id,
        reason="user_request",
        now=clock.now(),
    )


def revoke_and_sweep(race: Race) -> None:
    """Begin; raise a barrier in front of the scope; empty what was received before it; commit."""
    scope_id = str(race.cast.project.pk)
    with tenant_context(race.tenant_id):
        pause_once("begun")
        race.barrier = raise_barrier(
            tenant_id=race.tenant_id,
            scope_id=scope_id,
            target=RevocationTarget.SCOPE,
            target_id=None,
            target_key="",
            mode=RevocationMode.ERASE_UP_TO_EPOCH,
            reason="user_request",
            principal_id=str(race.cast.erin.pk),
            now=clock.now(),
        )
        pause_once("raised")
        fetch_all(sql=SWEEP, params={"tenant": race.tenant_id, "scope": scope_id, "epoch": race.barrier.epoch})
        pause_once("swept")


# --- Writers: four steps each ---------------------------------------------------------------------


def prepare_first_claim(race: Race) -> None:
    ingest_events(caller=race.cast.caller, events=[make_event(race.event_id)], now=clock.now())
    race.candidate_id = propose_candidate(
        caller=race.cast.caller, proposal=make_proposal(race.event_id, race.subject), now=clock.now()
    ).candidate_id


def prepare_supersession(race: Race) -> None:
    race.state("4.1.0")
    prepare_first_claim(race)


def consolidate_race(race: Race) -> None:
    """Begin; read the candidate and decide; commit the decision, again if need be; commit."""
    race.result = consolidate_candidate(tenant_id=race.tenant_id, candidate_id=race.candidate_id, now=clock.now())


def finish_consolidation(race: Race) -> None:
    """See that the candidate was decided: covered by the barrier, it ends as rejected and is not forgotten."""
    assert race.result is not None
    if race.result.action == "REJECT":
        assert race.result.reason == "barred_by_revocation"
    else:
        assert race.result.status == "accepted"


def prepare_conflict(race: Race) -> None:
    race.state("4.1.0", by=race.cast.alice.username, key="undeclared")
    later = race.state("4.1.1", by=race.cast.bob.username, key="undeclared", at=EARLY + timedelta(days=1))
    race.candidate_id = later.result.candidate_id
    sql = "SELECT id FROM review_items WHERE tenant_id = %(tenant)s AND candidate_id = %(it)s"
    race.item_id = str(race.ask(sql, race.candidate_id))


def accept_race(race: Race) -> None:
    """Begin and authorise; read the claim and decide; commit the ruling; commit."""
    review.resolve_review(
        caller=race.cast.person(race.cast.rita),
        resolution=Resolution(item_id=race.item_id, verb=Verb.ACCEPT, expected_version=2),
        now=clock.now(),
    )


def finish_review(race: Race) -> None:
    """See that a reviewer who comes now is told that it is over."""
    with pytest.raises(REFUSALS):
        accept_race(race)


def prepare_retry(race: Race) -> None:
    """Let the job that decides fail once; it is due again, and a worker has claimed it."""
    prepare_first_claim(race)
    race.job = claim_of(race)
    with tenant_context(race.tenant_id):
        job = load_job(tenant_id=race.tenant_id, job_id=race.job.id)
        assert job is not None
        fail_job(tenant_id=race.tenant_id, job=job, error="Planted", now=clock.now())
    race.job = claim_of(race, later=timedelta(minutes=20))


def retry_race(race: Race) -> None:
    """Begin; read the candidate; commit the decision and the end of the job; commit."""
    assert race.job is not None
    race.ended = run_job(claimed=race.job, now=clock.now())


def finish_retry(race: Race) -> None:
    """See that the work ends as refused, and that the candidate is not forgotten."""
    while run_due_jobs(now=clock.now() + timedelta(minutes=40)):
        pass
    status = race.ask("SELECT status FROM memory_candidates WHERE id = %(it)s", race.candidate_id)
    assert (race.ended, status) in (("succeeded", "rejected"), ("succeeded", "accepted"))


def validate_race(race: Race) -> None:
    """Begin and authorise; read what stands; commit the validation; commit."""
    validation.validate_memory(
        caller=race.cast.person(race.cast.rita),
        memory_id=race.memory_id,
        expected_version=1,
        method="review",
        words="I looked.",
        now=clock.now(),
    )


def finish_validation(race: Race) -> None:
    """See that there is nothing to validate any more."""
    with pytest.raises((NotValidatable, StaleHead)):
        validate_race(race)


def prepare_index(race: Race) -> None:
    race.memory_id = str(race.state("4.1.0").result.memory_id)


def index_race(race: Race) -> None:
    """Begin; look at the head; bring the search document up to it; commit."""
    with tenant_context(race.tenant_id):
        pause_once("begun")
        fetch_all(sql="SELECT version FROM memory_heads WHERE id = %s", params=[race.memory_id])
        pause_once("looked")
        index_memory(tenant_id=race.tenant_id, memory_id=race.memory_id, now=clock.now())
        pause_once("indexed")


def finish_index(race: Race) -> None:
    """See that telling it again brings nothing back."""
    with tenant_context(race.tenant_id):
        assert not index_memory(tenant_id=race.tenant_id, memory_id=race.memory_id, now=clock.now())


def prepare_nothing(_race: Race) -> None:
    """Begin with no event: the writer brings it."""


def ingest_race(race: Race) -> None:
    """Begin; authorise and describe; receive; commit."""
    caller, event, now = race.cast.caller, make_event(race.event_id), clock.now()
    with tenant_context(race.tenant_id):
        pause_once("begun")
        describe_event(desk=Desk(caller), event=event, now=now)
        pause_once("described")
        race.received = receive_events(caller=caller, events=[event], now=now)[0].outcome
        pause_once("received")


def finish_ingest(race: Race) -> None:
    """Propose what the event says; it becomes a memory only if the event came after the barrier."""
    assert race.received == "accepted", "nothing sent is lost"
    assert race.barrier is not None
    is_older = find_event_epoch(race) < race.barrier.epoch
    try:
        race.candidate_id = propose_candidate(
            caller=race.cast.caller, proposal=make_proposal(race.event_id, race.subject), now=clock.now()
        ).candidate_id
    except SourceRevoked:
        assert is_older
        return
    consolidate_race(race)
    assert race.result is not None
    assert race.result.action == ("REJECT" if is_older else "ADD")


def find_event_epoch(race: Race) -> int:
    digest = race.cast.caller.digest(f"event {race.event_id}")
    epoch = race.ask(
        "SELECT deletion_epoch FROM source_events WHERE tenant_id = %(tenant)s AND event_key_digest = %(it)s", digest
    )
    assert isinstance(epoch, int)
    return epoch


# --- What must hold afterwards -------------------------------------------------------------------

RESURRECTED = """
    SELECT (SELECT count(*) FROM memory_versions held
            WHERE held.tenant_id = %(tenant)s AND held.memory_id = head.id
              AND held.state IN ('active', 'superseded', 'needs_review'))
         + (SELECT count(*) FROM memory_evidence claim
            WHERE claim.tenant_id = %(tenant)s AND claim.memory_id = head.id AND claim.withdrawn_by IS NULL)
         + (SELECT count(*) FROM search_documents document
            WHERE document.tenant_id = %(tenant)s AND document.memory_id = head.id)
         + (SELECT count(*) FROM review_items item
            WHERE item.tenant_id = %(tenant)s AND item.memory_id = head.id AND item.state = 'open')
    FROM memory_heads head WHERE head.tenant_id = %(tenant)s AND head.subject_id = %(it)s
    UNION ALL SELECT 0
"""


def memory_came_back(race: Race) -> bool:
    """Tell whether anything of a revoked subject is held, counted, found or asked about."""
    subject_id = race.subject_id
    with tenant_context(race.tenant_id, read_only=True):
        rows = fetch_all(sql=RESURRECTED, params={"tenant": race.tenant_id, "it": subject_id})
    return any(row[0] for row in rows)


def body_was_missed(race: Race) -> bool:
    """Tell whether an event that was received under an older epoch still has its words after the sweep."""
    assert race.barrier is not None
    digest = race.cast.caller.digest(f"event {race.event_id}")
    has_words = race.ask(
        "SELECT body.payload IS NOT NULL FROM source_events record JOIN source_event_bodies body "
        "ON body.event_id = record.id WHERE record.tenant_id = %(tenant)s AND record.event_key_digest = %(it)s",
        digest,
    )
    return bool(has_words) and find_event_epoch(race) < race.barrier.epoch


@dataclass(frozen=True)
class Pair:
    """Hold a writer, the deleter it meets, and what is looked at afterwards."""

    prepare: Callable[[Race], None]
    write: Callable[[Race], None]
    finish: Callable[[Race], None]
    delete: Callable[[Race], None] = revoke_subject
    came_back: Callable[[Race], bool] = memory_came_back


PAIRS = {
    "consolidate a first claim": Pair(prepare_first_claim, consolidate_race, finish_consolidation),
    "consolidate a supersession": Pair(prepare_supersession, consolidate_race, finish_consolidation),
    "accept in review": Pair(prepare_conflict, accept_race, finish_review),
    "retry a job": Pair(prepare_retry, retry_race, finish_retry),
    "validate": Pair(prepare_index, validate_race, finish_validation),
    "project to the index": Pair(prepare_index, index_race, finish_index),
    "ingest": Pair(prepare_nothing, ingest_race, finish_ingest, revoke_and_sweep, body_was_missed),
}


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put pauses into the use cases, so that a session runs them in four steps."""
    pause_around(monkeypatch, consolidate, "load_candidate")
    pause_around(monkeypatch, consolidate, "commit_decision", after=True)
    pause_around(monkeypatch, run_jobs, "load_candidate")
    pause_around(monkeypatch, validation, "find_part")
    pause_around(monkeypatch, review, "load_candidate")
    pause_around(monkeypatch, review, "commit_decision", after=True)
    pause_around(monkeypatch, revocation, "raise_barrier", after=True)
    pause_around(monkeypatch, revocation, "record_audit")


def run_orders(*, pair: Pair, search_path: str = "public") -> list[Race]:
    """Let the pair meet in every order; returns the meetings after which something had come back."""
    cast = make_cast()
    back = []
    with Session(search_path=search_path) as writer, Session(search_path=search_path) as deleter:
        for order in list_orders():
            race = Race(cast)
            pair.prepare(race)
            writer.begin(partial(pair.write, race))
            deleter.begin(partial(pair.delete, race))
            take_turns(order=order, sessions=(writer, deleter))
            assert deleter.error is None, deleter.error
            assert writer.error is None or isinstance(writer.error, REFUSALS), writer.error
            if pair.came_back(race):
                back.append(race)
            elif search_path == "public":
                pair.finish(race)
                assert not pair.came_back(race)
    if search_path == "public":
        assert_ledger_is_clean(cast.tenant_id)
    return back


@pytest.mark.promise("T4")
@pytest.mark.usefixtures("paused")
@pytest.mark.parametrize("name", PAIRS)
def test_nothing_comes_back_in_any_order(name: str, promise_report: PromiseReport) -> None:
    back = run_orders(pair=PAIRS[name])
    assert back == []
    promise_report(count=len(list_orders()), what="interleavings without resurrection")


@pytest.fixture
def without_locks(connect_as: ConnectAs) -> Iterator[str]:
    with functions_without(connect_as=connect_as, schema="without_locks", files=FILES, patterns=LOCKS) as path:
        yield path


@pytest.mark.promise("T4")
@pytest.mark.usefixtures("paused")
@pytest.mark.parametrize("name", PAIRS)
def test_without_the_guard_it_comes_back(
    name: str, without_locks: str, promise_report: PromiseReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Take the guard out: the same check must then find what came back."""

    def ask_without_guard(*, sql: str, params: object) -> list[tuple[object, ...]]:
        unguarded = "SELECT 1" if "pg_advisory_xact_lock" in sql else sql
        return fetch_all(sql=unguarded, params=[] if unguarded != sql else params)  # type: ignore[arg-type]

    monkeypatch.setattr(retrieval, "fetch_all", ask_without_guard)
    back = run_orders(pair=PAIRS[name], search_path=without_locks)
    assert len(back) > 0
    promise_report(count=len(back), what="resurrections in the twins without the guard")


# --- Who is not meant is not hit -----------------------------------------------------------------


@pytest.mark.promise("T4")
def test_the_work_of_others_in_flight_still_becomes_a_memory(promise_report: PromiseReport) -> None:
    """Revoke one person while another's job runs: it is queued again under the new epoch, and ends as ADD."""
    cast = make_cast()
    other, revoked = Race(cast), Race(cast)
    revoked.state("4.1.0")
    prepare_first_claim(other)
    job = claim_of(other)
    revoke_subject(revoked)
    assert run_job(claimed=job, now=clock.now()) == "cancelled"
    again = claim_of(other)
    assert again.id != job.id
    assert run_job(claimed=again, now=clock.now()) == "succeeded"
    status = "SELECT status FROM memory_candidates WHERE tenant_id = %(tenant)s AND id = %(it)s"
    assert other.ask(status, other.candidate_id) == "accepted"
    assert memory_came_back(other)
    assert not memory_came_back(revoked)
    promise_report(count=1, what="jobs in flight of others kept")


def claim_of(race: Race, *, later: timedelta = timedelta(0)) -> Claimed:
    """Claim what is due as a worker does, and return the job that decides on the candidate."""
    claimed = claim_jobs(limit=10_000, now=clock.now() + later)
    job_id = race.ask(
        "SELECT id::text FROM processing_jobs WHERE target_id = %(it)s ORDER BY id DESC LIMIT 1", race.candidate_id
    )
    [mine] = [one for one in claimed if one.id == job_id]
    return mine


@pytest.mark.promise("T4")
@pytest.mark.usefixtures("paused")
def test_an_explicit_write_that_waited_for_a_revocation_knows_of_it(promise_report: PromiseReport) -> None:
    """Begin two writes before a revocation commits: the one it covers is refused, the other one is kept."""
    cast = make_cast()
    other, revoked = Race(cast), Race(cast)
    revoked.state("4.1.0")
    results: dict[str, Consolidated] = {}

    def write(race: Race) -> None:
        results[race.subject] = race.state("4.1.1").result

    with Session() as first, Session() as second, Session() as deleter:
        first.begin(partial(write, other))
        second.begin(partial(write, revoked))
        deleter.begin(partial(revoke_subject, revoked))
        waited = take_turns(order=(0, 1, 2, 2, 0, 1, 2, 2, 0, 1), sessions=(first, second, deleter))
        assert (first.error, second.error, deleter.error) == (None, None, None)
    assert waited > 0, "the writes were meant to wait for the guard"
    assert results[other.subject].action == "ADD"
    assert (results[revoked.subject].action, results[revoked.subject].reason) == ("REJECT", "barred_by_revocation")
    assert memory_came_back(other)
    assert not memory_came_back(revoked)
    promise_report(count=2, what="explicit writes told of a revocation they waited for")
