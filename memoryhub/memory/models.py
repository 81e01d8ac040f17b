"""Tables of memory: candidates, decisions, heads, versions, the set of claims, rulings and conflicts."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.functions import RandomUUID
from django.db import models
from django.db.models import F, Q

from memoryhub.lib.fields import LedgerModel, TenantForeignKey, TenantModel, enum_check
from memoryhub.types.cognitive import LONGEST_NAME as LONGEST_TYPE
from memoryhub.types.cognitive import NAME as TYPE_NAME
from memoryhub.types.enums import (
    Authority,
    CandidateKind,
    CandidateStatus,
    Cardinality,
    ConflictState,
    EpistemicStatus,
    MergeAction,
    Modality,
    Stance,
    Trust,
    VersionState,
)
from memoryhub.types.fact_keys import fold_pattern, rank_pattern
from memoryhub.types.normalising import NORMALISERS

_TYPE_NAME = f"^{TYPE_NAME}$"
_NORMALISER_LIST = f"^(({'|'.join(NORMALISERS)})(,({'|'.join(NORMALISERS)}))*)?$"


class FoldField(models.CharField):  # type: ignore[type-arg]  # Django's is generic in its stubs alone
    """Hold what all spellings of a predicate's key have in common; it is made from the key whenever a row is saved."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Return the folded key."""
        del add
        fold = fold_pattern(text=model_instance.fact_key)  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, fold)
        return fold


class RankField(models.CharField):  # type: ignore[type-arg]  # as above
    """Hold by what patterns are ordered, the most specific first."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Return the rank of the pattern; empty for a key without `*`."""
        del add
        rank = rank_pattern(pattern=fold_pattern(text=model_instance.fact_key))  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, rank)
        return rank


class Predicate(TenantModel):
    """What the tenant declared of one fact key, or of every key of a pattern.

    Row: the key is declared, in this spelling. Absent: the key is `one` with a free value.
    Erasure: holds no personal content.
    `fold` is what all spellings of the key have in common, `rank` orders patterns, the most specific first, and
    `name` is what people call it. `normaliser` holds names of the closed list, in order, with commas between.
    """

    fact_key = models.CharField(max_length=200)
    fold = FoldField(max_length=200, editable=False)
    rank = RankField(max_length=20, editable=False, blank=True)
    name = models.CharField(max_length=200, blank=True, db_default="")
    cardinality = models.CharField(max_length=4, default=Cardinality.ONE)
    value_schema = models.JSONField(null=True)
    normaliser = models.CharField(max_length=100, blank=True)
    sensitive = models.BooleanField(default=False)
    requires_confirmation = models.BooleanField(default=False)
    authority_group = models.CharField(max_length=100, blank=True)
    yields_only_to_validation = models.BooleanField(default=False)

    class Meta:
        """Name the table."""

        db_table = "predicates"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "fold"], name="predicates_key_is_declared_once"),
            enum_check(field="cardinality", enum=Cardinality, name="predicates_cardinality_is_known"),
            models.CheckConstraint(
                condition=Q(normaliser__regex=_NORMALISER_LIST), name="predicates_normaliser_is_known"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "fact_key"], name="predicates_by_key"),
            models.Index(fields=["tenant", "rank"], condition=~Q(rank=""), name="predicates_patterns"),
        ]

    def __str__(self) -> str:
        """Return the fact key."""
        return self.fact_key


class MemoryHead(TenantModel):
    """The identity of a memory and its version number, the compare-and-set point.

    Row: something was once claimed under this key. Absent: nothing was. What is current is a query at an
    instant, never a pointer.
    Erasure: `fact_key` and conditions are kept unless the request covers them; belief is reset.
    """

    scope = TenantForeignKey("memoryhub.Scope")
    subject = TenantForeignKey("memoryhub.Subject")
    memory_type = models.CharField(max_length=LONGEST_TYPE)
    fact_key = models.CharField(max_length=200)
    conditions = models.JSONField(default=dict)
    conditions_digest = models.CharField(max_length=64, blank=True)
    value_key = models.CharField(max_length=64, blank=True)
    version = models.IntegerField()
    has_open_conflict = models.BooleanField(default=False)
    modality = models.CharField(max_length=10)
    confidence = models.FloatField()
    support = models.FloatField()
    opposition = models.FloatField()
    independent_evidence_count = models.IntegerField()
    derived_at = models.DateTimeField()
    authority = models.CharField(max_length=10, default=Authority.DATABASE)
    deletion_epoch = models.BigIntegerField()
    last_recorded_at = models.DateTimeField()
    created_at = models.DateTimeField()

    class Meta:
        """Name the table."""

        db_table = "memory_heads"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=[
                    "tenant",
                    "scope",
                    "subject",
                    "memory_type",
                    "fact_key",
                    "conditions_digest",
                    "value_key",
                ],
                name="memory_heads_hold_one_head_a_key",
            ),
            models.CheckConstraint(condition=Q(memory_type__regex=_TYPE_NAME), name="memory_heads_type_is_a_name"),
            enum_check(field="modality", enum=Modality, name="memory_heads_modality_is_known"),
            enum_check(field="authority", enum=Authority, name="memory_heads_authority_is_known"),
            models.CheckConstraint(condition=Q(version__gte=1), name="memory_heads_version_begins_at_one"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(F("tenant"), F("scope"), F("last_recorded_at").desc(), name="memory_heads_newest"),
        ]

    def __str__(self) -> str:
        """Return key and version."""
        return f"{self.fact_key} v{self.version}"


class MemoryCandidate(LedgerModel):
    """A proposed memory; lands as a row whatever becomes of it.

    Row: it was proposed. Absent: it was not, or only events were sent. Its claim is counted by `source_kind` and
    `source_id`; `source_id` NULL is the source event itself.
    Erasure: content, value and conditions become empty, `erased_at` says when; the database then empties `salt`,
    without which the ledger's digest of the words says nothing.
    """

    kind = models.CharField(max_length=12)
    scope = TenantForeignKey("memoryhub.Scope")
    subject = TenantForeignKey("memoryhub.Subject")
    task_key = models.CharField(max_length=64, blank=True)
    memory_type = models.CharField(max_length=LONGEST_TYPE)
    fact_key = models.CharField(max_length=200)
    conditions = models.JSONField(default=dict)
    conditions_digest = models.CharField(max_length=64, blank=True)
    content = models.TextField(blank=True)
    value = models.JSONField(null=True)
    value_digest = models.CharField(max_length=64, null=True)  # noqa: DJ001  NULL is a claim of absence
    content_hash = models.CharField(max_length=64, blank=True)
    epistemic_status = models.CharField(max_length=10)
    confidence = models.FloatField()
    stance = models.CharField(max_length=12, default=Stance.SUPPORTS)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)
    effective = models.BooleanField(default=True)
    trust = models.CharField(max_length=12)
    occurred_at = models.DateTimeField()
    extractor = models.CharField(max_length=40)
    extractor_version = models.CharField(max_length=40)
    rule_digest = models.CharField(max_length=64, blank=True)
    policy_version = models.CharField(max_length=40)
    deletion_epoch = models.BigIntegerField()
    source_event = TenantForeignKey("memoryhub.SourceEvent")
    source_kind = models.CharField(max_length=16, default="event", db_default="event")
    source_id = models.UUIDField(null=True)
    statement = models.SmallIntegerField(default=0)
    proposer = TenantForeignKey("memoryhub.Principal")
    author = TenantForeignKey("memoryhub.Principal")
    author_rank = models.SmallIntegerField(default=0)
    author_groups = ArrayField(models.CharField(max_length=150), default=list)
    authority = models.CharField(max_length=10, default=Authority.DATABASE)
    status = models.CharField(max_length=20, default=CandidateStatus.PENDING)
    reason = models.CharField(max_length=64, blank=True)
    memory = TenantForeignKey(MemoryHead, null=True)
    created_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)
    erased_at = models.DateTimeField(null=True)
    salt = models.UUIDField(null=True, editable=False, db_default=RandomUUID())

    class Meta:
        """Name the table."""

        db_table = "memory_candidates"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=[
                    "tenant",
                    "source_event",
                    "extractor",
                    "extractor_version",
                    "fact_key",
                    "subject",
                    "conditions_digest",
                    "statement",
                ],
                name="memory_candidates_are_extracted_once",
            ),
            enum_check(field="kind", enum=CandidateKind, name="memory_candidates_kind_is_known"),
            enum_check(field="status", enum=CandidateStatus, name="memory_candidates_status_is_known"),
            models.CheckConstraint(condition=Q(memory_type__regex=_TYPE_NAME), name="memory_candidates_type_is_a_name"),
            enum_check(field="epistemic_status", enum=EpistemicStatus, name="memory_candidates_nature_is_known"),
            enum_check(field="stance", enum=Stance, name="memory_candidates_stance_is_known"),
            enum_check(field="trust", enum=Trust, name="memory_candidates_trust_is_known"),
            enum_check(field="authority", enum=Authority, name="memory_candidates_authority_is_known"),
            models.CheckConstraint(
                condition=Q(confidence__gte=0, confidence__lte=1), name="memory_candidates_confidence_is_a_share"
            ),
            models.CheckConstraint(
                condition=~Q(kind=CandidateKind.LEAD, epistemic_status=EpistemicStatus.VALIDATED),
                name="memory_candidates_lead_is_never_validated",
            ),
            models.CheckConstraint(
                condition=Q(valid_to__isnull=True) | Q(valid_to__gt=F("valid_from")),
                name="memory_candidates_period_ends_after_it_begins",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "source_event"], name="memory_candidates_by_event"),
            models.Index(fields=["tenant", "memory"], name="memory_candidates_by_memory"),
            models.Index(fields=["tenant", "written_in"], name="memory_candidates_written_in"),
        ]

    def __str__(self) -> str:
        """Return key and status."""
        return f"{self.fact_key} {self.status}"


class CandidateEvidence(LedgerModel):
    """One piece of evidence a candidate rests on.

    Row: the candidate points at it. Absent: it does not; with none a candidate may only be rejected or
    confirmed by a person. Erasure: ids only.
    """

    candidate = TenantForeignKey(MemoryCandidate)
    evidence = TenantForeignKey("memoryhub.Evidence")

    class Meta:
        """Name the table."""

        db_table = "candidate_evidence"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "candidate", "evidence"], name="candidate_evidence_is_a_set")
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "written_in"], name="candidate_evidence_written_in"),
        ]

    def __str__(self) -> str:
        """Return both ids."""
        return f"{self.candidate_id} on {self.evidence_id}"


class MergeDecision(LedgerModel):
    """One decision, by policy or by a person; append-only.

    Row: it was decided. Absent: nothing was decided, the candidate still waits.
    Erasure: ids, codes and digests only; a person's words are in `review_comments`.
    `facts` are the inputs of the decision as ids and digests, so that it can be replayed. `candidate` is NULL
    where an event was refused at the door by a barrier; `source_event` then names its envelope. `action` names the
    difference the decision made, `verb` and `verb_reason` what a person chose and why; empty where a policy decided.
    `effects` is what the decision changed in rows that may change: versions closed, statuses of candidates, claims
    dismissed, the conflict set; NULL for decisions that were made before this was kept.
    """

    candidate = TenantForeignKey(MemoryCandidate, null=True)
    source_event = TenantForeignKey("memoryhub.SourceEvent", null=True)
    memory = TenantForeignKey(MemoryHead, null=True)
    scope = TenantForeignKey("memoryhub.Scope")
    action = models.CharField(max_length=16)
    requires_person = models.BooleanField(default=False)
    reason = models.CharField(max_length=64)
    verb = models.CharField(max_length=20, blank=True, db_default="")
    verb_reason = models.CharField(max_length=64, blank=True, db_default="")
    policy_version = models.CharField(max_length=40)
    decider = TenantForeignKey("memoryhub.Principal", null=True)
    expected_version = models.IntegerField()
    resulting_version = models.IntegerField()
    deletion_epoch = models.BigIntegerField()
    inputs_digest = models.CharField(max_length=64)
    facts = models.JSONField(default=dict)
    effects = models.JSONField(null=True)
    recorded_at = models.DateTimeField()

    class Meta:
        """Name the table."""

        db_table = "merge_decisions"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            enum_check(field="action", enum=MergeAction, name="merge_decisions_action_is_known"),
            models.CheckConstraint(
                condition=Q(candidate__isnull=False) | Q(source_event__isnull=False, action=MergeAction.REJECT),
                name="merge_decisions_are_about_something",
            ),
            models.CheckConstraint(
                condition=Q(resulting_version__gte=F("expected_version"))
                & Q(resulting_version__lte=F("expected_version") + 1),
                name="merge_decisions_raise_a_version_by_at_most_one",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "memory", "recorded_at"], name="merge_decisions_by_memory"),
            models.Index(fields=["tenant", "candidate"], name="merge_decisions_by_candidate"),
            models.Index(fields=["tenant", "recorded_at"], name="merge_decisions_by_time"),
            models.Index(fields=["tenant", "written_in"], name="merge_decisions_written_in"),
        ]

    def __str__(self) -> str:
        """Return action and reason."""
        return f"{self.action} {self.reason}"


class MemoryVersion(LedgerModel):
    """One immutable statement of a memory for one period of valid time, held for one period of recorded time.

    Row: the system held it from `recorded_from`. Absent: it never did. A part with `is_absent` says that
    nothing holds for that period. Changes only by closing `recorded_to` once, by `superseded_by`, by a state
    transition, and by erasure.
    Erasure: content, value and provenance are emptied, state becomes `erased`; the database then empties `salt`.
    """

    memory = TenantForeignKey(MemoryHead)
    version = models.IntegerField()
    part = models.SmallIntegerField()
    schema_version = models.SmallIntegerField(default=1)
    scope = TenantForeignKey("memoryhub.Scope")
    candidate = TenantForeignKey(MemoryCandidate)
    decision = TenantForeignKey(MergeDecision)
    content = models.TextField(blank=True)
    value = models.JSONField(null=True)
    value_digest = models.CharField(max_length=64, null=True)  # noqa: DJ001  NULL is absence
    is_absent = models.BooleanField(default=False)
    epistemic_status = models.CharField(max_length=10)
    state = models.CharField(max_length=12, default=VersionState.ACTIVE)
    supersedes = models.UUIDField(null=True)
    superseded_by = models.UUIDField(null=True)
    author = TenantForeignKey("memoryhub.Principal")
    author_rank = models.SmallIntegerField(default=0)
    author_groups = ArrayField(models.CharField(max_length=150), default=list)
    opener = models.CharField(max_length=120)
    since = models.DateTimeField()
    replaced_digest = models.CharField(max_length=64, null=True)  # noqa: DJ001  NULL is "replaced nothing"
    source_event_ids = ArrayField(models.UUIDField(), default=list)
    evidence_refs = ArrayField(models.CharField(max_length=100), default=list)
    independent_evidence_count = models.IntegerField()
    validation_method = models.CharField(max_length=40, blank=True)
    reviewed_by = TenantForeignKey("memoryhub.Principal", null=True)
    validated_at = models.DateTimeField(null=True)
    occurred_at = models.DateTimeField()
    ingested_at = models.DateTimeField()
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)
    recorded_from = models.DateTimeField()
    recorded_to = models.DateTimeField(null=True)
    review_after = models.DateTimeField(null=True)
    retention_class = models.CharField(max_length=100)
    access_policy = TenantForeignKey("memoryhub.AccessPolicy")
    deletion_epoch = models.BigIntegerField()
    authority_revision = models.CharField(max_length=64, blank=True)
    content_hash = models.CharField(max_length=64)
    salt = models.UUIDField(null=True, editable=False, db_default=RandomUUID())

    class Meta:
        """Name the table."""

        db_table = "memory_versions"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["tenant", "memory", "version", "part"], name="memory_versions_part_is_numbered_once"
            ),
            enum_check(field="state", enum=VersionState, name="memory_versions_state_is_known"),
            enum_check(field="epistemic_status", enum=EpistemicStatus, name="memory_versions_nature_is_known"),
            models.CheckConstraint(
                condition=Q(valid_to__isnull=True) | Q(valid_to__gt=F("valid_from")),
                name="memory_versions_valid_period_ends_after_it_begins",
            ),
            models.CheckConstraint(
                condition=Q(recorded_to__isnull=True) | Q(recorded_to__gt=F("recorded_from")),
                name="memory_versions_recorded_period_ends_after_it_begins",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "memory", "recorded_from", "valid_from"], name="memory_versions_as_of"),
            models.Index(
                fields=["tenant", "memory", "valid_from"],
                condition=Q(recorded_to__isnull=True),
                name="memory_versions_held",
            ),
            models.Index(fields=["tenant", "written_in"], name="memory_versions_written_in"),
        ]

    def __str__(self) -> str:
        """Return version and part."""
        return f"v{self.version} part {self.part}"


class MemoryEvidence(LedgerModel):
    """One claim of one memory: what one statement of one source says of it. A set, never a counter.

    Row: the source says it. Absent: it does not. `superseded_at` and `superseded_by` are set once, by a ruling;
    `withdrawn_by` once, by a revocation of the source: a withdrawn claim is no longer part of the set.
    Erasure: digests stay (keyed, pseudonymous); the words are in candidates and quotes.
    """

    memory = TenantForeignKey(MemoryHead)
    source_kind = models.CharField(max_length=16)
    source_id = models.UUIDField()
    statement = models.SmallIntegerField(default=0)
    candidate = TenantForeignKey(MemoryCandidate)
    stance = models.CharField(max_length=12)
    value_digest = models.CharField(max_length=64, null=True)  # noqa: DJ001  NULL is a claim of absence
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)
    effective = models.BooleanField()
    validated = models.BooleanField(default=False)
    author = TenantForeignKey("memoryhub.Principal")
    author_rank = models.SmallIntegerField(default=0)
    author_groups = ArrayField(models.CharField(max_length=150), default=list)
    roots = ArrayField(models.UUIDField())
    weight = models.FloatField()
    observed_at = models.DateTimeField()
    source_seq = models.BigIntegerField(default=0)
    order_digest = models.CharField(max_length=64)
    recorded_at = models.DateTimeField()
    superseded_at = models.DateTimeField(null=True)
    superseded_by = models.UUIDField(null=True)
    withdrawn_by = models.UUIDField(null=True)

    class Meta:
        """Name the table."""

        db_table = "memory_evidence"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["tenant", "memory", "source_kind", "source_id", "statement"],
                name="memory_evidence_counts_a_source_once",
            ),
            enum_check(field="stance", enum=Stance, name="memory_evidence_stance_is_known"),
            models.CheckConstraint(
                condition=Q(superseded_at__isnull=True, superseded_by__isnull=True)
                | Q(superseded_at__isnull=False, superseded_by__isnull=False),
                name="memory_evidence_supersession_names_its_ruling",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "memory", "valid_from"], name="memory_evidence_by_valid_time"),
            models.Index(
                fields=["tenant", "memory"], condition=~Q(stance=Stance.SUPPORTS), name="memory_evidence_against"
            ),
            models.Index(fields=["tenant", "source_kind", "source_id"], name="memory_evidence_by_source"),
            models.Index(fields=["tenant", "written_in"], name="memory_evidence_written_in"),
        ]

    def __str__(self) -> str:
        """Return the source."""
        return f"{self.source_kind}:{self.source_id}:{self.statement}"


class Ruling(LedgerModel):
    """A person's settlement of claims of one memory, stored as one more piece of evidence; append-only.

    Row: it was ruled. Absent: nobody ruled. `settles` and `winner` are source identities as text, so that the
    same rulings give the same timeline whatever the order of arrival.
    Erasure: ids only.
    """

    memory = TenantForeignKey(MemoryHead)
    evidence = TenantForeignKey("memoryhub.Evidence")
    decision = TenantForeignKey(MergeDecision)
    settles = ArrayField(models.CharField(max_length=120))
    winner = models.CharField(max_length=120, null=True)  # noqa: DJ001  NULL is "what stood keeps standing"
    effective_from = models.DateTimeField(null=True)
    sequence = models.IntegerField()
    keeps_conflict = models.BooleanField(default=False)
    decided_by = TenantForeignKey("memoryhub.Principal")
    recorded_at = models.DateTimeField()

    class Meta:
        """Name the table."""

        db_table = "rulings"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "memory", "sequence"], name="rulings_of_a_memory_have_one_order")
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "written_in"], name="rulings_written_in"),
        ]

    def __str__(self) -> str:
        """Return what was settled."""
        return f"ruling {self.sequence}"


class ConflictSet(TenantModel):
    """Claims for one memory that cannot be settled yet; at most one open set a memory.

    Row: they clashed. Absent: they never did. Erasure: ids only.
    """

    memory = TenantForeignKey(MemoryHead)
    state = models.CharField(max_length=10, default=ConflictState.OPEN)
    reason = models.CharField(max_length=64)
    standing = models.CharField(max_length=120)
    opened_from = models.DateTimeField()
    opened_at = models.DateTimeField()
    kept_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        """Name the table."""

        db_table = "conflict_sets"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["tenant", "memory"],
                condition=Q(state="open"),
                name="conflict_sets_one_is_open_a_memory",
            ),
            enum_check(field="state", enum=ConflictState, name="conflict_sets_state_is_known"),
        ]

    def __str__(self) -> str:
        """Return state and reason."""
        return f"{self.state} {self.reason}"


class ConflictMember(TenantModel):
    """One claim in a conflict set; the standing one is a member too.

    Row: the claim clashes, or did until `left_at`. Absent: it does not take part. Erasure: ids only.
    """

    conflict_set = TenantForeignKey(ConflictSet)
    source = models.CharField(max_length=120)
    candidate = TenantForeignKey(MemoryCandidate, null=True)
    is_standing = models.BooleanField(default=False)
    joined_at = models.DateTimeField()
    left_at = models.DateTimeField(null=True)

    class Meta:
        """Name the table."""

        db_table = "conflict_members"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "conflict_set", "source"], name="conflict_members_join_once")
        ]

    def __str__(self) -> str:
        """Return the source."""
        return self.source
