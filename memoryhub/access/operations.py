"""Make tenants, principals, tokens, scopes and rights; each call is one act inside the caller's transaction."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from django.contrib.auth.models import Group, Permission

from memoryhub.access.callers import digest_secret
from memoryhub.access.models import (
    AccessPolicy,
    ApiToken,
    AuditEvent,
    EntityType,
    Principal,
    PrincipalKind,
    Scope,
    ScopeGroupPermission,
    ScopeUserPermission,
    Subject,
    Tenant,
    TenantUserPermission,
)
from memoryhub.lib.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from typing import Any
    from uuid import UUID

    from memoryhub.access.callers import Caller

# Agents and services never hold these, whatever group they are put into: nobody rules on their own claim.
RIGHTS_OF_PEOPLE = frozenset({"review_memory", "promote_memory", "approve_erasure", "administer_scope"})


class RightNeedsPerson(Exception):
    """Say that this right is never given to an agent or a service."""


def create_tenant(*, slug: str, name: str, now: datetime) -> Tenant:
    """Create a customer with a fresh salt for its digest key."""
    return Tenant.objects.create(slug=slug, name=name, digest_salt=secrets.token_bytes(32), created_at=now)


def create_principal(
    *,
    tenant: Tenant,
    username: str,
    display_name: str,
    kind: PrincipalKind = PrincipalKind.HUMAN,
    rank: int = 0,
    password: str | None = None,
) -> Principal:
    """Create an actor of a tenant; without a password nobody can sign in as it."""
    principal = Principal(tenant=tenant, username=username, display_name=display_name, kind=kind, rank=rank)
    principal.set_password(password)
    principal.save(force_insert=True)
    return principal


def require_tenant(*, principal: Principal) -> UUID:
    """Return the tenant a principal acts in.

    Raises:
        ValueError: a break-glass administrator has none.
    """
    if principal.tenant_id is None:
        message = "the principal has no tenant to act in"
        raise ValueError(message)
    return principal.tenant_id


def join_group(*, tenant: Tenant, principal: Principal, role: str) -> Group:
    """Put a principal into the group `<tenant>/<role>`; groups are global, so the name carries the tenant."""
    group, _ = Group.objects.get_or_create(name=f"{tenant.slug}/{role}")
    principal.groups.add(group)
    return group


def create_scope(*, tenant: Tenant, kind: str, key: str, name: str, owner: Principal | None, now: datetime) -> Scope:
    """Create a scope with an access policy of its own."""
    policy, _ = AccessPolicy.objects.get_or_create(tenant=tenant, key=f"{kind}_{key}_members")
    return Scope.objects.create(
        tenant=tenant, kind=kind, key=key, name=name, owner=owner, access_policy=policy, created_at=now
    )


def grant_rights(*, scope: Scope, principal: Principal, rights: Iterable[str]) -> None:
    """Give a principal rights on a scope; giving one again changes nothing.

    Raises:
        RightNeedsPerson: an agent or a service was to review, promote, approve or administer.
    """
    wanted = set(rights)
    if principal.kind != PrincipalKind.HUMAN and wanted & RIGHTS_OF_PEOPLE:
        raise RightNeedsPerson(", ".join(sorted(wanted & RIGHTS_OF_PEOPLE)))
    for permission in Permission.objects.filter(codename__in=wanted, content_type__model="scope"):
        ScopeUserPermission.objects.get_or_create(user=principal, permission=permission, content_object=scope)


def grant_rights_to_group(*, scope: Scope, group: Group, rights: Iterable[str]) -> None:
    """Give a group of people rights on a scope; giving one again changes nothing."""
    for permission in Permission.objects.filter(codename__in=set(rights), content_type__model="scope"):
        ScopeGroupPermission.objects.get_or_create(group=group, permission=permission, content_object=scope)


def grant_tenant_rights(*, tenant: Tenant, principal: Principal, rights: Iterable[str]) -> None:
    """Give a person rights on the tenant; giving one again changes nothing.

    Raises:
        RightNeedsPerson: the principal is an agent or a service.
    """
    wanted = set(rights)
    if wanted and principal.kind != PrincipalKind.HUMAN:
        raise RightNeedsPerson(", ".join(sorted(wanted)))
    for permission in Permission.objects.filter(codename__in=wanted, content_type__model="tenant"):
        TenantUserPermission.objects.get_or_create(user=principal, permission=permission, content_object=tenant)


def revoke_right(*, scope: Scope, principal: Principal, right: str) -> int:
    """Take a right away; the next commit already finds it gone. Returns how many grants went."""
    deleted, _ = ScopeUserPermission.objects.filter(
        user=principal, permission__codename=right, content_object=scope
    ).delete()
    return deleted


def issue_token(
    *,
    principal: Principal,
    name: str,
    actions: Iterable[str],
    now: datetime,
    expires_at: datetime | None = None,
    secret: str | None = None,
) -> str:
    """Create a token and return its secret, which is shown this once."""
    secret = secret or f"mh_{secrets.token_urlsafe(32)}"
    ApiToken.objects.create(
        tenant_id=require_tenant(principal=principal),
        principal=principal,
        name=name,
        prefix=secret[:10],
        secret_digest=digest_secret(secret=secret),
        actions=sorted(actions),
        created_at=now,
        expires_at=expires_at,
    )
    return secret


def revoke_token(*, token: ApiToken, now: datetime) -> bool:
    """Take a token back for good; the next request already finds it gone. Returns False if it was revoked before."""
    return ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now) > 0


def declare_entity_type(*, tenant: Tenant, name: str, description: str = "") -> EntityType:
    """Declare a kind of entity; declaring it again changes nothing."""
    declared, _ = EntityType.objects.get_or_create(tenant=tenant, name=name, defaults={"description": description})
    return declared


def find_or_create_subject(*, caller: Caller, entity_type: EntityType, key: str, now: datetime) -> Subject:
    """Return the subject of this key, made on its first mention."""
    subject, _ = Subject.objects.get_or_create(
        tenant_id=caller.tenant_id,
        key_digest=caller.digest(f"subject {key}"),
        defaults={"entity_type": entity_type, "label": key, "created_at": now},
    )
    return subject


def record_audit(
    *,
    caller: Caller,
    action: str,
    object_ids: dict[str, Any],
    outcome: str,
    now: datetime,
    reason: str = "",
    request_id: str = "",
) -> None:
    """Append one audit event: ids, outcome and reason code, no content."""
    AuditEvent.objects.create(
        id=new_id(),
        tenant_id=caller.tenant_id,
        action=action,
        principal_id=caller.principal_id,
        object_ids=object_ids,
        outcome=outcome,
        reason=reason,
        request_id=request_id,
        at=now,
    )
