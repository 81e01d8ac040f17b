"""T12: sixteen clients make the same call at once, over real sockets that are cut; the call has one effect.

Whoever gets an answer in the end gets the same one, to the byte. A key that comes with another body is a 409, and so
is one whose first call still runs; sessions of the database are ended under the requests as well.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.usecases import answer_once
from tests.api.client import a_memory, an_event
from tests.cast import Cast, make_cast
from tests.conftest import ConnectAs
from tests.ledger import assert_ledger_is_clean
from tests.promises import PromiseReport

CLIENTS = 16
SPOILERS = 2  # of the sixteen: they bring the key with another body
PATIENCE = 60.0
DONE = (200, 201, 202)


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_args: Any) -> None:
        """Say nothing: cut connections are the point."""


class _Server(ThreadedWSGIServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_args: Any) -> None:
        """Say nothing of clients that went away."""


@pytest.fixture
def port() -> Iterator[int]:
    """Serve the product on loopback, one thread a connection."""
    server = _Server(("127.0.0.1", 0), _Quiet)
    server.set_app(get_wsgi_application())
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Storm:
    """Hold what the clients have sent and heard."""

    port: int
    secret: str
    sent: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, what: str) -> None:
        with self.lock:
            self.sent[what] += 1


@dataclass(frozen=True)
class Call:
    """Hold one call that everybody makes, and the one that spoils it."""

    path: str
    key: str
    body: bytes
    other: bytes


def make_call(number: int) -> Call:
    """Return an explicit write, or every third time two events."""
    if number % 3 == 0:
        batch = {"events": [an_event(), an_event()]}
        return Call("events", str(new_id()), to_bytes(batch), to_bytes({"events": [an_event()]}))
    body = a_memory(conditions={"cycle": str(number)})
    return Call("memories", str(new_id()), to_bytes(body), to_bytes({**body, "value": "9.9"}))


def to_bytes(body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode()


def ask(storm: Storm, call: Call, body: bytes, dice: random.Random) -> tuple[int, bytes]:
    """Make the call until there is an answer that is one."""
    deadline = time.monotonic() + PATIENCE
    cuts = dice.choice((0, 0, 1, 2))
    while time.monotonic() < deadline:
        wire = http.client.HTTPConnection("127.0.0.1", storm.port, timeout=PATIENCE)
        try:
            wire.putrequest("POST", f"/api/v1/{call.path}")
            for name, value in {
                "Authorization": f"Bearer {storm.secret}",
                "Idempotency-Key": call.key,
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
                "Connection": "close",
            }.items():
                wire.putheader(name, value)
            wire.endheaders()
            if cuts:
                cuts -= 1
                half = dice.random() < 0.5
                wire.send(body[: len(body) // 2] if half else body)
                time.sleep(dice.uniform(0.0, 0.01))
                storm.count("cut while sending" if half else "cut while waiting")
                continue
            wire.send(body)
            response = wire.getresponse()
            status, raw = response.status, response.read()
        except (ConnectionError, http.client.HTTPException):
            storm.count("connection lost")
            continue
        finally:
            wire.close()
        storm.count(str(status))
        code = json.loads(raw).get("code") if status not in DONE else ""
        if code == "idempotency_in_progress" or status == 503:
            time.sleep(0.01)
            continue
        return status, raw
    raise AssertionError("a call never got an answer")


def storm_once(storm: Storm, pool: ThreadPoolExecutor, call: Call, seed: int) -> None:
    """Let everybody make the call at one instant, and compare what they heard."""
    start = threading.Barrier(CLIENTS)

    def run(client: int) -> tuple[int, bytes]:
        spoils = client < SPOILERS
        dice = random.Random(seed * CLIENTS + client)  # noqa: S311  a draw that can be repeated
        start.wait()
        if spoils:
            time.sleep(0.05)
        return ask(storm, call, call.other if spoils else call.body, dice)

    answers = list(pool.map(run, range(CLIENTS)))
    spoiled, honest = answers[:SPOILERS], set(answers[SPOILERS:])
    reused = [(status, json.loads(raw).get("code")) for status, raw in spoiled]
    if {status for status, _ in honest} <= {409}:
        # A spoiler came first: then the honest ones are those who bring another body.
        spoiled, honest = answers[SPOILERS:], set(answers[:SPOILERS])
        reused = [(status, json.loads(raw).get("code")) for status, raw in spoiled]
    if len(honest) != 1 or next(iter(honest))[0] not in DONE:
        storm.faults.append(f"{call.key} has answers {sorted(honest)[:2]}")
    if set(reused) != {(409, "idempotency_key_reused")}:
        storm.faults.append(f"{call.key} with another body: {reused}")


def find_doubled(cast: Cast, calls: list[Call]) -> list[str]:
    """Return where one call had another number of effects than one."""
    found = []
    expected_events = sum(2 if call.path == "events" else 1 for call in calls)
    writes = sum(call.path == "memories" for call in calls)
    with tenant_context(cast.tenant_id, read_only=True):
        [[events, candidates, decisions, heads]] = fetch_all(
            sql="""
                SELECT (SELECT count(*) FROM source_events), (SELECT count(*) FROM memory_candidates),
                    (SELECT count(*) FROM merge_decisions), (SELECT count(*) FROM memory_heads)
            """,
            params=[],
        )
    if not expected_events - len(calls) <= events <= expected_events:
        found.append(f"{events} events of {expected_events}")
    if (candidates, decisions, heads) != (writes, writes, writes):
        found.append(f"{candidates} candidates, {decisions} decisions and {heads} memories of {writes} writes")
    return found


@pytest.mark.promise("T12")
def test_one_call_has_one_effect_however_often_it_comes(
    port: int, connect_as: ConnectAs, at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    cast = make_cast()
    storm = Storm(port, cast.secret)
    wanted = at_scale(10_000, 10_000)
    calls: list[Call] = []
    superuser = connect_as("superuser")
    superuser.autocommit = True
    with ThreadPoolExecutor(CLIENTS) as pool:
        while storm.sent.total() < wanted:
            calls.append(make_call(len(calls)))
            if len(calls) % 10 == 0:
                threading.Timer(0.03, end_a_session, (superuser, storm)).start()
            storm_once(storm, pool, calls[-1], seed=len(calls))
    assert storm.faults == []
    assert find_doubled(cast, calls) == []
    assert_ledger_is_clean(cast.tenant_id)
    assert {"500"}.isdisjoint(storm.sent)
    assert min(storm.sent["409"], storm.sent["cut while sending"], storm.sent["cut while waiting"]) > len(calls)
    promise_report(count=storm.sent.total(), what="requests, sixteen at once")
    promise_report(count=len(calls), what="calls with one effect each")
    promise_report(count=storm.sent["cut while sending"] + storm.sent["cut while waiting"], what="connections cut")


def end_a_session(superuser: Any, storm: Storm) -> None:
    """End one session of the database that serves a request just now."""
    ended = superuser.execute("""
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE usename = 'memoryhub_app' AND datname = current_database() AND state <> 'idle' LIMIT 1
    """).fetchall()
    if ended:
        storm.count("session of the database ended")


@pytest.mark.promise("T12")
def test_without_the_key_one_call_has_many_effects(
    port: int, monkeypatch: pytest.MonkeyPatch, promise_report: PromiseReport
) -> None:
    """Forget every key: then the same events sent under new ids are many, and answers differ."""
    monkeypatch.setattr(answer_once, "begin_answer", lambda **given: answer_once.Begun(str(new_id()), given["now"], ""))
    monkeypatch.setattr("memoryhub.api.v1.once.begin_answer", answer_once.begin_answer)
    cast = make_cast()
    storm = Storm(port, cast.secret)
    call = make_call(1)
    with ThreadPoolExecutor(CLIENTS) as pool:
        storm_once(storm, pool, call, seed=1)
    assert storm.faults != []
    promise_report(count=len(storm.faults), what="faults found in the twin that forgets keys")
