"""Kill PostgreSQL with signal 9 under four writers, over and over; print as JSON what was found.

Its process has a `MEMORYHUB_HOME` of its own. With `--lose` commits do not wait for the disk: the twin, in which
acknowledged writes must be seen to go missing.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.db import connections
from django.test.utils import setup_databases

from memoryhub.access.tenancy import tenant_context
from memoryhub.embedded.postgres import connect_as_superuser, start_postgres
from memoryhub.embedded.processes import Child
from memoryhub.embedded.supervisor import claim_home
from memoryhub.lib import clock
from memoryhub.lib.db import StoreFailure, fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.policy.merge import MergePolicy
from memoryhub.usecases.ingest import EventInput, ingest_events
from memoryhub.usecases.rederive import check_memory
from memoryhub.usecases.relay import relay_outbox
from memoryhub.usecases.run_jobs import run_due_jobs
from memoryhub.usecases.seal_ledger import seal_ledger
from memoryhub.usecases.verify_ledger import verify_ledger
from tests.acts import state_fact
from tests.cast import EARLY, Cast, make_cast
from tests.integration.test_t1_kills import DOUBLED, TORN
from tests.ledger import assert_ledger_is_clean

KEYS = 10
ROUND = 400  # then come other keys, so that no history grows without bounds
AFTER_EVERY_LEASE = timedelta(minutes=15)
LONG = timedelta(hours=2)
_ALWAYS = ("jobs that did not end", "changes nobody was told of", "memories that the index does not know")


@dataclass
class Writer:
    """Hold one writing process and what it said it was told."""

    pid: int
    reading: int
    rest: bytes = b""
    acknowledged: list[str] = field(default_factory=list)

    def listen(self) -> None:
        """Take what the writer has said since."""
        with suppress(BlockingIOError):
            while piece := os.read(self.reading, 65536):
                self.rest += piece
        *lines, self.rest = self.rest.split(b"\n")
        self.acknowledged += [line.decode() for line in lines]


def write_releases(cast: Cast, number: int, event_id: str) -> None:
    """Move one of a few memories on."""
    at = EARLY + timedelta(seconds=number)
    state_fact(cast, value=number, cycle=f"{number // ROUND}.{number % KEYS}", at=at, event_id=event_id)


def send_messages(cast: Cast, number: int, event_id: str) -> None:
    """Send one message of Alice's; out of one in fifty a worker reads a preference."""
    words = f"I always prefer seat number {number}." if number // len(WRITERS) % 50 == 0 else "It was a sunny day."
    event = EventInput(
        event_id=event_id,
        scope=("user", cast.alice.username),
        source_type="message",
        occurred_at=EARLY + timedelta(seconds=number),
        payload={"text": words},
        actor=cast.alice.username,
    )
    [result] = ingest_events(caller=cast.caller, events=[event], now=clock.now())
    assert result.outcome in ("accepted", "replayed"), result


def work(_cast: Cast, _number: int, _event_id: str) -> None:
    """Do what is due, as a worker does."""
    run_due_jobs(now=clock.now())
    relay_outbox(now=clock.now())


WRITERS: list[tuple[Callable[[Cast, int, str], None], bool]] = [
    (write_releases, True),
    (write_releases, True),
    (send_messages, True),
    (work, False),
]


def start_writer(cast: Cast, which: int) -> Writer:
    """Fork a writer: it tries each thing until it is told that it is done, and says so."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        act, tells = WRITERS[which]
        _write_for_ever(cast, which, act, writing if tells else None)
    os.close(writing)
    os.set_blocking(reading, False)
    return Writer(pid, reading)


def _write_for_ever(cast: Cast, which: int, act: Callable[[Cast, int, str], None], writing: int | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    number = which
    event_id = str(new_id())
    try:
        while True:
            try:
                act(cast, number, event_id)
            except StoreFailure:
                connections.close_all()
                time.sleep(0.01)
                continue
            if writing is not None:
                os.write(writing, f"{event_id}\n".encode())
            number += len(WRITERS)
            event_id = str(new_id())
    finally:
        os._exit(1)  # a writer ends by a signal alone


def kill(server: Child) -> None:
    """Kill the postmaster and every process of it at one stroke."""
    assert server.process is not None
    parent = server.process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    for pid in (parent, *map(int, children)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.process.wait()


def count_lost(cast: Cast, acknowledged: list[str]) -> int:
    """Return how many acknowledged events are not there."""
    digests = [cast.caller.digest(f"event {event_id}") for event_id in acknowledged]
    with tenant_context(cast.tenant_id, read_only=True):
        [[held]] = fetch_all(
            sql="SELECT count(*) FROM source_events WHERE tenant_id = %s AND event_key_digest = ANY (%s)",
            params=[cast.tenant_id, digests],
        )
    return len(digests) - int(held)


def find_half_done(cast: Cast, *, everything: bool) -> list[str]:
    """Return what is torn or doubled; while writers go on, what is merely not done yet does not count."""
    found = []
    with tenant_context(cast.tenant_id, read_only=True):
        for what, sql in (TORN | DOUBLED).items():
            if everything or what not in (*_ALWAYS, "candidates nobody decided"):
                [[count]] = fetch_all(sql=sql, params={"tenant": cast.tenant_id})
                found += [f"{what}: {count}"] if count else []
    return found


def find_changed(cast: Cast, *, since: datetime) -> list[str]:
    """Return where a memory that was changed since then is not what its evidence derives to."""
    sql = "SELECT id::text FROM memory_heads WHERE tenant_id = %s AND last_recorded_at >= %s"
    with tenant_context(cast.tenant_id, read_only=True):
        changed = [row[0] for row in fetch_all(sql=sql, params=[cast.tenant_id, since])]
    found = []
    for memory_id in changed:
        with tenant_context(cast.tenant_id, read_only=True, one_snapshot=True):
            found += check_memory(tenant_id=cast.tenant_id, memory_id=memory_id, policy=MergePolicy())
    return [f"{one.memory_id}: {one.what}" for one in found]


def find_tampered(cast: Cast) -> list[str]:
    """Seal what was committed, and return what does not verify of the seals since the last crash."""
    witness = settings.HOME.root / "crash-witness"
    made = seal_ledger(tenant_id=cast.tenant_id, now=clock.now(), waits=True, witnesses=[witness])
    since = made[0].number - 1 if made else 0
    verified = verify_ledger(tenant_id=cast.tenant_id, now=clock.now(), since=since, witnesses=[witness])
    return [str(finding) for finding in verified.findings]


def crash(*, kills: int, loses: bool) -> dict[str, Any]:
    """Return what so many kills led to."""
    server = start_postgres(home=settings.HOME)
    try:
        setup_databases(verbosity=0, interactive=False, aliases={"owner": None}, serialized_aliases=[])
        database = connections["owner"].settings_dict["NAME"]
        assert database.startswith("test_")
        if loses:
            with connect_as_superuser(home=settings.HOME) as connection:
                connection.execute("ALTER ROLE memoryhub_app SET synchronous_commit = off")
        cast = make_cast()
        cast.caller.digest("warm")
        connections.close_all()
        writers = [start_writer(cast, which) for which in range(len(WRITERS))]
        dice = random.Random(kills)  # noqa: S311  a draw that can be repeated
        checked, lost, faults, longest, since = 0, 0, list[str](), 0.0, EARLY
        try:
            for _ in range(kills):
                wait_for_writes(writers)
                time.sleep(dice.uniform(0.0, 0.1))
                kill(server)
                for writer in writers:
                    writer.listen()
                begun = time.monotonic()
                server = start_postgres(home=settings.HOME)
                longest = max(longest, time.monotonic() - begun)
                connections.close_all()
                acknowledged = [event_id for writer in writers for event_id in writer.acknowledged]
                lost += count_lost(cast, acknowledged)
                checked += len(acknowledged)
                for writer in writers:
                    writer.acknowledged.clear()
                if not loses:
                    faults += find_half_done(cast, everything=False)
                    faults += find_changed(cast, since=since)
                    since = clock.now()
                    faults += find_tampered(cast)
                if faults or (loses and lost):
                    break
        finally:
            for writer in writers:
                os.kill(writer.pid, signal.SIGKILL)
                os.waitpid(writer.pid, 0)
        if not loses:
            finish()
            faults += find_half_done(cast, everything=True)
            faults += find_changed(cast, since=EARLY)
            assert_ledger_is_clean(cast.tenant_id)
        connections.close_all()
        return {"kills": kills, "acknowledged": checked, "lost": lost, "faults": faults, "longest_start": longest}
    finally:
        server.stop()


def wait_for_writes(writers: list[Writer]) -> None:
    """Wait until each writer that tells has told of something new."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for writer in writers:
            writer.listen()
        if all(writer.acknowledged for writer, (_, tells) in zip(writers, WRITERS, strict=True) if tells):
            return
        time.sleep(0.002)
    raise AssertionError("a writer is stuck")


def finish() -> None:
    """Let workers do all that is left, when every lease has run out."""
    now = clock.now() + AFTER_EVERY_LEASE
    until = now + LONG
    while now < until:
        while run_due_jobs(now=now) or relay_outbox(now=now):
            pass
        now += AFTER_EVERY_LEASE


def main(kills: str, *flags: str) -> None:
    """Crash so many times, and print what was found."""
    with claim_home(home=settings.HOME, address="crashes"):
        print(json.dumps(crash(kills=int(kills), loses="--lose" in flags)))  # noqa: T201  the answer
