"""A key binds a call to its answer; equal calls at once have one effect."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from memoryhub.access.models import IdempotencyKey
from memoryhub.access.operations import issue_token, revoke_right
from memoryhub.access.tenancy import tenant_context
from memoryhub.kernel.models import SourceEvent
from memoryhub.lib import clock
from memoryhub.lib.db import StoreFailure
from memoryhub.memory.models import MemoryCandidate, MemoryHead, MergeDecision
from memoryhub.retrieval.models import RetrievalRun
from memoryhub.types.enums import RevocationTarget
from memoryhub.usecases.answer_once import LEASE, Begun, begin_answer, finish_answer
from memoryhub.usecases.revoke import revoke
from tests.api.client import Api, Told, a_candidate, a_memory, an_event, close_connections, work
from tests.cast import AGENT_RIGHTS, Cast

QUESTION = {"query": "django release"}
AT_ONCE = 20


def count(cast: Cast, *models: Any) -> list[int]:
    with tenant_context(cast.tenant_id, read_only=True):
        return [model.objects.filter(tenant_id=cast.tenant_id).count() for model in models]


def at_once(call: Callable[[], Told], *, times: int = AT_ONCE) -> list[Told]:
    """Make the same call from many threads at one instant."""
    start = threading.Barrier(times)

    def run(_: int) -> Told:
        start.wait()
        try:
            return call()
        finally:
            close_connections()

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(run, range(times)))


@pytest.mark.parametrize(
    ("path", "make"),
    [("events", an_event), ("memories", a_memory), ("memories/search", lambda: QUESTION)],
)
def test_a_key_replays_the_answer_with_its_first_status(api: Api, path: str, make: Any) -> None:
    body = make()
    first = api.post(path, body, idempotency_key="k-1")
    second = api.post(path, body, idempotency_key="k-1")
    assert first.status in (200, 201, 202)
    assert (second.status, second.raw) == (first.status, first.raw)
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert second.headers.get("Location") == first.headers.get("Location")
    assert second.headers["Content-Type"] == first.headers["Content-Type"]


def test_a_replay_has_no_effect(api: Api, cast: Cast) -> None:
    for _ in range(3):
        api.post("memories/search", QUESTION, idempotency_key="k")
    assert count(cast, RetrievalRun) == [1]


def test_a_refusal_is_replayed_too(api: Api) -> None:
    body = a_memory(subject="planet:mars")
    first, second = (api.post("memories", body, idempotency_key="k") for _ in range(2))
    assert (first.status, first.code) == (422, "undeclared_entity_type")
    assert (second.raw, second.headers["Idempotency-Replayed"]) == (first.raw, "true")
    assert second.code == first.code


def test_a_key_stands_for_one_call_of_one_principal(api: Api, cast: Cast) -> None:
    event = an_event()
    assert api.post("events", event, idempotency_key="k").status == 202
    for path, body in (("events", {**event, "task": "other"}), ("memories", event), ("memories/search", QUESTION)):
        told = api.post(path, body, idempotency_key="k")
        assert (told.status, told.code) == (409, "idempotency_key_reused")
    bot = Api(issue_token(principal=cast.bot, name="b", actions=AGENT_RIGHTS, now=clock.now()))
    assert "Idempotency-Replayed" not in bot.post("events", an_event(), idempotency_key="k").headers


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb", "ключ"])
def test_a_key_that_cannot_be_read_is_refused(shared: Api, key: str) -> None:
    told = shared.post("events", an_event(), idempotency_key=key)
    assert (told.status, told.code) == (400, "malformed_key")


def test_a_body_that_cannot_be_read_takes_no_key(api: Api) -> None:
    assert api.send("POST", "events", b"{", idempotency_key="k").code == "malformed_body"
    assert api.post("events", an_event(), idempotency_key="k").status == 202


def test_a_call_that_still_runs_is_told_and_one_that_died_is_taken_over(cast: Cast, api: Api) -> None:
    event = an_event()
    told = api.post("events", event, idempotency_key="k")
    with tenant_context(cast.tenant_id):
        held = IdempotencyKey.objects.filter(tenant_id=cast.tenant_id)
        held.update(status=None, answer="", created_at=clock.now())
    running = api.post("events", event, idempotency_key="k")
    assert (running.status, running.code, running.headers["Retry-After"]) == (409, "idempotency_in_progress", "1")
    with tenant_context(cast.tenant_id):
        held.update(created_at=clock.now() - LEASE - timedelta(seconds=1))
    after = api.post("events", event, idempotency_key="k")
    assert (after.status, after.raw) == (told.status, told.raw)
    assert count(cast, SourceEvent, IdempotencyKey) == [1, 1]
    assert api.post("events", event, idempotency_key="k").headers["Idempotency-Replayed"] == "true"


def test_a_run_whose_key_was_taken_over_keeps_nothing(cast: Cast) -> None:
    caller, now = cast.caller, clock.now()
    late = begin_answer(caller=caller, key="k", request="r", now=now)
    taker = begin_answer(caller=caller, key="k", request="r", now=now + LEASE)
    assert isinstance(late, Begun)
    assert isinstance(taker, Begun)
    finish_answer(caller=caller, begun=late, status=200, answer="late")
    finish_answer(caller=caller, begun=taker, status=201, answer="taker")
    given = begin_answer(caller=caller, key="k", request="r", now=now)
    assert not isinstance(given, Begun)
    assert (given.status, given.answer) == (201, "taker")


def test_a_store_failure_is_not_kept(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    from memoryhub.api.v1 import events

    def fail(**_: Any) -> Any:
        raise StoreFailure

    event = an_event()
    with monkeypatch.context() as patched:
        patched.setattr(events, "ingest_events", fail)
        assert api.post("events", event, idempotency_key="k").code == "store_unavailable"
    assert api.post("events", event, idempotency_key="k").status == 202


def test_a_defect_is_not_kept_either(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    from memoryhub.api.v1 import events

    def fail(**_: Any) -> Any:
        raise ZeroDivisionError

    event = an_event()
    with monkeypatch.context() as patched:
        patched.setattr(events, "ingest_events", fail)
        assert api.post("events", event, idempotency_key="k").status == 500
    assert api.post("events", event, idempotency_key="k").status == 202


def test_an_answer_is_not_repeated_once_it_may_no_longer_be_said(api: Api, cast: Cast) -> None:
    memory = api.post("memories", a_memory())
    work()
    told = api.post("memories/search", QUESTION, idempotency_key="k")
    assert len(told.json["items"]) == 1
    revoke(
        caller=cast.person(cast.erin),
        scope=("project", "platform"),
        target=RevocationTarget.MEMORY,
        target_id=memory.json["memory_id"],
        reason="asked",
        now=clock.now(),
    )
    after = api.post("memories/search", QUESTION, idempotency_key="k")
    assert (after.status, after.json["items"]) == (200, [])
    assert "Idempotency-Replayed" not in after.headers
    with tenant_context(cast.tenant_id):
        revoke_right(scope=cast.project, principal=cast.agent, right="recall_memory")
    named = {**QUESTION, "scopes": [{"kind": "project", "key": "platform"}]}
    assert api.post("memories/search", named, idempotency_key="k2").code == "forbidden"


def test_equal_events_at_once_are_one_event(api: Api, cast: Cast) -> None:
    event = an_event()
    told = at_once(lambda: api.post("events", event))
    assert {one.status for one in told} == {202}
    assert len({one.raw for one in told}) == 1
    assert count(cast, SourceEvent) == [1]


def test_equal_writes_at_once_are_one_memory(api: Api, cast: Cast) -> None:
    memory = a_memory()
    told = at_once(lambda: api.post("memories", memory))
    assert {one.status for one in told} == {201}, {one.raw for one in told}
    assert len({one.raw for one in told}) == 1
    assert count(cast, SourceEvent, MemoryHead, MemoryCandidate, MergeDecision) == [1, 1, 1, 1]


def test_equal_candidates_at_once_are_one_candidate(api: Api, cast: Cast) -> None:
    events = [an_event() for _ in range(5)]
    api.post("events", {"events": events})
    candidates = [a_candidate(event["event_id"], subject="product:new") for event in events]
    batches = iter([candidates, candidates[::-1]] * (AT_ONCE // 2))
    told = at_once(lambda: api.post("candidates", {"candidates": next(batches)}))
    assert {one.status for one in told} == {202}, {one.raw for one in told}
    ids = {frozenset(result["accepted"]["candidate_id"] for result in one.json["results"]) for one in told}
    assert len(ids) == 1
    assert count(cast, MemoryCandidate) == [5]


def test_equal_keys_at_once_have_one_effect(api: Api, cast: Cast) -> None:
    told = at_once(lambda: api.post("memories/search", QUESTION, idempotency_key="storm"))
    answered = [one for one in told if one.status == 200]
    assert {one.code for one in told if one.status != 200} <= {"idempotency_in_progress"}
    assert len({one.raw for one in answered}) == 1
    assert count(cast, RetrievalRun, IdempotencyKey) == [1, 1]


def test_different_writes_of_one_key_at_once_lose_nothing(api: Api, cast: Cast) -> None:
    numbers = iter(range(1, AT_ONCE + 1))
    told = at_once(
        lambda: api.post("memories", a_memory(value="4.1.1", occurred_at=f"2022-08-{next(numbers):02}T00:00:00Z"))
    )
    assert {one.status for one in told} <= {200, 201}
    assert sorted(one.json["version"] for one in told) == list(range(1, AT_ONCE + 1))
    assert count(cast, MemoryHead, SourceEvent) == [1, AT_ONCE]
