"""Claim work, and say how it ended; a claim is one conditional UPDATE."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from memoryhub.lib.db import fetch_all

LEASE = timedelta(seconds=60)
MAX_ATTEMPTS = 8
_LONGEST_BACK_OFF = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Claimed:
    """Hold a row that is claimed, by id and tenant; what it says is read inside the tenant."""

    id: str
    tenant_id: str


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
    """Hold one change to be told."""

    id: str
    topic: str
    key: str
    version: int


def claim_jobs(*, limit: int, now: datetime) -> list[Claimed]:
    """Claim due jobs of every tenant, and those whose worker went away; ids only."""
    rows = fetch_all(sql="SELECT job::text, tenant::text FROM claim_jobs_v1(%s, %s, %s)", params=[limit, now, LEASE])
    return [Claimed(*row) for row in rows]


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

    `error` is a class name and a message without content. Returns the new state.
    """
    state = "dead" if job.attempts >= MAX_ATTEMPTS else "retrying"
    pause = min(timedelta(seconds=2**job.attempts), _LONGEST_BACK_OFF)
    fetch_all(
        sql="""
            UPDATE processing_jobs SET state = %s, next_attempt_at = %s, last_error = %s, lease_expires_at = NULL,
                ended_at = CASE WHEN %s = 'dead' THEN %s END
            WHERE tenant_id = %s AND id = %s AND state = 'running'
        """,
        params=[state, now + pause, error[:200], state, now, tenant_id, job.id],
    )
    return state


def claim_outbox(*, limit: int, now: datetime) -> list[Claimed]:
    """Claim due outbox rows of every tenant; ids only. A claim that dies is due again after the lease."""
    rows = fetch_all(
        sql="SELECT row_id::text, tenant::text FROM claim_outbox_v1(%s, %s, %s)", params=[limit, now, LEASE]
    )
    return [Claimed(*row) for row in rows]


def load_outbox(*, tenant_id: str, ids: list[str]) -> list[OutboxEntry]:
    """Return claimed outbox rows of one tenant that are not delivered yet."""
    rows = fetch_all(
        sql="""
            SELECT id::text, topic, key::text, version FROM outbox
            WHERE tenant_id = %s AND id = ANY (%s::uuid[]) AND delivered_at IS NULL ORDER BY id
        """,
        params=[tenant_id, ids],
    )
    return [OutboxEntry(*row) for row in rows]


def mark_delivered(*, tenant_id: str, ids: list[str], now: datetime) -> None:
    """Say that every consumer has these rows."""
    fetch_all(
        sql="UPDATE outbox SET delivered_at = %s WHERE tenant_id = %s AND id = ANY (%s::uuid[])",
        params=[now, tenant_id, ids],
    )
