"""What every table of a tenant has in the database, and how a broken constraint gets its name back.

Nothing here knows what the tables hold.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, InterfaceError, OperationalError, connection

from memoryhub.lib.fields import TenantForeignKey

if TYPE_CHECKING:
    from django.db.models import Model

TENANT_SETTING = "memoryhub.tenant"
_JSONB = 3802  # the type's number in every PostgreSQL
CURRENT_TENANT_SQL = f"nullif(current_setting('{TENANT_SETTING}', true), '')::uuid"


class StoreFailure(Exception):
    """Say that the database could not be asked; nothing is known of what it holds."""


_constraints: dict[str, type[Exception]] = {}


def name_constraint(*, name: str, exception: type[Exception]) -> None:
    """Enter in the one table which fact a broken constraint states."""
    _constraints[name] = exception


@contextmanager
def naming_errors() -> Iterator[None]:
    """Turn a database error into the fact that its constraint states.

    Raises:
        StoreFailure: the database was away, or gave up.
    """
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise StoreFailure(type(error).__name__) from error
    except DatabaseError as error:
        name = find_constraint_name(error=error)
        if name in _constraints:
            raise _constraints[name](name) from error
        raise


def find_constraint_name(*, error: BaseException) -> str:
    """Return the name of the constraint or trigger that refused, or an empty text."""
    cause = error.__cause__ or error
    diag = getattr(cause, "diag", None)
    return str(getattr(diag, "constraint_name", None) or "")


def read_sql(*, package: str, name: str) -> str:
    """Return the text of `memoryhub/<package>/sql/<name>.sql`."""
    return (Path(__file__).parent.parent / package / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def fetch_all(*, sql: str, params: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run one statement on the serving connection and return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall() if cursor.description else []


def fetch_records(*, sql: str, params: Sequence[Any] | Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run one statement on the serving connection and return its rows by column name; JSON is read."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        columns = [(column.name, column.type_code == _JSONB) for column in cursor.description]
        return [
            {
                name: json.loads(value) if is_json and isinstance(value, str) else value
                for (name, is_json), value in zip(columns, row, strict=True)
            }
            for row in cursor.fetchall()
        ]


def fetch_json(*, sql: str, params: Sequence[Any] | Mapping[str, Any]) -> Any:
    """Run one statement that answers one JSON document, and return it."""
    value = fetch_all(sql=sql, params=params)[0][0]
    return json.loads(value) if isinstance(value, str) else value


def tenant_table_sql(*, model: type[Model]) -> list[str]:
    """Return the statements that every table of a tenant needs.

    Row-level security by tenant (enabled, not forced: the owner migrates) and the unique (tenant, id).
    """
    table = model._meta.db_table  # noqa: SLF001
    key = "id" if any(field.column == "id" for field in model._meta.local_fields) else ""  # noqa: SLF001
    statements = [
        f'ALTER TABLE "{table}" ENABLE ROW LEVEL SECURITY',
        # Plans must not depend on which tenant asks: one that was just loaded is in no statistics, would be taken
        # for one row a table, and joins over it would run in nested loops for minutes.
        f'ALTER TABLE "{table}" ALTER COLUMN tenant_id SET STATISTICS 0',
        (
            f'CREATE POLICY "{table}_belong_to_the_tenant" ON "{table}" '
            f"USING (tenant_id = {CURRENT_TENANT_SQL}) WITH CHECK (tenant_id = {CURRENT_TENANT_SQL})"
        ),
    ]
    if key:
        statements.append(
            f'ALTER TABLE "{table}" ADD CONSTRAINT "{table}_tenant_and_id_are_unique" UNIQUE (tenant_id, id)'
        )
    return statements


def tenant_foreign_key_sql(*, model: type[Model]) -> list[str]:
    """Return the composite foreign keys (tenant_id, x_id) → (tenant_id, id) of one table."""
    table = model._meta.db_table  # noqa: SLF001
    statements = []
    for field in model._meta.local_fields:  # noqa: SLF001
        if isinstance(field, TenantForeignKey):
            target = field.related_model._meta.db_table  # noqa: SLF001
            statements.append(
                f'ALTER TABLE "{table}" ADD CONSTRAINT "{table}_{field.name}_is_of_the_tenant" '
                f'FOREIGN KEY (tenant_id, "{field.column}") REFERENCES "{target}" (tenant_id, id)'
            )
    return statements


def transition_trigger_sql(*, table: str, column: str, transitions: Mapping[str, Iterable[str]]) -> str:
    """Return the trigger that lets a state column move only along its table.

    The trigger is named `<table>_<column>_follows_its_table` and is generated from the table beside the enum.
    """
    name = f"{table}_{column}_follows_its_table"
    allowed = " OR ".join(
        f"(OLD.{column} = '{before}' AND NEW.{column} IN ({', '.join(repr(str(after)) for after in sorted(afters))}))"
        for before, afters in transitions.items()
        if afters
    )
    return f"""
        CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF OLD.{column} = NEW.{column} OR {allowed} THEN
                RETURN NEW;
            END IF;
            RAISE EXCEPTION '% never goes from % to %', TG_TABLE_NAME, OLD.{column}, NEW.{column}
                USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
        END $$;
        CREATE TRIGGER {name} BEFORE UPDATE OF {column} ON {table}
            FOR EACH ROW EXECUTE FUNCTION {name}();
    """
