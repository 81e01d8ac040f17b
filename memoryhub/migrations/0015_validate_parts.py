"""Let a commit write who validated a part."""

from __future__ import annotations

from django.db import migrations

from memoryhub.migrations._sql import put_sql


class Migration(migrations.Migration):
    """Put the commit anew."""

    dependencies = [("memoryhub", "0014_kernel_surface")]
    operations = [put_sql(("memory", "commit_decision_v1"))]
