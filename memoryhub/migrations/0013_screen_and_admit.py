"""Let a tenant have patterns of its own, and no lead become validated."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import memoryhub.lib.fields
import memoryhub.lib.ids
from memoryhub.migrations._sql import put_sql, put_tenant_tables


class Migration(migrations.Migration):
    """Add the patterns, and tell every caller of them; guard leads."""

    dependencies = [("memoryhub", "0012_mark_echoes")]
    operations = [
        migrations.CreateModel(
            name="ScreeningPattern",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=memoryhub.lib.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("kind", models.CharField(max_length=20)),
                ("pattern", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField()),
                ("retired_at", models.DateTimeField(null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="memoryhub.tenant",
                    ),
                ),
            ],
            options={"db_table": "screening_patterns", "default_permissions": ()},
        ),
        migrations.AddConstraint(
            "screeningpattern",
            models.UniqueConstraint(fields=("tenant", "pattern"), name="screening_patterns_are_declared_once"),
        ),
        migrations.AddConstraint(
            "memorycandidate",
            models.CheckConstraint(
                condition=models.Q(("epistemic_status", "validated"), ("kind", "lead"), _negated=True),
                name="memory_candidates_lead_is_never_validated",
            ),
        ),
        put_tenant_tables("ScreeningPattern"),
        put_sql(("access", "screening"), ("access", "rights"), ("memory", "leads")),
    ]
