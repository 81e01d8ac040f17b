"""Tables of retrieval: a projection that can be searched, and the audit of every answer."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F

from memoryhub.lib.fields import TenantForeignKey, TenantModel, enum_check
from memoryhub.types.enums import UsageOutcome


class SearchDocument(TenantModel):
    """The terms of one memory that may be found; a projection that can be rebuilt from heads and versions.

    Row: the memory is indexed up to `applied_version`. Absent: it is not indexed yet, or may not be found.
    Erasure: the row is deleted.
    """

    memory = TenantForeignKey("memoryhub.MemoryHead")
    scope = TenantForeignKey("memoryhub.Scope")
    applied_version = models.IntegerField()
    terms = SearchVectorField()
    updated_at = models.DateTimeField()

    class Meta:
        """Name the table."""

        db_table = "search_documents"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "memory"], name="search_documents_one_a_memory")
        ]
        indexes: ClassVar[list[models.Index]] = [
            GinIndex(fields=["terms"], name="search_documents_by_terms"),
            models.Index(fields=["tenant", "scope"], name="search_documents_by_scope"),
        ]

    def __str__(self) -> str:
        """Return the memory and the version applied."""
        return f"{self.memory_id} v{self.applied_version}"


class RetrievalRun(TenantModel):
    """One answer given to an agent; ids and outcomes, no text.

    Row: it was answered. Absent: it never was. Erasure: the digest of the query is keyed; nothing else is held.
    """

    principal = TenantForeignKey("memoryhub.Principal")
    scope_ids = models.JSONField(default=list)
    query_digest = models.CharField(max_length=64)
    session_key = models.CharField(max_length=64, blank=True)
    valid_at = models.DateTimeField()
    recorded_at = models.DateTimeField()
    policy_version = models.CharField(max_length=40)
    top_k = models.IntegerField()
    epochs = models.JSONField(default=dict)
    at = models.DateTimeField()
    feedback = models.CharField(max_length=20, blank=True)

    class Meta:
        """Name the table."""

        db_table = "retrieval_runs"
        default_permissions = ()
        indexes: ClassVar[list[models.Index]] = [
            models.Index(F("tenant"), F("principal"), F("at").desc(), name="retrieval_runs_newest"),
            models.Index(fields=["tenant", "session_key", "at", "id"], name="retrieval_runs_of_session"),
        ]

    def __str__(self) -> str:
        """Return the id."""
        return str(self.id)


class RetrievalItem(TenantModel):
    """What happened to one memory in one run: retrieved, injected, adopted or excluded, each a row of its own.

    Row: it happened. Absent: it did not. Erasure: ids, scores and reason codes only.
    """

    run = TenantForeignKey(RetrievalRun)
    memory = TenantForeignKey("memoryhub.MemoryHead")
    version = models.IntegerField()
    outcome = models.CharField(max_length=10)
    position = models.IntegerField(default=0)
    score = models.JSONField(default=dict)
    reason = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        """Name the table."""

        db_table = "retrieval_items"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["tenant", "run", "memory", "outcome"], name="retrieval_items_say_each_outcome_once"
            ),
            enum_check(field="outcome", enum=UsageOutcome, name="retrieval_items_outcome_is_known"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "memory", "at"], name="retrieval_items_by_memory")
        ]

    def __str__(self) -> str:
        """Return the outcome."""
        return self.outcome
