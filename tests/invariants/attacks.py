"""Attack a guard of the database by SQL; then take the guard away and see the same attack succeed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import errors, sql

from tests.conftest import ConnectAs
from tests.invariants.world import World

APP = "memoryhub_app"
OWNER = "memoryhub_owner"
SET_TENANT = "SELECT set_config('memoryhub.tenant', %s, true)"
Connection = psycopg.Connection[Any]


@dataclass(frozen=True)
class Attack:
    """Hold one statement and the guard that refuses it; `%(name)s` stands for an id of the world.

    With `needs_owner` the application's role has no grant for it: it is refused that role outright, and the
    guard is shown against the owner of the tables.
    """

    guard: str
    table: str
    statement: str
    needs_owner: bool = False

    def __str__(self) -> str:
        """Return a name for the report."""
        return f"{self.guard}: {self.statement.split()[0]}"


def insert_copy(table: str, of: str, **changes: object) -> str:
    """Return the statement that inserts a row again under a new id, with these changes."""
    return (
        f"INSERT INTO {table} SELECT (jsonb_populate_record(held, jsonb_build_object('id', uuidv7())"
        f" || '{json.dumps(changes)}'::jsonb)).* FROM {table} held WHERE id = %({of})s"
    )


def show_guard(*, connect_as: ConnectAs, world: World, attack: Attack) -> None:
    """Show that the guard refuses the attack, and that without the guard it succeeds."""
    with connect_as("app") as app:
        refusal = try_statement(app, world=world, statement=attack.statement)
    if attack.needs_owner:
        assert isinstance(refusal, errors.InsufficientPrivilege), refusal
        with connect_as("owner") as owner:
            refusal = try_statement(owner, world=world, statement=attack.statement)
    assert name_of(refusal) == attack.guard, refusal
    with connect_as("superuser") as superuser:
        drop_guard(superuser, table=attack.table, guard=attack.guard)
        superuser.execute(f"SET LOCAL ROLE {OWNER if attack.needs_owner else APP}".encode())
        assert try_statement(superuser, world=world, statement=attack.statement) is None
        superuser.rollback()


def try_statement(connection: Connection, *, world: World, statement: str) -> psycopg.Error | None:
    """Try a statement inside the world's tenant and take it back; returns what refused it.

    What changes no row attacks nothing, so that is a mistake of the test.
    """
    connection.execute(SET_TENANT, [world.tenant_id])
    try:
        with connection.transaction(force_rollback=True):
            cursor = connection.execute(statement.encode(), world.ids)
            connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
            assert cursor.rowcount > 0, "the attack reached no row"
    except psycopg.Error as error:
        return error
    return None


def name_of(refusal: psycopg.Error | None) -> str:
    """Return the name of the constraint that refused."""
    return "" if refusal is None else refusal.diag.constraint_name or str(refusal)


def drop_guard(connection: Connection, *, table: str, guard: str) -> None:
    """Drop the trigger, constraint or unique index of this name."""
    names = {"table": sql.Identifier(table), "guard": sql.Identifier(guard)}
    found = connection.execute(
        "SELECT 'ALTER TABLE {table} DROP CONSTRAINT {guard} CASCADE' FROM pg_constraint"
        " WHERE conrelid = %(table)s::regclass AND conname = %(guard)s AND contype <> 't'"
        " UNION ALL SELECT 'DROP TRIGGER {guard} ON {table}' FROM pg_trigger"
        " WHERE tgrelid = %(table)s::regclass AND tgname = %(guard)s"
        " UNION ALL SELECT 'DROP INDEX {guard}' FROM pg_class WHERE relname = %(guard)s AND relkind = 'i'",
        {"table": table, "guard": guard},
    ).fetchone()
    assert found is not None, f"{table} has no {guard}"
    connection.execute(sql.SQL(found[0]).format(**names))
