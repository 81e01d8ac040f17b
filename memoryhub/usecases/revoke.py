"""Revoke: raise the epoch, put up a barrier and hide what it covers; from then on no older work can commit."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memoryhub.access.operations import record_audit
from memoryhub.access.queries import access_scope
from memoryhub.access.tenancy import tenant_context
from memoryhub.erasure.operations import Raised, raise_barrier
from memoryhub.lib.db import naming_errors
from memoryhub.policy.screening import redact_text
from memoryhub.types.enums import RevocationMode, RevocationTarget
from memoryhub.types.fact_keys import BadFactKey
from memoryhub.usecases.align import Catalogue
from memoryhub.usecases.follow_lowers import follow_within
from memoryhub.usecases.ingest import list_own_patterns
from memoryhub.usecases.rederive import fold_again

if TYPE_CHECKING:
    from datetime import datetime

    from memoryhub.access.callers import Caller

RIGHT = "approve_erasure"


class TargetMissing(Exception):
    """Say that a revocation names nothing; an empty target never means everything."""


def revoke(
    *,
    caller: Caller,
    scope: tuple[str, str],
    target: RevocationTarget,
    target_id: str | None,
    reason: str,
    now: datetime,
    mode: RevocationMode = RevocationMode.ERASE_UP_TO_EPOCH,
    target_key: str = "",
) -> Raised:
    """Put up a barrier in front of a subject, memory, event, key or the whole scope.

    `erase_up_to_epoch` covers what was received before it; `suppress` also what comes later.

    Raises:
        ScopeNotFound, ScopeForbidden: the right `approve_erasure` is missing. TargetMissing: nothing is named.
        StoreFailure: the database could not be asked; nothing was revoked.
    """
    if target is RevocationTarget.FACT_KEY:
        if not target_key:
            raise TargetMissing
    elif target is not RevocationTarget.SCOPE and not target_id:
        raise TargetMissing
    with naming_errors(), tenant_context(caller.tenant_id):
        owner = access_scope(caller=caller, right=RIGHT, kind=scope[0], key=scope[1])
        reason = redact_text(reason, own=list_own_patterns(caller=caller))[0]
        if target is RevocationTarget.FACT_KEY:
            with suppress(BadFactKey):  # a key of before the rule of spelling is barred as it stands
                target_key = Catalogue(caller).find_key(text=target_key).spelling
        raised = raise_barrier(
            tenant_id=caller.tenant_id,
            scope_id=owner.id,
            target=target,
            target_id=target_id,
            target_key=target_key,
            mode=mode,
            reason=reason,
            principal_id=caller.principal_id,
            now=now,
        )
        for memory_id in raised.to_fold:
            fold_again(tenant_id=caller.tenant_id, memory_id=memory_id, now=now)
        # What rests on them in this scope follows before anybody can read it; what does elsewhere, by the outbox.
        follow_within(tenant_id=caller.tenant_id, scope_id=owner.id, memory_ids=[*raised.memories], now=now)
        record_audit(
            caller=caller,
            action="revocation.raised",
            object_ids={"revocation": raised.revocation_id, "scope": owner.id, "target": target_id},
            outcome=str(mode),
            reason=reason,
            now=now,
        )
        return raised
