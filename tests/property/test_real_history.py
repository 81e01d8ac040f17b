"""Real changes of product lifecycles, in order and shuffled, decided by the shipped policy.

The data lies beside the repository; where it is missing a build fails, and elsewhere a run says so.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memoryhub.policy.ledger import MemoryLedger
from memoryhub.policy.merge import MergePolicy
from memoryhub.types.claims import Author, Claim, Ruling, SourceIdentity
from memoryhub.types.decision import CandidateFacts, Decision, PredicateFacts
from memoryhub.types.enums import (
    CandidateKind,
    EpistemicStatus,
    MemoryType,
    MergeAction,
    ScopeKind,
    Trust,
)
from memoryhub.types.temporal import AsOf, Period
from tests.promises import PromiseReport

FOLDER = Path(__file__).resolve().parents[3] / "shared/data/endoflife"
DATA = FOLDER / "sample_django_python_postgresql_nodejs.jsonl"
WHOLE = FOLDER / "endoflife_fact_history.jsonl.gz"
GROUP = frozenset({"maintainers"})
LOADED = datetime(2026, 9, 1, tzinfo=UTC)
TICK = timedelta(milliseconds=1)
Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Give the rows of four products in the order of their commits."""
    return read_rows(DATA)


@pytest.fixture(scope="module")
def all_rows() -> list[Row]:
    """Give the rows of all products in the order of their commits."""
    return read_rows(WHOLE)


def read_rows(path: Path) -> list[Row]:
    if not path.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("the lifecycle history is not here")
    raw = path.read_bytes()
    text = gzip.decompress(raw) if path.suffix == ".gz" else raw
    found = [json.loads(line) for line in text.decode().splitlines()]
    return [row | {"at": datetime.fromisoformat(row["recorded_at"])} for row in found]


def draw_rows(rows: list[Row], *, seed: int, count: int) -> list[Row]:
    return random.Random(seed).sample(rows, count)  # noqa: S311  a shuffle that can be repeated


def to_key(row: Row) -> str:
    return f"{row['product']}/{row['cycle']}/{row['field']}"


def to_digest(row: Row) -> str | None:
    return None if row["value"] is None else json.dumps(row["value"])


def to_candidate(row: Row) -> CandidateFacts:
    return CandidateFacts(
        claim=Claim(
            source=SourceIdentity("event", row["event_id"]),
            value_digest=to_digest(row),
            valid=Period(row["at"]),
            author=Author(row["actor"], 0, GROUP),
            roots=frozenset({row["event_id"]}),
            weight=0.95,
            observed_at=row["at"],
            source_seq=row["seq"],
            order_digest=row["event_id"],
        ),
        kind=CandidateKind.FACT,
        memory_type=MemoryType.SEMANTIC,
        epistemic_status=EpistemicStatus.OBSERVED,
        scope_kind=ScopeKind.PROJECT,
        trust=Trust.FIRST_PARTY,
        confidence=1.0,
    )


def open_ledger(rows: list[Row]) -> MemoryLedger:
    maintained = PredicateFacts(authority_group="maintainers")
    return MemoryLedger(policy=MergePolicy(), predicates=dict.fromkeys(map(to_key, rows), maintained))


def load(rows: list[Row]) -> tuple[MemoryLedger, dict[int, Decision], dict[str, Ruling]]:
    """Propose the rows one after another; whoever opens a conflict is ruled for at once."""
    ledger = open_ledger(rows)
    decisions: dict[int, Decision] = {}
    rulings: dict[str, Ruling] = {}
    ruled: Counter[str] = Counter()
    now = LOADED
    for row in rows:
        now += TICK
        key = to_key(row)
        decision = ledger.propose(key=key, candidate=to_candidate(row), now=now)
        decisions[row["seq"]] = decision
        conflict = decision.changes.conflict
        if decision.action is MergeAction.CONFLICT and conflict is not None:
            winner = SourceIdentity("event", row["event_id"])
            ruled[key] += 1
            rulings[key] = Ruling(
                key=f"ruling-{row['seq']}",
                settles=frozenset({conflict.standing, *conflict.members}),
                winner=winner,
                effective_from=None,
                sequence=ruled[key],
            )
            ledger.rule(key=key, ruling=rulings[key], now=now)
    return ledger, decisions, rulings


def read_state(ledger: MemoryLedger, valid_at: datetime) -> dict[str, str]:
    """Return what the ledger holds today for an instant, without what is absent."""
    state = {}
    for key in ledger.memories:
        part = ledger.find_part(key=key, as_of=AsOf(valid_at, LOADED + timedelta(days=1)))
        if part is not None and part.value_digest is not None:
            state[key] = part.value_digest
    return state


def replay_state(rows: list[Row], until: datetime) -> dict[str, str]:
    """Return what the commits up to an instant left behind."""
    state: dict[str, str | None] = {}
    for row in sorted(rows, key=lambda row: (row["at"], row["seq"])):
        if row["at"] <= until:
            state[to_key(row)] = to_digest(row)
    return {key: value for key, value in state.items() if value is not None}


def test_only_what_was_put_back_is_contested(rows: list[Row]) -> None:
    _, decisions, _ = load(rows)
    conflicts = [seq for seq, one in decisions.items() if one.action is MergeAction.CONFLICT]
    assert conflicts == [3939, 3940, 32061]
    assert {decisions[seq].reason for seq in conflicts} == {"put_back_in_contest_window"}
    counted = Counter(decision.action for decision in decisions.values())
    assert counted == {MergeAction.ADD: 472, MergeAction.SUPERSEDE: 1434, MergeAction.CONFLICT: 3}


def test_every_key_ends_as_the_newest_commit_left_it(rows: list[Row]) -> None:
    ledger, _, _ = load(rows)
    newest = {to_key(row): to_digest(row) for row in rows}  # the last commit of each key counts
    held = {key: memory.list_current()[-1].part for key, memory in ledger.memories.items()}
    assert len(held) == 472
    assert {key: part.value_digest for key, part in held.items()} == newest
    assert sum(value is not None for value in newest.values()) == 469


def test_every_past_commit_is_answered_as_it_was(rows: list[Row]) -> None:
    ledger, _, _ = load(rows)
    for row in draw_rows(rows, seed=19, count=100):
        assert read_state(ledger, row["at"]) == replay_state(rows, row["at"])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_shuffled_rows_end_in_the_same_state(rows: list[Row], seed: int) -> None:
    in_order, _, rulings = load(rows)
    shuffled = open_ledger(rows)
    now = LOADED
    for row in draw_rows(rows, seed=seed, count=len(rows)):
        now += TICK
        shuffled.propose(key=to_key(row), candidate=to_candidate(row), now=now)
    for key, ruling in rulings.items():
        shuffled.rule(key=key, ruling=ruling, now=now)
    assert shuffled.write_canonical(with_recorded=False) == in_order.write_canonical(with_recorded=False)


def test_rows_sent_twice_change_nothing(rows: list[Row]) -> None:
    ledger, _, _ = load(rows)
    before = ledger.write_canonical()
    for row in rows:
        again = ledger.propose(key=to_key(row), candidate=to_candidate(row), now=LOADED)
        assert (again.action, again.reason) == (MergeAction.NO_OP, "same_source")
    assert ledger.write_canonical() == before


def test_a_replay_is_byte_equal(rows: list[Row]) -> None:
    assert load(rows)[0].write_canonical() == load(rows)[0].write_canonical()


@pytest.mark.promise("T19")
def test_the_whole_history_ends_as_its_newest_commits_left_it(
    all_rows: list[Row], promise_report: PromiseReport
) -> None:
    """Replay all 78 products: no wrong head, and in the queue just what another person put back."""
    ledger, decisions, _ = load(all_rows)
    newest = {to_key(row): to_digest(row) for row in all_rows}
    held = {key: memory.list_current()[-1].part.value_digest for key, memory in ledger.memories.items()}
    assert held == newest
    assert (len(all_rows), len(held)) == (31_589, 8_309)
    queue = {seq for seq, decision in decisions.items() if decision.action is MergeAction.CONFLICT}
    assert queue == {row["seq"] for row in list_put_back_by_another(all_rows)}
    assert queue <= {row["seq"] for row in all_rows if row["contested_within_30d"]}
    for row in draw_rows(all_rows, seed=78, count=20):
        assert read_state(ledger, row["at"]) == replay_state(all_rows, row["at"])
    promise_report(count=len(all_rows), what="changes of 78 products decided, 0 wrong heads")
    promise_report(count=len(queue), what="values put back by another, each in the queue")


def list_put_back_by_another(rows: list[Row]) -> list[Row]:
    """Return the rows that restore what somebody else had replaced no more than 30 days before."""
    newest: dict[str, Row] = {}
    found = []
    for row in rows:
        before = newest.get(to_key(row))
        if (
            before is not None
            and (row["value"], row["old"]) == (before["old"], before["value"])
            and None not in (row["value"], row["old"])
            and row["actor"] != before["actor"]
            and row["at"] - before["at"] <= timedelta(days=30)
        ):
            found.append(row)
        newest[to_key(row)] = row
    return found
