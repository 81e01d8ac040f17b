"""Tables of the outbox: what must still be told, and what must still be done."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from memoryhub.lib.fields import TenantForeignKey, TenantModel, enum_check
from memoryhub.types.enums import DeadLetterReason, JobState, OutboxState


class OutboxRow(TenantModel):
    """One change to be told, written in the transaction of the change; ids only, never content.

    Row: it was changed; `told_to` names the consumers that have it, and it is `delivered` when all have. A `dead`
    one waits for a person. `version` is the version of the memory that changed, 0 where none can be compared.
    Absent: nothing changed, or it was told so long ago that it was pruned.
    Erasure: ids only; `note` is a person's words about the failure, emptied with the tenant.
    Claimed by state with SKIP LOCKED, delivered at least once.
    """

    topic = models.CharField(max_length=40)
    key = models.UUIDField()
    version = models.IntegerField(default=0)
    state = models.CharField(max_length=12, default=OutboxState.WAITING, db_default="waiting")
    told_to = ArrayField(models.CharField(max_length=40), default=list, db_default=[])
    attempts = models.SmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField()
    lease_expires_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=200, blank=True)
    reason = models.CharField(max_length=20, blank=True, db_default="")
    note = models.CharField(max_length=200, blank=True, db_default="")

    class Meta:
        """Name the table."""

        db_table = "outbox"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            enum_check(field="state", enum=OutboxState, name="outbox_state_is_known"),
            enum_check(field="reason", enum=["", *DeadLetterReason], name="outbox_reason_is_known"),
            models.CheckConstraint(
                condition=Q(state="delivered", delivered_at__isnull=False)
                | (~Q(state="delivered") & Q(delivered_at__isnull=True)),
                name="outbox_is_delivered_at_an_instant",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["tenant", "next_attempt_at", "id"], condition=Q(state="waiting"), name="outbox_waiting"
            ),
            models.Index(fields=["tenant", "id"], condition=Q(state="dead"), name="outbox_dead"),
        ]

    def __str__(self) -> str:
        """Return topic and key."""
        return f"{self.topic} {self.key}"


class ProcessingJob(TenantModel):
    """One piece of work on one event or candidate, done once under one epoch.

    Row: it was asked for. Absent: it never was, or it ended so long ago that it was pruned. `kind` is `extract`
    (target an event) or `consolidate` (target a candidate). Dead ones wait for a person; `reason` and `note` are what
    that person said.
    Erasure: ids only; `last_error` holds a class and no content; `note` is a person's words about the failure, emptied
    with the tenant.
    """

    kind = models.CharField(max_length=20)
    target_id = models.UUIDField()
    scope = TenantForeignKey("memoryhub.Scope")
    extractor_version = models.CharField(max_length=40, blank=True)
    policy_version = models.CharField(max_length=40)
    deletion_epoch = models.BigIntegerField()
    state = models.CharField(max_length=12, default=JobState.QUEUED)
    attempts = models.SmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField()
    lease_expires_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=20, blank=True, db_default="")
    note = models.CharField(max_length=200, blank=True, db_default="")

    class Meta:
        """Name the table."""

        db_table = "processing_jobs"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["tenant", "kind", "target_id", "extractor_version", "policy_version", "deletion_epoch"],
                name="processing_jobs_are_done_once",
            ),
            enum_check(field="state", enum=JobState, name="processing_jobs_state_is_known"),
            enum_check(field="reason", enum=["", *DeadLetterReason], name="processing_jobs_reason_is_known"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["tenant", "next_attempt_at", "id"],
                condition=Q(state__in=["queued", "retrying", "running"]),
                name="processing_jobs_waiting",
            ),
            models.Index(fields=["tenant", "id"], condition=Q(state="dead"), name="processing_jobs_dead"),
        ]

    def __str__(self) -> str:
        """Return kind and state."""
        return f"{self.kind} {self.state}"
