"""Somebody declares what a name means just while a claim with that name is under way: the claim reads it again."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from memoryhub.access.operations import grant_tenant_rights
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.memory.models import MemoryHead
from memoryhub.types.ontology import FORMAT, read_ontology
from memoryhub.usecases import align, write_memory
from memoryhub.usecases.declare import declare_ontology
from tests.acts import state_fact
from tests.cast import Cast, make_cast
from tests.conftest import ConnectAs


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    with tenant_context(cast.tenant_id):
        grant_tenant_rights(tenant=cast.tenant, principal=cast.alice, rights=["administer_tenant"])
    return cast


def declare_beside(cast: Cast, **parts: Any) -> None:
    """Declare in another session, and wait until it is committed."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            wanted = read_ontology(text=json.dumps({"format": FORMAT, **parts}))
            declare_ontology(caller=cast.person(cast.alice), wanted=wanted, now=clock.now())
        except BaseException as failure:  # noqa: BLE001  told in the test's own thread
            failures.append(failure)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "the import waits for the claim, and the claim for the import"
    assert not failures, failures


def interrupt_once(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, act: Callable[[], None]) -> None:
    """Let something happen just before the first call of this name."""
    inner, pending = getattr(module, name), [act]

    def call(*args: Any, **kwargs: Any) -> Any:
        while pending:
            pending.pop()()
        return inner(*args, **kwargs)

    monkeypatch.setattr(module, name, call)


@contextmanager
def without_trigger(connect_as: ConnectAs, table: str, trigger: str) -> Iterator[None]:
    """Switch a trigger off for the twin of a race."""
    with connect_as("owner") as owner:
        owner.autocommit = True
        owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER {trigger}".encode())
        try:
            yield
        finally:
            owner.execute(f"ALTER TABLE {table} ENABLE TRIGGER {trigger}".encode())


def write_while_the_key_becomes_many(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Write a first value while its key is declared to have many; returns which memories have it in their identity."""
    state_fact(cast, value="known", key="any.key")
    many = [{"fact_key": "likes.drink", "cardinality": "many"}]
    interrupt_once(monkeypatch, write_memory, "settle_candidate", lambda: declare_beside(cast, predicates=many))
    assert state_fact(cast, value="tea", key="likes.drink").result.action == "ADD"
    with tenant_context(cast.tenant_id, read_only=True):
        return [bool(head.value_key) for head in MemoryHead.objects.filter(fact_key="likes.drink")]


def test_a_memory_is_told_apart_as_its_key_is_declared(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    assert write_while_the_key_becomes_many(cast, monkeypatch) == [True]


def test_without_its_guard_a_memory_is_told_apart_as_its_key_was(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, connect_as: ConnectAs
) -> None:
    with without_trigger(connect_as, "memory_heads", "memory_heads_follow_the_cardinality"):
        assert write_while_the_key_becomes_many(cast, monkeypatch) == [False]


def write_while_the_key_becomes_an_alias(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write of a subject for the first time while its key becomes another's alias; returns what memories are about."""
    hans = [{"key": "person:hans", "aliases": ["person:h"]}]
    interrupt_once(monkeypatch, align, "find_or_create_subject", lambda: declare_beside(cast, subjects=hans))
    assert state_fact(cast, value="tea", key="likes.drink", subject="person:h").result.action == "ADD"
    with tenant_context(cast.tenant_id, read_only=True):
        rows = fetch_all(
            sql="SELECT subject.label FROM memory_heads head JOIN subjects subject ON subject.id = head.subject_id"
            " WHERE head.tenant_id = %s",
            params=[cast.tenant_id],
        )
    return [str(row[0]) for row in rows]


def test_a_claim_is_about_whom_its_key_means_at_the_commit(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    assert write_while_the_key_becomes_an_alias(cast, monkeypatch) == ["person:hans"]


def test_without_its_guard_a_key_means_two(cast: Cast, monkeypatch: pytest.MonkeyPatch, connect_as: ConnectAs) -> None:
    with without_trigger(connect_as, "subjects", "subjects_are_no_alias"):
        assert write_while_the_key_becomes_an_alias(cast, monkeypatch) == ["person:h"]
