"""Read everything that is stored of a tenant, to look for what must not be there."""

from __future__ import annotations

from psycopg import sql

from tests.conftest import ConnectAs


def read_everything(connect_as: ConnectAs, *, tenant_id: str) -> dict[str, str]:
    """Return the rows of every table as text, by table: the tenant's own, and all of those that know no tenant."""
    found: dict[str, str] = {}
    with connect_as("superuser") as superuser:
        tables = superuser.execute(
            "SELECT relname, EXISTS (SELECT FROM pg_attribute WHERE attrelid = held.oid AND attname = 'tenant_id')"
            " FROM pg_class held WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        ).fetchall()
        assert len(tables) > 30
        for table, has_tenant in tables:
            query = sql.SQL("SELECT coalesce(string_agg(held::text, chr(10)), '') FROM {} held").format(
                sql.Identifier(table)
            )
            if has_tenant:
                query += sql.SQL(" WHERE tenant_id = {}").format(sql.Literal(tenant_id))
            row = superuser.execute(query).fetchone()
            assert row is not None
            found[table] = str(row[0])
    return found


def find_in_tables(tables: dict[str, str], text: str) -> list[str]:
    """Return the tables in which a text stands."""
    return [table for table, rows in tables.items() if text in rows]
