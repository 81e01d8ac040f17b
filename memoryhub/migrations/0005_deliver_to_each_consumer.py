"""Deliver to each consumer by itself; let dead letters of both kinds wait for a person; claim by tenant in turns."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models import Q

from memoryhub.lib.fields import enum_check
from memoryhub.migrations._sql import put_sql, put_transitions
from memoryhub.types.enums import (
    JOB_TRANSITIONS,
    OUTBOX_TRANSITIONS,
    DeadLetterReason,
    JobState,
    OutboxState,
)

# What was delivered before had one consumer.
KEEP_DELIVERED = "UPDATE outbox SET state = 'delivered', told_to = '{search}' WHERE delivered_at IS NOT NULL"


class Migration(migrations.Migration):
    """Give outbox rows a state, and both queues an index that begins with the tenant."""

    dependencies = [("memoryhub", "0004_lifecycles")]
    operations = [
        migrations.RemoveConstraint(model_name="processingjob", name="processing_jobs_state_is_known"),
        migrations.RemoveIndex(model_name="outboxrow", name="outbox_waiting"),
        migrations.RemoveIndex(model_name="processingjob", name="processing_jobs_waiting"),
        migrations.AddField("outboxrow", "lease_expires_at", models.DateTimeField(null=True)),
        migrations.AddField("outboxrow", "note", models.CharField(max_length=200, blank=True, db_default="")),
        migrations.AddField("outboxrow", "reason", models.CharField(max_length=20, blank=True, db_default="")),
        migrations.AddField(
            "outboxrow", "state", models.CharField(max_length=12, default=OutboxState.WAITING, db_default="waiting")
        ),
        migrations.AddField(
            "outboxrow", "told_to", ArrayField(models.CharField(max_length=40), default=list, db_default=[])
        ),
        migrations.AddField("processingjob", "note", models.CharField(max_length=200, blank=True, db_default="")),
        migrations.AddField("processingjob", "reason", models.CharField(max_length=20, blank=True, db_default="")),
        migrations.RunSQL(KEEP_DELIVERED, migrations.RunSQL.noop),
        migrations.AddIndex(
            "outboxrow",
            models.Index(
                fields=["tenant", "next_attempt_at", "id"], condition=Q(state="waiting"), name="outbox_waiting"
            ),
        ),
        migrations.AddIndex(
            "outboxrow", models.Index(fields=["tenant", "id"], condition=Q(state="dead"), name="outbox_dead")
        ),
        migrations.AddIndex(
            "processingjob",
            models.Index(
                fields=["tenant", "next_attempt_at", "id"],
                condition=Q(state__in=["queued", "retrying", "running"]),
                name="processing_jobs_waiting",
            ),
        ),
        migrations.AddIndex(
            "processingjob",
            models.Index(fields=["tenant", "id"], condition=Q(state="dead"), name="processing_jobs_dead"),
        ),
        migrations.AddConstraint(
            "outboxrow", enum_check(field="state", enum=OutboxState, name="outbox_state_is_known")
        ),
        migrations.AddConstraint(
            "outboxrow", enum_check(field="reason", enum=["", *DeadLetterReason], name="outbox_reason_is_known")
        ),
        migrations.AddConstraint(
            "outboxrow",
            models.CheckConstraint(
                condition=Q(state="delivered", delivered_at__isnull=False)
                | (~Q(state="delivered") & Q(delivered_at__isnull=True)),
                name="outbox_is_delivered_at_an_instant",
            ),
        ),
        migrations.AddConstraint(
            "processingjob", enum_check(field="state", enum=JobState, name="processing_jobs_state_is_known")
        ),
        migrations.AddConstraint(
            "processingjob",
            enum_check(field="reason", enum=["", *DeadLetterReason], name="processing_jobs_reason_is_known"),
        ),
        put_transitions(table="processing_jobs", column="state", transitions=JOB_TRANSITIONS),
        put_transitions(table="outbox", column="state", transitions=OUTBOX_TRANSITIONS),
        put_sql(("outbox", "claims"), ("outbox", "dead_letters")),
    ]
