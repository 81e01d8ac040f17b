"""T9: the stored state is what the record says. Replayed in the in-memory ledger, it is the same byte for byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from memoryhub.management.sample.facts import read_changes
from tests.conftest import ConnectAs
from tests.integration.histories import History, replay_ledger, write_tables
from tests.integration.test_t19_real_histories import (
    accept,
    build_house,
    read_queue,
    run_jobs,
    send,
)
from tests.ledger import assert_ledger_is_clean
from tests.promises import PromiseReport

SEED = 20261130


@pytest.mark.promise("T9")
def test_the_replayed_record_is_the_stored_state(
    at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    """Replay random histories twice each; every decision and every byte is the same."""
    histories, steps = at_scale(5, 20), at_scale(250, 1_000)
    done: Counter[str] = Counter()
    for seed in range(SEED, SEED + histories):
        history = History(seed=seed)
        history.grow(steps)
        stored = write_tables(tenant_id=history.tenant_id)
        for _ in range(2):
            replay = replay_ledger(tenant_id=history.tenant_id)
            assert replay.differing == [], f"seed {seed}"
            assert replay.ledger.write_canonical() == stored, f"seed {seed}"
        assert_ledger_is_clean(history.tenant_id)
        promise_report(count=replay.decisions, what="decisions replayed twice, byte-equal")
        done.update(history.done)
        done["echo"] += replay.echoes
    for action in (
        "ADD",
        "SUPERSEDE",
        "ATTACH_EVIDENCE",
        "NO_OP",
        "CONFLICT",
        "accept",
        "reject",
        "keep_conflict",
        "echo",
    ):
        assert done[action] > 0, f"no history came to {action}: {done}"


@pytest.mark.promise("T9")
def test_a_real_history_replays_too(at_scale: Callable[[int, int], int], promise_report: PromiseReport) -> None:
    """Replay years of real changes by people and a bot, with the rulings they led to."""
    house = build_house()
    send(house, read_changes()[: at_scale(500, 100_000)])
    run_jobs()
    for waiting in read_queue(house):
        accept(house, waiting)
    stored = write_tables(tenant_id=house.tenant_id)
    for _ in range(2):
        replay = replay_ledger(tenant_id=house.tenant_id)
        assert replay.differing == []
        assert replay.ledger.write_canonical() == stored
    promise_report(count=replay.decisions, what="decisions on real changes replayed twice, byte-equal")


@pytest.mark.promise("T9")
def test_a_state_that_does_not_follow_is_seen(connect_as: ConnectAs, promise_report: PromiseReport) -> None:
    """Change one stored byte at a time: the replay is no longer equal."""
    history = History(seed=SEED)
    history.grow(60)
    changes = (
        ("memory_heads", "confidence = confidence / 2"),
        ("memory_versions", "recorded_from = recorded_from - interval '1 microsecond'"),
        ("memory_versions", "replaced_digest = 'forged'"),
        ("conflict_sets", "opened_from = opened_from - interval '1 day'"),
    )
    for table, change in changes:
        with connect_as("owner") as owner:
            row = f"SELECT ctid FROM {table} WHERE tenant_id = '{history.tenant_id}'"
            if table == "conflict_sets":
                row += " AND state = 'open'"
            owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
            done = owner.execute(f"UPDATE {table} SET {change} WHERE ctid = ({row} LIMIT 1)".encode())
            assert done.rowcount == 1
            owner.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER".encode())
        replay = replay_ledger(tenant_id=history.tenant_id)
        assert replay.ledger.write_canonical() != write_tables(tenant_id=history.tenant_id)
        promise_report(count=1, what="forged rows seen")
