"""Let a tenant declare its ontology, and an application its own cognitive types."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

import memoryhub.lib.fields
import memoryhub.lib.ids
import memoryhub.memory.models
from memoryhub.migrations._sql import put_sql, put_tenant_tables
from memoryhub.types.fact_keys import fold_pattern, rank_pattern

TYPE_NAME = "^[a-z][a-z0-9_]{0,39}$"
NORMALISERS = (
    "^((none|trim|casefold|nfkc|number|date|duration|email|url)"
    "(,(none|trim|casefold|nfkc|number|date|duration|email|url))*)?$"
)


def fold_keys(apps: Any, schema_editor: Any) -> None:
    """Fill in what all spellings of a declared key have in common; what is no key keeps its own spelling."""
    del schema_editor
    for predicate in apps.get_model("memoryhub", "Predicate").objects.using("owner").all():
        fold = fold_pattern(text=predicate.fact_key)
        type(predicate).objects.using("owner").filter(pk=predicate.pk).update(
            fold=fold, rank=rank_pattern(pattern=fold)
        )


class Migration(migrations.Migration):
    """Widen the memory type; add spellings and names to predicates, and mentions to subjects."""

    dependencies = [("memoryhub", "0008_rest_on_memories")]
    operations = [
        migrations.RemoveConstraint("memoryhead", "memory_heads_type_is_known"),
        migrations.RemoveConstraint("memorycandidate", "memory_candidates_type_is_known"),
        *(
            migrations.AlterField(model, "memory_type", models.CharField(max_length=40))
            for model in ("memoryhead", "memorycandidate")
        ),
        *(
            migrations.AddConstraint(
                model,
                models.CheckConstraint(
                    condition=models.Q(memory_type__regex=TYPE_NAME), name=f"{table}_type_is_a_name"
                ),
            )
            for model, table in (("memoryhead", "memory_heads"), ("memorycandidate", "memory_candidates"))
        ),
        migrations.AddField("predicate", "name", models.CharField(blank=True, db_default="", max_length=200)),
        migrations.AlterField("predicate", "normaliser", models.CharField(blank=True, max_length=100)),
        migrations.AddField(
            "predicate",
            "fold",
            memoryhub.memory.models.FoldField(default="", editable=False, max_length=200),
            preserve_default=False,
        ),
        migrations.AddField(
            "predicate",
            "rank",
            memoryhub.memory.models.RankField(blank=True, default="", editable=False, max_length=20),
            preserve_default=False,
        ),
        migrations.RunPython(fold_keys, migrations.RunPython.noop),
        migrations.RemoveConstraint("predicate", "predicates_key_is_declared_once"),
        migrations.AddConstraint(
            "predicate", models.UniqueConstraint(fields=("tenant", "fold"), name="predicates_key_is_declared_once")
        ),
        migrations.AddIndex("predicate", models.Index(fields=["tenant", "fact_key"], name="predicates_by_key")),
        migrations.AddConstraint(
            "predicate",
            models.CheckConstraint(
                condition=models.Q(normaliser__regex=NORMALISERS), name="predicates_normaliser_is_known"
            ),
        ),
        migrations.AddIndex(
            "predicate",
            models.Index(
                condition=models.Q(("rank", ""), _negated=True), fields=["tenant", "rank"], name="predicates_patterns"
            ),
        ),
        migrations.AlterField(
            "subject",
            "entity_type",
            memoryhub.lib.fields.TenantForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="memoryhub.entitytype",
            ),
        ),
        migrations.AddField("subject", "is_declared", models.BooleanField(db_default=False, default=False)),
        migrations.AddField("subject", "is_unclear", models.BooleanField(db_default=False, default=False)),
        migrations.AddConstraint(
            "subject",
            models.CheckConstraint(
                condition=models.Q(("entity_type__isnull", False), ("is_unclear", True), _connector="OR"),
                name="subjects_have_a_type_unless_unclear",
            ),
        ),
        migrations.CreateModel(
            name="SubjectMention",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=memoryhub.lib.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("mention_digest", models.CharField(max_length=64)),
                ("label", models.CharField(blank=True, max_length=300)),
                (
                    "subject",
                    memoryhub.lib.fields.TenantForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="memoryhub.subject",
                    ),
                ),
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
            options={
                "db_table": "subject_mentions",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "mention_digest", "subject"), name="subject_mentions_are_said_once"
                    )
                ],
            },
        ),
        put_tenant_tables("SubjectMention"),
        put_sql(
            ("memory", "find_predicate_v1"),
            ("memory", "ontology"),
            ("memory", "load_memory_state_v1"),
            ("memory", "load_write_v1"),
        ),
    ]
