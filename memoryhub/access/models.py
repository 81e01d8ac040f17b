"""Tables of access: who asks, in which tenant, for which scope, with which right."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import F, Q
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase

from memoryhub.lib.fields import LedgerModel, TenantForeignKey, TenantModel, enum_check
from memoryhub.lib.ids import new_id
from memoryhub.types.enums import Authority, ScopeKind


class PrincipalKind(models.TextChoices):
    """Name what kind of actor a principal is; agents and services never hold review rights."""

    HUMAN = "human"
    AGENT = "agent"
    SERVICE = "service"


class Tenant(models.Model):
    """A customer; nothing crosses it.

    Row: one customer. Absent: nobody of that customer can be authenticated.
    Erasure: offboarding empties `digest_salt`, which destroys the key of every keyed digest of the tenant.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=200)
    digest_salt = models.BinaryField(max_length=32, null=True)
    created_at = models.DateTimeField()

    class Meta:
        """Name the table and the rights on a tenant."""

        db_table = "tenants"
        default_permissions = ()
        permissions: ClassVar = [
            ("administer_tenant", "Administer the tenant"),
            ("activate_policy", "Activate a policy version"),
            ("manage_holds", "Manage legal holds"),
            ("operate", "Operate the system"),
            ("reveal_identity", "Reveal a masked identity"),
        ]

    def __str__(self) -> str:
        """Return the slug."""
        return self.slug


class Principal(AbstractUser):
    """Anyone who can act: a person, an agent or a service; the custom user model.

    Row: one actor of one tenant. Absent: the actor was never known; a left actor stays, inactive.
    Erasure: names are pseudonymised in place, the id stays because decisions carry it.
    `rank` orders authors of one predicate when none is in its authority group.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="+", null=True)
    kind = models.CharField(max_length=10, choices=PrincipalKind, default=PrincipalKind.HUMAN)
    display_name = models.CharField(max_length=200, blank=True)
    rank = models.SmallIntegerField(default=0)
    preferences = models.JSONField(default=dict, blank=True)

    class Meta:
        """Name the table."""

        db_table = "principals"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(kind__in=PrincipalKind.values), name="principals_kind_is_known"),
            models.CheckConstraint(
                condition=Q(is_superuser=True) | Q(tenant__isnull=False),
                name="principals_belong_to_a_tenant",
            ),
            models.UniqueConstraint(fields=["tenant", "id"], name="principals_tenant_and_id_are_unique"),
        ]

    def __str__(self) -> str:
        """Return what a colleague would call this principal."""
        return self.display_name or self.username


class ApiToken(models.Model):
    """A bearer token of an agent or service, held as a hash.

    Row: one token; the secret was shown once. Absent: the token is unknown, the answer is 401.
    Erasure: holds no content; revoked tokens stay for the audit.
    `actions` are the rights the token may use at most (`ingest_event`, …) and `relay_user`, which lets it
    speak for users.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="+")
    principal = models.ForeignKey(Principal, models.PROTECT, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    secret_digest = models.CharField(max_length=64, unique=True)
    actions = models.JSONField(default=list)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        """Name the table."""

        db_table = "api_tokens"
        default_permissions = ()

    def __str__(self) -> str:
        """Return the name and the public prefix, never the secret."""
        return f"{self.name} ({self.prefix}…)"


class AccessPolicy(TenantModel):
    """The stable id that records carry for who may read them.

    Row: one named set of groups. Absent: records of that policy can be read by nobody.
    Erasure: holds no personal content.
    """

    key = models.CharField(max_length=200)
    groups = models.JSONField(default=list)

    class Meta:
        """Name the table."""

        db_table = "access_policies"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "key"], name="access_policies_key_is_unique")
        ]

    def __str__(self) -> str:
        """Return the key."""
        return self.key


class Scope(TenantModel):
    """The owner of memories: one user, one project or one organization.

    Row: one scope with its deletion epoch. Absent: nobody may know of it; the answer is 404.
    Erasure: the key of a user scope is pseudonymised; the epoch stays, it is the barrier.
    """

    kind = models.CharField(max_length=12)
    key = models.CharField(max_length=200)
    name = models.CharField(max_length=200, blank=True)
    owner = TenantForeignKey("memoryhub.Principal", null=True)
    deletion_epoch = models.BigIntegerField(default=0)
    retention_class = models.CharField(max_length=100, default="standard")
    access_policy = TenantForeignKey(AccessPolicy)
    authority = models.CharField(max_length=10, default="database")
    created_at = models.DateTimeField()

    class Meta:
        """Name the table and the rights on a scope; never on a single memory."""

        db_table = "scopes"
        default_permissions = ()
        permissions: ClassVar = [
            ("view_memory", "Read memories and evidence"),
            ("ingest_event", "Send events"),
            ("propose_memory", "Propose memories"),
            ("recall_memory", "Recall memories"),
            ("review_memory", "Decide review items"),
            ("promote_memory", "Promote memories into this scope"),
            ("request_erasure", "Request an erasure"),
            ("approve_erasure", "Approve an erasure"),
            ("read_audit", "Read the audit"),
            ("administer_scope", "Administer the scope"),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "kind", "key"], name="scopes_kind_and_key_are_unique"),
            enum_check(field="kind", enum=ScopeKind, name="scopes_kind_is_known"),
            enum_check(field="authority", enum=Authority, name="scopes_authority_is_known"),
            models.CheckConstraint(condition=Q(deletion_epoch__gte=0), name="scopes_deletion_epoch_is_not_negative"),
        ]

    def __str__(self) -> str:
        """Return `kind:key`."""
        return f"{self.kind}:{self.key}"


class ScopeUserPermission(UserObjectPermissionBase):
    """One right of one principal on one scope.

    Row: the right is held. Absent: it is not, unless a group holds it. Erasure: ids only.
    """

    id = models.BigAutoField(primary_key=True)
    content_object = models.ForeignKey(Scope, on_delete=models.CASCADE)

    class Meta(UserObjectPermissionBase.Meta):
        """Name the table."""

        abstract = False
        db_table = "scope_user_permissions"
        default_permissions = ()
        indexes: ClassVar[list[models.Index]] = []


class ScopeGroupPermission(GroupObjectPermissionBase):
    """One right of one group on one scope; groups are named `<tenant>/<role>`.

    Row: the right is held. Absent: it is not, unless the principal holds it. Erasure: ids only.
    """

    id = models.BigAutoField(primary_key=True)
    content_object = models.ForeignKey(Scope, on_delete=models.CASCADE)

    class Meta(GroupObjectPermissionBase.Meta):
        """Name the table."""

        abstract = False
        db_table = "scope_group_permissions"
        default_permissions = ()
        indexes: ClassVar[list[models.Index]] = []


class TenantUserPermission(UserObjectPermissionBase):
    """One right of one principal on the tenant.

    Row: the right is held. Absent: it is not, unless a group holds it. Erasure: ids only.
    """

    id = models.BigAutoField(primary_key=True)
    content_object = models.ForeignKey(Tenant, on_delete=models.CASCADE)

    class Meta(UserObjectPermissionBase.Meta):
        """Name the table."""

        abstract = False
        db_table = "tenant_user_permissions"
        default_permissions = ()
        indexes: ClassVar[list[models.Index]] = []


class TenantGroupPermission(GroupObjectPermissionBase):
    """One right of one group on the tenant.

    Row: the right is held. Absent: it is not, unless the principal holds it. Erasure: ids only.
    """

    id = models.BigAutoField(primary_key=True)
    content_object = models.ForeignKey(Tenant, on_delete=models.CASCADE)

    class Meta(GroupObjectPermissionBase.Meta):
        """Name the table."""

        abstract = False
        db_table = "tenant_group_permissions"
        default_permissions = ()
        indexes: ClassVar[list[models.Index]] = []


class EntityType(TenantModel):
    """A kind of entity the tenant has declared (`person`, `product`).

    Row: subjects of this type may be named. Absent: a subject of it is refused (422).
    Erasure: holds no personal content.
    """

    name = models.CharField(max_length=64)
    description = models.CharField(max_length=200, blank=True)

    class Meta:
        """Name the table."""

        db_table = "entity_types"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "name"], name="entity_types_name_is_unique")
        ]

    def __str__(self) -> str:
        """Return the name."""
        return self.name


class Subject(TenantModel):
    """The entity that memories are about.

    Row: one entity under a surrogate id. Absent: nothing was ever said of it.
    Erasure: `label` is emptied; `key_digest` (keyed, unsalted) stays as the barrier's pseudonym.
    `is_declared` says that the tenant declared it; others came by a first mention. `is_unclear` says that nobody knows
    yet whom the words in `label` mean: it stands for one mention until a person names the subject, and no memory is
    ever about it. Only such a one may have no type.
    """

    entity_type = TenantForeignKey(EntityType, null=True)
    key_digest = models.CharField(max_length=64)
    label = models.CharField(max_length=300, blank=True)
    is_declared = models.BooleanField(default=False, db_default=False)
    is_unclear = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField()

    class Meta:
        """Name the table."""

        db_table = "subjects"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "key_digest"], name="subjects_key_is_unique"),
            models.CheckConstraint(
                condition=Q(entity_type__isnull=False) | Q(is_unclear=True), name="subjects_have_a_type_unless_unclear"
            ),
        ]

    def __str__(self) -> str:
        """Return the label, or a mark that it was erased."""
        return self.label or "(erased)"


class SubjectAlias(TenantModel):
    """Another key that is known for certain to mean the same subject.

    Row: a declared alias. Absent: the key is another subject; likeness merges nothing.
    Erasure: `label` is emptied with its subject.
    """

    subject = TenantForeignKey(Subject)
    key_digest = models.CharField(max_length=64)
    label = models.CharField(max_length=300, blank=True)

    class Meta:
        """Name the table."""

        db_table = "subject_aliases"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "key_digest"], name="subject_aliases_key_is_unique")
        ]

    def __str__(self) -> str:
        """Return the label."""
        return self.label


class SubjectMention(TenantModel):
    """What a subject is called, by people and in texts, without its type.

    Row: the subject is called so; others may be called the same. Absent: the words name nobody.
    Erasure: `label` is emptied with its subject; `mention_digest` (keyed, unsalted) is of the folded words.
    """

    subject = TenantForeignKey(Subject)
    mention_digest = models.CharField(max_length=64)
    label = models.CharField(max_length=300, blank=True)

    class Meta:
        """Name the table."""

        db_table = "subject_mentions"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["tenant", "mention_digest", "subject"], name="subject_mentions_are_said_once"
            )
        ]

    def __str__(self) -> str:
        """Return the label."""
        return self.label


class ScreeningPattern(TenantModel):
    """What a tenant does not want stored beside what nobody does, such as its customers' numbers.

    Row: whatever matches is replaced by a marker of this kind at the door. Absent: only the shipped patterns apply.
    Erasure: a pattern is of a kind of thing and of nobody; it holds no personal content.
    `retired_at` says since when it is not used any more; what it took out stays out.
    """

    kind = models.CharField(max_length=20)
    pattern = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True)

    class Meta:
        """Name the table."""

        db_table = "screening_patterns"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "pattern"], name="screening_patterns_are_declared_once"),
        ]

    def __str__(self) -> str:
        """Return the kind."""
        return self.kind


class AuditEvent(LedgerModel):
    """One thing somebody did: `subject.action`, ids and outcome, no content; append-only.

    Row: it happened. Absent: it did not happen through this system.
    Erasure: needs none, it copies no content.
    """

    action = models.CharField(max_length=64)
    principal = TenantForeignKey("memoryhub.Principal", null=True)
    object_ids = models.JSONField(default=dict)
    outcome = models.CharField(max_length=32)
    reason = models.CharField(max_length=64, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField()

    class Meta:
        """Name the table."""

        db_table = "audit_events"
        default_permissions = ()
        indexes: ClassVar[list[models.Index]] = [
            models.Index(F("tenant"), F("at").desc(), name="audit_events_newest"),
            models.Index(fields=["tenant", "written_in"], name="audit_events_written_in"),
        ]

    def __str__(self) -> str:
        """Return the action and its outcome."""
        return f"{self.action} {self.outcome}"


class IdempotencyKey(TenantModel):
    """One answered POST under a caller's key, replayed when the same call comes again.

    Row: the key is bound to principal, method, path and body; `status` NULL means still running.
    Absent: the call is new. Erasure: `answer` is emptied; the digest stays.
    """

    principal = TenantForeignKey("memoryhub.Principal")
    key_digest = models.CharField(max_length=64)
    request_digest = models.CharField(max_length=64)
    status = models.SmallIntegerField(null=True)
    answer = models.TextField(blank=True)
    created_at = models.DateTimeField()

    class Meta:
        """Name the table."""

        db_table = "idempotency_keys"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant", "principal", "key_digest"], name="idempotency_keys_are_used_once")
        ]

    def __str__(self) -> str:
        """Return the digest of the key."""
        return self.key_digest
