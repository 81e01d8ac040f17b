"""A shift: what a worker brings along when it does work: its clock, whether it goes on, and whose turn it was last."""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from django.db import connection

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import StoreFailure, naming_errors
from memoryhub.outbox.operations import LEASE, NOBODY, Claimed, renew_leases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

RENEW_AFTER = LEASE.total_seconds() / 3

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Shift:
    """Hold what one worker brings along from batch to batch.

    `after` is the tenant whose turn was last. Without `keeps_leases` a batch that takes longer than its lease is
    taken over by others.
    """

    now: Callable[[], datetime]
    goes_on: Callable[[], bool] = lambda: True
    after: str = NOBODY
    keeps_leases: bool = True


def find_last_turn(*, claims: Sequence[Claimed], after: str) -> str:
    """Return the tenant that came last in the ring that begins behind `after`; nobody claimed, nothing moves."""
    ring = {(one.tenant_id <= after, one.tenant_id) for one in claims}
    return max(ring)[1] if ring else after


@contextmanager
def keep_leases(*, claims: Sequence[Claimed], shift: Shift) -> Iterator[None]:
    """Renew the leases of a batch until the block ends, three times a lease, from a thread with its own connection."""
    if not claims or not shift.keeps_leases:
        yield
        return
    end = threading.Event()
    thread = threading.Thread(target=_renew, args=(claims, shift, end), name="keep leases", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def _renew(claims: Sequence[Claimed], shift: Shift, end: threading.Event) -> None:
    by_tenant: dict[str, list[str]] = defaultdict(list)
    for one in claims:
        by_tenant[one.tenant_id].append(one.id)
    try:
        while not end.wait(RENEW_AFTER):
            for tenant_id, job_ids in by_tenant.items():
                with naming_errors(), tenant_context(tenant_id):
                    renew_leases(tenant_id=tenant_id, job_ids=job_ids, now=shift.now())
    except StoreFailure as error:
        log.warning("leases not renewed", error=str(error))
    finally:
        connection.close()
