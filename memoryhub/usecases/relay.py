"""Relay: tell the consumers of the outbox what changed; each row at least once, whatever the order."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import structlog

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import StoreFailure, naming_errors
from memoryhub.outbox.operations import claim_outbox, load_outbox, mark_delivered
from memoryhub.retrieval.operations import index_memory

if TYPE_CHECKING:
    from datetime import datetime

BATCH = 200

log = structlog.get_logger(__name__)


def relay_outbox(*, now: datetime, limit: int = BATCH) -> int:
    """Claim up to `limit` due rows and bring the search projection up to them; returns how many were delivered.

    A row that cannot be delivered stays due after its lease.

    Raises:
        StoreFailure: the database could not be asked.
    """
    with naming_errors():
        claimed = claim_outbox(limit=limit, now=now)
    by_tenant: dict[str, list[str]] = defaultdict(list)
    for one in claimed:
        by_tenant[one.tenant_id].append(one.id)
    delivered = 0
    for tenant_id, ids in by_tenant.items():
        delivered += _deliver(tenant_id=tenant_id, ids=ids, now=now)
    return delivered


def _deliver(*, tenant_id: str, ids: list[str], now: datetime) -> int:
    """Deliver the rows of one tenant, one transaction a memory, so that one failure holds up no other."""
    with naming_errors(), tenant_context(tenant_id):
        entries = load_outbox(tenant_id=tenant_id, ids=ids)
    by_memory: dict[str, list[str]] = defaultdict(list)
    for entry in entries:
        by_memory[entry.key].append(entry.id)
    delivered = 0
    for memory_id, row_ids in by_memory.items():
        try:
            with naming_errors(), tenant_context(tenant_id):
                index_memory(tenant_id=tenant_id, memory_id=memory_id, now=now)
                mark_delivered(tenant_id=tenant_id, ids=row_ids, now=now)
            delivered += len(row_ids)
        except StoreFailure:
            raise
        except Exception as error:  # noqa: BLE001  the row stays due, and its lag shows on the dashboard
            log.warning("delivery failed", memory=memory_id, error=type(error).__name__)
    return delivered
