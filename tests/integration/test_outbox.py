"""The outbox: each consumer is told by itself, what fails comes back with pauses, and what keeps failing waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import StoreFailure, fetch_all
from memoryhub.outbox.operations import (
    LEASE,
    MAX_ATTEMPTS,
    Claimed,
    claim_outbox,
    pause_before_retry,
    settle_deliveries,
)
from memoryhub.retrieval.operations import index_memory
from memoryhub.retrieval.queries import has_caught_up
from memoryhub.usecases import relay
from memoryhub.usecases.relay import deliver_rows, relay_outbox
from memoryhub.usecases.shift import Shift, find_last_turn
from tests.acts import state_fact
from tests.cast import EARLY, Cast, make_cast

DAY = timedelta(days=1)


def ask(cast: Cast, sql: str, *params: Any) -> list[Any]:
    """Read something of the tenant."""
    with tenant_context(cast.tenant_id, read_only=True):
        return fetch_all(sql=sql, params=params)


def list_rows(cast: Cast) -> list[Any]:
    """Return state, attempts, who has it and the failure of the tenant's rows."""
    return ask(cast, "SELECT state, attempts, told_to, last_error FROM outbox ORDER BY id")


def list_documents(cast: Cast) -> dict[str, int]:
    """Return which version of each memory can be found."""
    return dict(ask(cast, "SELECT memory_id::text, applied_version FROM search_documents"))


def relay_all(*, now: datetime) -> Counter[str]:
    """Deliver until nothing is due."""
    seen: Counter[str] = Counter()
    while ended := relay_outbox(now=now):
        seen.update(ended)
    return seen


def deliver_others() -> None:
    """Deliver what other tests left behind, also where their clocks went ahead."""
    relay_all(now=clock.now() + DAY)


def claim_of(cast: Cast, *, now: datetime) -> list[Claimed]:
    """Claim everything that is due, and return what is of this tenant."""
    return [one for one in claim_outbox(limit=2_000, now=now) if one.tenant_id == cast.tenant_id]


class Failing:
    """A consumer that fails a number of times, or always, and counts how often it was told."""

    def __init__(self, times: float = float("inf")) -> None:
        self.times = times
        self.told: list[str] = []

    def __call__(self, *, tenant_id: str, memory_id: str, version: int, now: datetime) -> None:  # noqa: ARG002
        self.told.append(memory_id)
        if len(self.told) <= self.times:
            message = "words that must not be kept"
            raise LookupError(message)


@pytest.fixture
def consume(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let these be the consumers."""

    def choose(**consumers: relay.Consumer) -> None:
        monkeypatch.setattr(relay, "CONSUMERS", consumers)

    return choose


@pytest.mark.parametrize("order", [("broken", "search"), ("search", "broken")])
def test_a_consumer_that_fails_neither_blocks_nor_repeats_the_others(
    order: tuple[str, str], consume: Callable[..., None]
) -> None:
    deliver_others()
    broken, indexed = Failing(times=1), []

    def search(**told: Any) -> None:
        indexed.append(told["memory_id"])
        index_memory(**told)

    consume(**{name: {"broken": broken, "search": search}[name] for name in order})
    cast = make_cast()
    memory_id = str(state_fact(cast, value=1).result.memory_id)
    now = clock.now()
    assert relay_all(now=now) == {"waiting": 1}
    assert list_rows(cast) == [("waiting", 1, ["search"], "broken:LookupError")]
    assert list_documents(cast) == {memory_id: 1}
    assert relay_all(now=now) == {}, "it comes back after its pause"
    assert relay_all(now=now + timedelta(seconds=3)) == {"delivered": 1}
    assert list_rows(cast) == [("delivered", 2, ["broken", "search"], "")]
    assert indexed == [memory_id]
    assert broken.told == [memory_id, memory_id]


def test_a_read_waits_for_the_search_alone(consume: Callable[..., None]) -> None:
    consume(search=index_memory, broken=Failing())
    cast = make_cast()
    memory_id = str(state_fact(cast, value=1).result.memory_id)

    def has() -> bool:
        with tenant_context(cast.tenant_id, read_only=True):
            return has_caught_up(tenant_id=cast.tenant_id, memory_id=memory_id, version=1)

    assert not has()
    relay_all(now=clock.now())
    assert list_rows(cast)[0][0] == "waiting"
    assert has()


def test_a_search_that_failed_for_good_has_not_caught_up(consume: Callable[..., None]) -> None:
    consume(search=Failing())
    cast = make_cast()
    memory_id = str(state_fact(cast, value=1).result.memory_id)
    now = clock.now()
    while relay_all(now=now):
        now += timedelta(minutes=20)
    assert list_rows(cast)[0][0] == "dead"
    with tenant_context(cast.tenant_id, read_only=True):
        assert not has_caught_up(tenant_id=cast.tenant_id, memory_id=memory_id, version=1)


def test_what_keeps_failing_waits_for_a_person(consume: Callable[..., None]) -> None:
    deliver_others()
    broken = Failing()
    consume(search=index_memory, broken=broken)
    cast = make_cast()
    state_fact(cast, value=1)
    now, pauses = clock.now(), []
    for attempt in range(1, MAX_ATTEMPTS):
        assert relay_all(now=now) == {"waiting": 1}
        assert list_rows(cast) == [("waiting", attempt, ["search"], "broken:LookupError")]
        due = ask(cast, "SELECT next_attempt_at FROM outbox")[0][0]
        pauses.append(due - now)
        assert relay_all(now=due - timedelta(milliseconds=1)) == {}
        now = due
    assert relay_all(now=now) == {"dead": 1}
    assert list_rows(cast) == [("dead", MAX_ATTEMPTS, ["search"], "broken:LookupError")]
    assert pauses == sorted(pauses)
    assert pauses[0] >= timedelta(seconds=1.5)
    assert pauses[-1] >= timedelta(seconds=96)
    assert relay_all(now=now + 30 * DAY) == {}
    assert len(broken.told) == MAX_ATTEMPTS


def test_pauses_double_and_no_two_rows_wait_alike() -> None:
    ids = [f"00000000-0000-0000-0000-{number * 65537:012x}" for number in range(256)]
    for attempts, base in ((1, 2.0), (3, 8.0), (8, 256.0), (30, 600.0)):
        pauses = [pause_before_retry(row_id=row_id, attempts=attempts).total_seconds() for row_id in ids]
        assert len(set(pauses)) == len(ids)
        assert 0.75 * base <= min(pauses) < 0.8 * base
        assert 1.2 * base < max(pauses) <= 1.25 * base


def test_consumers_do_not_wait_for_the_disk_and_the_settlement_does(
    consume: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver_others()
    seen: list[str] = []

    def look(**_: Any) -> None:
        seen.append(fetch_all(sql="SHOW synchronous_commit", params=[])[0][0])

    def settle(**told: Any) -> Any:
        look()
        return settle_deliveries(**told)

    monkeypatch.setattr(relay, "settle_deliveries", settle)
    consume(one=look, other=look)
    state_fact(make_cast(), value=1)
    relay_all(now=clock.now())
    assert seen == ["off", "off", "on"]


def test_one_memory_that_fails_holds_up_no_other(consume: Callable[..., None]) -> None:
    cast = make_cast()
    good, bad = (str(state_fact(cast, value=1, cycle=cycle).result.memory_id) for cycle in "ab")

    def search(**told: Any) -> None:
        if told["memory_id"] == bad:
            raise LookupError
        index_memory(**told)

    consume(search=search)
    relay_all(now=clock.now())
    assert list_documents(cast) == {good: 1}
    assert sorted(row[0] for row in list_rows(cast)) == ["delivered", "waiting"]


def test_a_database_that_is_away_is_no_failure_of_the_row(consume: Callable[..., None]) -> None:
    def search(**_: Any) -> None:
        raise StoreFailure

    deliver_others()
    cast = make_cast()
    memory_id = str(state_fact(cast, value=1).result.memory_id)
    now = clock.now()
    consume(search=search)
    with pytest.raises(StoreFailure):
        relay_outbox(now=now)
    assert list_rows(cast) == [("waiting", 1, [], "")]
    consume(search=index_memory)
    assert relay_all(now=now) == {}, "it is held until its lease has run out"
    relay_all(now=now + LEASE)
    assert list_documents(cast) == {memory_id: 1}


class WorkerDied(BaseException):
    """Stand for the end of a process in the middle of its work."""


def test_a_row_that_takes_its_worker_with_it_is_given_up(consume: Callable[..., None]) -> None:
    def die(**_: Any) -> None:
        raise WorkerDied

    deliver_others()
    cast = make_cast()
    state_fact(cast, value=1)
    consume(search=die)
    now = clock.now()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        with pytest.raises(WorkerDied):
            relay_outbox(now=now)
        assert list_rows(cast) == [("waiting", attempt, [], "")]
        now += LEASE + timedelta(seconds=1)
    assert relay_outbox(now=now) == {}
    assert list_rows(cast) == [("dead", MAX_ATTEMPTS, [], "LeaseExpired")]


def test_a_row_claimed_beside_a_killer_is_not_given_up_for_it() -> None:
    cast = make_cast()
    memory_id = str(state_fact(cast, value=1).result.memory_id)
    now = clock.now()
    for _ in range(MAX_ATTEMPTS + 3):
        assert len(claim_of(cast, now=now)) == 1
        now += LEASE + timedelta(seconds=1)
    assert list_rows(cast) == [("waiting", 1, [], "")]
    relay_all(now=now)
    assert list_documents(cast) == {memory_id: 1}


def test_a_shift_that_ends_hands_back_what_it_had_not_begun() -> None:
    deliver_others()
    cast = make_cast()
    for cycle in "abc":
        state_fact(cast, value=1, cycle=cycle)
    now = clock.now()
    turns = iter([True, False])
    ended = relay_outbox(now=now, shift=Shift(now=lambda: now, goes_on=lambda: next(turns, False)))
    assert ended == {"delivered": 1, "waiting": 2}
    assert sorted(list_rows(cast)) == [("delivered", 1, sorted(relay.CONSUMERS), ""), *[("waiting", 0, [], "")] * 2]
    assert relay_all(now=now) == {"delivered": 2}, "what is handed back is due at once"


def test_several_rows_of_a_memory_are_told_once(consume: Callable[..., None]) -> None:
    deliver_others()
    told: list[tuple[str, int]] = []
    consume(search=lambda **one: told.append((one["memory_id"], one["version"])))
    cast = make_cast()
    for number in range(4):
        memory_id = str(state_fact(cast, value=number, at=EARLY + number * DAY).result.memory_id)
    assert relay_all(now=clock.now()) == {"delivered": 4}
    assert told == [(memory_id, 4)]


def test_a_version_that_the_index_has_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Late and doubled rows cost one look at the document, and do not touch it."""
    cast = make_cast()
    for number in range(3):
        memory_id = str(state_fact(cast, value=number, at=EARLY + number * DAY).result.memory_id)
    rows = [row[0] for row in ask(cast, "SELECT id::text FROM outbox ORDER BY id")]
    shift = Shift(now=clock.now)
    assert deliver_rows(tenant_id=cast.tenant_id, ids=rows[2:], shift=shift) == {"delivered": 1}
    touched = ask(cast, "SELECT updated_at FROM search_documents")
    monkeypatch.setattr("memoryhub.retrieval.operations.write_vector", None)
    assert deliver_rows(tenant_id=cast.tenant_id, ids=rows[:2], shift=shift) == {"delivered": 2}
    assert list_documents(cast) == {memory_id: 3}
    assert ask(cast, "SELECT updated_at FROM search_documents") == touched


def test_a_tenant_with_a_long_queue_keeps_nobody_waiting() -> None:
    deliver_others()
    busy, quiet = make_cast(), make_cast()
    for number in range(30):
        state_fact(busy, value=1, cycle=str(number))
    state_fact(quiet, value=1)
    claimed = claim_outbox(limit=4, now=clock.now())
    assert Counter(one.tenant_id for one in claimed) == {busy.tenant_id: 3, quiet.tenant_id: 1}
    relay_all(now=clock.now() + 2 * LEASE)


def test_more_tenants_than_rows_are_asked_for_all_come_to_their_turn() -> None:
    deliver_others()
    casts = [make_cast() for _ in range(5)]
    for cast in casts:
        for cycle in "abcd":
            state_fact(cast, value=1, cycle=cycle)
    now, shift, seen = clock.now(), Shift(now=clock.now), []
    for _ in range(5):
        claimed = claim_outbox(limit=2, now=now, after=shift.after)
        shift.after = find_last_turn(claims=claimed, after=shift.after)
        seen += [one.tenant_id for one in claimed]
    assert Counter(seen) == {cast.tenant_id: 2 for cast in casts}
    relay_all(now=now + 2 * LEASE)
