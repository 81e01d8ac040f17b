"""Workers are told to look; a broker that is away costs neither the call nor its time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from memoryhub.api.v1 import base
from memoryhub.celery import app
from tests.api.client import Api, a_candidate, a_memory, an_event


@pytest.fixture(autouse=True)
def fresh_broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(base._Broker, "silent_until", 0.0)
    yield
    base._Broker.silent_until = 0.0


def test_every_accepting_call_tells_the_workers(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    monkeypatch.setattr(app, "send_task", lambda name, **_: looks.append(name))
    event = an_event()
    api.post("events", event)
    api.post("candidates", a_candidate(event["event_id"]))
    api.post("memories", a_memory())
    assert len(looks) == 6
    app.loader.import_default_modules()
    assert set(looks) <= set(app.tasks)
    looks.clear()
    api.post("events", an_event(scope={"kind": "project", "key": "elsewhere"}))
    assert looks == []


def test_a_broker_that_is_away_costs_nothing(api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(app.conf, "broker_write_url", f"redis+socket://{tmp_path}/nobody.sock")
    monkeypatch.setattr(app.conf, "broker_url", f"redis+socket://{tmp_path}/nobody.sock")
    monkeypatch.setattr(app, "_pool", None)  # it remembers the old address
    monkeypatch.setattr(app.amqp, "_producer_pool", None)
    before = time.monotonic()
    base.call_workers()
    first = time.monotonic() - before
    assert base._Broker.silent_until > 0, "the broker was reached"
    before = time.monotonic()
    base.call_workers()
    again = time.monotonic() - before
    assert first < 0.5, "0.1 s on a machine with nothing else to do"
    assert again < 0.01
    assert api.post("events", an_event()).status == 202
