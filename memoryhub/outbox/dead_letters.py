"""Dead letters: what used up its attempts, seen by what is alike, and what a person does with it.

What is alike has one fingerprint: `<kind>:<error class>` for jobs, `outbox:<consumer>:<error class>` for rows of the
outbox.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryhub.lib.db import fetch_all

if TYPE_CHECKING:
    from datetime import datetime

OUTBOX = "outbox"
_JOB_PRINT = "kind || ':' || last_error"
_ROW_PRINT = "'outbox:' || last_error"


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Hold what is dead and alike: how many, since when, and one of them to look at."""

    fingerprint: str
    count: int
    oldest: datetime
    newest: datetime
    example: str
    example_of: str


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Hold one dead letter that a person did something with; `target` is an event, a candidate or a memory."""

    id: str
    kind: str
    target: str


def list_dead_letters(*, tenant_id: str) -> list[DeadLetters]:
    """Return the dead letters of a tenant by fingerprint, those with most of them first."""
    rows = fetch_all(
        sql=f"""
            SELECT fingerprint, count(*), min(created_at), max(created_at), (array_agg(id ORDER BY id))[1]::text,
                (array_agg(target ORDER BY id))[1]::text
            FROM (
                SELECT {_JOB_PRINT} AS fingerprint, created_at, id, target_id AS target FROM processing_jobs
                WHERE tenant_id = %(tenant)s AND state = 'dead'
                UNION ALL
                SELECT {_ROW_PRINT}, created_at, id, key FROM outbox
                WHERE tenant_id = %(tenant)s AND state = 'dead'
            ) dead GROUP BY fingerprint ORDER BY 2 DESC, 1
        """,  # noqa: S608  the two names are constants of this file
        params={"tenant": tenant_id},
    )
    return [DeadLetters(*row) for row in rows]


def redrive_rows(
    *, tenant_id: str, fingerprint: str, reason: str, note: str, limit: int, now: datetime
) -> list[DeadLetter]:
    """Put up to `limit` dead letters of a fingerprint back into the queue with all their attempts, the oldest first.

    What is not dead any more is left alone, so doing it twice does it once.
    """
    if fingerprint.startswith(f"{OUTBOX}:"):
        change = "state = 'waiting', attempts = 0, next_attempt_at = %(now)s, reason = %(reason)s, note = %(note)s"
    else:
        change = (
            "state = 'queued', attempts = 0, next_attempt_at = %(now)s, ended_at = NULL, reason = %(reason)s,"
            " note = %(note)s"
        )
    return _change(
        tenant_id=tenant_id, fingerprint=fingerprint, change=change, reason=reason, note=note, limit=limit, now=now
    )


def discard_rows(
    *, tenant_id: str, fingerprint: str, reason: str, note: str, limit: int, now: datetime
) -> list[DeadLetter]:
    """Give up to `limit` dead letters of a fingerprint up for good, the oldest first; their rows say why."""
    if fingerprint.startswith(f"{OUTBOX}:"):
        change = "state = 'discarded', reason = %(reason)s, note = %(note)s"
    else:
        change = "state = 'discarded', ended_at = %(now)s, reason = %(reason)s, note = %(note)s"
    return _change(
        tenant_id=tenant_id, fingerprint=fingerprint, change=change, reason=reason, note=note, limit=limit, now=now
    )


def _change(
    *, tenant_id: str, fingerprint: str, change: str, reason: str, note: str, limit: int, now: datetime
) -> list[DeadLetter]:
    is_row = fingerprint.startswith(f"{OUTBOX}:")
    table, fingerprint_of = (OUTBOX, _ROW_PRINT) if is_row else ("processing_jobs", _JOB_PRINT)
    kind, target = ("'outbox'", "key") if is_row else ("kind", "target_id")
    rows = fetch_all(
        sql=f"""
            WITH chosen AS MATERIALIZED (
                SELECT id AS chosen_id FROM {table}
                WHERE tenant_id = %(tenant)s AND state = 'dead' AND {fingerprint_of} = %(fingerprint)s
                ORDER BY id LIMIT %(limit)s FOR UPDATE
            )
            UPDATE {table} SET {change} FROM chosen WHERE tenant_id = %(tenant)s AND id = chosen_id
            RETURNING id::text, {kind}, {target}::text
        """,  # noqa: S608  every name is a constant of this file
        params={
            "tenant": tenant_id,
            "fingerprint": fingerprint,
            "reason": reason,
            "note": note,
            "limit": limit,
            "now": now,
        },
    )
    return [DeadLetter(*row) for row in sorted(rows)]
