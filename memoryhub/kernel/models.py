"""Tables of L0: records that never change, and the evidence taken from them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from memoryhub.lib.fields import LedgerModel, TenantForeignKey, TenantModel, enum_check
from memoryhub.types.enums import Availability, EvidenceKind, Trust


class SourceEvent(LedgerModel):
    """The envelope of something that happened, as it was received; never changes.

    Row: it was received. Absent: it never reached the system. Erasure: none; the envelope holds surrogate ids,
    times and digests, the payload is in `source_event_bodies`.
    `event_key_digest` is the caller's event id under the tenant's key; `content_digest` is salted with the
    body's salt, so it cannot be guessed back once the body is erased.
    """

    event_key_digest = models.CharField(max_length=64)
    scope = TenantForeignKey("memoryhub.Scope")
    actor = TenantForeignKey("memoryhub.Principal")
    sender = TenantForeignKey("memoryhub.Principal")
    session_key = models.CharField(max_length=64, blank=True)
    task_key = models.CharField(max_length=64, blank=True)
    source_type = models.CharField(max_length=32)
    trust = models.CharField(max_length=12)
    occurred_at = models.DateTimeField()
    source_seq = models.BigIntegerField(default=0)
    ingested_at = models.DateTimeField()
    content_ref = models.CharField(max_length=300, blank=True)
    content_digest = models.CharField(max_length=64)
    redactions = models.JSONField(default=list)
    retention_class = models.CharField(max_length=100)
    deletion_epoch = models.BigIntegerField()
    derived_from_run = models.UUIDField(null=True)
    root = models.UUIDField()

    class Meta:
        """Name the table."""

        db_table = "source_events"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "event_key_digest"], name="source_events_are_received_once"),
            enum_check(field="trust", enum=Trust, name="source_events_trust_is_known"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "scope", "occurred_at", "id"], name="source_events_by_scope_time"),
            models.Index(fields=["tenant", "written_in"], name="source_events_written_in"),
        ]

    def __str__(self) -> str:
        """Return the id."""
        return str(self.id)


class SourceEventBody(models.Model):
    """The payload of an event and the salt of its digest; may change once, to erased.

    Row: what was received, or that it was erased. Absent: the source was behind a barrier when it came.
    Erasure: payload, caller's id and salt become NULL, `erased_at` says when.
    """

    event = models.OneToOneField(
        SourceEvent, models.PROTECT, primary_key=True, db_constraint=False, related_name="body"
    )
    tenant = models.ForeignKey("memoryhub.Tenant", models.PROTECT, related_name="+", db_index=False)
    event_key = models.TextField(null=True)  # noqa: DJ001  NULL is "erased", empty is a caller's mistake
    payload = models.JSONField(null=True)
    salt = models.BinaryField(max_length=16, null=True)
    erased_at = models.DateTimeField(null=True)
    erased_by = models.UUIDField(null=True)

    class Meta:
        """Name the table."""

        db_table = "source_event_bodies"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(erased_at__isnull=True, salt__isnull=False)
                | Q(erased_at__isnull=False, payload__isnull=True, salt__isnull=True, event_key__isnull=True),
                name="source_event_bodies_are_whole_or_erased",
            )
        ]

    def __str__(self) -> str:
        """Return the id of the event."""
        return str(self.event_id)


class Evidence(LedgerModel):
    """What a claim rests on: a span of an event, a document at a revision, a ruling, or a lower memory.

    Row: it was pointed at. Absent: nobody pointed at it. Erasure: the quote is in `evidence_bodies`; here only
    `availability` changes, and anything but `available` never reads as a disproof.
    `source_kind` and `source_id` are the source identity that the set of claims counts by.
    """

    evidence_key = models.CharField(max_length=100)
    kind = models.CharField(max_length=16)
    source_kind = models.CharField(max_length=16)
    source_id = models.UUIDField()
    scope = TenantForeignKey("memoryhub.Scope")
    event = TenantForeignKey(SourceEvent, null=True)
    span_start = models.IntegerField(null=True)
    span_end = models.IntegerField(null=True)
    position = models.CharField(max_length=200, blank=True)
    digest = models.CharField(max_length=64)
    observed_at = models.DateTimeField()
    recorded_at = models.DateTimeField()
    availability = models.CharField(max_length=12, default=Availability.AVAILABLE)

    class Meta:
        """Name the table."""

        db_table = "evidence"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "evidence_key"], name="evidence_key_is_never_reassigned"),
            enum_check(field="kind", enum=EvidenceKind, name="evidence_kind_is_known"),
            enum_check(field="availability", enum=Availability, name="evidence_availability_is_known"),
            models.CheckConstraint(
                condition=Q(span_start__isnull=True) | Q(span_start__gte=0, span_end__gte=models.F("span_start")),
                name="evidence_span_ends_after_it_begins",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "source_kind", "source_id"], name="evidence_by_source"),
            models.Index(fields=["tenant", "written_in"], name="evidence_written_in"),
        ]

    def __str__(self) -> str:
        """Return the stable key."""
        return self.evidence_key


class EvidenceBody(models.Model):
    """The quote and its salt; may change once, to erased.

    Row: the words pointed at, or that they were erased. Absent: the evidence has no words of its own.
    Erasure: quote and salt become NULL.
    """

    evidence = models.OneToOneField(
        Evidence, models.PROTECT, primary_key=True, db_constraint=False, related_name="body"
    )
    tenant = models.ForeignKey("memoryhub.Tenant", models.PROTECT, related_name="+", db_index=False)
    quote = models.TextField(null=True)  # noqa: DJ001  NULL is "erased", empty is an empty quote
    salt = models.BinaryField(max_length=16, null=True)
    erased_at = models.DateTimeField(null=True)
    erased_by = models.UUIDField(null=True)

    class Meta:
        """Name the table."""

        db_table = "evidence_bodies"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(erased_at__isnull=True, quote__isnull=False, salt__isnull=False)
                | Q(erased_at__isnull=False, quote__isnull=True, salt__isnull=True),
                name="evidence_bodies_are_whole_or_erased",
            )
        ]

    def __str__(self) -> str:
        """Return the id of the evidence."""
        return str(self.evidence_id)


class EvidenceEdge(LedgerModel):
    """One piece of evidence that was derived from another; never a cycle.

    Row: `child` goes back to `parent`. Absent: the child is a root of its own. Erasure: ids only.
    """

    child = TenantForeignKey(Evidence)
    parent = TenantForeignKey(Evidence)

    class Meta:
        """Name the table."""

        db_table = "evidence_edges"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "child", "parent"], name="evidence_edges_are_drawn_once"),
            models.CheckConstraint(condition=~Q(child=models.F("parent")), name="evidence_edges_lead_to_another"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "parent"], name="evidence_edges_by_parent"),
            models.Index(fields=["tenant", "written_in"], name="evidence_edges_written_in"),
        ]

    def __str__(self) -> str:
        """Return both ends."""
        return f"{self.child_id} from {self.parent_id}"


class EvidenceRoot(LedgerModel):
    """One root source of one piece of evidence; a summary of two events has two rows.

    Row: the evidence goes back to this root. Absent: it does not. Erasure: ids only.
    """

    evidence = TenantForeignKey(Evidence)
    root = models.UUIDField()

    class Meta:
        """Name the table."""

        db_table = "evidence_roots"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "evidence", "root"], name="evidence_roots_are_counted_once")
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "root"], name="evidence_roots_by_root"),
            models.Index(fields=["tenant", "written_in"], name="evidence_roots_written_in"),
        ]

    def __str__(self) -> str:
        """Return evidence and root."""
        return f"{self.evidence_id} ← {self.root}"


class LedgerSeal(TenantModel):
    """A Merkle root over the ledger entries since the seal before it, chained to that seal; never changes.

    Row: entries `first_position` to `first_position + entries - 1` were sealed. Absent: nothing was to be sealed.
    Erasure: none; digests of digests.
    `horizon`: every row that a transaction below this number wrote is in the ledger. `newest_at` is the latest
    recorded instant of any row sealed so far. `scheme` names the list of columns that the digests are made of.
    """

    number = models.BigIntegerField()
    previous = models.CharField(max_length=64)
    root = models.CharField(max_length=64)
    first_position = models.BigIntegerField()
    entries = models.IntegerField()
    sealed_at = models.DateTimeField()
    newest_at = models.DateTimeField()
    horizon = models.BigIntegerField()
    scheme = models.SmallIntegerField()
    digest = models.CharField(max_length=64)

    class Meta:
        """Name the table."""

        db_table = "ledger_seals"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "number"], name="ledger_seals_are_numbered_once"),
        ]

    def __str__(self) -> str:
        """Return the number."""
        return f"seal {self.number}"


class LedgerEntry(TenantModel):
    """The place of one row in the ledger, with its digest; never changes.

    Row: the row of the same id in `table_name` was sealed. Absent: it was written a moment ago, or never.
    Erasure: none; `words_digest` is salted with a salt that goes with the words.
    `position` is the commit order: rows of later seals were committed later. `digest` covers the columns that never
    change and `words_digest`, which covers those that can be erased.
    """

    position = models.BigIntegerField()
    table_name = models.CharField(max_length=32)
    digest = models.CharField(max_length=64)
    words_digest = models.CharField(max_length=64, blank=True)

    class Meta:
        """Name the table."""

        db_table = "ledger_entries"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "position"], name="ledger_entries_have_one_order"),
        ]

    def __str__(self) -> str:
        """Return the position and the table."""
        return f"{self.position} {self.table_name}"
