"""Look up the groups of a principal in one place."""

from __future__ import annotations

from django.db import migrations

from memoryhub.migrations._sql import put_sql


class Migration(migrations.Migration):
    """Put the functions that tell of rights anew, and those that ask them for groups."""

    dependencies = [("memoryhub", "0005_deliver_to_each_consumer")]
    operations = [put_sql(("access", "rights"), ("memory", "load_write_v1"))]
