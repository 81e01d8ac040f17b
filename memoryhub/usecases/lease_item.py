"""Lease: tell colleagues that somebody has an item open; advice, and never the reason of a refusal."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from memoryhub.access.operations import record_audit
from memoryhub.access.queries import access_scope_by_id
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import fetch_all, naming_errors
from memoryhub.types.enums import ReviewKind
from memoryhub.usecases.review import REVIEW, ItemNotFound

if TYPE_CHECKING:
    from datetime import datetime

    from memoryhub.access.callers import Caller

LEASE = timedelta(minutes=5)


def lease_item(*, caller: Caller, item_id: str, now: datetime, takes_over: bool = False) -> bool:
    """Hold an open item for five minutes, or for five more; returns whether the caller holds it now.

    A colleague's lease stands until it ends, unless it is taken over, which is one audit event.

    Raises:
        ItemNotFound: there is no such item.
        ScopeNotFound, ScopeForbidden: the caller may not decide it.
        StoreFailure: the database could not be asked; nothing is known.
    """
    with naming_errors(), tenant_context(caller.tenant_id):
        found = fetch_all(
            sql="SELECT kind, scope_id::text, lease_holder_id::text FROM review_items WHERE tenant_id = %s AND id = %s",
            params=[caller.tenant_id, item_id],
        )
        if not found:
            raise ItemNotFound
        kind, scope_id, holder_id = found[0]
        right = "view_memory" if kind == ReviewKind.CONFIRMATION else REVIEW
        access_scope_by_id(caller=caller, right=right, scope_id=scope_id)
        leased = fetch_all(
            sql="""
                UPDATE review_items SET lease_holder_id = %(me)s, lease_expires_at = %(until)s
                WHERE tenant_id = %(tenant)s AND id = %(item)s AND state = 'open'
                  AND (lease_holder_id IS NULL OR lease_holder_id = %(me)s OR lease_expires_at <= %(now)s
                       OR %(takes_over)s)
                RETURNING id
            """,
            params={
                "me": caller.principal_id,
                "until": now + LEASE,
                "tenant": caller.tenant_id,
                "item": item_id,
                "now": now,
                "takes_over": takes_over,
            },
        )
        if leased and takes_over:
            record_audit(
                caller=caller,
                action="review_item.taken_over",
                object_ids={"item": item_id, "holder": holder_id},
                outcome="leased",
                now=now,
            )
        return bool(leased)
