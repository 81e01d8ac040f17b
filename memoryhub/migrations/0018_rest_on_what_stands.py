"""Let what rests on memories be committed on the versions that stand, and lock in one order."""

from __future__ import annotations

from django.db import migrations

from memoryhub.migrations._sql import put_sql


class Migration(migrations.Migration):
    """Put the commit and the barrier anew."""

    dependencies = [("memoryhub", "0017_explain_former_epochs")]
    operations = [put_sql(("memory", "commit_decision_v1"), ("erasure", "raise_barrier_v1"))]
