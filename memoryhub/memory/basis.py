"""The table of what memories rest on: lower memories, each at a version, with the belief it brought."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from memoryhub.lib.fields import LedgerModel, TenantForeignKey, enum_check
from memoryhub.types.enums import Trust


class MemoryBasis(LedgerModel):
    """One lower memory, at a version, that one claim rests on, with the belief it brought; append-only.

    Row: the claim rests on it, or did: the rows of its highest `sequence` count, all of them together. Absent: the
    claim rests on no memory. With `carries` the claim rests on memories alone: `claim_weight` is what the lower
    beliefs derive to, times `share`; without it the lower memory is only cited. `value_digest` is what stood there,
    NULL absence; `weight`, `roots`, `principals`, `trust` and `lineages` are the belief it brought, without roots
    none.
    Erasure: ids, digests and numbers only.
    """

    memory = TenantForeignKey("memoryhub.MemoryHead")
    candidate = TenantForeignKey("memoryhub.MemoryCandidate")
    lower = TenantForeignKey("memoryhub.MemoryHead")
    lower_version = models.IntegerField()
    sequence = models.IntegerField()
    carries = models.BooleanField()
    share = models.FloatField()
    claim_weight = models.FloatField()
    value_digest = models.CharField(max_length=64, null=True)  # noqa: DJ001  NULL is absence
    weight = models.FloatField()
    observed_at = models.DateTimeField()
    roots = ArrayField(models.UUIDField(), default=list)
    principals = ArrayField(models.UUIDField(), default=list)
    trust = models.CharField(max_length=12)
    lineages = models.IntegerField()
    decision = TenantForeignKey("memoryhub.MergeDecision")
    recorded_at = models.DateTimeField()

    class Meta:
        """Name the table."""

        db_table = "memory_bases"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["tenant", "candidate", "sequence", "lower"], name="memory_bases_of_a_claim_have_one_order"
            ),
            enum_check(field="trust", enum=Trust, name="memory_bases_trust_is_known"),
            models.CheckConstraint(condition=~Q(memory=F("lower")), name="memory_bases_lead_to_another"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "memory"], name="memory_bases_by_memory"),
            models.Index(fields=["tenant", "lower"], name="memory_bases_by_lower"),
            models.Index(fields=["tenant", "written_in"], name="memory_bases_written_in"),
        ]

    def __str__(self) -> str:
        """Return both ends."""
        return f"{self.memory_id} on {self.lower_id} v{self.lower_version}"
