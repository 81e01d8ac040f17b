"""Seed 003 §2.6: what compresses derives upward; nothing rests on itself, and what it rests on stays as it was laid."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillWaiting
from contextlib import contextmanager

import psycopg
import pytest

from memoryhub.lib.db import read_sql
from tests.acts import state_fact
from tests.cast import Cast, make_cast
from tests.conftest import ConnectAs
from tests.integration.reflecting import ask, reflect
from tests.invariants.attacks import SET_TENANT, Attack, Connection, insert_copy, name_of, show_guard
from tests.invariants.world import World

_SWAPPED = (
    "INSERT INTO memory_bases SELECT (jsonb_populate_record(held, jsonb_build_object('id', uuidv7(), 'sequence', 9,"
    " 'memory_id', held.lower_id, 'lower_id', held.memory_id))).* FROM memory_bases held WHERE id = %(basis)s"
)
_AROUND = (
    "INSERT INTO memory_bases SELECT (jsonb_populate_record(held, jsonb_build_object('id', uuidv7(), 'sequence', 9,"
    " 'memory_id', held.lower_id, 'lower_id', (SELECT memory_id FROM memory_bases WHERE id = %(upper_basis)s)))).*"
    " FROM memory_bases held WHERE id = %(basis)s"
)
_ITSELF = (
    "INSERT INTO memory_bases SELECT (jsonb_populate_record(held, jsonb_build_object('id', uuidv7(), 'sequence', 9,"
    " 'lower_id', held.memory_id))).* FROM memory_bases held WHERE id = %(basis)s"
)
ATTACKS = [
    Attack("memory_bases_have_no_cycle", "memory_bases", _SWAPPED),
    Attack("memory_bases_have_no_cycle", "memory_bases", _AROUND),
    Attack(
        "memory_bases_never_change",
        "memory_bases",
        "UPDATE memory_bases SET claim_weight = 1 WHERE id = %(basis)s",
        needs_owner=True,
    ),
    Attack(
        "memory_bases_never_change", "memory_bases", "DELETE FROM memory_bases WHERE id = %(basis)s", needs_owner=True
    ),
    Attack("memory_bases_of_a_claim_have_one_order", "memory_bases", insert_copy("memory_bases", "basis")),
    Attack(
        "evidence_documents_change_only_to_erased",
        "evidence_documents",
        """UPDATE evidence_documents SET payload = '{"ref": "another"}' WHERE evidence_id = %(document)s""",
    ),
    Attack(
        "evidence_documents_change_only_to_erased",
        "evidence_documents",
        "DELETE FROM evidence_documents WHERE evidence_id = %(document)s",
        needs_owner=True,
    ),
    Attack(
        "evidence_documents_are_whole_or_erased",
        "evidence_documents",
        "UPDATE evidence_documents SET erased_at = now() WHERE evidence_id = %(document)s",
    ),
]
BEHIND = {"memory_bases_lead_to_another"}


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_what_is_rested_on_stays(attack: Attack, connect_as: ConnectAs, world: World) -> None:
    show_guard(connect_as=connect_as, world=world, attack=attack)


def test_a_memory_never_rests_on_itself(connect_as: ConnectAs, world: World) -> None:
    """Rest a memory on itself: the cycle check refuses, and behind it the CHECK."""
    with connect_as("superuser") as superuser:
        superuser.execute("DROP TRIGGER memory_bases_have_no_cycle ON memory_bases")
        with pytest.raises(psycopg.Error, match="memory_bases_lead_to_another"), superuser.transaction():
            superuser.execute(_ITSELF.encode(), world.ids)
        superuser.execute("ALTER TABLE memory_bases DROP CONSTRAINT memory_bases_lead_to_another")
        assert superuser.execute(_ITSELF.encode(), world.ids).rowcount == 1
        superuser.rollback()


# --- Two at once ---------------------------------------------------------------------------------

_LAY = """
    INSERT INTO memory_bases SELECT (jsonb_populate_record(held, jsonb_build_object('id', uuidv7(), 'sequence', 7,
        'memory_id', %(memory)s::text, 'lower_id', %(lower)s::text))).*
    FROM memory_bases held WHERE held.tenant_id = %(tenant)s LIMIT 1
"""
PATIENCE = 0.5


def make_two(cast: Cast) -> tuple[str, str]:
    """Make two memories that rest on a third, and not on each other."""
    lower = str(state_fact(cast, value="4.1.0").result.memory_id)
    first, second = (str(reflect(cast, (lower, 1), key=key).result.memory_id) for key in ("first", "second"))
    return first, second


def lay(connection: Connection, cast: Cast, memory_id: str, lower_id: str) -> str:
    """Lay one basis and leave the transaction open; returns the name of what refuses it."""
    connection.execute(SET_TENANT, [cast.tenant_id])
    try:
        connection.execute(_LAY, {"tenant": cast.tenant_id, "memory": memory_id, "lower": lower_id})
    except psycopg.Error as error:
        return name_of(error)
    return ""


def close_a_circle(connect_as: ConnectAs, cast: Cast) -> tuple[bool, str]:
    """Lay both halves of a circle at once; returns whether the second had to wait, and what refused it."""
    first, second = make_two(cast)
    one, other = connect_as("app"), connect_as("app")
    with ThreadPoolExecutor(max_workers=1) as pool:
        assert lay(one, cast, first, second) == ""
        later = pool.submit(lay, other, cast, second, first)
        try:
            later.result(timeout=PATIENCE)
            waited = False
        except StillWaiting:
            waited = True
        one.commit()
        refused = later.result(timeout=30)
        other.rollback() if refused else other.commit()
    return waited, refused


@contextmanager
def without_lock(connect_as: ConnectAs) -> Iterator[None]:
    """Let the check look without waiting for whoever lays a basis at the same moment."""
    text = read_sql(package="memory", name="bases")
    bare = "\n".join(line for line in text.splitlines() if "pg_advisory_xact_lock" not in line)
    assert bare != text
    owner = connect_as("owner")
    owner.autocommit = True
    owner.execute(bare.encode())
    try:
        yield
    finally:
        owner.execute(text.encode())


def count_circles(cast: Cast) -> int:
    pairs = ask(
        cast,
        "SELECT count(*) FROM memory_bases one JOIN memory_bases other ON other.memory_id = one.lower_id"
        " AND other.lower_id = one.memory_id",
    )
    return int(pairs[0][0])


def test_two_at_once_close_no_circle(connect_as: ConnectAs) -> None:
    cast = make_cast()
    assert close_a_circle(connect_as, cast) == (True, "memory_bases_have_no_cycle")
    assert count_circles(cast) == 0


def test_without_the_lock_they_do(connect_as: ConnectAs) -> None:
    """The twin: without the lock neither sees the other, and both commit."""
    cast = make_cast()
    with without_lock(connect_as):
        assert close_a_circle(connect_as, cast) == (False, "")
    assert count_circles(cast) == 2
