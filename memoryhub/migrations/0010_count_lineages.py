"""Tell of each claim how far its source is trusted, which caps how far the claims of one principal reach."""

from __future__ import annotations

from django.db import migrations

from memoryhub.migrations._sql import put_sql


class Migration(migrations.Migration):
    """Put the function that loads what a decision is made from anew."""

    dependencies = [("memoryhub", "0009_declare_the_ontology")]
    operations = [put_sql(("memory", "load_memory_state_v1"))]
