"""Find the first and the last answer of a session at the two ends of an index."""

from __future__ import annotations

from django.db import migrations, models

from memoryhub.migrations._sql import put_sql


class Migration(migrations.Migration):
    """Put a longer index in place of the one by session, and the function that uses it."""

    dependencies = [("memoryhub", "0018_rest_on_what_stands")]
    operations = [
        migrations.RemoveIndex("retrievalrun", name="retrieval_runs_by_session"),
        migrations.AddIndex(
            "retrievalrun",
            models.Index(fields=["tenant", "session_key", "at", "id"], name="retrieval_runs_of_session"),
        ),
        put_sql(("kernel", "append_record_v1")),
    ]
