"""Tables of extraction: what models were asked, and what they answered."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from memoryhub.lib.fields import TenantForeignKey, TenantModel


class ModelAnswer(TenantModel):
    """One question to a model about one event, and its answer as it came.

    Row: it was asked, and `tokens` are spent, or set aside while no answer is there. Absent: it never was. An answer is
    recorded input: it is read again instead of asked for again, by a repeated job as by a replay, and never changes.
    Erasure: `answer` becomes empty, `erased_at` says when; what was asked is the event's own text and not kept here.
    """

    event = TenantForeignKey("memoryhub.SourceEvent")
    extractor_version = models.CharField(max_length=40)
    model = models.CharField(max_length=100)
    question_digest = models.CharField(max_length=64)
    tokens = models.IntegerField()
    answer = models.TextField(blank=True)
    asked_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    erased_at = models.DateTimeField(null=True)

    class Meta:
        """Name the table."""

        db_table = "model_answers"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["tenant", "event", "extractor_version", "question_digest"],
                name="model_answers_are_asked_for_once",
            ),
            models.CheckConstraint(condition=Q(tokens__gte=0), name="model_answers_cost_nothing_or_more"),
            models.CheckConstraint(
                condition=Q(answer="") | Q(answered_at__isnull=False, erased_at__isnull=True),
                name="model_answers_are_given_and_not_erased",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "asked_at"], name="model_answers_by_time"),
        ]

    def __str__(self) -> str:
        """Return the model and what it cost."""
        return f"{self.model} {self.tokens}"
