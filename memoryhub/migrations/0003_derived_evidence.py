"""Let evidence be written with what it was derived from: edges first, and its roots from them."""

from __future__ import annotations

from django.db import migrations

from memoryhub.migrations._sql import put_sql


class Migration(migrations.Migration):
    """Put the function that writes evidence anew, and the guards of edges and roots."""

    dependencies = [("memoryhub", "0002_invariants")]
    operations = [put_sql(("kernel", "append_record_v1"), ("kernel", "derived_evidence"))]
