"""Row-level security: nothing crosses a tenant, whatever the query leaves out."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest
from psycopg import errors, sql

from memoryhub.embedded.paths import PROJECT
from memoryhub.lib.db import read_sql
from tests.conftest import ConnectAs
from tests.invariants.attacks import APP, SET_TENANT, Connection, name_of
from tests.invariants.world import World

# The only functions that run with their owner's rights, and what keeps each of them narrow.
DEFINERS = {
    "authenticate_token_v1": "needs the digest of a secret",
    "claim_jobs_v1": "returns ids only",
    "claim_outbox_v1": "returns ids only",
    "prune_work_v1": "returns numbers only",
    "search_memories_v1": "compares its tenant with the setting",
}


def ask(connection: Connection, query: str, *params: object) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode(), params).fetchall()


def list_tables(connection: Connection, *, with_security: bool) -> list[str]:
    rows = ask(
        connection,
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
        " AND relrowsecurity = %s ORDER BY relname",
        with_security,
    )
    return [row[0] for row in rows]


def count_rows(connection: Connection, table: str, condition: str = "true") -> int:
    return int(ask(connection, f"SELECT count(*) FROM {table} WHERE {condition}")[0][0])


def read_exempt_tables() -> set[str]:
    """Return the tables that the reference lists as having no row-level security, each with its reason."""
    text = (PROJECT / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    section = text.split("## Row-level security")[1].split("\n## ")[0]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| `")]
    assert all(reason.strip() for _, reason in rows)
    return {name for tables, _ in rows for name in re.findall(r"`([a-z_]+)`", tables)}


def test_the_serving_role_has_no_power(connect_as: ConnectAs) -> None:
    with connect_as("app") as app:
        rights = ask(
            app,
            "SELECT rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication FROM pg_roles"
            " WHERE rolname = current_user",
        )
        assert rights == [(APP, False, False, False, False, False)]
        assert ask(app, "SELECT relname FROM pg_class WHERE relowner = current_user::regrole") == []
        assert ask(app, "SELECT proname FROM pg_proc WHERE proowner = current_user::regrole") == []
        assert ask(app, "SELECT roleid FROM pg_auth_members WHERE member = current_user::regrole") == []
        with pytest.raises(errors.InsufficientPrivilege):
            app.execute("CREATE TABLE public.mine (id int)")


def test_every_table_is_secured_or_listed_with_a_reason(connect_as: ConnectAs) -> None:
    with connect_as("app") as app:
        assert set(list_tables(app, with_security=False)) == read_exempt_tables()
        secured = list_tables(app, with_security=True)
        forced = ask(app, "SELECT relname FROM pg_class WHERE relforcerowsecurity")
        policies = ask(
            app,
            "SELECT tablename, cmd, permissive, qual = with_check, roles FROM pg_policies ORDER BY tablename",
        )
        named = ask(
            app,
            "SELECT table_name FROM information_schema.columns WHERE table_schema = 'public'"
            " AND column_name = 'tenant_id' AND table_name NOT IN ('principals', 'api_tokens') ORDER BY 1",
        )
    assert forced == [], "FORCE would hide rows from migrations and from pg_dump"
    assert policies == [(table, "ALL", "PERMISSIVE", True, ["public"]) for table in secured]
    assert [row[0] for row in named] == secured


def test_without_a_tenant_nothing_is_seen(connect_as: ConnectAs, world: World) -> None:
    with connect_as("superuser") as superuser:
        tables = list_tables(superuser, with_security=True)
        full = {table: count_rows(superuser, table, f"tenant_id = '{world.tenant_id}'") for table in tables}
    assert [table for table, rows in full.items() if not rows and table != "review_comments"] == []
    with connect_as("app") as app:
        assert {table: count_rows(app, table) for table in tables} == dict.fromkeys(tables, 0)
        app.execute(SET_TENANT, [""])
        assert {table: count_rows(app, table) for table in tables} == dict.fromkeys(tables, 0)


def test_a_tenant_sees_its_own_rows_and_no_others(connect_as: ConnectAs, worlds: tuple[World, World]) -> None:
    """Leave the tenant out of every query; the twin switches the security of a table off and sees them all."""
    mine, other = worlds
    of_other = f"tenant_id = '{other.tenant_id}'"
    with connect_as("app") as app:
        tables = list_tables(app, with_security=True)
        app.execute(SET_TENANT, [mine.tenant_id])
        foreign = {table: count_rows(app, table, f"tenant_id <> '{mine.tenant_id}'") for table in tables}
        assert foreign == dict.fromkeys(tables, 0)
        assert all(count_rows(app, table) for table in tables)
    with connect_as("superuser") as superuser:
        for table in tables:
            superuser.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY".encode())
        superuser.execute(f"SET LOCAL ROLE {APP}".encode())
        superuser.execute(SET_TENANT, [mine.tenant_id])
        assert all(count_rows(superuser, table, of_other) for table in tables)
        superuser.rollback()


def try_write(connection: Connection, statement: str, *params: object) -> psycopg.Error | None:
    try:
        with connection.transaction(force_rollback=True):
            assert connection.execute(statement.encode(), params).rowcount > 0
    except psycopg.Error as error:
        return error
    return None


def copy_into(table: str) -> str:
    """Return the statement that puts a row, given as JSON, into a table."""
    return f"INSERT INTO {table} SELECT * FROM jsonb_populate_record(NULL::{table}, %s::jsonb)"


def test_a_row_for_another_tenant_is_refused(connect_as: ConnectAs, worlds: tuple[World, World]) -> None:
    """Write a row of another tenant into every table; the twin is refused for no such reason."""
    mine, other = worlds
    with connect_as("superuser") as superuser:
        tables = list_tables(superuser, with_security=True)
        rows = {
            table: ask(superuser, f"SELECT to_jsonb(t)::text FROM {table} t WHERE tenant_id = %s", other.tenant_id)[0][
                0
            ]
            for table in tables
        }
        for table in tables:  # a trigger that comes before the policy would refuse first
            superuser.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
        superuser.execute(f"SET LOCAL ROLE {APP}".encode())
        superuser.execute(SET_TENANT, [mine.tenant_id])
        for table in tables:
            refusal = try_write(superuser, copy_into(table), rows[table])
            assert "violates row-level security" in str(refusal), (table, refusal)
        superuser.execute(SET_TENANT, [other.tenant_id])
        twins = [try_write(superuser, copy_into(table), rows[table]) for table in tables]
        assert not any("row-level security" in str(twin) for twin in twins)
        superuser.rollback()
    with connect_as("app") as app:
        app.execute(SET_TENANT, [mine.tenant_id])
        for table in tables:
            moved = try_write(app, f"UPDATE {table} SET tenant_id = %s", other.tenant_id)
            assert isinstance(moved, errors.InsufficientPrivilege), (table, moved)


def test_no_foreign_key_leads_to_another_tenant(connect_as: ConnectAs, worlds: tuple[World, World]) -> None:
    """Turn every composite foreign key to a row of another tenant; without the key it would go through."""
    mine, other = worlds
    with connect_as("superuser") as superuser:
        keys = ask(
            superuser,
            "SELECT conname, conrelid::regclass::text, confrelid::regclass::text, ("
            "   SELECT attname FROM pg_attribute WHERE attrelid = conrelid AND attnum = conkey[2]), ("
            "   SELECT attname FROM pg_attribute WHERE attrelid = confrelid AND attnum = confkey[2])"
            " FROM pg_constraint WHERE contype = 'f' AND conname LIKE '%%is_of_the_tenant' ORDER BY conname",
        )
        plain = ask(
            superuser,
            "SELECT conname FROM pg_constraint WHERE contype = 'f' AND cardinality(conkey) = 1"
            " AND confrelid IN (SELECT oid FROM pg_class WHERE relrowsecurity)"
            " AND conrelid IN (SELECT oid FROM pg_class WHERE relrowsecurity)",
        )
        assert plain == [], "a key of one column lets a row of another tenant pass"
        assert len(keys) > 40
        for name, table, target, column, target_column in keys:
            superuser.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
            foreign = ask(
                superuser,
                f"SELECT {target_column} FROM {target} goal WHERE tenant_id = %s ORDER BY EXISTS ("
                f"SELECT FROM {table} WHERE {table}.{column} = goal.{target_column}) LIMIT 1",
                other.tenant_id,
            )[0][0]
            turn = (
                f"UPDATE {table} SET {column} = %s WHERE ctid ="
                f" (SELECT ctid FROM {table} WHERE tenant_id = '{mine.tenant_id}' LIMIT 1)"
            )
            assert name_of(try_write(superuser, turn, foreign)) == name
            superuser.execute(sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(*map(sql.Identifier, (table, name))))
            twin = try_write(superuser, turn, foreign)
            assert name_of(twin) != name
            superuser.rollback()


def test_nothing_is_truncated_or_deleted_by_the_serving_role(connect_as: ConnectAs, world: World) -> None:
    """Empty every table: no grant. The twin grants it, and a table is empty."""
    with connect_as("app") as app:
        tables = [*list_tables(app, with_security=True), *list_tables(app, with_security=False)]
        for table in tables:
            with pytest.raises(errors.InsufficientPrivilege), app.transaction():
                app.execute(f"TRUNCATE {table} CASCADE".encode())
        deletable = {table for table in tables if ask(app, "SELECT has_table_privilege(%s, 'DELETE')", table)[0][0]}
    assert deletable == {
        "auth_group",
        "auth_group_permissions",
        "django_session",
        "principals_groups",
        "principals_user_permissions",
        "scope_group_permissions",
        "scope_user_permissions",
        "search_documents",
        "tenant_group_permissions",
        "tenant_user_permissions",
    }
    with connect_as("superuser") as superuser:
        superuser.execute(f"GRANT TRUNCATE ON audit_events TO {APP}".encode())
        superuser.execute(f"SET LOCAL ROLE {APP}".encode())
        superuser.execute("TRUNCATE audit_events")
        superuser.execute(SET_TENANT, [world.tenant_id])
        assert count_rows(superuser, "audit_events") == 0
        superuser.rollback()


def test_identity_is_never_updated_by_the_serving_role(connect_as: ConnectAs) -> None:
    with connect_as("app") as app:
        tables = list_tables(app, with_security=True)
        movable = ask(
            app,
            "SELECT table_name, column_name FROM information_schema.column_privileges"
            " WHERE grantee = current_user AND privilege_type = 'UPDATE' AND column_name IN ('id', 'tenant_id')"
            " AND table_name = ANY (%s) AND table_name <> 'search_documents'",
            tables,
        )
    assert movable == []


def test_what_runs_as_its_owner_is_narrow(connect_as: ConnectAs) -> None:
    with connect_as("superuser") as superuser:
        definers = ask(
            superuser,
            "SELECT proname, proconfig, has_function_privilege('public', oid, 'EXECUTE') FROM pg_proc"
            " WHERE prosecdef AND pronamespace = 'public'::regnamespace ORDER BY proname",
        )
    narrow = [
        (name, [setting for setting in settings if not setting.startswith("enable_")], is_public)
        for name, settings, is_public in definers
    ]
    assert narrow == [(name, ["search_path=public, pg_temp"], False) for name in sorted(DEFINERS)]


def test_the_search_finds_nothing_of_another_tenant(connect_as: ConnectAs, worlds: tuple[World, World]) -> None:
    """Ask the definer function for another tenant's scope; the twin without its comparison finds the memory."""
    mine, other = worlds
    call = "SELECT memory FROM search_memories_v1(%s, ARRAY[%s]::uuid[], ARRAY['django'], now(), now(), 10)"
    names = (other.tenant_id, other.ids["scope"])
    with connect_as("app") as app:
        app.execute(SET_TENANT, [other.tenant_id])
        assert ask(app, call, *names) != []
        app.execute(SET_TENANT, [mine.tenant_id])
        assert ask(app, call, *names) == []
    text = read_sql(package="retrieval", name="search")
    comparison = "AND p_tenant = nullif(current_setting('memoryhub.tenant', true), '')::uuid"
    assert comparison in text
    twin = text.replace(comparison, "").replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
    with connect_as("superuser") as superuser:
        superuser.execute(twin.encode())
        superuser.execute(f"SET LOCAL ROLE {APP}".encode())
        superuser.execute(SET_TENANT, [mine.tenant_id])
        assert ask(superuser, call, *names) != []
        superuser.rollback()
