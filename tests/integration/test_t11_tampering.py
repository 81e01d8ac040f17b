"""T11: what is changed behind the system's back is seen; what was done properly is never called a change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from memoryhub.access.tenancy import tenant_context
from memoryhub.embedded import postgres
from memoryhub.embedded.paths import PROJECT
from memoryhub.kernel import sealing
from memoryhub.kernel.models import Evidence, EvidenceEdge, EvidenceRoot
from memoryhub.kernel.witness import name_witness, read_witness
from memoryhub.lib import clock
from memoryhub.lib.ids import new_id
from memoryhub.memory import explaining
from memoryhub.memory.exceptions import StaleHead
from memoryhub.retrieval.operations import index_memory
from memoryhub.types.enums import MemoryType, RevocationTarget
from memoryhub.usecases import verify_ledger as verifying_all
from memoryhub.usecases.ingest import EventInput
from memoryhub.usecases.propose import CandidateInput, EvidenceInput
from memoryhub.usecases.quoting import DocumentInput, MemoryInput
from memoryhub.usecases.review import Resolution, Verb, resolve_review
from memoryhub.usecases.revoke import revoke
from memoryhub.usecases.seal_ledger import seal_ledger
from memoryhub.usecases.verify_ledger import verify_ledger
from memoryhub.usecases.write_memory import write_memory
from tests.acts import state_fact
from tests.cast import EARLY, make_cast
from tests.conftest import ConnectAs
from tests.integration.histories import BEGINNING, DAY, SCOPE, History
from tests.integration.tampering import (
    TABLES,
    Garden,
    Plant,
    change,
    list_deletions,
    list_edits,
    list_erasures,
    list_relabels,
    list_replays,
    list_swaps,
    planted,
    run,
    superuser,
)
from tests.ledger import PATIENCE, assert_ledger_is_clean
from tests.promises import PromiseReport

SEED = 11302026
LONG = timedelta(days=3)


class Tended:
    """Hold a tenant with a row in every table that is sealed, its witness, and what stood at earlier seals."""

    def __init__(self, *, folder: Path, seed: int = SEED, steps: int = 14) -> None:
        """Let it grow in three stages with days between them, each sealed."""
        self.folder = folder
        self.history = History(seed=seed, cycles=1)
        self.tenant_id = self.history.tenant_id
        for stage in range(3):
            self.history.said.clear()
            self.history.grow(steps)
            if stage == 1:
                self._dispute()
                self._build_upon()
                self._derive()
                self._revoke()
            self._index()
            self.history.now += LONG
            self.seal()
        assert verify_ledger(tenant_id=self.tenant_id, now=clock.now(), witnesses=[folder]).findings == []

    def seal_once(self) -> None:
        """Seal whatever can be sealed now."""
        seal_ledger(tenant_id=self.tenant_id, now=clock.now(), witnesses=[self.folder], waits=True)

    def seal(self) -> None:
        """Seal until nothing waits any more: an earlier test's session may still be ending."""
        for _ in range(200):
            seal_ledger(tenant_id=self.tenant_id, now=clock.now(), witnesses=[self.folder], waits=True)
            if not verify_ledger(tenant_id=self.tenant_id, now=clock.now(), witnesses=[self.folder]).pending:
                return
            time.sleep(0.05)
        raise AssertionError("rows are never sealed")

    def _say(
        self, value: str, *, by: str | None, cycle: str, day: int, more: tuple[Any, ...] = (), **other: Any
    ) -> Any:
        event = EventInput(
            event_id=str(new_id()),
            scope=SCOPE,
            source_type="commit",
            occurred_at=BEGINNING + day * DAY,
            payload={"text": f"somebody says {value}"},
            actor=by,
        )
        proposal = CandidateInput(
            scope=SCOPE,
            subject="product:p1",
            fact_key="undeclared.too",
            content=f"it is {value}",
            value=value,
            conditions={"case": cycle},
            evidence=(*more, EvidenceInput(event.event_id, span=(0, 8))),
            **other,
        )
        return write_memory(caller=self.history.caller, event=event, proposal=proposal, now=self.history.now).result

    def _dispute(self) -> None:
        """Open three conflicts: one is settled for the newcomer, one against, one is kept open by a person."""
        alice, bob = self.history.cast.alice.username, self.history.cast.bob.username
        for verb in (Verb.ACCEPT, Verb.REJECT, Verb.KEEP_CONFLICT):
            self._say("a", by=alice, cycle=verb, day=1)
            later = self._say("b", by=bob, cycle=verb, day=2)
            with tenant_context(self.tenant_id, read_only=True):
                item_id = run("SELECT id::text FROM review_items WHERE candidate_id = %s", [later.candidate_id])[0][0]
            resolve_review(
                caller=self.history.reviewer,
                resolution=Resolution(
                    item_id=item_id,
                    verb=verb,
                    expected_version=later.version,
                    reason="outdated",
                    effective_from=BEGINNING + 3 * DAY if verb is Verb.ACCEPT else None,
                ),
                now=self.history.now,
            )

    def _build_upon(self) -> None:
        """Say what lower memories amount to, and quote a document."""
        lower = self._say("a", by=None, cycle="lower", day=1)
        self._say(
            "quick",
            by=None,
            cycle="upper",
            day=2,
            more=(MemoryInput(lower.memory_id, lower.version),),
            memory_type=MemoryType.REFLECTIVE,
        )
        self._say("c", by=None, cycle="document", day=2, more=(DocumentInput("handbook", "r1", "it is c", "page 3"),))

    def _derive(self) -> None:
        """Draw an edge between two pieces of evidence."""
        tenant = self.history.cast.tenant
        with tenant_context(self.tenant_id):
            parent = Evidence.objects.filter(tenant=tenant, kind="event_span").order_by("id")[0]
            fields = {field.attname: getattr(parent, field.attname) for field in Evidence._meta.local_concrete_fields}
            del fields["id"], fields["written_in"]
            child = Evidence.objects.create(**{**fields, "evidence_key": f"ev_{new_id().hex}"})
            EvidenceEdge.objects.create(tenant=tenant, child=child, parent=parent)
            for held in EvidenceRoot.objects.filter(tenant=tenant, evidence=parent):
                EvidenceRoot.objects.create(tenant=tenant, evidence=child, root=held.root)

    def _index(self) -> None:
        with tenant_context(self.tenant_id):
            for (memory_id,) in run("SELECT id::text FROM memory_heads WHERE tenant_id = %s", [self.tenant_id]):
                index_memory(tenant_id=self.tenant_id, memory_id=memory_id, now=self.history.now)

    def _revoke(self) -> None:
        with tenant_context(self.tenant_id, read_only=True):
            events = run(
                "SELECT DISTINCT source_id::text FROM memory_evidence WHERE tenant_id = %s ORDER BY 1", [self.tenant_id]
            )
        for (event_id,) in self.history.random.sample(events, 2):
            revoke(
                caller=self.history.cast.person(self.history.cast.erin),
                scope=SCOPE,
                target=RevocationTarget.EVENT,
                target_id=event_id,
                reason="user_request",
                now=self.history.now,
            )

    def make_garden(self) -> Garden:
        """Return the garden to plant in, with the witness as it stands now."""
        path = name_witness(folder=self.folder, tenant_id=self.tenant_id)
        return Garden(self.tenant_id, Random(SEED), [read_witness(path=path, tenant_id=self.tenant_id)])  # noqa: S311


@pytest.fixture
def tended(tmp_path: Path) -> Tended:
    return Tended(folder=tmp_path)


def list_plants(garden: Garden) -> Iterator[Plant]:
    """Give one plant of every kind for every place, and then edits and others by chance for ever."""
    once = [
        *list_edits(garden),
        *list_deletions(garden),
        *list_erasures(garden),
        *list_swaps(garden),
        *list_replays(garden),
        *list_relabels(garden),
    ]
    yield from once
    while True:
        yield garden.random.choice(once)


@pytest.mark.promise("T11")
def test_every_planted_change_is_seen(
    tended: Tended, at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    """Edit, delete, erase, reorder, forge, replay and relabel rows of every table: each time something is found."""
    garden = tended.make_garden()
    size = at_scale(1_000, 5_000)
    kinds: Counter[str] = Counter()
    unseen: list[str] = []
    with superuser():
        garden.learn()
        assert not garden.is_seen(), "an alarm before anything was planted"
        for plant in list_plants(garden):
            with planted(garden, plant) as is_planted:
                if is_planted:
                    kinds[plant.kind] += 1
                    if not garden.is_seen():
                        unseen.append(f"{plant.kind} {plant.where}")
            if kinds.total() >= size:
                break
        assert not garden.is_seen(), "an alarm after everything was taken back"
    assert unseen == []
    for kind, count in kinds.items():
        promise_report(count=count, what=f"planted changes seen ({kind})")


# What a constraint keeps from being changed alone; it is changed together with others, by another kind.
KEPT = {
    "source_event_bodies.erased_at": "erase",
    "evidence_bodies.erased_at": "erase",
    "evidence_documents.erased_at": "erase",
    "ledger_entries.position": "reorder",
}


def test_every_column_can_be_planted_in(tended: Tended) -> None:
    """See that edits reach every column of every table, but those that a constraint keeps together with others."""
    garden = tended.make_garden()
    with superuser():
        garden.learn()
        missed = []
        for plant in list_edits(garden):
            with planted(garden, plant) as is_planted:
                if not is_planted:
                    missed.append(plant.where)
    assert set(missed) == set(KEPT)
    assert {plant.where.split(".")[0] for plant in list_edits(garden)} >= set(TABLES)


# --- What only the witness can see ----------------------------------------------------------------


def seal_anew(tenant_id: str) -> None:
    """Forget the chain and make another one over the rows as they are now: valid in itself from end to end."""
    for table in ("ledger_seals", "ledger_entries"):
        assert change(f"DELETE FROM {table} WHERE tenant_id = %s", [tenant_id]) > 0
    assert sealing.seal_ledger(tenant_id=tenant_id, now=clock.now()) is not None


@pytest.mark.promise("T11")
def test_a_chain_that_was_written_anew_is_seen_by_the_witness(tended: Tended, promise_report: PromiseReport) -> None:
    """Change what no other record explains, and seal it all anew: the chain is valid, and not the one that was seen."""
    garden = tended.make_garden()
    forged = (
        "UPDATE audit_events SET reason = 'another' WHERE id = %s",
        "DELETE FROM audit_events WHERE id = %s",
        "UPDATE source_events SET session_key = 'another' WHERE id = %s",
        "UPDATE source_events SET trust = 'untrusted' WHERE id = %s",
        "UPDATE memory_candidates SET extractor_version = 'another' WHERE id = %s",
        "UPDATE evidence SET observed_at = observed_at - interval '1 day' WHERE id = %s",
        "UPDATE merge_decisions SET verb_reason = 'another' WHERE id = %s",
        "UPDATE revocations SET reason = 'another' WHERE id = %s",
        "UPDATE memory_versions SET author_rank = 99 WHERE id = %s AND recorded_to IS NOT NULL",
    )
    seen = 0
    with superuser():
        garden.learn()
        for statement in forged:
            table = statement.split()[1 if statement.startswith("UPDATE") else 2]

            def forge(statement: str = statement, table: str = table) -> bool:
                rows = run(f"SELECT id FROM {table} WHERE tenant_id = %s ORDER BY id", [garden.tenant_id])
                done = any(change(statement, [row]) == 1 for (row,) in garden.random.sample(rows, len(rows)))
                seal_anew(garden.tenant_id)
                return done

            with planted(garden, Plant("rewrite", table, forge)) as is_planted:
                assert is_planted, statement
                assert garden.is_seen(), statement
                assert not garden.is_seen(without_witness=True), f"the twin without a witness sees {statement}"
                seen += 1
    promise_report(count=seen, what="chains written anew seen, and not without the witness")


TENANT_TABLES = (
    "SELECT table_name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)"
    " WHERE column_name = 'tenant_id' AND table_schema = 'public' AND table_type = 'BASE TABLE'"
    " AND table_name NOT IN ('principals', 'api_tokens') ORDER BY 1"
)


@pytest.mark.promise("T11")
def test_every_older_state_is_seen_by_the_witness(
    tended: Tended, at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    """Put every row of the tenant back to what it was at an earlier seal: whole and consistent, and too short."""
    tenant_id, older = tended.tenant_id, f"older_{new_id().hex[-12:]}"
    stages = at_scale(8, 40)
    superuser_connection = postgres.connect_as_superuser(
        home=settings.HOME, database=str(connection.settings_dict["NAME"])
    )
    try:
        superuser_connection.execute(f"CREATE SCHEMA {older}".encode())
        tables = [row[0] for row in superuser_connection.execute(TENANT_TABLES).fetchall()]
        for stage in range(stages):
            for table in tables:
                superuser_connection.execute(
                    f"CREATE TABLE {older}.{table}_{stage} AS SELECT * FROM {table} WHERE tenant_id = %s".encode(),
                    [tenant_id],
                )
            tended.history.grow(2)
            tended.seal()
        garden = tended.make_garden()
        with superuser():
            garden.learn()
            for stage in range(stages):

                def restore(stage: int = stage) -> bool:
                    for table in tables:
                        change(f"DELETE FROM {table} WHERE tenant_id = %s", [tenant_id])
                        change(f"INSERT INTO {table} SELECT * FROM {older}.{table}_{stage}")
                    return True

                with planted(garden, Plant("restore", str(stage), restore)):
                    assert garden.is_seen(), f"stage {stage}"
                    assert not garden.is_seen(without_witness=True), "an older state is consistent in itself"
            assert not garden.is_seen()
    finally:
        superuser_connection.execute(f"DROP SCHEMA IF EXISTS {older} CASCADE".encode())
        superuser_connection.close()
    promise_report(count=stages, what="older states seen, and not without the witness")


def run_program(name: str, *argv: str) -> None:
    """Run one of PostgreSQL's programs as the superuser."""
    done = subprocess.run(
        [
            str(postgres.find_programs(home=settings.HOME) / "bin" / name),
            *("--host", str(settings.HOME.sockets), "--username", "postgres", *argv),
        ],
        env={**postgres.ENVIRONMENT, "PGPASSWORD": settings.HOME.secrets.superuser},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def own_database() -> Iterator[str]:
    """Work in a database of our own, made and migrated for this test, so that it can be dumped and replaced."""
    name = f"test_dump_{new_id().hex[-10:]}"
    known = str(connection.settings_dict["NAME"])

    def point_at(database: str) -> None:
        connection.close()
        connection.settings_dict["NAME"] = database

    where = f"host={settings.HOME.sockets} port=5432 dbname={name}"
    keys = settings.HOME.secrets
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
        "DATABASE_URL": f"{where} user=memoryhub_app password={keys.app}",
        "OWNER_DATABASE_URL": f"{where} user=memoryhub_owner password={keys.owner}",
        "MEMORYHUB_SECRET_KEY": keys.django,
        "MEMORYHUB_DIGEST_SECRET": keys.digest,
    }
    run_program("createdb", "--owner", "memoryhub_owner", "--template", "template1", name)
    try:
        migrating = [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity", "0"]
        subprocess.run(migrating, cwd=PROJECT, env=environment, check=True)
        point_at(name)
        yield name
    finally:
        point_at(known)
        run_program("dropdb", "--force", name)


@pytest.mark.promise("T11")
def test_a_restored_older_dump_is_seen_by_the_witness(
    own_database: str, tmp_path: Path, promise_report: PromiseReport
) -> None:
    """Dump, go on, restore the dump: only the witness knows better, also when the restored one goes on by itself."""
    tended = Tended(folder=tmp_path / "witness", steps=6)
    dump = str(tmp_path / "dump")
    run_program("pg_dump", "--format", "custom", "--file", dump, own_database)
    tended.history.grow(5)
    tended.seal()
    assert find_kinds(tended) == set()
    connection.close()
    run_program("dropdb", "--force", own_database)
    run_program("createdb", "--owner", "memoryhub_owner", "--template", "template1", own_database)
    run_program("pg_restore", "--dbname", own_database, "--exit-on-error", "--clean", "--if-exists", dump)
    assert find_kinds(tended) == {"chain_shorter"}
    assert find_kinds(tended, witnesses=[]) == set(), "the twin without a witness sees nothing"
    tended.history.grow(5)
    tended.seal_once()
    assert find_kinds(tended) == {"chain_forked"}
    assert find_kinds(tended, witnesses=[]) == set()
    promise_report(count=2, what="restored dumps seen, and not without the witness")


def find_kinds(tended: Tended, *, witnesses: list[Path] | None = None) -> set[str]:
    """Return the kinds of what is found."""
    folders = [tended.folder] if witnesses is None else witnesses
    verified = verify_ledger(tenant_id=tended.tenant_id, now=clock.now(), witnesses=folders)
    return {finding.kind for finding in verified.findings}


# --- Forged as the product itself would write it --------------------------------------------------


@pytest.mark.promise("T11")
def test_what_is_forged_with_an_old_time_is_seen_before_and_after_it_is_sealed(
    tended: Tended, promise_report: PromiseReport
) -> None:
    """Write through the product itself, key and all, and say that it was weeks ago; then let it be sealed."""
    tended.history.now -= 4 * LONG
    tended._say("forged", by=None, cycle="forged", day=5)
    assert find_kinds(tended) == {"back_dated"}
    tended.seal_once()
    assert find_kinds(tended) == {"back_dated"}
    promise_report(count=2, what="forged row sets with an old time seen")


# --- The checks, taken away one by one -------------------------------------------------------------

EXPLAINED = {
    "versions": "UPDATE memory_versions SET recorded_to = recorded_to - interval '1 microsecond'"
    " WHERE id = (SELECT id FROM memory_versions WHERE tenant_id = %s AND recorded_to IS NOT NULL LIMIT 1)",
    "claims": "UPDATE memory_evidence SET superseded_at = superseded_at + interval '1 microsecond'"
    " WHERE tenant_id = %s AND superseded_at IS NOT NULL",
    "candidates": "UPDATE memory_candidates SET reason = 'another' WHERE tenant_id = %s",
    "epochs": "UPDATE memory_candidates SET deletion_epoch = deletion_epoch + 1 WHERE tenant_id = %s",
    "heads": "UPDATE memory_heads SET created_at = created_at - interval '1 microsecond' WHERE tenant_id = %s",
    "conflicts": "UPDATE conflict_sets SET opened_at = opened_at - interval '1 microsecond' WHERE tenant_id = %s",
    "members": "UPDATE conflict_members SET joined_at = joined_at - interval '1 microsecond' WHERE tenant_id = %s",
    "rulings": "INSERT INTO rulings (id, tenant_id, memory_id, evidence_id, decision_id, settles, winner,"
    " effective_from, sequence, keeps_conflict, decided_by_id, recorded_at) SELECT gen_random_uuid(), tenant_id,"
    " memory_id, evidence_id, decision_id, settles, winner, effective_from, sequence + 100, keeps_conflict,"
    " decided_by_id, now() FROM rulings WHERE tenant_id = %s AND winner IS NULL AND NOT keeps_conflict LIMIT 1",
    "evidence": "UPDATE evidence SET availability = 'expired' WHERE tenant_id = %s AND kind = 'ruling'",
    "erasures": "UPDATE evidence_bodies SET quote = NULL, salt = NULL, erased_at = now() WHERE tenant_id = %s",
    "revocations": "UPDATE revocations SET lifted_at = now() WHERE tenant_id = %s",
    "scopes": "UPDATE scopes SET deletion_epoch = deletion_epoch + 1 WHERE tenant_id = %s",
    "documents": "UPDATE search_documents SET applied_version = applied_version + 1 WHERE tenant_id = %s",
    "queue": "UPDATE review_items SET state = 'withdrawn' WHERE tenant_id = %s AND state = 'open'",
}


def test_each_check_of_what_may_change_is_needed(tended: Tended, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant what one check is there for: it is seen, and without that check it is not."""
    assert set(EXPLAINED) == set(explaining.CHECKS)
    garden = tended.make_garden()
    with superuser():
        garden.learn()
        for name, statement in EXPLAINED.items():

            def forge(statement: str = statement) -> bool:
                return change(statement, [garden.tenant_id]) > 0

            with planted(garden, Plant("twin", name, forge)) as is_planted:
                assert is_planted, name
                assert garden.is_seen(), name
                with monkeypatch.context() as patch:
                    patch.delitem(explaining.CHECKS, name)
                    assert not garden.is_seen(), f"another check sees it too: {name}"


def drop_findings(name: str) -> Callable[..., Iterator[Any]]:
    """Return a check that looks at everything and finds nothing."""
    inner = getattr(verifying_all, name)

    def look(*args: Any, **kwargs: Any) -> Iterator[Any]:
        list(inner(*args, **kwargs))
        return iter(())

    return look


def test_each_check_of_what_was_sealed_is_needed(tended: Tended, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant what the chain, the rows and the keys are there for: without the check it is not seen."""
    garden = tended.make_garden()
    tenant_id = garden.tenant_id
    plants = {
        "check_chain": "UPDATE ledger_seals SET sealed_at = sealed_at - interval '1 day' WHERE tenant_id = %s",
        "check_rows": "UPDATE source_events SET session_key = 'another' WHERE tenant_id = %s",
        "_check_inputs": "UPDATE merge_decisions SET facts = facts || '{\"from_tail\": 7}' WHERE tenant_id = %s",
        "keys": 'UPDATE source_event_bodies SET payload = \'{"text": "another"}\' WHERE tenant_id = %s'
        " AND erased_at IS NULL",
    }
    with superuser():
        garden.learn()
        for name, statement in plants.items():
            needs_seal = name in ("keys", "_check_inputs")

            def forge(statement: str = statement, needs_seal: bool = needs_seal) -> bool:
                done = change(statement, [tenant_id]) > 0
                if needs_seal:
                    seal_anew(tenant_id)
                return done

            with planted(garden, Plant("twin", name, forge)) as is_planted:
                assert is_planted, name
                assert garden.is_seen(without_witness=True), name
                with monkeypatch.context() as patch:
                    if name == "keys":
                        patch.setattr(verifying_all._Keys, "inspect", lambda *_: iter(()))
                    else:
                        patch.setattr(verifying_all, name, drop_findings(name))
                    assert not garden.is_seen(without_witness=True), f"another check sees it too: {name}"


def test_the_memories_derived_anew_are_needed_beside(tended: Tended) -> None:
    """Change a belief: the ledger holds, since belief is derived; deriving it anew sees it."""
    garden = tended.make_garden()
    statement = "UPDATE memory_heads SET confidence = confidence * 0.5 WHERE tenant_id = %s AND confidence > 0"
    with superuser():
        garden.learn()
        plant = Plant("twin", "belief", lambda: change(statement, [garden.tenant_id]) > 0)
        with planted(garden, plant) as is_planted:
            assert is_planted
            assert garden.is_seen()
            verified = verifying_all.verify_now(tenant_id=garden.tenant_id, now=clock.now(), witnesses=garden.witnesses)
            assert verified.findings == []


# --- No false alarms -------------------------------------------------------------------------------


class Bustle:
    """Let many write and one revoke, while one seals and one verifies all the time."""

    def __init__(self, *, folder: Path, each: int) -> None:
        self.cast = make_cast()
        self.folder = folder
        self.each = each
        self.errors: list[BaseException] = []
        self.looked: list[int] = []
        self.is_over = threading.Event()

    def run(self, *, writers: int) -> None:
        """Return when all have written."""
        busy = [self._begin(partial(self._write, number)) for number in range(writers)]
        busy.append(self._begin(self._take_back))
        watching = [self._begin(self._seal), self._begin(self._verify)]
        for thread in busy:
            thread.join()
        self.is_over.set()
        for thread in watching:
            thread.join()

    def _begin(self, work: Callable[[], None]) -> threading.Thread:
        def go() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001  the test tells of it
                self.errors.append(error)
            finally:
                connection.close()

        thread = threading.Thread(target=go)
        thread.start()
        return thread

    def _write(self, writer: int) -> None:
        cast = self.cast
        by = (None, cast.alice.username, cast.bob.username, cast.carol.username)[writer % 4]
        for turn in range(self.each):
            with suppress(StaleHead):
                state_fact(cast, value=f"{turn % 5}", by=by, cycle=str(turn % 3), at=EARLY + turn * DAY)

    def _take_back(self) -> None:
        for number in range(self.each // 4):
            written = state_fact(self.cast, value="gone", subject=f"product:gone{number}").result
            with tenant_context(self.cast.tenant_id, read_only=True):
                query = "SELECT source_event_id::text FROM memory_candidates WHERE id = %s"
                source = run(query, [written.candidate_id])[0][0]
            revoke(
                caller=self.cast.person(self.cast.erin),
                scope=SCOPE,
                target=RevocationTarget.EVENT,
                target_id=source,
                reason="user_request",
                now=clock.now(),
            )

    def _seal(self) -> None:
        while not self.is_over.is_set():
            seal_ledger(tenant_id=self.cast.tenant_id, now=clock.now(), witnesses=[self.folder])
            time.sleep(0.02)

    def _verify(self) -> None:
        while not self.is_over.is_set():
            verified = verify_ledger(tenant_id=self.cast.tenant_id, now=clock.now(), witnesses=[self.folder])
            # The first seal may have been made a moment ago, and its witness not be told yet.
            assert [finding for finding in verified.findings if finding.kind != "witness_missing"] == []
            self.looked.append(verified.rows)


@pytest.mark.promise("T11")
def test_what_was_done_properly_is_no_change(
    tmp_path: Path, at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    """Verify again and again beside eight writers, revocations and a sealer: never a finding."""
    bustle = Bustle(folder=tmp_path, each=at_scale(40, 400))
    bustle.run(writers=8)
    assert bustle.errors == []
    assert len(bustle.looked) > 2, "the verifier never had a turn"
    tenant_id = bustle.cast.tenant_id
    entries = assert_ledger_is_clean(tenant_id, witnesses=[tmp_path])
    with tenant_context(tenant_id, read_only=True):
        assert run("SELECT max(number) > 2 FROM ledger_seals WHERE tenant_id = %s", [tenant_id]) == [(True,)]
    promise_report(count=len(bustle.looked), what="verifications beside eight writers without an alarm")
    promise_report(count=entries, what="entries sealed beside them")


@pytest.mark.promise("T11")
def test_a_large_history_is_no_change(at_scale: Callable[[int, int], int], promise_report: PromiseReport) -> None:
    """Verify random histories with late data, rulings and revocations, sealed on the way: never a finding."""
    entries = 0
    for seed in range(SEED, SEED + at_scale(2, 10)):
        history = History(seed=seed)
        for _ in range(4):
            history.grow(at_scale(60, 500))
            entries = assert_ledger_is_clean(history.tenant_id)
        promise_report(count=entries, what="entries of random histories verified without an alarm")


@pytest.mark.parametrize("is_guarded", [True, False])
def test_what_commits_late_is_sealed_late(
    is_guarded: bool, connect_as: ConnectAs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hold a transaction open while others commit and are sealed: it comes next. Without the horizon it is skipped."""
    if not is_guarded:
        seen = "SELECT pg_snapshot_xmax(seen)::text::bigint, pg_snapshot_xmax(seen)::text::bigint"
        monkeypatch.setattr(sealing, "_STATE", f"{seen} FROM pg_current_snapshot() AS seen")
    cast = make_cast()
    with connect_as("app") as late:
        late.execute("SELECT set_config('memoryhub.tenant', %s, true)", [cast.tenant_id])
        late.execute(
            "INSERT INTO audit_events (id, tenant_id, action, object_ids, outcome, reason, request_id, at)"
            " VALUES (%s, %s, 'test.late', '{}', 'done', '', '', now())",
            [new_id(), cast.tenant_id],
        )
        state_fact(cast, value="1")
        seal_ledger(tenant_id=cast.tenant_id, now=clock.now(), witnesses=[tmp_path], waits=True)
        late.commit()
    state_fact(cast, value="2", cycle="4.2")
    if is_guarded:
        assert_ledger_is_clean(cast.tenant_id, witnesses=[tmp_path])
    else:
        seal_ledger(tenant_id=cast.tenant_id, now=clock.now(), witnesses=[tmp_path], waits=True)
        verified = verify_ledger(tenant_id=cast.tenant_id, now=clock.now(), witnesses=[tmp_path])
        assert {(finding.kind, finding.table) for finding in verified.findings} == {("not_sealed", "audit_events")}


@pytest.mark.parametrize("ahead", [10**9, -(10**6)])
def test_a_server_that_counts_anew_goes_on_sealing(ahead: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seal under another server's numbers of transactions, higher or lower; then go on here, as after a restore."""
    cast = make_cast()
    state_fact(cast, value="1")
    with monkeypatch.context() as patch:
        seen = f"pg_snapshot_xmin(seen)::text::bigint + {ahead}, pg_snapshot_xmax(seen)::text::bigint + {ahead}"
        patch.setattr(sealing, "_STATE", f"SELECT {seen} FROM pg_current_snapshot() AS seen")
        assert seal_ledger(tenant_id=cast.tenant_id, now=clock.now(), witnesses=[tmp_path], waits=True)
    state_fact(cast, value="2", cycle="4.2")
    verified = verify_ledger(tenant_id=cast.tenant_id, now=clock.now(), witnesses=[tmp_path])
    assert verified.findings == []
    assert verified.pending > 0
    assert_ledger_is_clean(cast.tenant_id, witnesses=[tmp_path])


# --- The witness and the commands ------------------------------------------------------------------


def test_a_witness_is_made_good_after_a_crash(tmp_path: Path) -> None:
    """Seal and die before the witness is told, or in the middle of a line: the next sealing tells it what it lacks."""
    cast = make_cast()
    path = name_witness(folder=tmp_path, tenant_id=cast.tenant_id)
    for turn in range(3):
        state_fact(cast, value=str(turn), cycle=str(turn))
        with tenant_context(cast.tenant_id):
            assert sealing.seal_ledger(tenant_id=cast.tenant_id, now=clock.now(), waits=True) is not None
    assert find_alarms(cast.tenant_id, tmp_path) == {"witness_missing"}
    assert seal_ledger(tenant_id=cast.tenant_id, now=clock.now(), witnesses=[tmp_path], waits=True) == []
    whole = path.read_text()
    assert len(whole.splitlines()) == 3
    assert find_alarms(cast.tenant_id, tmp_path) == set()
    path.write_text(whole[:-30])
    seal_ledger(tenant_id=cast.tenant_id, now=clock.now(), witnesses=[tmp_path], waits=True)
    assert [line.number for line in read_witness(path=path, tenant_id=cast.tenant_id).lines or ()] == [1, 2, 3]
    assert find_alarms(cast.tenant_id, tmp_path) == set()
    first, *rest = whole.splitlines(keepends=True)
    path.write_text(first.replace("number", "numbre") + "".join(rest))
    assert find_alarms(cast.tenant_id, tmp_path) == {"witness_unreadable", "witness_behind"}


def find_alarms(tenant_id: str, folder: Path) -> set[str]:
    verified = verify_ledger(tenant_id=tenant_id, now=clock.now(), witnesses=[folder])
    return {finding.kind for finding in verified.findings}


def test_the_commands_seal_and_verify(
    tmp_path: Path, connect_as: ConnectAs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seal and verify by command: nothing is found; after a change one line says what, and the command fails."""
    monkeypatch.setattr(settings, "WITNESSES", [tmp_path / "one", tmp_path / "two"])
    cast = make_cast()
    slug = cast.tenant.slug
    said = state_fact(cast, value="1").result
    give_up = time.monotonic() + PATIENCE
    sealed = run_and_read(capsys, "seal", tenant=slug)
    assert f"{slug}: " in sealed
    while not run_and_read(capsys, "verify_ledger", tenant=slug).endswith(" 0 not sealed yet\nno finding\n"):
        assert time.monotonic() < give_up
        run_and_read(capsys, "seal", tenant=slug)
    assert len({(tmp_path / name / f"{cast.tenant_id}.jsonl").read_text() for name in ("one", "two")}) == 1
    assert run_and_read(capsys, "verify_ledger", tenant=slug, since=1, json=True) == ""
    assert run_and_read(capsys, "seal", tenant=slug) == f"{slug}: nothing new to seal\n"
    call_command("verify_ledger", tenant=slug, since=999)
    assert "there is no seal 999 yet" in capsys.readouterr().err
    with connect_as("superuser") as attacker:
        attacker.execute("SET session_replication_role = replica")
        attacker.execute("UPDATE memory_candidates SET content = 'planted' WHERE id = %s", [said.candidate_id])
        attacker.commit()
    with pytest.raises(CommandError, match="2 findings"):
        call_command("verify_ledger", tenant=slug, json=True)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(line["kind"], line["table"], line["row_id"]) for line in lines} == {
        ("words_changed", "memory_candidates", said.candidate_id),
        ("content_differs", "memory_candidates", said.candidate_id),
    }
    with pytest.raises(CommandError, match="There is no tenant"):
        call_command("verify_ledger", tenant="nobody")


def run_and_read(capsys: pytest.CaptureFixture[str], command: str, **options: Any) -> str:
    capsys.readouterr()
    call_command(command, **options)
    return capsys.readouterr().out
