"""Every constraint and trigger is attacked: those alike by one rule each, the others by name in these folders."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from tests.conftest import ConnectAs
from tests.invariants import (
    test_1_records_never_change,
    test_2_memory_is_derived,
    test_3_evidence_is_a_set,
    test_4_nothing_sent_is_lost,
    test_5_rulings_are_evidence,
    test_6_the_ledger_is_sealed,
    test_7_memories_rest_on_others,
    test_leads_stay_leads,
    test_lifecycles,
    test_model_answers,
    test_names_are_certain,
)
from tests.invariants.attacks import Connection, name_of
from tests.invariants.world import World

BY_NAME = {
    attack.guard
    for attacks in (
        test_1_records_never_change.ATTACKS,
        test_2_memory_is_derived.VERSIONS,
        test_2_memory_is_derived.HEADS,
        test_3_evidence_is_a_set.ATTACKS,
        test_4_nothing_sent_is_lost.ATTACKS,
        test_4_nothing_sent_is_lost.BARRIERS,
        test_5_rulings_are_evidence.ATTACKS,
        test_6_the_ledger_is_sealed.ATTACKS,
        test_7_memories_rest_on_others.ATTACKS,
        test_leads_stay_leads.ATTACKS,
        test_lifecycles.ATTACKS,
        test_model_answers.ATTACKS,
        test_names_are_certain.ATTACKS,
    )
    for attack in attacks
} | {"evidence_edges_lead_to_another", *test_6_the_ledger_is_sealed.ERASURES, *test_7_memories_rest_on_others.BEHIND}
SECURED = "(SELECT oid FROM pg_class WHERE relrowsecurity)"


def ask(connection: Connection, query: str, *params: object) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode(), params).fetchall()


def refuse(connection: Connection, statement: str, *params: object) -> str:
    """Return the name of the constraint that refuses a statement, or an empty text; it is taken back."""
    try:
        with connection.transaction(force_rollback=True):
            assert connection.execute(statement.encode(), params).rowcount == 1
    except psycopg.Error as error:
        return name_of(error)
    return ""


def drop(connection: Connection, table: str, name: str) -> None:
    is_constraint = ask(connection, "SELECT 1 FROM pg_constraint WHERE conname = %s", name)
    statement = "ALTER TABLE {} DROP CONSTRAINT {}" if is_constraint else "DROP INDEX {1}"
    connection.execute(sql.SQL(statement).format(sql.Identifier(table), sql.Identifier(name)))


def test_every_trigger_is_attacked(connect_as: ConnectAs) -> None:
    with connect_as("app") as app:
        triggers = ask(app, "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal")
    assert {row[0] for row in triggers} - BY_NAME == set()


def test_every_vocabulary_is_closed(connect_as: ConnectAs, world: World) -> None:
    """Write a word that is in no vocabulary: refused by name; without the CHECK it stands."""
    with connect_as("superuser") as superuser:
        checks = ask(
            superuser,
            "SELECT conname, conrelid::regclass::text, attname FROM pg_constraint"
            " JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]"
            f" WHERE contype = 'c' AND conname LIKE '%%_is_known' AND conrelid IN {SECURED} ORDER BY conname",
        )
        assert len(checks) > 15
        for name, table, column in checks:
            superuser.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
            attack = (
                f"UPDATE {table} SET {column} = 'no' WHERE ctid ="
                f" (SELECT ctid FROM {table} WHERE tenant_id = '{world.tenant_id}' LIMIT 1)"
            )
            assert refuse(superuser, attack) == name
            drop(superuser, table, name)
            assert refuse(superuser, attack) == ""
            superuser.rollback()


def test_every_other_check_is_attacked(connect_as: ConnectAs) -> None:
    with connect_as("app") as app:
        checks = ask(
            app,
            f"SELECT conname FROM pg_constraint WHERE contype IN ('c', 'x') AND conname NOT LIKE '%%_is_known'"
            f" AND conrelid IN {SECURED}",
        )
    assert {row[0] for row in checks} - BY_NAME == set()


def test_every_key_is_unique(connect_as: ConnectAs, world: World) -> None:
    """Insert a row again under a new id: refused by the name of its key; without the key it stands twice."""
    with connect_as("superuser") as superuser:
        keys = ask(
            superuser,
            "SELECT index.relname, held.relname, pg_get_expr(indpred, indrelid) FROM pg_index"
            " JOIN pg_class index ON index.oid = indexrelid JOIN pg_class held ON held.oid = indrelid"
            f" WHERE indisunique AND NOT indisprimary AND indrelid IN {SECURED}"
            " AND index.relname NOT LIKE '%%_tenant_and_id_are_unique' ORDER BY 1",
        )
        assert len(keys) > 15
        for name, table, condition in keys:
            superuser.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
            superuser.execute(
                "ALTER TABLE memory_versions DROP CONSTRAINT memory_versions_no_overlap"
                if table == "memory_versions"
                else "SELECT 1"
            )
            attack = (
                f"INSERT INTO {table} SELECT (jsonb_populate_record(held, jsonb_build_object('id', uuidv7()))).*"
                f" FROM {table} held WHERE tenant_id = %s AND {condition or 'true'} LIMIT 1"
            )
            assert refuse(superuser, attack, world.tenant_id) == name
            drop(superuser, table, name)
            assert refuse(superuser, attack, world.tenant_id) == ""
            superuser.rollback()
