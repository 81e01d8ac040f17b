"""Workers are told to look; a broker that is away costs the call nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memoryhub.api.v1 import workers
from memoryhub.celery import app
from tests.api.client import Api, a_candidate, a_memory, an_event


def wait_until(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 5
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(workers, "_bell", workers._Bell())
    sent: list[str] = []
    monkeypatch.setattr(app, "send_task", lambda name, **_: sent.append(name))
    return sent


def test_what_is_accepted_is_looked_at(api: Api, looks: list[str]) -> None:
    event = an_event()
    for path, body, look in (
        ("events", event, workers.JOBS),
        ("events", {"events": [an_event()]}, workers.JOBS),
        ("candidates", a_candidate(event["event_id"]), workers.JOBS),
        ("candidates", {"candidates": [a_candidate(event["event_id"])]}, workers.JOBS),
        ("memories", a_memory(), workers.OUTBOX),
    ):
        looks.clear()
        assert api.post(path, body).status < 300
        assert wait_until(lambda: bool(looks)), path
        assert looks == [look]


def test_the_looks_are_tasks_that_exist() -> None:
    app.loader.import_default_modules()
    assert {workers.JOBS, workers.OUTBOX} <= set(app.tasks)


def test_what_is_refused_calls_nobody(api: Api, looks: list[str]) -> None:
    refused = an_event(scope={"kind": "project", "key": "elsewhere"})
    api.post("events", refused)
    api.post("events", {"events": [refused]})
    api.post("memories", a_memory(subject="planet:mars"))
    time.sleep(0.1)
    assert looks == []


@pytest.fixture
def silent_broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Take every publication and answer none, as an address that swallows packets does."""
    monkeypatch.setattr(workers, "_bell", workers._Bell())
    end = threading.Event()
    monkeypatch.setattr(app, "send_task", lambda *_, **__: end.wait(10))
    yield end
    end.set()


def test_a_broker_that_swallows_everything_slows_no_call(shared: Api, silent_broker: threading.Event) -> None:
    before = time.monotonic()
    for _ in range(1000):
        workers.call_workers(look=workers.JOBS)
    assert time.monotonic() - before < 0.1
    assert shared.post("events", an_event()).status == 202
    assert not silent_broker.is_set()


def test_looks_asked_for_meanwhile_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    bell = workers._Bell()
    go = threading.Event()
    sent: list[str] = []

    def send(name: str, **_: Any) -> None:
        if name == "tests.look":  # calls of earlier tests may still be on their way
            sent.append(name)
            go.wait(5)

    monkeypatch.setattr(app, "send_task", send)
    bell.ring("tests.look")
    assert wait_until(lambda: len(sent) == 1)
    for _ in range(50):
        bell.ring("tests.look")
    go.set()
    assert wait_until(lambda: len(sent) == 2)
    time.sleep(0.05)
    assert sent == ["tests.look", "tests.look"]


def test_a_broker_that_is_away_is_told_of_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(app.conf, "broker_write_url", f"redis+socket://{tmp_path}/nobody.sock")
    monkeypatch.setattr(app, "_pool", None)  # it remembers the old address
    monkeypatch.setattr(app.amqp, "_producer_pool", None)
    before = time.monotonic()
    assert workers.publish_looks(looks=[workers.JOBS]) is False
    assert time.monotonic() - before < 1
    assert "broker is away" in caplog.text


def test_a_broker_that_is_there_takes_the_looks(servers: None) -> None:  # noqa: ARG001 - it is the broker
    assert workers.publish_looks(looks=[workers.JOBS, workers.OUTBOX]) is True
