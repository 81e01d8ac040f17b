"""Let all that an agent says in a session after a recall be one lineage, and find what it repeats."""

from __future__ import annotations

from django.db import migrations

from memoryhub.migrations._sql import put_sql


class Migration(migrations.Migration):
    """Put the functions anew that append a record and that load what a decision is made from."""

    dependencies = [("memoryhub", "0011_record_model_answers")]
    operations = [
        put_sql(
            ("kernel", "append_record_v1"),
            ("memory", "load_memory_state_v1"),
            ("memory", "load_write_v1"),
        )
    ]
