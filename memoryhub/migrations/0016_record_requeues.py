"""Record in the audit that a candidate was put in the queue again, so that its younger epoch is explained."""

from __future__ import annotations

from django.db import migrations

from memoryhub.migrations._sql import put_sql


class Migration(migrations.Migration):
    """Put the functions anew whose effects the ledger verifies."""

    dependencies = [("memoryhub", "0015_validate_parts")]
    operations = [
        put_sql(
            ("memory", "requeue_candidate_v1"), ("memory", "commit_decision_v1"), ("erasure", "raise_barrier_v1")
        )
    ]
