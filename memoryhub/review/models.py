"""Tables of review: what waits for a person, and what people said about it."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from memoryhub.lib.fields import TenantForeignKey, TenantModel, enum_check
from memoryhub.types.enums import ReviewKind, ReviewState


class ReviewItem(TenantModel):
    """One thing that waits for a person; at most one open item an object.

    Row: it waited. Absent: nothing had to be asked. A lease is advice and never the reason of a refusal.
    Erasure: ids only; words are in `review_comments`.
    `object_id` is the conflict set or the candidate; `candidate` is the proposed claim, `memory` the head.
    """

    kind = models.CharField(max_length=12)
    object_id = models.UUIDField()
    scope = TenantForeignKey("memoryhub.Scope")
    memory = TenantForeignKey("memoryhub.MemoryHead", null=True)
    candidate = TenantForeignKey("memoryhub.MemoryCandidate")
    state = models.CharField(max_length=10, default=ReviewState.OPEN)
    reason = models.CharField(max_length=64)
    priority = models.SmallIntegerField(default=0)
    expected_version = models.IntegerField(default=0)
    opened_at = models.DateTimeField()
    deferred_until = models.DateTimeField(null=True)
    waiting_on = models.CharField(max_length=100, blank=True)
    lease_holder = TenantForeignKey("memoryhub.Principal", null=True)
    lease_expires_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    decided_by = TenantForeignKey("memoryhub.Principal", null=True)
    decision = TenantForeignKey("memoryhub.MergeDecision", null=True)
    outcome = models.CharField(max_length=24, blank=True)

    class Meta:
        """Name the table."""

        db_table = "review_items"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["tenant", "object_id"],
                condition=Q(state="open"),
                name="review_items_one_is_open_an_object",
            ),
            enum_check(field="kind", enum=ReviewKind, name="review_items_kind_is_known"),
            enum_check(field="state", enum=ReviewState, name="review_items_state_is_known"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["tenant", "kind", "scope", "opened_at", "id"],
                condition=Q(state="open"),
                name="review_items_waiting",
            ),
            models.Index(F("tenant"), F("decided_by"), F("decided_at").desc(), name="review_items_by_decider"),
        ]

    def __str__(self) -> str:
        """Return kind and state."""
        return f"{self.kind} {self.state}"


class ReviewComment(TenantModel):
    """What a person wrote at an item; the note kept with a ruling is one too.

    Row: it was written. Absent: nothing was. Erasure: `text` is emptied, `erased_at` says when.
    """

    item = TenantForeignKey(ReviewItem)
    author = TenantForeignKey("memoryhub.Principal")
    text = models.TextField(blank=True)
    created_at = models.DateTimeField()
    erased_at = models.DateTimeField(null=True)

    class Meta:
        """Name the table."""

        db_table = "review_comments"
        default_permissions = ()
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "item", "created_at"], name="review_comments_by_item")
        ]

    def __str__(self) -> str:
        """Return the id of the item."""
        return str(self.item_id)
