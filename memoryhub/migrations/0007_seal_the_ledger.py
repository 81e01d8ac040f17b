"""Seal the ledger: a number of the transaction on each row that never changes, the entries, and the chain of seals."""

from __future__ import annotations

import django.db.models.deletion
from django.contrib.postgres.functions import RandomUUID
from django.db import migrations, models
from django.db.models.functions import Cast

from memoryhub.lib.fields import ThisTransaction
from memoryhub.lib.ids import new_id
from memoryhub.migrations._sql import put_sql, put_tenant_tables

LEDGER = {
    "sourceevent": "source_events",
    "evidence": "evidence",
    "evidenceedge": "evidence_edges",
    "evidenceroot": "evidence_roots",
    "memorycandidate": "memory_candidates",
    "candidateevidence": "candidate_evidence",
    "mergedecision": "merge_decisions",
    "memoryversion": "memory_versions",
    "memoryevidence": "memory_evidence",
    "ruling": "rulings",
    "revocation": "revocations",
    "auditevent": "audit_events",
}


def _written_in() -> models.BigIntegerField[int, int]:
    number = Cast(Cast(ThisTransaction(), models.TextField()), models.BigIntegerField())
    return models.BigIntegerField(editable=False, db_default=number)


def _of_a_tenant() -> list[tuple[str, models.Field[object, object]]]:
    tenant = models.ForeignKey(
        on_delete=django.db.models.deletion.PROTECT, related_name="+", db_index=False, to="memoryhub.tenant"
    )
    return [
        ("id", models.UUIDField(primary_key=True, default=new_id, editable=False, serialize=False)),
        ("tenant", tenant),
    ]


class Migration(migrations.Migration):
    """Add the two tables of seals, and what rows and decisions say for them."""

    dependencies = [("memoryhub", "0006_names_of_groups")]
    operations = [
        *(migrations.AddField(model, "written_in", _written_in()) for model in LEDGER),
        *(
            migrations.AddIndex(model, models.Index(fields=["tenant", "written_in"], name=f"{table}_written_in"))
            for model, table in LEDGER.items()
        ),
        migrations.AddField("memorycandidate", "salt", models.UUIDField(null=True, editable=False, db_default=RandomUUID())),
        migrations.AddField("memoryversion", "salt", models.UUIDField(null=True, editable=False, db_default=RandomUUID())),
        migrations.AddField("mergedecision", "effects", models.JSONField(null=True)),
        migrations.AddField("revocation", "effects", models.JSONField(null=True)),
        migrations.CreateModel(
            "LedgerSeal",
            [
                *_of_a_tenant(),
                ("number", models.BigIntegerField()),
                ("previous", models.CharField(max_length=64)),
                ("root", models.CharField(max_length=64)),
                ("first_position", models.BigIntegerField()),
                ("entries", models.IntegerField()),
                ("sealed_at", models.DateTimeField()),
                ("newest_at", models.DateTimeField()),
                ("horizon", models.BigIntegerField()),
                ("scheme", models.SmallIntegerField()),
                ("digest", models.CharField(max_length=64)),
            ],
            options={
                "db_table": "ledger_seals",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "number"), name="ledger_seals_are_numbered_once")
                ],
            },
        ),
        migrations.CreateModel(
            "LedgerEntry",
            [
                *_of_a_tenant(),
                ("position", models.BigIntegerField()),
                ("table_name", models.CharField(max_length=32)),
                ("digest", models.CharField(max_length=64)),
                ("words_digest", models.CharField(max_length=64, blank=True)),
            ],
            options={
                "db_table": "ledger_entries",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "position"), name="ledger_entries_have_one_order")
                ],
            },
        ),
        put_tenant_tables("LedgerSeal", "LedgerEntry"),
        put_sql(("kernel", "ledger"), ("memory", "commit_decision_v1"), ("erasure", "raise_barrier_v1")),
    ]
