"""Tables of erasure: the barriers that keep revoked material from being used or coming back."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from memoryhub.lib.fields import LedgerModel, TenantForeignKey, enum_check
from memoryhub.types.enums import RevocationMode, RevocationTarget


class Revocation(LedgerModel):
    """A barrier: this source, key, memory, subject or scope may not be used or come back.

    Row: the barrier stands, unless `mode` is `lifted`. Absent: nothing bars it.
    Erasure: ids and keyed digests only; it outlives what it bars, that is its work.
    `effects` is what it changed in rows that may change: claims withdrawn, versions hidden, memories that ended; NULL
    if it was raised before this was kept.
    """

    scope = TenantForeignKey("memoryhub.Scope")
    target = models.CharField(max_length=16)
    target_id = models.UUIDField(null=True)
    target_key = models.CharField(max_length=200, blank=True)
    mode = models.CharField(max_length=20)
    epoch = models.BigIntegerField()
    reason = models.CharField(max_length=64)
    requested_by = TenantForeignKey("memoryhub.Principal")
    recorded_at = models.DateTimeField()
    lifted_at = models.DateTimeField(null=True)
    hits = models.IntegerField(default=0)
    effects = models.JSONField(null=True)

    class Meta:
        """Name the table."""

        db_table = "revocations"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            enum_check(field="target", enum=RevocationTarget, name="revocations_target_is_known"),
            enum_check(field="mode", enum=RevocationMode, name="revocations_mode_is_known"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "scope", "target"], name="revocations_by_scope"),
            models.Index(fields=["tenant", "written_in"], name="revocations_written_in"),
        ]

    def __str__(self) -> str:
        """Return target and mode."""
        return f"{self.target} {self.mode}"
