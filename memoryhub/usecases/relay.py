"""Relay: tell the consumers of the outbox what changed; each row at least once, whatever the order.

A consumer is one function that follows the heads. It is told in a transaction of its own and must bear to be told
twice, late and in any order: it reads the memory as it stands, and what is older than what it holds changes nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Protocol

import structlog

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import StoreFailure, naming_errors
from memoryhub.outbox.operations import (
    Claimed,
    Delivery,
    OutboxEntry,
    claim_outbox,
    commit_with_the_settlement,
    count_delivery,
    load_outbox,
    settle_deliveries,
)
from memoryhub.retrieval.operations import index_memory
from memoryhub.usecases.follow_lowers import follow_memory
from memoryhub.usecases.shift import Shift, find_last_turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

BATCH = 200

log = structlog.get_logger(__name__)


class Consumer(Protocol):
    """Follow one memory; called inside an open transaction of the tenant.

    `version` is the newest version that is told of, 0 when what changed has none to compare (a revocation).
    """

    def __call__(self, *, tenant_id: str, memory_id: str, version: int, now: datetime) -> object:
        """Bring what is derived from the memory up to it."""


# Who is told, by the name under which a row remembers it. A new consumer is told of what changes from then on.
CONSUMERS: dict[str, Consumer] = {"search": index_memory, "reflections": follow_memory}


def relay_outbox(*, now: datetime, limit: int = BATCH, shift: Shift | None = None) -> Counter[str]:
    """Claim up to `limit` due rows and tell each consumer that lacks them; returns how many rows ended in which state.

    A consumer that fails is told again after a growing pause, and it alone: the others neither wait for it nor are
    told twice. A row that failed too often is dead and waits for a person. What was not begun when the shift ends goes
    back into the queue.

    Raises:
        StoreFailure: the database could not be asked; claimed rows are due again after their lease.
    """
    shift = shift or Shift(now=lambda: now)
    with naming_errors():
        claimed = claim_outbox(limit=limit, now=now, after=shift.after)
    shift.after = find_last_turn(claims=claimed, after=shift.after)
    outcome: Counter[str] = Counter()
    by_tenant: dict[str, list[str]] = defaultdict(list)
    for one in claimed:
        if not one.is_again:
            by_tenant[one.tenant_id].append(one.id)
    for tenant_id, ids in by_tenant.items():
        outcome.update(deliver_rows(tenant_id=tenant_id, ids=ids, shift=shift))
    for one in claimed:
        if one.is_again:
            outcome.update(_deliver_again(claimed=one, shift=shift))
    return outcome


def _deliver_again(*, claimed: Claimed, shift: Shift) -> Mapping[str, int]:
    """Deliver a row that was claimed before by itself, and count it before it begins: it may be what kills."""
    with naming_errors(), tenant_context(claimed.tenant_id):
        count_delivery(tenant_id=claimed.tenant_id, row_id=claimed.id)
    return deliver_rows(tenant_id=claimed.tenant_id, ids=[claimed.id], shift=shift)


def deliver_rows(*, tenant_id: str, ids: Sequence[str], shift: Shift) -> Mapping[str, int]:
    """Tell the consumers of claimed rows of one tenant; returns how many rows ended in which state."""
    with naming_errors(), tenant_context(tenant_id):
        entries = load_outbox(tenant_id=tenant_id, ids=ids)
    by_memory: dict[str, list[OutboxEntry]] = defaultdict(list)
    for entry in entries:
        by_memory[entry.key].append(entry)
    told: dict[str, set[str]] = {entry.id: set(entry.told_to) for entry in entries}
    errors: dict[str, str] = {}
    begun: set[str] = set()
    for memory_id, rows in by_memory.items():
        if not shift.goes_on():
            break
        begun.add(memory_id)
        for name, consumer in CONSUMERS.items():
            lacking = [entry for entry in rows if name not in entry.told_to]
            if not lacking:
                continue
            error = _tell(name, consumer, tenant_id=tenant_id, memory_id=memory_id, rows=lacking, now=shift.now())
            for entry in lacking:
                if error:
                    errors.setdefault(entry.id, f"{name}:{error}")
                else:
                    told[entry.id].add(name)
    if not entries:
        return {}
    deliveries = [
        Delivery(entry, frozenset(told[entry.id]), errors.get(entry.id, ""), is_begun=entry.key in begun)
        for entry in entries
    ]
    with naming_errors(), tenant_context(tenant_id):
        return settle_deliveries(tenant_id=tenant_id, deliveries=deliveries, now=shift.now())


def _tell(
    name: str, consumer: Consumer, *, tenant_id: str, memory_id: str, rows: Sequence[OutboxEntry], now: datetime
) -> str:
    """Tell one consumer of one memory, once for all its rows; returns the name of the failure, or nothing."""
    versions = [entry.version for entry in rows]
    version = 0 if 0 in versions else max(versions)
    try:
        with naming_errors(), tenant_context(tenant_id):
            commit_with_the_settlement()
            consumer(tenant_id=tenant_id, memory_id=memory_id, version=version, now=now)
    except StoreFailure:
        raise
    except Exception as error:  # noqa: BLE001  the row stays due for this consumer, and shows on the dashboard
        log.warning("delivery failed", consumer=name, memory=memory_id, error=type(error).__name__)
        return type(error).__name__
    return ""
