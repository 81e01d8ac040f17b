"""Put the invariants, the functions and the rights of the serving role into the database.

The texts are in `memoryhub/*/sql/`; row-level security, composite foreign keys and transition triggers are
generated from the models and from the tables beside the enums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import migrations

from memoryhub.lib.db import read_sql, tenant_foreign_key_sql, tenant_table_sql, transition_trigger_sql
from memoryhub.migrations._sql import LATE_BODIES
from memoryhub.types import enums

if TYPE_CHECKING:
    from collections.abc import Iterator

SQL_FILES = [
    ("access", "rights"),
    ("kernel", "invariants"),
    ("memory", "invariants"),
    ("erasure", "barriers"),
    ("kernel", "append_record_v1"),
    ("memory", "append_candidate_v1"),
    ("memory", "propose_candidate_v1"),
    ("memory", "requeue_candidate_v1"),
    ("memory", "ingest_events_v1"),
    ("memory", "load_memory_state_v1"),
    ("memory", "load_write_v1"),
    ("memory", "commit_decision_v1"),
    ("erasure", "raise_barrier_v1"),
    ("outbox", "claims"),
    ("retrieval", "search"),
    ("access", "grants"),
]
TRANSITIONS = [
    ("memory_candidates", "status", enums.CANDIDATE_TRANSITIONS),
    ("memory_versions", "state", enums.VERSION_TRANSITIONS),
    ("processing_jobs", "state", enums.JOB_TRANSITIONS),
]


def _list_statements(apps: Any) -> Iterator[str]:
    models = [
        model
        for model in apps.get_app_config("memoryhub").get_models()
        if any(field.name == "tenant" for field in model._meta.local_fields)  # noqa: SLF001
        and model._meta.db_table not in ("principals", "api_tokens")  # noqa: SLF001
    ]
    for model in models:
        yield from tenant_table_sql(model=model)
    for model in models:
        yield from tenant_foreign_key_sql(model=model)
    for table, column, transitions in TRANSITIONS:
        yield transition_trigger_sql(table=table, column=column, transitions=transitions)
    yield LATE_BODIES
    for package, name in SQL_FILES:
        yield read_sql(package=package, name=name)


def put_invariants(apps: Any, schema_editor: Any) -> None:
    """Run every statement as the owner of the tables."""
    for statement in _list_statements(apps):
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    """Add what Django's models cannot say."""

    dependencies = [
        ("memoryhub", "0001_initial"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("sessions", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("guardian", "0003_remove_groupobjectpermission_guardian_gr_content_ae6aec_idx_and_more"),
    ]
    operations = [migrations.RunPython(put_invariants, migrations.RunPython.noop)]
