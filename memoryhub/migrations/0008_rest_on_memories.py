"""Let memories rest on lower ones and on documents, and let what a lower one loses be seen above."""

from __future__ import annotations

import django.db.models.deletion
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models.functions import Cast

import memoryhub.lib.fields
import memoryhub.lib.ids
from memoryhub.migrations._sql import put_sql, put_tenant_tables

WRITTEN_IN = models.BigIntegerField(
    db_default=Cast(Cast(memoryhub.lib.fields.ThisTransaction(), models.TextField()), models.BigIntegerField()),
    editable=False,
)


class Migration(migrations.Migration):
    """Add what a claim rests on, the documents that evidence points into, and the source a candidate is counted by."""

    dependencies = [("memoryhub", "0007_seal_the_ledger")]
    operations = [
        migrations.CreateModel(
            name="EvidenceDocument",
            fields=[
                (
                    "evidence",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="document",
                        serialize=False,
                        to="memoryhub.evidence",
                    ),
                ),
                ("payload", models.JSONField(null=True)),
                ("erased_at", models.DateTimeField(null=True)),
                ("erased_by", models.UUIDField(null=True)),
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
            options={"db_table": "evidence_documents", "default_permissions": ()},
        ),
        migrations.AddConstraint(
            model_name="evidencedocument",
            constraint=models.CheckConstraint(
                condition=models.Q(("erased_at__isnull", True), ("payload__isnull", False))
                | models.Q(("erased_at__isnull", False), ("payload__isnull", True)),
                name="evidence_documents_are_whole_or_erased",
            ),
        ),
        migrations.CreateModel(
            name="MemoryBasis",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=memoryhub.lib.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("written_in", WRITTEN_IN),
                ("lower_version", models.IntegerField()),
                ("sequence", models.IntegerField()),
                ("carries", models.BooleanField()),
                ("share", models.FloatField()),
                ("claim_weight", models.FloatField()),
                ("value_digest", models.CharField(max_length=64, null=True)),
                ("weight", models.FloatField()),
                ("observed_at", models.DateTimeField()),
                ("roots", ArrayField(base_field=models.UUIDField(), default=list, size=None)),
                ("principals", ArrayField(base_field=models.UUIDField(), default=list, size=None)),
                ("trust", models.CharField(max_length=12)),
                ("lineages", models.IntegerField()),
                ("recorded_at", models.DateTimeField()),
                (
                    "candidate",
                    memoryhub.lib.fields.TenantForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="memoryhub.memorycandidate",
                    ),
                ),
                (
                    "decision",
                    memoryhub.lib.fields.TenantForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="memoryhub.mergedecision",
                    ),
                ),
                (
                    "lower",
                    memoryhub.lib.fields.TenantForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="memoryhub.memoryhead",
                    ),
                ),
                (
                    "memory",
                    memoryhub.lib.fields.TenantForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="memoryhub.memoryhead",
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
            options={"db_table": "memory_bases", "default_permissions": ()},
        ),
        migrations.AddIndex(
            model_name="memorybasis",
            index=models.Index(fields=["tenant", "memory"], name="memory_bases_by_memory"),
        ),
        migrations.AddIndex(
            model_name="memorybasis",
            index=models.Index(fields=["tenant", "lower"], name="memory_bases_by_lower"),
        ),
        migrations.AddIndex(
            model_name="memorybasis",
            index=models.Index(fields=["tenant", "written_in"], name="memory_bases_written_in"),
        ),
        migrations.AddConstraint(
            model_name="memorybasis",
            constraint=models.UniqueConstraint(
                fields=("tenant", "candidate", "sequence", "lower"), name="memory_bases_of_a_claim_have_one_order"
            ),
        ),
        migrations.AddConstraint(
            model_name="memorybasis",
            constraint=models.CheckConstraint(
                condition=models.Q(("memory", models.F("lower")), _negated=True), name="memory_bases_lead_to_another"
            ),
        ),
        migrations.AddConstraint(
            model_name="memorybasis",
            constraint=models.CheckConstraint(
                condition=models.Q(("trust__in", ["first_party", "third_party", "untrusted"])),
                name="memory_bases_trust_is_known",
            ),
        ),
        migrations.AddField("memorycandidate", "source_id", models.UUIDField(null=True)),
        migrations.AddField(
            "memorycandidate", "source_kind", models.CharField(db_default="event", default="event", max_length=16)
        ),
        put_tenant_tables("EvidenceDocument", "MemoryBasis"),
        put_sql(
            ("memory", "bases"),
            ("kernel", "append_record_v1"),
            ("memory", "append_candidate_v1"),
            ("memory", "load_memory_state_v1"),
            ("memory", "commit_decision_v1"),
            ("erasure", "raise_barrier_v1"),
            ("retrieval", "search"),
        ),
    ]
