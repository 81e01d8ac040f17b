"""Cases of classes I and C: what is sent again has no second effect, and of writers at once none is lost.

Shown elsewhere: a key replays its answer (`tests/api/test_once.py`), sixteen at once over cut connections (T12), a
retry after a kill (T1), lost updates (T3), the raw second INSERT (`tests/invariants`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from memoryhub.access.tenancy import tenant_context
from memoryhub.kernel.models import SourceEvent
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.memory.models import MemoryCandidate, MemoryEvidence, MemoryHead, MergeDecision
from memoryhub.usecases.review import DecidedByOther, ItemStale, Resolution, Verb, resolve_review
from tests.api.client import Api, Told, a_candidate, a_memory, an_event, close_connections, work
from tests.cast import Cast, make_cast
from tests.conftest import ConnectAs

AT_ONCE = 20
COLUMNS = """
    event_key_digest, scope_id, actor_id, sender_id, session_key, task_key, source_type, trust, occurred_at, source_seq,
    ingested_at, content_ref, content_digest, redactions, retention_class, deletion_epoch, root
"""


def count(cast: Cast, *models: Any) -> list[int]:
    with tenant_context(cast.tenant_id, read_only=True):
        return [model.objects.filter(tenant_id=cast.tenant_id).count() for model in models]


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Make all calls at one instant, each in a thread and with a connection of its own."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        start.wait()
        try:
            return call()
        finally:
            close_connections()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_twenty_identical_posts_make_one_event_one_decision_and_one_memory(cast: Cast, api: Api) -> None:
    body = a_memory()
    told: list[Told] = at_once([lambda: api.post("memories", body)] * AT_ONCE)
    assert {(one.status, one.raw) for one in told} == {(told[0].status, told[0].raw)}
    assert told[0].status == 201
    assert count(cast, SourceEvent, MemoryCandidate, MergeDecision, MemoryHead, MemoryEvidence) == [1, 1, 1, 1, 1]


def test_a_second_event_of_one_id_is_refused_by_the_database_itself(
    cast: Cast, api: Api, connect_as: ConnectAs
) -> None:
    api.post("events", an_event())
    app = connect_as("app")
    app.execute("SELECT set_config('memoryhub.tenant', %s, false)", [cast.tenant_id])
    with pytest.raises(Exception, match="source_events_are_received_once"):
        app.execute(
            f"INSERT INTO source_events (id, tenant_id, {COLUMNS}) SELECT uuidv7(), tenant_id, {COLUMNS}"
            " FROM source_events WHERE tenant_id = %s".encode(),
            [cast.tenant_id],
        )


def test_the_same_id_with_another_body_is_told_and_changes_nothing(cast: Cast, api: Api) -> None:
    event = an_event()
    assert api.post("events", event).status == 202
    before = count(cast, SourceEvent, MemoryCandidate)
    assert api.post("events", event).status == 202
    other = api.post("events", {**event, "payload": {"text": "Something else."}})
    assert (other.status, other.code) == (409, "event_id_reused")
    assert count(cast, SourceEvent, MemoryCandidate) == before


def test_writing_the_same_again_never_takes_it_away(api: Api) -> None:
    """Say it again under a new id from the same lineage, from a new one, and with a lost response in between."""
    body = a_memory()
    first = api.post("memories", body)
    for _ in range(3):
        assert api.post("memories", body).json == first.json
    again = api.post("memories", a_memory(occurred_at="2022-08-09T00:00:00Z"))
    assert again.json["action"] in ("ATTACH_EVIDENCE", "NO_OP")
    held = api.get(f"memories/{first.json['memory_id']}").json
    assert (held["value"], held["state"]) == (body["value"], "active")


def test_a_batch_does_what_its_parts_do_one_by_one(cast: Cast, api: Api) -> None:
    """Send the same 25 events and proposals in one tenant as a batch, in another one by one."""
    other = make_cast()
    single = Api(other.secret)
    events = [
        an_event(event_id=f"event {number}", occurred_at=f"2022-08-03T00:00:{number:02}Z") for number in range(25)
    ]
    candidates = [
        a_candidate(f"event {number}", conditions={"cycle": str(number % 5)}, value=f"4.{number % 2}")
        for number in range(25)
    ]
    batch = api.post("events", {"events": [*events, *events]})
    assert (batch.json["accepted"], batch.json["refused"]) == (50, 0)
    assert api.post("candidates", {"candidates": candidates}).status == 202
    for event, candidate in zip(events, candidates, strict=True):
        assert single.post("events", event).status == 202
        assert single.post("candidates", candidate).status == 202
    work()
    assert describe(cast) == describe(other)
    with tenant_context(cast.tenant_id, read_only=True):
        doubled = fetch_all(
            sql="SELECT count(*) - count(DISTINCT (memory_id, source_kind, source_id, statement)) FROM memory_evidence",
            params=[],
        )
    assert doubled == [(0,)]


def describe(cast: Cast) -> list[tuple[Any, ...]]:
    """Return what is held in a tenant, without ids and instants."""
    with tenant_context(cast.tenant_id, read_only=True):
        return fetch_all(
            sql="""
                SELECT head.conditions->>'cycle', head.independent_evidence_count, head.modality,
                    head.has_open_conflict,
                    (SELECT array_agg(held.value::text ORDER BY held.valid_from) FROM memory_versions held
                     WHERE held.memory_id = head.id AND held.recorded_to IS NULL),
                    (SELECT count(*) FROM memory_evidence claim WHERE claim.memory_id = head.id)
                FROM memory_heads head WHERE head.tenant_id = %s ORDER BY 1
            """,
            params=[cast.tenant_id],
        )


def test_two_reviewers_at_one_version_are_one_decision_and_one_refusal(cast: Cast, api: Api) -> None:
    memory = a_memory(fact_key="undeclared", actor=cast.alice.username)
    api.post("memories", memory)
    later = {"value": "4.1.2", "actor": cast.bob.username, "occurred_at": "2022-08-09T00:00:00Z"}
    told = api.post("memories", {**memory, **later, "event_id": str(new_id())})
    with tenant_context(cast.tenant_id, read_only=True):
        [[item]] = fetch_all(sql="SELECT id::text FROM review_items WHERE state = 'open'", params=[])

    def decide(verb: Verb) -> str:
        resolution = Resolution(item_id=item, verb=verb, expected_version=2, reason="outdated")
        try:
            resolve_review(caller=cast.person(cast.rita), resolution=resolution, now=clock.now())
        except (DecidedByOther, ItemStale) as refusal:
            return type(refusal).__name__
        return "decided"

    outcomes = at_once([lambda: decide(Verb.ACCEPT), lambda: decide(Verb.REJECT)])
    assert sorted(outcomes) in (["DecidedByOther", "decided"], ["ItemStale", "decided"])
    assert api.get(f"memories/{told.json['memory_id']}").json["version"] == 3
    assert count(cast, MemoryHead) == [1]


def test_two_writers_of_one_new_key_make_one_head_and_both_are_kept(cast: Cast, api: Api) -> None:
    """Let two who may replace each other state the first value of a key at once: the later day stands, whoever won."""
    bodies = [
        a_memory(value=value, actor=person.username, occurred_at=f"{day}T00:00:00Z")
        for value, person, day in (("4.1.1", cast.alice, "2022-08-03"), ("4.1.2", cast.bob, "2022-08-04"))
    ]
    told: list[Told] = at_once([partial(api.post, "memories", body) for body in bodies])
    assert {one.status for one in told} == {201}
    assert len({one.json["memory_id"] for one in told}) == 1
    assert count(cast, MemoryHead, MemoryEvidence, MergeDecision) == [1, 2, 2]
    memory = f"memories/{told[0].json['memory_id']}"
    assert api.get(memory).json["value"] == "4.1.2"
    assert api.get(f"{memory}/as-of?valid_at=2022-08-03T12:00:00Z").json["memory"]["value"] == "4.1.1"


def test_the_scope_comes_from_the_call_and_never_from_another_one(cast: Cast, api: Api) -> None:
    """Write into two scopes from many threads at once: each memory is where its call said."""
    scopes = [{"kind": "project", "key": "platform"}, {"kind": "user", "key": cast.alice.username}]
    calls = [
        partial(api.post, "memories", a_memory(scope=scopes[number % 2], conditions={"n": number}))
        for number in range(24)
    ]
    told: list[Told] = at_once(calls)
    for number, one in enumerate(told):
        namespace = api.get(f"memories/{one.json['memory_id']}").json["namespace"]
        assert (namespace["scope"], namespace["scope_id"]) == (scopes[number % 2]["kind"], scopes[number % 2]["key"])
