"""T19: real changes of product lifecycles, sent as agents send them and decided by production's use cases.

The changes are the sample's own. The state they must end in stands in the history they were taken from, beside the
repository; where that is missing a build fails, and elsewhere the sample's own last lines take its place, and the
run says so.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pytest_django import DjangoDbBlocker

from memoryhub.access import operations
from memoryhub.access.callers import RELAY_USER, Caller, authenticate_token, describe_person
from memoryhub.access.models import Principal, PrincipalKind, Tenant
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.management.sample.facts import BOT, FIELDS, Change, name_maintainer, read_changes
from memoryhub.memory.models import Predicate
from memoryhub.memory.queries import find_part
from memoryhub.types.temporal import AsOf
from memoryhub.usecases.ingest import MAX_BATCH, EventInput, ingest_events
from memoryhub.usecases.propose import CandidateInput, EvidenceInput, propose_candidate
from memoryhub.usecases.review import Resolution, Verb, resolve_review
from memoryhub.usecases.run_jobs import run_due_jobs
from memoryhub.usecases.write_memory import write_memory
from tests.ledger import assert_ledger_is_clean
from tests.promises import PromiseReport

pytestmark = pytest.mark.promise("T19")

FOLDER = Path(__file__).resolve().parents[3] / "shared/data/endoflife"
HISTORY = FOLDER / "sample_django_python_postgresql_nodejs.jsonl"
WHOLE = FOLDER / "endoflife_fact_history.jsonl.gz"
SCOPE = ("project", "endoflife")
RIGHTS = ("view_memory", "ingest_event", "propose_memory")
CONTESTED = {3939, 3940, 32061}
PEOPLE = 26
SEED = 19
Key = tuple[str, str, str]
State = dict[Key, Any]


@dataclass(frozen=True, slots=True)
class House:
    """Hold an empty tenant whose maintainers are the people and the bot behind the changes."""

    tenant: Tenant
    prefix: str
    relay: Caller
    bot: Caller
    reviewer: Caller

    @property
    def tenant_id(self) -> str:
        """The id of the tenant."""
        return str(self.tenant.pk)

    def sender(self, change: Change) -> Caller:
        """Return who sends a change: the bot its own, the relay what a person did."""
        return self.bot if change.author == BOT else self.relay

    def event(self, change: Change) -> EventInput:
        """Return a change as its sender reports it."""
        return EventInput(
            event_id=change.event_id,
            scope=SCOPE,
            source_type="commit",
            occurred_at=change.time,
            payload={"text": change.statement},
            actor=None if change.author == BOT else self.prefix + change.author,
            source_seq=change.seq,
        )

    def proposal(self, change: Change) -> CandidateInput:
        """Return what the sender proposes to remember of a change."""
        return CandidateInput(
            scope=SCOPE,
            subject=change.subject,
            fact_key=change.fact_key,
            content=change.statement,
            value=change.value,
            conditions=dict(change.conditions),
            evidence=(EvidenceInput(change.event_id),),
        )


@dataclass(frozen=True, slots=True)
class Waiting:
    """Hold one open item of the conflict queue, and which change it is about."""

    item_id: str
    seq: int
    memory_version: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """Hold a tenant after every change was decided and every conflict ruled on."""

    house: House
    queue: list[Waiting]
    actions: Counter[str]


@pytest.fixture(scope="module")
def changes() -> list[Change]:
    return read_changes()


@pytest.fixture(scope="module")
def in_order(changes: list[Change], django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Loaded]:  # noqa: ARG001 - it makes the database
    """Load every change in the order of its source; the tests below look at it."""
    with django_db_blocker.unblock():
        yield load(changes)


@pytest.fixture(scope="module")
def newest(changes: list[Change]) -> State:
    """Give the newest state that the history itself states."""
    if not HISTORY.exists():
        if os.environ.get("CI"):
            pytest.fail("the history that the sample was taken from is not here")
        warnings.warn("the history is not here: compared with the sample alone", UserWarning, stacklevel=1)
        return {to_key(change): change.value for change in changes}
    rows = [json.loads(line) for line in HISTORY.read_text(encoding="utf-8").splitlines()]
    return {(row["product"], row["cycle"], row["field"]): row["value"] for row in rows}


def build_house(*, people: int = PEOPLE) -> House:
    now = clock.now()
    slug = f"t19-{new_id().hex[-10:]}"
    tenant = operations.create_tenant(slug=slug, name="Lifecycles", now=now)

    def know(name: str, kind: PrincipalKind = PrincipalKind.HUMAN) -> Principal:
        return operations.create_principal(tenant=tenant, username=f"{slug}-{name}", display_name=name, kind=kind)

    bot, relay = know(BOT, PrincipalKind.SERVICE), know("planner", PrincipalKind.AGENT)
    reviewer = know("mei")
    for author in (bot, *(know(name_maintainer(number)) for number in range(1, people + 1))):
        operations.join_group(tenant=tenant, principal=author, role="maintainers")
    with tenant_context(tenant.pk):
        scope = operations.create_scope(tenant=tenant, kind=SCOPE[0], key=SCOPE[1], name="", owner=None, now=now)
        operations.declare_entity_type(tenant=tenant, name="product")
        for name in FIELDS:
            Predicate.objects.create(tenant=tenant, fact_key=f"release.{name}", authority_group=f"{slug}/maintainers")
        for sender in (bot, relay):
            operations.grant_rights(scope=scope, principal=sender, rights=RIGHTS)
        operations.grant_rights(scope=scope, principal=reviewer, rights=("view_memory", "review_memory"))

    def call(principal: Principal, *actions: str) -> Caller:
        secret = operations.issue_token(principal=principal, name="t19", actions=(*RIGHTS, *actions), now=now)
        caller = authenticate_token(secret=secret, now=now)
        assert caller is not None
        return caller

    return House(
        tenant=tenant,
        prefix=f"{slug}-",
        relay=call(relay, RELAY_USER),
        bot=call(bot),
        reviewer=describe_person(principal=reviewer),
    )


def load(changes: Sequence[Change]) -> Loaded:
    """Send the changes in the order given, let the jobs run, then rule as the later history shows."""
    house = build_house()
    assert send(house, changes) == {"accepted": len(changes), "proposed": len(changes)}
    run_jobs()
    assert count_jobs(house) == {"succeeded": len(changes)}
    queue, actions = read_queue(house), count_actions(house)
    for waiting in queue:
        accept(house, waiting)
    assert read_queue(house) == []
    return Loaded(house=house, queue=queue, actions=actions)


def send(house: House, changes: Sequence[Change]) -> Counter[str]:
    """Send each change as an event, and propose it; counts what became of both."""
    counted: Counter[str] = Counter()
    for sender in (house.relay, house.bot):
        events = [house.event(change) for change in changes if house.sender(change) is sender]
        for start in range(0, len(events), MAX_BATCH):
            batch = events[start : start + MAX_BATCH]
            results = ingest_events(caller=sender, events=batch, now=clock.now())
            counted.update(result.outcome for result in results)
    for change in changes:
        proposed = propose_candidate(caller=house.sender(change), proposal=house.proposal(change), now=clock.now())
        counted["known" if proposed.is_replay else "proposed"] += 1
    return counted


def run_jobs() -> None:
    """Do what is due until nothing is, whoever asked for it."""
    while run_due_jobs(now=clock.now()):
        pass


def count_jobs(house: House) -> dict[str, int]:
    """Return how many jobs of this tenant stand in which state."""
    sql = "SELECT state, count(*) FROM processing_jobs WHERE tenant_id = %(tenant)s GROUP BY state"
    return dict(ask(house, sql))


def ask(house: House, sql: str, **params: Any) -> list[tuple[Any, ...]]:
    """Read in one go; the tenant is new, so the planner would expect one row of it and nest loops over thousands."""
    with tenant_context(house.tenant_id, read_only=True):
        fetch_all(sql="SELECT set_config('enable_nestloop', 'off', true)", params=[])
        return fetch_all(sql=sql, params={"tenant": house.tenant_id, **params})


def read_queue(house: House) -> list[Waiting]:
    rows = ask(
        house,
        """
        SELECT item.id::text, event.source_seq, head.version
        FROM review_items item
        JOIN memory_heads head ON head.tenant_id = item.tenant_id AND head.id = item.memory_id
        JOIN memory_candidates candidate ON candidate.tenant_id = item.tenant_id AND candidate.id = item.candidate_id
        JOIN source_events event ON event.tenant_id = item.tenant_id AND event.id = candidate.source_event_id
        WHERE item.tenant_id = %(tenant)s AND item.state = 'open' ORDER BY event.source_seq
        """,
    )
    return [Waiting(*row) for row in rows]


def accept(house: House, waiting: Waiting) -> None:
    resolve_review(
        caller=house.reviewer,
        resolution=Resolution(item_id=waiting.item_id, verb=Verb.ACCEPT, expected_version=waiting.memory_version),
        now=clock.now(),
    )


def count_actions(house: House) -> Counter[str]:
    return Counter(row[0] for row in ask(house, "SELECT action FROM merge_decisions WHERE tenant_id = %(tenant)s"))


def read_state(house: House, valid_at: datetime) -> State:
    """Return what is held today for an instant; a key whose fact is absent is in it with None."""
    rows = ask(
        house,
        """
        SELECT subject.label, head.conditions->>'cycle', head.fact_key, held.value::text
        FROM memory_heads head
        JOIN subjects subject ON subject.tenant_id = head.tenant_id AND subject.id = head.subject_id
        JOIN memory_versions held ON held.tenant_id = head.tenant_id AND held.memory_id = head.id
        WHERE head.tenant_id = %(tenant)s AND held.recorded_to IS NULL
          AND held.valid_from <= %(at)s AND (held.valid_to IS NULL OR %(at)s < held.valid_to)
        """,
        at=valid_at,
    )
    found = {
        (label.removeprefix("product:"), cycle, key.removeprefix("release.")): None
        if value is None
        else json.loads(value)
        for label, cycle, key, value in rows
    }
    assert len(found) == len(rows), "two parts of one memory hold at one instant"
    return found


def read_parts(house: House) -> dict[tuple[Any, ...], int]:
    """Return every part that is recorded as holding, with what is the same in every tenant of the same changes."""
    rows = ask(
        house,
        """
        SELECT subject.label, head.conditions->>'cycle', head.fact_key, head.has_open_conflict,
            head.modality, held.value::text, held.is_absent, held.valid_from, held.valid_to, opener.source_seq
        FROM memory_heads head
        JOIN subjects subject ON subject.tenant_id = head.tenant_id AND subject.id = head.subject_id
        JOIN memory_versions held ON held.tenant_id = head.tenant_id AND held.memory_id = head.id
        JOIN memory_candidates candidate ON candidate.tenant_id = held.tenant_id AND candidate.id = held.candidate_id
        JOIN source_events opener
            ON opener.tenant_id = held.tenant_id AND opener.id = candidate.source_event_id
        WHERE head.tenant_id = %(tenant)s AND held.recorded_to IS NULL
        """,
    )
    return Counter(rows)


def read_versions(house: House) -> dict[str, int]:
    return dict(ask(house, "SELECT id::text, version FROM memory_heads WHERE tenant_id = %(tenant)s"))


def to_key(change: Change) -> Key:
    return (change.product, change.cycle, change.field)


def to_memory_key(subject: str, cycle: str, fact_key: str) -> Key:
    return (subject.removeprefix("product:"), cycle, fact_key.removeprefix("release."))


def replay(changes: Sequence[Change], until: datetime) -> State:
    """Return what the commits up to an instant left behind."""
    made = sorted((change for change in changes if change.time <= until), key=lambda change: (change.time, change.seq))
    return {to_key(change): change.value for change in made}


def test_only_what_was_put_back_waits_for_a_person(
    in_order: Loaded, changes: list[Change], promise_report: PromiseReport
) -> None:
    assert {waiting.seq for waiting in in_order.queue} == CONTESTED
    assert len(in_order.queue) <= 0.01 * len(changes)
    assert in_order.actions["ADD"] == len({to_key(change) for change in changes}) == 472
    assert in_order.actions.total() == len(changes) == 1909
    promise_report(count=len(changes), what="real changes decided")
    promise_report(count=len(in_order.queue), what="conflicts, each one in the queue")


def test_every_key_ends_as_its_newest_change_left_it(
    in_order: Loaded, newest: State, promise_report: PromiseReport
) -> None:
    held = read_state(in_order.house, clock.now())
    assert held == newest
    assert len(held) == 472
    assert sum(value is not None for value in held.values()) == 469
    promise_report(count=len(held), what="keys right")


def test_every_past_commit_is_answered_as_it_was(
    in_order: Loaded, changes: list[Change], promise_report: PromiseReport
) -> None:
    house, today = in_order.house, clock.now()
    memories = {
        to_memory_key(label, cycle, key): memory
        for label, cycle, key, memory in ask(
            house,
            """
            SELECT subject.label, head.conditions->>'cycle', head.fact_key, head.id::text
            FROM memory_heads head
            JOIN subjects subject ON subject.tenant_id = head.tenant_id AND subject.id = head.subject_id
            WHERE head.tenant_id = %(tenant)s
            """,
        )
    }
    print(f"seed {SEED}")  # noqa: T201 - a failure can be repeated
    answers = 0
    for commit in random.Random(SEED).sample(changes, 100):  # noqa: S311 - a draw that can be repeated
        then = replay(changes, commit.time)
        assert read_state(house, commit.time) == then
        with tenant_context(house.tenant_id, read_only=True):
            part = find_part(
                tenant_id=house.tenant_id, memory_id=memories[to_key(commit)], as_of=AsOf(commit.time, today)
            )
        assert part is not None
        assert (part.value, part.is_absent) == (then[to_key(commit)], then[to_key(commit)] is None)
        answers += len(then)
    promise_report(count=answers, what="as-of answers right at 100 commits")


def test_rows_sent_twice_change_nothing(in_order: Loaded, changes: list[Change], promise_report: PromiseReport) -> None:
    house = in_order.house
    before = read_versions(house), read_parts(house), count_actions(house)
    assert send(house, changes) == {"replayed": len(changes), "known": len(changes)}
    run_jobs()
    assert count_jobs(house) == {"succeeded": len(changes)}
    assert (read_versions(house), read_parts(house), count_actions(house)) == before
    promise_report(count=len(changes), what="changes sent again without effect")


def test_the_tables_are_what_the_evidence_derives_to(in_order: Loaded, promise_report: PromiseReport) -> None:
    assert_ledger_is_clean(in_order.house.tenant_id)
    promise_report(count=len(read_versions(in_order.house)), what="memories derived again")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_shuffled_changes_end_in_the_same_state(
    in_order: Loaded, changes: list[Change], seed: int, promise_report: PromiseReport
) -> None:
    shuffled = load(random.Random(seed).sample(changes, len(changes)))  # noqa: S311 - it can be repeated
    assert {waiting.seq for waiting in shuffled.queue} == CONTESTED
    assert read_parts(shuffled.house) == read_parts(in_order.house)
    promise_report(count=len(changes), what="changes shuffled to the same state")


def test_a_late_older_fact_never_becomes_current(changes: list[Change], promise_report: PromiseReport) -> None:
    house = build_house()
    current: State = {}
    for change in reversed([one for one in changes if one.product == "python"]):
        write_memory(
            caller=house.sender(change),
            event=house.event(change),
            proposal=house.proposal(change),
            now=clock.now(),
        )
        current.setdefault(to_key(change), change.value)
        assert read_state(house, clock.now()) == current
        promise_report(count=1, what="late facts placed in the past")


def test_the_whole_history_goes_through_the_product(
    at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    """Write the changes of all products one after another; a reviewer rules on each put-back when it comes."""
    if not WHOLE.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("the lifecycle history is not here")
    rows = [json.loads(line) for line in gzip.decompress(WHOLE.read_bytes()).decode().splitlines()]
    rows = rows[: at_scale(500, len(rows))]
    humans = list(dict.fromkeys(row["actor"] for row in rows if row["actor"].startswith("human")))
    house = build_house(people=len(humans))
    names = {actor: house.prefix + name_maintainer(number) for number, actor in enumerate(humans, start=1)}
    ruled = 0
    for row in rows:
        event_id, words = row["event_id"], f"{row['product']} {row['cycle']} {row['field']}: {row['value']}"
        written = write_memory(
            caller=house.relay if row["actor"] in names else house.bot,
            event=EventInput(
                event_id=event_id,
                scope=SCOPE,
                source_type="commit",
                occurred_at=datetime.fromisoformat(row["recorded_at"]),
                payload={"text": words},
                actor=names.get(row["actor"]),
                source_seq=row["seq"],
            ),
            proposal=CandidateInput(
                scope=SCOPE,
                subject=f"product:{row['product']}",
                fact_key=f"release.{row['field']}",
                content=words,
                value=row["value"],
                conditions={"cycle": row["cycle"]},
                evidence=(EvidenceInput(event_id),),
            ),
            now=clock.now(),
        )
        if written.result.action == "CONFLICT":
            [waiting] = read_queue(house)
            accept(house, waiting)
            ruled += 1
    newest = {(row["product"], row["cycle"], row["field"]): row["value"] for row in rows}
    assert read_state(house, clock.now()) == newest
    assert_ledger_is_clean(house.tenant_id)
    promise_report(count=len(rows), what="changes of all products through the product, 0 wrong heads")
    promise_report(count=ruled, what="of them ruled on by a reviewer")
