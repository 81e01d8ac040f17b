"""Claim work, and say how it ended; a claim is one conditional UPDATE."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memoryhub.lib.db import fetch_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LEASE = timedelta(seconds=60)
MAX_ATTEMPTS = 8  # the claims of outbox/sql/claims.sql know it too
NOBODY = "00000000-0000-0000-0000-000000000000"
_LONGEST_BACK_OFF = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Claimed:
    """Hold a row that is claimed, by id and tenant; what it says is read inside the tenant.

    `is_again` says that it was claimed before and never ended: whoever held it may have died of it.
    """

    id: str
    tenant_id: str
    is_again: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """Hold one piece of work."""

    id: str
    kind: str
    target_id: str
    extractor_version: str
    deletion_epoch: int
    attempts: int


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """Hold one change to be told, and which consumers have it already."""

    id: str
    topic: str
    key: str
    version: int
    told_to: frozenset[str]
    attempts: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """Hold how one delivery went: who has the change now, and the first failure, a name without content.

    One that was not begun goes back into the queue as if it had not been claimed.
    """

    entry: OutboxEntry
    told_to: frozenset[str]
    error: str = ""
    is_begun: bool = True


def pause_before_retry(*, row_id: str, attempts: int) -> timedelta:
    """Return how long to wait after so many failures: doubling, ten minutes at most, and no two rows alike.

    The jitter, a quarter to either side, is taken from the row's id: rows that failed together do not come back
    together, and the same row waits equally long in a replay.
    """
    longest: timedelta = min(timedelta(seconds=2 ** min(attempts, 20)), _LONGEST_BACK_OFF)
    share = int(row_id[-6:], 16) / 0x1000000
    return longest * (0.75 + share / 2)


def claim_jobs(*, limit: int, now: datetime, after: str = NOBODY) -> list[Claimed]:
    """Claim due jobs of every tenant, and those whose worker went away; ids only.

    Tenants take turns, beginning with the one that follows `after` in the order of ids. Jobs that were claimed before
    come last.
    """
    rows = fetch_all(
        sql="SELECT job::text, tenant::text, is_again FROM claim_jobs_v1(%s, %s, %s, %s)",
        params=[limit, now, LEASE, after],
    )
    return [Claimed(*row) for row in rows]


def count_attempt(*, tenant_id: str, job_id: str) -> None:
    """Count the beginning of a job that was claimed before, in a transaction that ends before the work begins."""
    fetch_all(
        sql="""
            UPDATE processing_jobs SET attempts = attempts + 1
            WHERE tenant_id = %s AND id = %s AND state = 'running'
        """,
        params=[tenant_id, job_id],
    )


def load_job(*, tenant_id: str, job_id: str) -> Job | None:
    """Return a claimed job and hold it to the end of the transaction, or None if it is not running.

    A second worker that took it over after the lease waits here, and then finds it ended.
    """
    rows = fetch_all(
        sql="""
            SELECT id::text, kind, target_id::text, extractor_version, deletion_epoch, attempts FROM processing_jobs
            WHERE tenant_id = %s AND id = %s AND state = 'running'
            FOR UPDATE
        """,
        params=[tenant_id, job_id],
    )
    return Job(*rows[0]) if rows else None


def finish_job(*, tenant_id: str, job_id: str, now: datetime, state: str = "succeeded", note: str = "") -> None:
    """Say that a job ended; `note` is a reason code, never content."""
    fetch_all(
        sql="""
            UPDATE processing_jobs SET state = %s, ended_at = %s, last_error = %s, lease_expires_at = NULL
            WHERE tenant_id = %s AND id = %s AND state = 'running'
        """,
        params=[state, now, note, tenant_id, job_id],
    )


def fail_job(*, tenant_id: str, job: Job, error: str, now: datetime) -> str:
    """Put a failed job off with growing pauses; after `MAX_ATTEMPTS` it is dead and waits for a person.

    `error` is a class name without content. Returns the new state, or `gone` when another worker has taken the job
    over meanwhile: then its attempt is the one that counts.
    """
    state = "dead" if job.attempts >= MAX_ATTEMPTS else "retrying"
    pause = pause_before_retry(row_id=job.id, attempts=job.attempts)
    rows = fetch_all(
        sql="""
            UPDATE processing_jobs SET state = %s, next_attempt_at = %s, last_error = %s, lease_expires_at = NULL,
                ended_at = CASE WHEN %s = 'dead' THEN %s END
            WHERE tenant_id = %s AND id = %s AND state = 'running' AND attempts = %s
            RETURNING state
        """,
        params=[state, now + pause, error[:200], state, now, tenant_id, job.id, job.attempts],
    )
    return state if rows else "gone"


def renew_leases(*, tenant_id: str, job_ids: Sequence[str], now: datetime) -> int:
    """Hold claimed jobs for another lease; returns how many.

    A job that a transaction works on is locked and passed over: while it is locked, nobody else can claim it.
    """
    return len(
        fetch_all(
            sql="""
                UPDATE processing_jobs SET lease_expires_at = %s, next_attempt_at = %s
                WHERE id IN (SELECT id FROM processing_jobs
                             WHERE tenant_id = %s AND id = ANY (%s::uuid[]) AND state = 'running'
                             FOR UPDATE SKIP LOCKED)
                RETURNING id
            """,
            params=[now + LEASE, now + LEASE, tenant_id, list(job_ids)],
        )
    )


def release_jobs(*, tenant_id: str, claims: Iterable[Claimed], now: datetime) -> int:
    """Put claimed jobs that were not begun back into the queue, as if they had not been claimed; returns how many."""
    return len(
        fetch_all(
            sql="""
                UPDATE processing_jobs SET state = 'queued', next_attempt_at = %s, lease_expires_at = NULL,
                    attempts = attempts - CASE WHEN id = ANY (%s::uuid[]) THEN 0 ELSE 1 END
                WHERE id IN (SELECT id FROM processing_jobs
                             WHERE tenant_id = %s AND id = ANY (%s::uuid[]) AND state = 'running'
                             FOR UPDATE SKIP LOCKED)
                RETURNING id
            """,
            params=[
                now,
                [one.id for one in claims if one.is_again],
                tenant_id,
                [one.id for one in claims],
            ],
        )
    )


def claim_outbox(*, limit: int, now: datetime, after: str = NOBODY) -> list[Claimed]:
    """Claim due outbox rows of every tenant; ids only. A claim that dies is due again after the lease.

    Tenants take turns as in `claim_jobs`.
    """
    rows = fetch_all(
        sql="SELECT row_id::text, tenant::text, is_again FROM claim_outbox_v1(%s, %s, %s, %s)",
        params=[limit, now, LEASE, after],
    )
    return [Claimed(*row) for row in rows]


def count_delivery(*, tenant_id: str, row_id: str) -> None:
    """Count the beginning of a delivery that was claimed before, in a transaction that ends before it begins."""
    fetch_all(
        sql="UPDATE outbox SET attempts = attempts + 1 WHERE tenant_id = %s AND id = %s AND state = 'waiting'",
        params=[tenant_id, row_id],
    )


def load_outbox(*, tenant_id: str, ids: Sequence[str]) -> list[OutboxEntry]:
    """Return claimed outbox rows of one tenant that are not delivered yet."""
    rows = fetch_all(
        sql="""
            SELECT id::text, topic, key::text, version, told_to, attempts FROM outbox
            WHERE tenant_id = %s AND id = ANY (%s::uuid[]) AND state = 'waiting' ORDER BY id
        """,
        params=[tenant_id, list(ids)],
    )
    return [
        OutboxEntry(row[0], topic=row[1], key=row[2], version=row[3], told_to=frozenset(row[4]), attempts=row[5])
        for row in rows
    ]


def commit_with_the_settlement() -> None:
    """Let this transaction not wait for the disk: what settles its row, later and durably, makes it durable as well.

    The log is written in order. A crash in between loses both, and the row is told again.
    """
    fetch_all(sql="SELECT set_config('synchronous_commit', 'off', true)", params=[])


def settle_deliveries(*, tenant_id: str, deliveries: Iterable[Delivery], now: datetime) -> dict[str, int]:
    """Say how deliveries went; returns how many rows went into which state.

    A row without a failure is delivered. One with a failure keeps who has it, and is put off with growing pauses;
    after `MAX_ATTEMPTS` it is dead and waits for a person.
    """
    told = [
        {
            "id": one.entry.id,
            "told_to": sorted(one.told_to),
            "state": _name_state(one),
            "error": one.error[:200],
            "attempts": one.entry.attempts - (0 if one.is_begun else 1),
            "due": (now + _pause(one)).isoformat(),
        }
        for one in sorted(deliveries, key=lambda one: one.entry.id)
    ]
    rows = fetch_all(
        sql="""
            WITH settled AS (
                UPDATE outbox SET state = told.state, told_to = told.told_to, last_error = told.error,
                    attempts = told.attempts, next_attempt_at = told.due, lease_expires_at = NULL,
                    delivered_at = CASE WHEN told.state = 'delivered' THEN %s::timestamptz END
                FROM jsonb_to_recordset(%s::jsonb)
                    AS told (id uuid, told_to text[], state text, error text, attempts smallint, due timestamptz)
                WHERE outbox.tenant_id = %s AND outbox.id = told.id AND outbox.state = 'waiting'
                RETURNING outbox.state
            )
            SELECT state, count(*) FROM settled GROUP BY state
        """,
        params=[now, json.dumps(told), tenant_id],
    )
    return {row[0]: row[1] for row in rows}


def _pause(delivery: Delivery) -> timedelta:
    if not delivery.is_begun:
        return timedelta(0)
    return pause_before_retry(row_id=delivery.entry.id, attempts=delivery.entry.attempts)


def _name_state(delivery: Delivery) -> str:
    if not delivery.is_begun:
        return "waiting"
    if not delivery.error:
        return "delivered"
    return "dead" if delivery.entry.attempts >= MAX_ATTEMPTS else "waiting"


def delete_ended(*, before: datetime, limit: int) -> tuple[int, int]:
    """Delete up to `limit` jobs and as many outbox rows that ended before an instant; returns how many of each."""
    rows = fetch_all(sql="SELECT jobs, rows FROM prune_work_v1(%s, %s)", params=[before, limit])
    return rows[0][0], rows[0][1]
