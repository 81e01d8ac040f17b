"""Record what a model was asked about an event, what it answered, and what that cost."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

import memoryhub.lib.fields
from memoryhub.lib.ids import new_id
from memoryhub.migrations._sql import put_sql, put_tenant_tables


class Migration(migrations.Migration):
    """Add the table of model answers."""

    dependencies = [("memoryhub", "0010_count_lineages")]
    operations = [
        migrations.CreateModel(
            "ModelAnswer",
            [
                ("id", models.UUIDField(primary_key=True, default=new_id, editable=False, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        db_index=False,
                        to="memoryhub.tenant",
                    ),
                ),
                (
                    "event",
                    memoryhub.lib.fields.TenantForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        db_index=False,
                        to="memoryhub.sourceevent",
                    ),
                ),
                ("extractor_version", models.CharField(max_length=40)),
                ("model", models.CharField(max_length=100)),
                ("question_digest", models.CharField(max_length=64)),
                ("tokens", models.IntegerField()),
                ("answer", models.TextField(blank=True)),
                ("asked_at", models.DateTimeField()),
                ("answered_at", models.DateTimeField(null=True)),
                ("erased_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "model_answers",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "event", "extractor_version", "question_digest"),
                        name="model_answers_are_asked_for_once",
                    ),
                    models.CheckConstraint(condition=Q(tokens__gte=0), name="model_answers_cost_nothing_or_more"),
                    models.CheckConstraint(
                        condition=Q(answer="") | Q(answered_at__isnull=False, erased_at__isnull=True),
                        name="model_answers_are_given_and_not_erased",
                    ),
                ],
                "indexes": [models.Index(fields=["tenant", "asked_at"], name="model_answers_by_time")],
            },
        ),
        put_tenant_tables("ModelAnswer"),
        put_sql(("extraction", "model_answers")),
    ]
