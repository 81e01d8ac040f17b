"""Who calls: an agent by token or a person by session, always inside one tenant."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings

from memoryhub.lib.db import fetch_all, naming_errors
from memoryhub.lib.hashing import keyed_digest

if TYPE_CHECKING:
    from datetime import datetime

    from memoryhub.access.models import Principal

RELAY_USER = "relay_user"


@dataclass(frozen=True, slots=True)
class Caller:
    """Hold who asks, as the server knows it; nothing here comes from a request's body.

    `actions` are the rights a token may use at most; None for a person, whom only rights on scopes limit.
    `own_patterns` are the tenant's own patterns of what must not be stored, as (kind, pattern).
    """

    principal_id: str
    tenant_id: str
    tenant_slug: str
    kind: str
    name: str
    rank: int
    groups: frozenset[str]
    actions: frozenset[str] | None
    digest_key: bytes
    own_patterns: tuple[tuple[str, str], ...] = ()

    def may_use(self, right: str) -> bool:
        """Tell whether the token itself allows this right."""
        return self.actions is None or right in self.actions

    def digest(self, text: str, *, salt: bytes = b"") -> str:
        """Return the digest of a text under the tenant's key."""
        return keyed_digest(key=self.digest_key, text=text, salt=salt)


def derive_digest_key(*, salt: bytes) -> bytes:
    """Return the tenant's digest key; without the tenant's salt nobody can make it again."""
    return hmac.digest(settings.DIGEST_SECRET.encode(), b"memoryhub tenant key" + salt, "sha256")


def digest_secret(*, secret: str) -> str:
    """Return the digest under which a token's secret is kept."""
    return hashlib.sha256(secret.encode()).hexdigest()


def authenticate_token(*, secret: str, now: datetime) -> Caller | None:
    """Return the caller behind a bearer token, or None when it is unknown, expired or revoked.

    One look-up without a cache, so that a revoked token stops at once.

    Raises:
        StoreFailure: the database could not be asked.
    """
    with naming_errors():
        rows = fetch_all(sql="SELECT authenticate_token_v1(%s, %s)", params=[digest_secret(secret=secret), now])
    found = rows[0][0] if rows else None
    if found is None:
        return None
    known: dict[str, Any] = json.loads(found) if isinstance(found, str) else found
    return Caller(
        principal_id=known["principal"],
        tenant_id=known["tenant"],
        tenant_slug=known["tenant_slug"],
        kind=known["kind"],
        name=known["name"],
        rank=known["rank"],
        groups=frozenset(known["groups"]),
        actions=frozenset(known["actions"]),
        digest_key=derive_digest_key(salt=bytes.fromhex(known["salt"])),
        own_patterns=tuple((kind, pattern) for kind, pattern in known["own_patterns"]),
    )


def describe_person(*, principal: Principal) -> Caller:
    """Return the caller for someone who signed in.

    Raises:
        ValueError: the principal belongs to no tenant, or the tenant's key was destroyed.
    """
    tenant = principal.tenant
    if tenant is None or tenant.digest_salt is None:
        message = "the principal has no tenant to act in"
        raise ValueError(message)
    return Caller(
        principal_id=str(principal.pk),
        tenant_id=str(tenant.pk),
        tenant_slug=tenant.slug,
        kind=principal.kind,
        name=str(principal),
        rank=principal.rank,
        groups=frozenset(principal.groups.values_list("name", flat=True)),
        actions=None,
        digest_key=derive_digest_key(salt=bytes(tenant.digest_salt)),
    )


@dataclass(frozen=True, slots=True)
class Actor:
    """Hold whom something is by, as the server resolved it, with rank and groups as they are now."""

    id: str
    rank: int
    groups: frozenset[str]


def find_actor(*, caller: Caller, username: str) -> Actor | None:
    """Return the active person of that user name in the caller's tenant, or None.

    An agent or a service is never relayed: it has a token of its own.
    """
    rows = fetch_all(
        sql="""
            SELECT actor.id::text, actor.rank, list_group_names_v1(actor.id)
            FROM principals actor
            WHERE actor.tenant_id = %s AND actor.username = %s AND actor.is_active AND actor.kind = 'human'
        """,
        params=[caller.tenant_id, username],
    )
    return Actor(rows[0][0], rows[0][1], frozenset(rows[0][2])) if rows else None
