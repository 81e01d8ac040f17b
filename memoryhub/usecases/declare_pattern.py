"""Declare pattern: a tenant says what else must not be stored, and takes that back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryhub.access.models import ScreeningPattern
from memoryhub.access.operations import record_audit
from memoryhub.access.queries import access_tenant
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import naming_errors
from memoryhub.policy.screening import MOST_PATTERNS, PatternRefused, compile_own_pattern

if TYPE_CHECKING:
    from datetime import datetime

    from memoryhub.access.callers import Caller

RIGHT = "administer_tenant"


class PatternNotFound(Exception):
    """Say that no pattern of this number is in use."""


@dataclass(frozen=True, slots=True)
class DeclaredPattern:
    """Hold one pattern that is in use."""

    id: str
    kind: str
    pattern: str
    created_at: datetime


def declare_pattern(*, caller: Caller, kind: str, pattern: str, now: datetime) -> DeclaredPattern:
    """Let everything that comes in from now on be screened by one more pattern; audited.

    What is stored already stays. The same pattern again changes nothing, and is in use again if it was retired.

    Raises:
        TenantForbidden: the right `administer_tenant` is missing.
        PatternRefused: it cannot be used, or the tenant has as many as it may.
        StoreFailure: the database could not be asked; nothing was changed.
    """
    compile_own_pattern(kind=kind, pattern=pattern)
    with naming_errors(), tenant_context(caller.tenant_id):
        access_tenant(caller=caller, right=RIGHT)
        in_use = ScreeningPattern.objects.filter(tenant_id=caller.tenant_id, retired_at=None)
        if in_use.exclude(pattern=pattern).count() >= MOST_PATTERNS:
            raise PatternRefused(f"a tenant has at most {MOST_PATTERNS} patterns")
        declared, is_new = ScreeningPattern.objects.get_or_create(
            tenant_id=caller.tenant_id, pattern=pattern, defaults={"kind": kind, "created_at": now}
        )
        if not is_new and declared.kind != kind:
            raise PatternRefused(f"it is declared as {declared.kind}")
        if is_new or declared.retired_at is not None:
            ScreeningPattern.objects.filter(pk=declared.pk).update(retired_at=None)
            _audit(caller, declared, "declared", now)
        return _tell(declared)


def retire_pattern(*, caller: Caller, pattern_id: str, now: datetime) -> None:
    """Let what comes in from now on pass this pattern; what it took out stays out. Audited.

    Raises:
        TenantForbidden: the right `administer_tenant` is missing. PatternNotFound: none of this id is in use.
        StoreFailure: the database could not be asked; nothing was changed.
    """
    with naming_errors(), tenant_context(caller.tenant_id):
        access_tenant(caller=caller, right=RIGHT)
        found = ScreeningPattern.objects.filter(tenant_id=caller.tenant_id, pk=pattern_id, retired_at=None).first()
        if found is None:
            raise PatternNotFound
        ScreeningPattern.objects.filter(pk=found.pk).update(retired_at=now)
        _audit(caller, found, "retired", now)


def list_patterns(*, caller: Caller) -> list[DeclaredPattern]:
    """Return the patterns in use, oldest first.

    Raises:
        TenantForbidden: the right `administer_tenant` is missing.
        StoreFailure: the database could not be asked.
    """
    with naming_errors(), tenant_context(caller.tenant_id):
        access_tenant(caller=caller, right=RIGHT)
        in_use = ScreeningPattern.objects.filter(tenant_id=caller.tenant_id, retired_at=None)
        return [_tell(one) for one in in_use.order_by("created_at", "pk")]


def _tell(one: ScreeningPattern) -> DeclaredPattern:
    return DeclaredPattern(id=str(one.pk), kind=one.kind, pattern=one.pattern, created_at=one.created_at)


def _audit(caller: Caller, one: ScreeningPattern, outcome: str, now: datetime) -> None:
    record_audit(
        caller=caller,
        action=f"screening_pattern.{outcome}",
        object_ids={"pattern": str(one.pk)},
        outcome=outcome,
        now=now,
    )
