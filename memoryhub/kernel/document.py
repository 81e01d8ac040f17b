"""The table of documents at a revision that evidence points into."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q


class EvidenceDocument(models.Model):
    """The document at a revision that a piece of evidence points into; may change once, to erased.

    Row: `payload` says the reference, the revision and the position in it. Absent: the evidence is no document.
    Erasure: `payload` becomes NULL, `erased_at` says when; the source identity stays a keyed digest.
    """

    evidence = models.OneToOneField(
        "memoryhub.Evidence", models.PROTECT, primary_key=True, db_constraint=False, related_name="document"
    )
    tenant = models.ForeignKey("memoryhub.Tenant", models.PROTECT, related_name="+", db_index=False)
    payload = models.JSONField(null=True)
    erased_at = models.DateTimeField(null=True)
    erased_by = models.UUIDField(null=True)

    class Meta:
        """Name the table."""

        db_table = "evidence_documents"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(erased_at__isnull=True, payload__isnull=False)
                | Q(erased_at__isnull=False, payload__isnull=True),
                name="evidence_documents_are_whole_or_erased",
            )
        ]

    def __str__(self) -> str:
        """Return the id of the evidence."""
        return str(self.evidence_id)
