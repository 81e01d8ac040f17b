"""What rests on memories rests on them as they are, whoever moves them meanwhile; and nobody waits in a circle."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connections

from memoryhub.lib import clock
from memoryhub.lib.db import StoreFailure
from memoryhub.types.enums import RevocationTarget
from memoryhub.usecases import consolidate, follow_lowers, rereview
from memoryhub.usecases.review import Resolution, Resolved, Verb, resolve_review
from memoryhub.usecases.revoke import revoke
from tests.acts import state_fact
from tests.cast import EARLY, Cast, make_cast
from tests.conftest import ConnectAs
from tests.integration.reflecting import ask, list_items, look, look_again, reflect, relay
from tests.integration.twins import functions_without
from tests.ledger import assert_ledger_is_clean

DAY = timedelta(days=1)
GUARD = (r"^    IF p \? 'lowers' THEN$(.|\n)*?^    END IF;$",)


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def meanwhile(act: Callable[[], object]) -> object:
    """Do something in another session, to its end."""

    def run() -> object:
        try:
            return act()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def interrupt(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, act: Callable[[], object]) -> None:
    """Let something happen right after this function of the module answered for the first time."""
    real = getattr(module, name)
    waiting = [act]

    def told(**given: Any) -> Any:
        answer = real(**given)
        if waiting:
            meanwhile(waiting.pop())
        return answer

    monkeypatch.setattr(module, name, told)


def replace_and_tell(cast: Cast) -> None:
    state_fact(cast, value="4.2.0", by=cast.alice.username, at=EARLY + DAY)
    relay()


def revoke_and_tell(cast: Cast, scope: tuple[str, str], memory_id: str | None) -> None:
    revoke(
        caller=cast.person(cast.erin),
        scope=scope,
        target=RevocationTarget.MEMORY,
        target_id=memory_id,
        reason="asked",
        now=clock.now(),
    )
    relay()


def test_it_never_rests_on_what_moved_while_it_was_decided(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """The change below is told to everybody before the reflection is there to be told."""
    lower = state_fact(cast, value="4.1.0", by=cast.alice.username).result
    interrupt(monkeypatch, consolidate, "attach_lowers", lambda: replace_and_tell(cast))
    upper = reflect(cast, (lower.memory_id or "", 1)).result
    relay()
    assert (upper.action, upper.reason) == ("REJECT", "evidence_not_held")
    assert_ledger_is_clean(cast.tenant_id)


def test_a_version_that_moved_is_seen_by_the_lock_alone(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, connect_as: ConnectAs
) -> None:
    """Without it the reflection stands on what was replaced, and nobody will ever tell it."""
    lower = state_fact(cast, value="4.1.0", by=cast.alice.username).result
    interrupt(monkeypatch, consolidate, "attach_lowers", lambda: replace_and_tell(cast))
    with functions_without(
        connect_as=connect_as, schema="unguarded_lowers", files=[("memory", "commit_decision_v1")], patterns=GUARD
    ) as path:
        with connections["default"].cursor() as cursor:
            cursor.execute(f"SET search_path TO {path}")
        try:
            upper = reflect(cast, (lower.memory_id or "", 1)).result
        finally:
            connections.close_all()
    relay()
    assert upper.action == "ADD"
    assert look(cast, upper.memory_id).states == ["active"]


def test_what_was_revoked_in_another_scope_is_no_ground_either(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    lower = state_fact(cast, value="4.1.0", by=cast.alice.username).result
    interrupt(
        monkeypatch,
        consolidate,
        "attach_lowers",
        lambda: revoke_and_tell(cast, ("project", "platform"), lower.memory_id),
    )
    upper = reflect(cast, (lower.memory_id or "", 1), scope=("user", cast.alice.username)).result
    assert (upper.action, upper.reason) == ("REJECT", "evidence_not_held")


def test_what_follows_lays_the_version_that_stands(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    lower = state_fact(cast, value="4.1.0", by=cast.alice.username).result
    upper = reflect(cast, (lower.memory_id or "", 1)).result
    relay()
    state_fact(cast, value="4.1.0", by=cast.bob.username, at=EARLY + DAY)
    interrupt(
        monkeypatch,
        follow_lowers,
        "load_lowers",
        lambda: state_fact(cast, value="4.1.0", by=cast.carol.username, at=EARLY + 2 * DAY),
    )
    relay()
    laid = ask(
        cast,
        "SELECT lower_version FROM memory_bases WHERE memory_id = %s ORDER BY sequence DESC LIMIT 1",
        upper.memory_id,
    )
    assert laid == [(3,)]
    assert 2 not in {row[0] for row in ask(cast, "SELECT lower_version FROM memory_bases")}


def test_a_person_keeps_it_on_what_stands(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    lower = state_fact(cast, value="4.1.0", by=cast.alice.username).result
    upper = reflect(cast, (lower.memory_id or "", 1)).result
    replace_and_tell(cast)
    interrupt(
        monkeypatch,
        rereview,
        "load_lowers",
        lambda: state_fact(cast, value="4.3.0", by=cast.alice.username, at=EARLY + 2 * DAY),
    )
    look_again(cast, upper.memory_id, Verb.KEEP)
    assert list_items(cast, upper.memory_id)[0][0] == "decided"
    laid = "SELECT lower_version FROM memory_bases WHERE memory_id = %s ORDER BY sequence DESC LIMIT 1"
    assert ask(cast, laid, upper.memory_id) == [(3,)]


def open_conflict(cast: Cast) -> tuple[str, str, int]:
    """Open a conflict; returns memory, item and the version that stands."""
    for by, value, day in ((cast.alice, "a", 0), (cast.bob, "b", 1)):
        said = state_fact(cast, value=value, by=by.username, key="undeclared", at=EARLY + day * DAY).result
    assert said.action == "CONFLICT"
    rows = ask(cast, "SELECT id::text FROM review_items WHERE memory_id = %s AND state = 'open'", said.memory_id)
    return said.memory_id or "", rows[0][0], said.version or 0


def rule_while_another_writes(cast: Cast, connect_as: ConnectAs, *, path: str = "public") -> Resolved:
    """Let a writer who holds the head touch the item while a reviewer decides it, as a claim that joins does."""
    memory_id, item_id, version = open_conflict(cast)
    resolution = Resolution(item_id=item_id, verb=Verb.ACCEPT, expected_version=version)

    def rule() -> Resolved:
        try:
            with connections["default"].cursor() as cursor:
                cursor.execute(f"SET search_path TO {path}")
            return resolve_review(caller=cast.person(cast.rita), resolution=resolution, now=clock.now())
        finally:
            connections.close_all()

    with connect_as("app") as writer, ThreadPoolExecutor(1) as pool:
        writer.execute("SELECT set_config('memoryhub.tenant', %s, true)", [cast.tenant_id])
        writer.execute("UPDATE memory_heads SET confidence = confidence WHERE id = %s", [memory_id])
        ruled = pool.submit(rule)
        wait_until_somebody_waits(cast)
        writer.execute("UPDATE review_items SET priority = priority WHERE id = %s", [item_id])
        writer.commit()
        return ruled.result()


def wait_until_somebody_waits(cast: Cast) -> None:
    """Wait until another session waits for a lock."""
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple')"
    give_up = time.monotonic() + 10
    while not ask(cast, waiting)[0][0]:
        assert time.monotonic() < give_up, "nobody waits"
        time.sleep(0.02)


def test_a_reviewer_and_a_writer_of_the_same_memory_do_not_wait_in_a_circle(cast: Cast, connect_as: ConnectAs) -> None:
    assert rule_while_another_writes(cast, connect_as).action == "SUPERSEDE"


def test_without_the_head_first_they_do(cast: Cast, connect_as: ConnectAs) -> None:
    with (
        functions_without(
            connect_as=connect_as,
            schema="item_before_head",
            files=[("memory", "commit_decision_v1")],
            patterns=(r"^ *PERFORM FROM memory_heads .* FOR NO KEY UPDATE;$",),
        ) as path,
        pytest.raises((psycopg.errors.DeadlockDetected, StoreFailure)),
    ):
        rule_while_another_writes(cast, connect_as, path=path)
