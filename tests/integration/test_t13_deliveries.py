"""T13: the outbox is delivered at least once and in any order; what follows the heads equals them in the end.

Rows are told one to five times, in random batches, by several workers at once, while the heads still move.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all, fetch_records
from memoryhub.outbox.operations import settle_deliveries
from memoryhub.retrieval import operations
from memoryhub.retrieval.operations import index_memory
from memoryhub.types.enums import RevocationTarget
from memoryhub.usecases import relay
from memoryhub.usecases.revoke import revoke
from memoryhub.usecases.shift import Shift
from tests.acts import state_fact
from tests.cast import EARLY, Cast, make_cast
from tests.promises import PromiseReport

SEED = 20261130
MOST_TIMES = 5
WORKERS = 4
MEMORIES = 70
CHANGES = 10
COPIES = 5  # rows that tell of one change: the ledger of changes is small, the telling is not
SCOPE = ("project", "platform")
DAY = timedelta(days=1)


class Telling:
    """Hold the rows that are still to be told, how often each, and what was told in all."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.dice = random.Random(SEED)  # noqa: S311  a test that can be run again
        self.told = 0
        self.is_complete = False
        self._left: list[tuple[str, int]] = []
        self._known: set[str] = set()
        self._lock = threading.Lock()
        self._here = threading.local()

    def take_up_new_rows(self) -> None:
        """Let the rows that are new be told one to five times each, and so many copies of them."""
        with tenant_context(self.cast.tenant_id):
            rows = [row[0] for row in fetch_all(sql="SELECT id::text FROM outbox ORDER BY id", params=[])]
            fresh = [row for row in rows if row not in self._known]
            copies = fetch_all(
                sql="""
                    INSERT INTO outbox (id, tenant_id, topic, key, version, attempts, next_attempt_at, created_at,
                        last_error)
                    SELECT uuidv7(), tenant_id, topic, key, version, 0, next_attempt_at, created_at, ''
                    FROM outbox, generate_series(2, %s) WHERE id = ANY (%s::uuid[]) RETURNING id::text
                """,
                params=[COPIES, fresh],
            )
        fresh += [row[0] for row in copies]
        with self._lock:
            self._known.update(fresh)
            self._left += [(row, self.dice.randint(1, MOST_TIMES)) for row in fresh]

    def settle(self, **arguments: Any) -> Any:
        """Settle what is told for the last time; before that the worker dies just before it."""
        last = [one for one in arguments.pop("deliveries") if one.entry.id in self._here.last]
        return self._settle(deliveries=last, **arguments)

    _settle = staticmethod(settle_deliveries)

    def work(self) -> None:
        """Tell random batches until there is nothing left to tell."""
        shift = Shift(now=clock.now)
        try:
            while True:
                batch = self._draw()
                if batch is None:
                    return
                self._here.last = {row for row, times in batch if times == 1}
                relay.deliver_rows(tenant_id=self.cast.tenant_id, ids=[row for row, _ in batch], shift=shift)
        finally:
            connection.close()

    def _draw(self) -> list[tuple[str, int]] | None:
        with self._lock:
            if not self._left:
                return None if self.is_complete else []
            batch: dict[str, int] = {}
            for _ in range(min(self.dice.randint(1, 20), len(self._left))):
                place = self.dice.randrange(len(self._left))
                self._left[place], self._left[-1] = self._left[-1], self._left[place]
                row, times = self._left.pop()
                batch[row] = times
            self._left += [(row, times - 1) for row, times in batch.items() if times > 1]
            self.told += len(batch)
            return list(batch.items())


def tell_in_any_order(cast: Cast, monkeypatch: pytest.MonkeyPatch, *, memories: int, changes: int) -> Telling:
    """Write and revoke while workers tell of it, one to five times and in any order; returns when all is told."""
    telling = Telling(cast)
    monkeypatch.setattr(relay, "settle_deliveries", telling.settle)
    with ThreadPoolExecutor(WORKERS) as pool:
        working = [pool.submit(telling.work) for _ in range(WORKERS)]
        try:
            for number in range(changes):
                for cycle in range(memories):
                    at = EARLY + number * DAY
                    value = None if (number + cycle) % 7 == 6 else number
                    written = state_fact(cast, value=value, at=at, cycle=str(cycle))
                    if number == changes // 2 and cycle % 10 == 0:
                        take_back(cast, str(written.result.memory_id))
                telling.take_up_new_rows()
        finally:
            telling.is_complete = True
        for worker in working:
            worker.result()
    return telling


def take_back(cast: Cast, memory_id: str) -> None:
    """Revoke what a memory holds; what is said of it later may enter again."""
    revoke(
        caller=cast.person(cast.erin),
        scope=SCOPE,
        target=RevocationTarget.MEMORY,
        target_id=memory_id,
        reason="user_request",
        now=clock.now(),
    )


def list_documents(cast: Cast) -> dict[str, tuple[int, str]]:
    """Return applied version and terms of each document."""
    with tenant_context(cast.tenant_id, read_only=True):
        rows = fetch_all(sql="SELECT memory_id::text, applied_version, terms::text FROM search_documents", params=[])
    return {row[0]: (row[1], row[2]) for row in rows}


def find_faults(cast: Cast) -> list[str]:
    """Return where the index differs from one that is built anew from the heads."""
    held = list_documents(cast)
    with tenant_context(cast.tenant_id):
        heads = fetch_all(sql="SELECT id::text, version FROM memory_heads", params=[])
        waiting = fetch_all(sql="SELECT count(*) FROM outbox WHERE state <> 'delivered'", params=[])[0][0]
        fetch_all(sql="DELETE FROM search_documents", params=[])
        for memory_id, _ in heads:
            index_memory(tenant_id=cast.tenant_id, memory_id=memory_id, now=clock.now())
    built = list_documents(cast)
    faults = [f"{waiting} rows are not delivered"] if waiting else []
    faults += [f"{one} is in the index and must not be" for one in held.keys() - built.keys()]
    for memory_id, version in heads:
        if memory_id in built and built[memory_id][0] != version:
            faults.append(f"{memory_id}: the head is at {version}, an index built now at {built[memory_id][0]}")
        if memory_id in built and held.get(memory_id) != built[memory_id]:
            faults.append(f"{memory_id}: {held.get(memory_id, ('away',))[0]} is indexed, {version} is the head")
    return faults


@pytest.fixture
def cast(monkeypatch: pytest.MonkeyPatch) -> Cast:
    """A tenant of its own, and the search as the only consumer."""
    monkeypatch.setattr(relay, "CONSUMERS", {"search": index_memory})
    return make_cast()


@pytest.mark.promise("T13")
def test_the_index_equals_the_heads(
    cast: Cast,
    monkeypatch: pytest.MonkeyPatch,
    at_scale: Callable[[int, int], int],
    promise_report: PromiseReport,
) -> None:
    wanted = at_scale(10_000, 10_000)
    telling = tell_in_any_order(cast, monkeypatch, memories=MEMORIES, changes=CHANGES)
    assert find_faults(cast) == []
    assert telling.told >= wanted
    promise_report(count=telling.told, what="deliveries")
    promise_report(count=MEMORIES, what="memories whose document equals the head")


def believe_the_row(*, tenant_id: str, memory_id: str, version: int, now: datetime) -> None:
    """Index what a row tells of, as if rows came once and in order: no look at the head, no look at the document."""
    fetch_all(
        sql="""
            INSERT INTO search_documents (id, tenant_id, memory_id, scope_id, applied_version, terms, updated_at)
            SELECT uuidv7(), held.tenant_id, held.memory_id, held.scope_id, held.version,
                to_tsvector('simple', string_agg(held.content, ' ')), %s
            FROM memory_versions held WHERE held.tenant_id = %s AND held.memory_id = %s AND held.version = %s
            GROUP BY held.tenant_id, held.memory_id, held.scope_id, held.version
            ON CONFLICT ON CONSTRAINT search_documents_one_a_memory DO UPDATE SET
                applied_version = excluded.applied_version, terms = excluded.terms, updated_at = excluded.updated_at
        """,
        params=[now, tenant_id, memory_id, version],
    )


@pytest.mark.promise("T13")
def test_a_consumer_that_believes_the_row_ends_with_another_index(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, promise_report: PromiseReport
) -> None:
    """The twin: without the look at head and document, what came last wins."""
    monkeypatch.setattr(relay, "CONSUMERS", {"search": believe_the_row})
    telling = tell_in_any_order(cast, monkeypatch, memories=12, changes=6)
    stale = [fault for fault in find_faults(cast) if "is indexed" in fault]
    assert telling.told > 100
    assert stale, "the twin is to fail"
    promise_report(count=len(stale), what="stale documents in the twin that believes the row")


# --- Two deliveries of one memory at the same time ------------------------------------------------

NEWER_STAYS = "WHERE search_documents.applied_version <= excluded.applied_version"
NEWER_IS_NOT_DELETED = "AND applied_version <= %s"


def index_late(cast: Cast, memory_id: str, monkeypatch: pytest.MonkeyPatch, *, meanwhile: Callable[[], object]) -> None:
    """Read a memory's head, let other things happen, and only then write its document."""
    has_read, may_go = threading.Event(), threading.Event()

    def read_and_wait(**arguments: Any) -> Any:
        rows = fetch_records(**arguments)
        if threading.current_thread() is slow:
            has_read.set()
            assert may_go.wait(30)
        return rows

    def work() -> None:
        try:
            with tenant_context(cast.tenant_id):
                index_memory(tenant_id=cast.tenant_id, memory_id=memory_id, now=clock.now())
        finally:
            connection.close()

    slow = threading.Thread(target=work)
    monkeypatch.setattr(operations, "fetch_records", read_and_wait)
    slow.start()
    assert has_read.wait(30)
    meanwhile()
    may_go.set()
    slow.join(30)
    monkeypatch.setattr(operations, "fetch_records", fetch_records)


def drop_guard(monkeypatch: pytest.MonkeyPatch, guard: str, instead: str) -> None:
    """Take a guard out of the SQL of the index."""

    def ask_without(*, sql: str, params: Any) -> Any:
        return fetch_all(sql=sql.replace(guard, instead), params=params)

    monkeypatch.setattr(operations, "fetch_all", ask_without)


def overtake(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> int:
    """Let the delivery of version 1 end after that of version 2; returns the version in the index."""
    memory_id = str(state_fact(cast, value=1).result.memory_id)

    def go_on() -> None:
        state_fact(cast, value=2, at=EARLY + DAY)
        with tenant_context(cast.tenant_id):
            index_memory(tenant_id=cast.tenant_id, memory_id=memory_id, now=clock.now())

    index_late(cast, memory_id, monkeypatch, meanwhile=go_on)
    return list_documents(cast)[memory_id][0]


def overtake_a_deletion(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[int, str]]:
    """Let the delivery of a head without words end after that of the words that came next."""
    memory_id = str(state_fact(cast, value=1).result.memory_id)
    take_back(cast, memory_id)

    def go_on() -> None:
        written = state_fact(cast, value=2, at=EARLY + DAY)
        assert str(written.result.memory_id) == memory_id
        with tenant_context(cast.tenant_id):
            assert index_memory(tenant_id=cast.tenant_id, memory_id=memory_id, now=clock.now())

    index_late(cast, memory_id, monkeypatch, meanwhile=go_on)
    return list_documents(cast)


@pytest.mark.promise("T13")
def test_a_delivery_that_was_overtaken_leaves_the_newer_document(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, promise_report: PromiseReport
) -> None:
    assert overtake(cast, monkeypatch) == 2
    promise_report(count=1, what="overtaken delivery")


@pytest.mark.promise("T13")
def test_without_its_comparison_an_overtaken_delivery_puts_the_older_one_back(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, promise_report: PromiseReport
) -> None:
    drop_guard(monkeypatch, NEWER_STAYS, "")
    assert overtake(cast, monkeypatch) == 1, "the twin is to fail"
    promise_report(count=1, what="older document in the twin without the comparison")


@pytest.mark.promise("T13")
def test_a_deletion_that_was_overtaken_leaves_the_newer_document(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, promise_report: PromiseReport
) -> None:
    assert len(overtake_a_deletion(cast, monkeypatch)) == 1
    promise_report(count=1, what="overtaken deletion")


@pytest.mark.promise("T13")
def test_without_its_comparison_an_overtaken_deletion_takes_the_newer_one_along(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, promise_report: PromiseReport
) -> None:
    drop_guard(monkeypatch, NEWER_IS_NOT_DELETED, "AND %s > 0")
    assert overtake_a_deletion(cast, monkeypatch) == {}, "the twin is to fail"
    promise_report(count=1, what="lost document in the twin without the comparison")
