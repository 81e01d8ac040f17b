"""A broker that is away, silent or killed loses nothing and delays nobody; a worker that ends does so in order."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connections

from memoryhub.api.v1 import workers
from memoryhub.celery import app
from memoryhub.embedded.paths import PROJECT, Home
from memoryhub.embedded.processes import Child
from memoryhub.embedded.valkey import start_valkey
from memoryhub.lib import clock
from memoryhub.usecases.run_jobs import run_due_jobs
from tests.api.client import Api, a_candidate, an_event
from tests.cast import Cast, make_cast
from tests.integration.test_job_queue import say_often
from tests.integration.test_jobs import ask, finish_others

PATIENCE = 90.0
WORKER = ("worker", "--pool", "threads", "--concurrency", "2", "--loglevel", "WARNING")


def wait_until(holds: Callable[[], bool], *, patience: float = PATIENCE) -> float:
    """Wait, and return how many seconds it took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < patience, "it took too long"
        time.sleep(0.02)
    return time.monotonic() - began


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Child]:
    """Run a broker that a test may kill."""
    home = Home(root=tmp_path / "broker")
    home.make_folders()
    child = start_valkey(home=home)
    yield child
    child.stop()
    for folder in (home.store, home.sockets):
        shutil.rmtree(folder, ignore_errors=True)


def address_of(broker: Child) -> str:
    """Return the broker's address, read off its command line."""
    return "redis+socket://" + str(list(broker.argv)[list(broker.argv).index("--unixsocket") + 1])


def describe(broker: Child, folder: Path, name: str, *argv: str) -> Child:
    """Return a process of the product on the tests' database and this broker."""
    where = connections["default"].settings_dict
    host = where["HOST"].replace("/", "%2F")
    return Child(
        name=name,
        argv=[sys.executable, "-m", *argv],
        folder=PROJECT,
        environment={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
            "MEMORYHUB_HOME": str(settings.HOME.root),
            "MEMORYHUB_SECRET_KEY": "for this test only",
            "MEMORYHUB_DIGEST_SECRET": settings.DIGEST_SECRET,
            "MEMORYHUB_PROCESS": name,
            "DATABASE_URL": f"postgresql://{where['USER']}:{where['PASSWORD']}@{host}:{where['PORT']}/{where['NAME']}",
            "BROKER_URL": address_of(broker),
            "PYTHONUNBUFFERED": "1",
        },
        log=folder / f"{name}.log",
    )


@pytest.fixture
def publish_to(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Let this process publish as the web server does, to an address of choice."""
    usual = settings.CELERY_BROKER_TRANSPORT_OPTIONS

    def choose(url: str) -> None:
        monkeypatch.setattr(app.conf, "broker_write_url", url)
        app.conf.broker_transport_options = {**usual, "socket_timeout": 0.05, "socket_connect_timeout": 0.05}
        monkeypatch.setattr(app, "_pool", None)  # it remembers the old address
        monkeypatch.setattr(app.amqp, "_producer_pool", None)
        monkeypatch.setattr(workers, "_bell", workers._Bell())

    yield choose
    app.conf.broker_transport_options = usual


def measure_sending(api: Api, count: int) -> tuple[Counter[int], list[float]]:
    """Send so many events, one a request; return the answers and how long each took."""
    answers, took = Counter[int](), []
    for _ in range(count):
        event = an_event(source_type="message", payload={"text": "From now on answer in Chinese."})
        began = time.perf_counter()
        answers[api.post("events", event).status] += 1
        took.append(time.perf_counter() - began)
    return answers, took


def count_states(cast: Cast) -> dict[str, int]:
    """Return how many jobs of the tenant are in which state."""
    return dict(ask(cast, "SELECT state, count(*) FROM processing_jobs GROUP BY state"))


def is_all_done(cast: Cast) -> bool:
    """Tell whether every job succeeded and every change is told."""
    return set(count_states(cast)) == {"succeeded"} and ask(
        cast, "SELECT count(*) FROM outbox WHERE state <> 'delivered'"
    ) == [(0,)]


def has_documents(cast: Cast, count: int) -> bool:
    """Tell whether so many memories can be found."""
    return ask(cast, "SELECT count(*) FROM search_documents") == [(count,)]


def tell(text: str) -> None:
    """Say what was measured; seen with `pytest -s`."""
    sys.stdout.write(f"\n{text}\n")


def test_a_killed_broker_loses_nothing_and_slows_nobody(
    broker: Child, tmp_path: Path, publish_to: Callable[[str], None]
) -> None:
    """Kill the broker under a worker and a beat; send 200 events; start it again: all are done."""
    finish_others()
    cast = make_cast()
    api = Api(cast.secret)
    publish_to(address_of(broker))
    celery = ("celery", "--app", "memoryhub.celery")
    worker = describe(
        broker,
        tmp_path,
        "worker",
        *celery,
        "worker",
        "--pool",
        "threads",
        "--concurrency",
        "2",
        "--loglevel",
        "WARNING",
    )
    schedule = str(tmp_path / "schedule")
    beat = describe(broker, tmp_path, "beat", *celery, "beat", "--pidfile", "", "--schedule", schedule)
    try:
        worker.start()
        beat.start()
        answers, usual = measure_sending(api, 20)
        assert answers == {202: 20}
        wait_until(lambda: is_all_done(cast))

        assert broker.process is not None
        os.kill(broker.process.pid, signal.SIGKILL)
        broker.process.wait()
        answers, took = measure_sending(api, 200)
        assert answers == {202: 200}
        assert statistics.median(took) < 2 * statistics.median(usual) + 0.05
        assert count_states(cast)["queued"] >= 190, "what was begun before may end"

        broker.start()
        seconds = wait_until(lambda: is_all_done(cast))
        assert count_states(cast) == {"succeeded": 2 * 220}
        tell(
            f"220 events done, 200 of them sent without a broker, {seconds:.1f} s after it came back; a call took "
            f"{1000 * statistics.median(usual):.0f} ms with and {1000 * statistics.median(took):.0f} ms without it"
        )
    finally:
        beat.stop()
        worker.stop()


@pytest.fixture
def black_hole() -> Iterator[str]:
    """Accept every connection and never answer."""
    held: list[socket.socket] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def accept() -> None:
            while True:
                try:
                    held.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        server.close()
        for one in held:
            one.close()


def test_a_broker_that_never_answers_is_given_up_within_a_tenth_of_a_second(
    black_hole: str, publish_to: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    publish_to(black_hole)
    workers.publish_looks(looks=[workers.JOBS])  # what is loaded once is loaded now
    took = []
    for _ in range(5):
        began = time.perf_counter()
        assert workers.publish_looks(looks=[workers.JOBS]) is False
        took.append(time.perf_counter() - began)
    assert min(took) < 0.13, took
    assert "broker is away" in caplog.text


def test_calls_do_not_wait_for_a_broker_that_never_answers(black_hole: str, publish_to: Callable[[str], None]) -> None:
    """A call is answered while the thread that publishes still waits; it tries once a second."""
    api = Api(make_cast().secret)
    measure_sending(api, 5)
    publish_to(black_hole)
    began = time.perf_counter()
    for _ in range(1000):
        workers.call_workers(look=workers.JOBS)
    assert time.perf_counter() - began < 0.1, "to ask costs microseconds"
    answers, took = measure_sending(api, 20)
    assert answers == {202: 20}
    assert statistics.median(took) < 0.25


def test_the_web_server_publishes_with_short_patience() -> None:
    """The figures that `publish_to` gives the tests are those of the web server."""
    code = "from django.conf import settings; print(settings.CELERY_BROKER_TRANSPORT_OPTIONS)"
    told = subprocess.run(
        [sys.executable, "-c", code],
        cwd=PROJECT,
        env={**os.environ, "MEMORYHUB_PROCESS": "web", "DJANGO_SETTINGS_MODULE": "memoryhub.settings"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "'socket_timeout': 0.05, 'socket_connect_timeout': 0.05" in told
    assert "'max_retries': 1" in told
    assert settings.CELERY_TASK_PUBLISH_RETRY is False


def test_with_a_look_a_candidate_is_a_memory_in_well_under_a_second(
    broker: Child, tmp_path: Path, publish_to: Callable[[str], None]
) -> None:
    """No beat runs: what is found was published by the call."""
    finish_others()
    cast = make_cast()
    api = Api(cast.secret)
    publish_to(address_of(broker))
    worker = describe(broker, tmp_path, "worker", "celery", "--app", "memoryhub.celery", *WORKER)
    try:
        worker.start()
        took = []
        for number in range(12):
            event = an_event()
            api.post("events", event)
            began = time.monotonic()
            told = api.post("candidates", a_candidate(event["event_id"], conditions={"cycle": f"4.{number}"}))
            assert told.status == 202
            wait_until(partial(has_documents, cast, number + 1))
            took.append(time.monotonic() - began)
        middle, worst = (1000 * seconds for seconds in (statistics.median(took[2:]), max(took[2:])))
        tell(f"candidate to searchable memory: median {middle:.0f} ms, worst {worst:.0f} ms")
        assert middle < 1000
    finally:
        worker.stop()


def test_a_worker_that_is_told_to_end_finishes_its_piece_and_hands_back_the_rest(broker: Child, tmp_path: Path) -> None:
    finish_others()
    cast = make_cast()
    say_often(cast, 8)
    worker = describe(broker, tmp_path, "worker", "tests.integration.slow_worker", "--loglevel", "WARNING")
    try:
        worker.start()
        with app.connection_for_write(address_of(broker)) as connection:
            app.send_task(workers.JOBS, connection=connection)
        assert worker.log is not None
        wait_until(lambda: worker.log is not None and "begun" in worker.log.read_text())
        assert worker.process is not None
        worker.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        worker.process.wait(timeout=20)
        assert time.monotonic() - began < 8, "it went on with the batch"
    finally:
        worker.stop()
    rows: list[Any] = ask(cast, "SELECT state, attempts, count(*) FROM processing_jobs GROUP BY 1, 2 ORDER BY 1")
    assert [row[:2] for row in rows] == [("queued", 0), ("succeeded", 1)], rows
    assert rows[1][2] <= 3
    assert run_due_jobs(now=clock.now()) == {"succeeded": rows[0][2]}, "what was handed back is due at once"
