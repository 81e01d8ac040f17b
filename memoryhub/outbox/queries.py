"""How much waits, and for how long: numbers for the dashboard and for health."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryhub.lib.db import fetch_all

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Backlog:
    """Count what waits; the lag is the age of the oldest outbox row, in seconds."""

    outbox: int
    outbox_lag: float
    jobs: int
    dead: int


def count_backlog(*, tenant_id: str, now: datetime) -> Backlog:
    """Return how much of the tenant's work waits."""
    rows = fetch_all(
        sql="""
            SELECT
                (SELECT count(*) FROM outbox WHERE tenant_id = %(tenant)s AND delivered_at IS NULL),
                (SELECT coalesce(extract(epoch FROM %(now)s - min(created_at)), 0) FROM outbox
                 WHERE tenant_id = %(tenant)s AND delivered_at IS NULL),
                (SELECT count(*) FROM processing_jobs
                 WHERE tenant_id = %(tenant)s AND state IN ('queued', 'running', 'retrying')),
                (SELECT count(*) FROM processing_jobs WHERE tenant_id = %(tenant)s AND state = 'dead')
        """,
        params={"tenant": tenant_id, "now": now},
    )
    outbox, lag, jobs, dead = rows[0]
    return Backlog(outbox=outbox, outbox_lag=float(lag), jobs=jobs, dead=dead)
