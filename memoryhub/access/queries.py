"""From an outside name to an object one may use: load and authorise in one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memoryhub.lib.db import fetch_all, fetch_records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryhub.access.callers import Caller


class ScopeNotFound(Exception):
    """Say that there is no such scope, or none the caller may know of; both read the same."""


class ScopeForbidden(Exception):
    """Say that the caller may know of the scope but lacks a right on it."""

    def __init__(self, right: str) -> None:
        """Keep the missing right."""
        super().__init__(f"the right {right} is missing on this scope")
        self.right = right


class TenantForbidden(Exception):
    """Say that the caller lacks a right on its tenant."""

    def __init__(self, right: str) -> None:
        """Keep the missing right."""
        super().__init__(f"the right {right} is missing on the tenant")
        self.right = right


@dataclass(frozen=True, slots=True)
class ScopeAccess:
    """Hold one scope and what the caller may do there."""

    id: str
    kind: str
    key: str
    name: str
    owner_id: str | None
    deletion_epoch: int
    retention_class: str
    access_policy_id: str
    rights: frozenset[str]

    def as_text(self) -> str:
        """Return `kind:key`."""
        return f"{self.kind}:{self.key}"


_COLUMNS = """
    SELECT id::text, kind, key, name, owner_id::text, deletion_epoch, retention_class, access_policy_id::text,
           list_scope_rights_v1(%(principal)s, id) AS rights
    FROM scopes WHERE tenant_id = %(tenant)s
"""


def _read(row: dict[str, Any]) -> ScopeAccess:
    return ScopeAccess(**{**row, "rights": frozenset(row["rights"])})


def authorise(*, scope: ScopeAccess | None, caller: Caller, right: str) -> ScopeAccess:
    """Return the scope if the caller holds the right there.

    Raises:
        ScopeNotFound: there is none, or one on which the caller holds nothing at all.
        ScopeForbidden: the caller holds something there, but not this right, or the token leaves it out.
    """
    if scope is None or not scope.rights:
        raise ScopeNotFound
    if right not in scope.rights or not caller.may_use(right):
        raise ScopeForbidden(right)
    return scope


def find_scope(*, caller: Caller, kind: str, key: str) -> ScopeAccess | None:
    """Return the scope of that name with the caller's rights on it, whatever they are, or None."""
    params = {"principal": caller.principal_id, "tenant": caller.tenant_id, "kind": kind, "key": key}
    rows = fetch_records(sql=_COLUMNS + "AND kind = %(kind)s AND key = %(key)s", params=params)
    return _read(rows[0]) if rows else None


def access_scope(*, caller: Caller, right: str, kind: str, key: str) -> ScopeAccess:
    """Return the scope of that name if the caller holds the right there.

    Raises:
        ScopeNotFound: unknown, of another tenant, or one on which the caller holds nothing at all.
        ScopeForbidden: the caller holds something there, but not this right, or the token leaves it out.
    """
    return authorise(scope=find_scope(caller=caller, kind=kind, key=key), caller=caller, right=right)


def access_scope_by_id(*, caller: Caller, right: str, scope_id: str) -> ScopeAccess:
    """Return the scope of that id if the caller holds the right there.

    Raises:
        ScopeNotFound: unknown, of another tenant, or one on which the caller holds nothing at all.
        ScopeForbidden: the caller holds something there, but not this right.
    """
    params = {"principal": caller.principal_id, "tenant": caller.tenant_id, "scope": str(scope_id)}
    rows = fetch_records(sql=_COLUMNS + "AND id = %(scope)s", params=params)
    return authorise(scope=_read(rows[0]) if rows else None, caller=caller, right=right)


def list_scopes(*, caller: Caller, right: str | None = None) -> list[ScopeAccess]:
    """Return the scopes the caller may know of, or those where it holds the right, by kind and key."""
    params = {"principal": caller.principal_id, "tenant": caller.tenant_id}
    scopes = [_read(row) for row in fetch_records(sql=_COLUMNS + "ORDER BY kind, key", params=params)]
    return [
        scope
        for scope in scopes
        if (scope.rights if right is None else right in scope.rights and caller.may_use(right))
    ]


def access_tenant(*, caller: Caller, right: str) -> None:
    """Let a person pass who holds the right on the tenant, by themselves or through a group; agents never do.

    Raises:
        TenantForbidden: the right is missing.
    """
    rows = fetch_all(
        sql="""
            SELECT EXISTS (
                SELECT FROM principals actor
                JOIN auth_permission known ON known.codename = %(right)s
                WHERE actor.id = %(principal)s AND actor.tenant_id = %(tenant)s AND actor.is_active
                  AND actor.kind = 'human' AND (EXISTS (
                    SELECT FROM tenant_user_permissions held WHERE held.user_id = actor.id
                      AND held.content_object_id = actor.tenant_id AND held.permission_id = known.id
                  ) OR EXISTS (
                    SELECT FROM tenant_group_permissions held
                    JOIN principals_groups member ON member.group_id = held.group_id
                    WHERE member.principal_id = actor.id AND held.content_object_id = actor.tenant_id
                      AND held.permission_id = known.id)))
        """,
        params={"right": right, "principal": caller.principal_id, "tenant": caller.tenant_id},
    )
    if not rows[0][0] or not caller.may_use(right):
        raise TenantForbidden(right)


def load_own_patterns(*, tenant_id: str) -> tuple[tuple[str, str], ...]:
    """Return the tenant's own patterns of what must not be stored, as (kind, pattern)."""
    rows = fetch_all(
        sql="SELECT kind, pattern FROM screening_patterns WHERE tenant_id = %s AND retired_at IS NULL ORDER BY id",
        params=[tenant_id],
    )
    return tuple((row[0], row[1]) for row in rows)


def name_principals(*, tenant_id: str, ids: Iterable[str]) -> dict[str, str]:
    """Return what a colleague would call each principal."""
    rows = fetch_all(
        sql="""
            SELECT id::text, coalesce(nullif(display_name, ''), username) FROM principals
            WHERE tenant_id = %s AND id = ANY (%s::uuid[])
        """,
        params=[tenant_id, [str(principal) for principal in ids]],
    )
    return {row[0]: row[1] for row in rows}
