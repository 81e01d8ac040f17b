"""Tables of the outbox: what must still be told, and what must still be done."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from memoryhub.lib.fields import TenantForeignKey, TenantModel, enum_check
from memoryhub.types.enums import JobState


class OutboxRow(TenantModel):
    """One change to be told, written in the transaction of the change; ids only, never content.

    Row: it was changed; `delivered_at` says that every consumer has it. Absent: nothing changed.
    Erasure: ids only. Claimed by state with SKIP LOCKED, delivered at least once.
    """

    topic = models.CharField(max_length=40)
    key = models.UUIDField()
    version = models.IntegerField(default=0)
    attempts = models.SmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField()
    created_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=200, blank=True)

    class Meta:
        """Name the table."""

        db_table = "outbox"
        default_permissions = ()
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["next_attempt_at"], condition=Q(delivered_at__isnull=True), name="outbox_waiting")
        ]

    def __str__(self) -> str:
        """Return topic and key."""
        return f"{self.topic} {self.key}"


class ProcessingJob(TenantModel):
    """One piece of work on one event or candidate, done once under one epoch.

    Row: it was asked for. Absent: it never was. `kind` is `extract` (target an event) or `consolidate`
    (target a candidate). Dead ones wait for a person.
    Erasure: ids only; `last_error` holds a class and a message without content.
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
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["next_attempt_at"],
                condition=Q(state__in=["queued", "retrying", "running"]),
                name="processing_jobs_waiting",
            )
        ]

    def __str__(self) -> str:
        """Return kind and state."""
        return f"{self.kind} {self.state}"
