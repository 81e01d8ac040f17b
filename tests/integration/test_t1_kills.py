"""T1: web and worker processes are killed with signal 9 at named points; clients and workers come again.

Nothing that was acknowledged is lost, nothing is half done, nothing is done twice.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import cycle
from typing import Any

import pytest

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.types.enums import RevocationTarget
from memoryhub.usecases import relay, review, run_jobs
from memoryhub.usecases import revoke as revocation
from memoryhub.usecases.rederive import check_memories
from memoryhub.usecases.review import DecidedByOther, Resolution, Verb
from tests.acts import state_fact
from tests.api.client import Api, a_memory, an_event
from tests.cast import EARLY, Cast, make_cast
from tests.integration.faults import Ended, Point, run_in_child
from tests.ledger import assert_ledger_is_clean
from tests.promises import PromiseReport

NOW = timedelta(0)
AFTER_THE_LEASE = timedelta(seconds=61)
SCOPE = ("project", "platform")
ONCE = "memoryhub.api.v1.once"
DONE = (200, 201, 202)


@dataclass
class Story:
    """Hold what the clients did and what they were told."""

    cast: Cast
    events: set[str] = field(default_factory=set)
    written: dict[str, tuple[int, Any]] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)
    dice: random.Random = field(default_factory=lambda: random.Random(20261130))  # noqa: S311

    @property
    def api(self) -> Api:
        return Api(self.cast.secret)

    def kill(self, work: Callable[[], Any], point: Point | None, *, later: timedelta = NOW) -> Ended:
        """Let a process do the work and kill it at the point, or at a moment that nobody chose."""
        if point is None:
            ended = run_in_child(work, within=self.dice.uniform(0.0, 0.06), later=later)
        else:
            ended = run_in_child(work, point=point, later=later)
            assert ended.was_killed, f"nobody comes by {point}"
        self.kills[str(point or "at any moment")] += ended.was_killed
        return ended


# --- What a client or a worker does, and does again -----------------------------------------------


def write_a_memory(story: Story, point: Point | None) -> None:
    """Write with a key, and again with it until there is an answer."""
    key, body = str(new_id()), a_memory(subject=f"product:p{new_id().hex[-6:]}")
    story.events.add(body["event_id"])
    story.written[body["event_id"]] = call_until_answered(story, "memories", body, key, point)


def send_events(story: Story, point: Point | None) -> None:
    """Send three messages of Alice's, of which a worker reads a preference out of each."""
    batch = [
        an_event(
            scope={"kind": "user", "key": story.cast.alice.username},
            source_type="message",
            actor=story.cast.alice.username,
            payload={"text": f"I always prefer window seats number {new_id().hex[-6:]}."},
        )
        for _ in range(3)
    ]
    story.events |= {event["event_id"] for event in batch}
    status, told = call_until_answered(story, "events", {"events": batch}, str(new_id()), point)
    assert (status, told["accepted"], told["refused"]) == (202, 3, 0), told


def call_until_answered(
    story: Story, path: str, body: dict[str, Any], key: str, point: Point | None
) -> tuple[int, Any]:
    def call() -> tuple[int, bytes]:
        told = story.api.post(path, body, idempotency_key=key)
        return told.status, told.raw

    first = story.kill(call, point)
    answer = first.answer
    if answer is None:
        answer = run_in_child(call, later=AFTER_THE_LEASE).answer
    status, raw = answer
    assert status in DONE, raw
    again = run_in_child(call, later=AFTER_THE_LEASE).answer
    assert again == answer, "the same call has two answers"
    return status, json.loads(raw)


def run_the_jobs(story: Story, point: Point | None) -> None:
    """Let a worker begin on what is due and die; another one finds the work after the lease."""
    send_events(story, Point("memoryhub.api.v1.events", "ingest_events"))
    story.kill(lambda: run_jobs.run_due_jobs(now=clock.now()), point, later=AFTER_THE_LEASE)
    drain()


def relay_the_outbox(story: Story, point: Point | None) -> None:
    write_a_memory(story, Point("memoryhub.api.v1.memories", "write_memory"))
    story.kill(lambda: relay.relay_outbox(now=clock.now()), point, later=AFTER_THE_LEASE)
    drain()


def decide_an_item(story: Story, point: Point | None) -> None:
    """Let Rita settle a conflict; when her page did not come back she clicks again."""
    cast, subject = story.cast, f"product:r{new_id().hex[-6:]}"
    for day, person in enumerate((cast.alice, cast.bob)):
        event_id = str(new_id())
        story.events.add(event_id)
        at = EARLY + timedelta(days=day)
        written = state_fact(
            cast, value=day, by=person.username, key="undeclared", at=at, subject=subject, event_id=event_id
        )
    with tenant_context(cast.tenant_id, read_only=True):
        [[item_id]] = fetch_all(
            sql="SELECT id::text FROM review_items WHERE candidate_id = %s", params=[written.result.candidate_id]
        )

    def decide() -> str:
        resolution = Resolution(item_id=item_id, verb=Verb.ACCEPT, expected_version=2)
        try:
            review.resolve_review(caller=cast.person(cast.rita), resolution=resolution, now=clock.now())
        except DecidedByOther as told:
            return told.outcome
        return "accept"

    story.kill(decide, point)
    assert run_in_child(decide).answer == "accept"
    assert run_in_child(decide).answer == "accept"


def revoke_an_event(story: Story, point: Point | None, *, again: bool = True) -> None:
    """Take back one of two sources of a memory; who gets no answer asks again."""
    cast, subject = story.cast, f"product:x{new_id().hex[-6:]}"
    ids = [str(new_id()), str(new_id())]
    story.events |= set(ids)
    state_fact(cast, value=1, by=cast.alice.username, subject=subject, event_id=ids[0])
    later = EARLY + timedelta(days=1)
    state_fact(cast, value=2, by=cast.bob.username, subject=subject, at=later, event_id=ids[1])
    with tenant_context(cast.tenant_id, read_only=True):
        [[target]] = fetch_all(
            sql="SELECT id::text FROM source_events WHERE event_key_digest = %s",
            params=[cast.caller.digest(f"event {ids[1]}")],
        )

    def revoke() -> bool:
        revocation.revoke(
            caller=cast.person(cast.erin),
            scope=SCOPE,
            target=RevocationTarget.EVENT,
            target_id=target,
            reason="user_request",
            now=clock.now(),
        )
        return True

    story.kill(revoke, point)
    if again:
        assert run_in_child(revoke).answer


def drain() -> None:
    """Let workers do all that is due once the leases of those who died have run out."""

    def work() -> bool:
        while run_jobs.run_due_jobs(now=clock.now()) or relay.relay_outbox(now=clock.now()):
            pass
        return True

    assert run_in_child(work, later=2 * AFTER_THE_LEASE).answer


Act = Callable[[Story, Point | None], None]
ACTS: list[tuple[Act, Point | None]] = [
    (write_a_memory, Point(ONCE, "begin_answer")),
    (write_a_memory, Point(ONCE, "begin_answer", is_after=True)),
    (write_a_memory, Point("memoryhub.usecases.write_memory", "settle_candidate")),
    (write_a_memory, Point("memoryhub.usecases.consolidate", "commit_decision", is_after=True)),
    (write_a_memory, Point("memoryhub.api.v1.memories", "write_memory", is_after=True)),
    (write_a_memory, Point(ONCE, "finish_answer", is_after=True)),
    (write_a_memory, None),
    (send_events, Point("memoryhub.usecases.ingest", "receive_events", is_after=True)),
    (send_events, Point("memoryhub.api.v1.events", "ingest_events", is_after=True)),
    (send_events, Point("memoryhub.api.v1.events", "call_workers")),
    (send_events, None),
    (run_the_jobs, Point("memoryhub.usecases.run_jobs", "claim_jobs", is_after=True)),
    (run_the_jobs, Point("memoryhub.usecases.run_jobs", "load_job", is_after=True)),
    (run_the_jobs, Point("memoryhub.usecases.run_jobs", "finish_job")),
    (run_the_jobs, Point("memoryhub.usecases.run_jobs", "finish_job", is_after=True)),
    (run_the_jobs, Point("memoryhub.usecases.run_jobs", "run_job", is_after=True)),
    (run_the_jobs, None),
    (relay_the_outbox, Point("memoryhub.usecases.relay", "claim_outbox", is_after=True)),
    (relay_the_outbox, Point("memoryhub.usecases.relay", "settle_deliveries")),
    (relay_the_outbox, Point("memoryhub.usecases.relay", "settle_deliveries", is_after=True)),
    (decide_an_item, Point("memoryhub.usecases.review", "commit_decision")),
    (decide_an_item, Point("memoryhub.usecases.review", "commit_decision", is_after=True)),
    (decide_an_item, Point("memoryhub.usecases.review", "record_audit", is_after=True)),
    (decide_an_item, None),
    (revoke_an_event, Point("memoryhub.usecases.revoke", "raise_barrier", is_after=True)),
    (revoke_an_event, Point("memoryhub.usecases.revoke", "fold_again", is_after=True)),
    (revoke_an_event, None),
]


# --- What must hold afterwards --------------------------------------------------------------------

LOST = """
    SELECT %s - count(*) FROM source_events WHERE tenant_id = %s
"""
TORN = {
    "events without words": """
        SELECT count(*) FROM source_events record LEFT JOIN source_event_bodies body ON body.event_id = record.id
        WHERE record.tenant_id = %(tenant)s AND body.event_id IS NULL
    """,
    "messages without a job": """
        SELECT count(*) FROM source_events record WHERE record.tenant_id = %(tenant)s
          AND record.source_type = 'message'
          AND NOT EXISTS (SELECT FROM processing_jobs job WHERE job.target_id = record.id)
    """,
    "jobs that did not end": """
        SELECT count(*) FROM processing_jobs
        WHERE tenant_id = %(tenant)s AND state NOT IN ('succeeded', 'cancelled')
    """,
    "changes nobody was told of": """
        SELECT count(*) FROM outbox WHERE tenant_id = %(tenant)s AND delivered_at IS NULL
    """,
    "candidates without evidence": """
        SELECT count(*) FROM memory_candidates candidate WHERE candidate.tenant_id = %(tenant)s
          AND NOT EXISTS (SELECT FROM candidate_evidence held WHERE held.candidate_id = candidate.id)
    """,
    "candidates nobody decided": """
        SELECT count(*) FROM memory_candidates candidate WHERE candidate.tenant_id = %(tenant)s
          AND NOT EXISTS (SELECT FROM merge_decisions made WHERE made.candidate_id = candidate.id)
    """,
    "versions that no decision made": """
        SELECT count(*) FROM memory_versions held
        LEFT JOIN merge_decisions made ON made.id = held.decision_id AND made.resulting_version = held.version
        WHERE held.tenant_id = %(tenant)s AND made.id IS NULL
    """,
    "decisions of people without their audit": """
        SELECT count(*) FROM merge_decisions made WHERE made.tenant_id = %(tenant)s AND made.verb <> ''
          AND NOT EXISTS (SELECT FROM audit_events told WHERE told.tenant_id = made.tenant_id
                          AND told.object_ids->>'decision' = made.id::text)
    """,
    "revocations without their audit": """
        SELECT count(*) FROM revocations barrier WHERE barrier.tenant_id = %(tenant)s
          AND NOT EXISTS (SELECT FROM audit_events told WHERE told.tenant_id = barrier.tenant_id
                          AND told.object_ids->>'revocation' = barrier.id::text)
    """,
    "memories that the index does not know": """
        SELECT count(*) FROM memory_heads head WHERE head.tenant_id = %(tenant)s
          AND NOT EXISTS (SELECT FROM search_documents found
                          WHERE found.memory_id = head.id AND found.applied_version >= head.version)
    """,
}
DOUBLED = {
    "candidates of one statement": """
        SELECT count(*) - count(DISTINCT (source_event_id, statement, extractor, fact_key, subject_id))
        FROM memory_candidates WHERE tenant_id = %(tenant)s
    """,
    "decisions of one candidate": """
        SELECT count(*) - count(DISTINCT (candidate_id, verb)) FROM merge_decisions
        WHERE tenant_id = %(tenant)s AND reason <> 'source_revoked'
    """,
    "heads of one key": """
        SELECT count(*) - count(DISTINCT (scope_id, subject_id, memory_type, fact_key, conditions_digest))
        FROM memory_heads WHERE tenant_id = %(tenant)s
    """,
}


def find_faults(story: Story) -> list[str]:
    """Return what is lost, torn or doubled."""
    tenant = story.cast.tenant_id
    found = []
    with tenant_context(tenant, read_only=True):
        [[missing]] = fetch_all(sql=LOST, params=[len(story.events), tenant])
        if missing:
            found.append(f"events: {missing} too few")
        for what, sql in (TORN | DOUBLED).items():
            [[count]] = fetch_all(sql=sql, params={"tenant": tenant})
            if count:
                found.append(f"{what}: {count}")
    for event_id, (_, told) in story.written.items():
        held = story.api.get(f"memories/{told['memory_id']}")
        if held.status != 200 or held.json["version"] < told["version"]:
            found.append(f"the memory of {event_id} was acknowledged and is not there")
    return found + [f"{one.memory_id}: {one.what}" for one in check_memories(tenant_id=tenant)]


@pytest.mark.promise("T1")
def test_nothing_acknowledged_is_lost_torn_or_doubled(
    at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    story = Story(make_cast())
    assert story.api.get("me").status == 200  # the parent is warm: its children start with everything imported
    wanted = at_scale(200, 1_000)
    for act, point in cycle(ACTS):
        act(story, point)
        if story.kills.total() >= wanted:
            break
    drain()
    assert find_faults(story) == []
    assert_ledger_is_clean(story.cast.tenant_id)
    assert set(story.kills) >= {str(point or "at any moment") for _, point in ACTS}
    promise_report(count=story.kills.total(), what="kills of web and worker")
    promise_report(count=len(story.events), what="acknowledged events, 0 lost, 0 torn, 0 doubled")


@contextmanager
def without_transaction(tenant_id: str) -> Iterator[None]:
    """Stand in for `tenant_context`: the tenant is set, and each statement commits by itself."""
    fetch_all(sql="SELECT set_config('memoryhub.tenant', %s, false)", params=[tenant_id])
    yield


@pytest.mark.promise("T1")
def test_without_the_transaction_a_kill_leaves_half(
    monkeypatch: pytest.MonkeyPatch, promise_report: PromiseReport
) -> None:
    """Take the transaction away: the same search must then find what a kill left half done."""
    monkeypatch.setattr(revocation, "tenant_context", without_transaction)
    story = Story(make_cast())
    revoke_an_event(story, Point("memoryhub.usecases.revoke", "raise_barrier", is_after=True), again=False)
    drain()
    found = find_faults(story)
    assert any("audit" in fault for fault in found)
    assert any("parts" in fault or "belief" in fault for fault in found)
    promise_report(count=len(found), what="faults found in the twin without the transaction")
