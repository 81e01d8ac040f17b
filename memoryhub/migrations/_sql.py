"""What every migration after the second one puts into the database beside Django's own operations.

A function stands once, in `memoryhub/<room>/sql/<name>.sql`, as it is now; a migration that changes one names its file
again. The second migration reads the same files on a new database, before the tables of later ones exist: so bodies
are checked when they run and not when they are made, and a trigger on a later table has a file of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import migrations

from memoryhub.lib.db import read_sql, tenant_foreign_key_sql, tenant_table_sql, transition_trigger_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LATE_BODIES = "SET LOCAL check_function_bodies = off"


def put_sql(*files: tuple[str, str]) -> migrations.RunPython:
    """Return the operation that runs these SQL files, each given as (room, name)."""

    def run(_apps: Any, schema_editor: Any) -> None:
        schema_editor.execute(LATE_BODIES, params=None)
        for room, name in files:
            schema_editor.execute(read_sql(package=room, name=name), params=None)

    return migrations.RunPython(run, migrations.RunPython.noop)


def put_tenant_tables(*names: str) -> migrations.RunPython:
    """Return the operation that secures new tables of a tenant, given as the names of their models."""

    def run(apps: Any, schema_editor: Any) -> None:
        models = [apps.get_model("memoryhub", name) for name in names]
        for model in models:
            grant = f'GRANT SELECT, INSERT ON "{model._meta.db_table}" TO memoryhub_app'  # noqa: SLF001
            schema_editor.execute(grant, params=None)
        for statements in (tenant_table_sql, tenant_foreign_key_sql):
            for model in models:
                for statement in statements(model=model):
                    schema_editor.execute(statement, params=None)

    return migrations.RunPython(run, migrations.RunPython.noop)


def put_transitions(*, table: str, column: str, transitions: Mapping[str, Iterable[str]]) -> migrations.RunPython:
    """Return the operation that makes a state column follow the table beside its enum, in place of an older one."""

    def run(_apps: Any, schema_editor: Any) -> None:
        schema_editor.execute(f"DROP FUNCTION IF EXISTS {table}_{column}_follows_its_table() CASCADE", params=None)
        statement = transition_trigger_sql(table=table, column=column, transitions=transitions)
        schema_editor.execute(statement, params=None)

    return migrations.RunPython(run, migrations.RunPython.noop)
