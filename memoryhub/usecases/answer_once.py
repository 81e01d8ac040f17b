"""Answer once: bind a caller's key to one call, and give its answer again when the same call comes again.

Each step is a transaction of its own around the use case. A key left behind by a process that died can be taken
over after its lease; the natural keys of the use cases make the second run safe.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memoryhub.access.callers import Caller
from memoryhub.access.queries import list_scopes
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.db import fetch_all, naming_errors

LEASE = timedelta(seconds=60)
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class KeyReused(Exception):
    """Say that the key stands for another call."""


class StillRunning(Exception):
    """Say that the first call with this key still runs."""

    def __init__(self, *, seconds: int) -> None:
        """Keep after how many seconds the key can be taken over at the latest."""
        super().__init__("the first call still runs")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Begun:
    """Hold the right to answer under a key; `at` tells this run from one that takes it over."""

    key_id: str
    at: datetime
    seen: str


@dataclass(frozen=True, slots=True)
class Given:
    """Hold the answer that was given."""

    status: int
    answer: str


def begin_answer(*, caller: Caller, key: str, request: str, now: datetime) -> Begun | Given:
    """Take the key for this call, or return the answer that was given under it.

    An answer is given again only while nothing was erased or revoked, and no right changed, in the caller's
    scopes: else it could say what may no longer be said, and the call runs again.

    Raises:
        KeyReused: the key stands for another call. StillRunning: the first one still runs.
        StoreFailure: the database could not be asked.
    """
    with naming_errors(), tenant_context(caller.tenant_id):
        seen = _describe_standing(caller=caller)
        request_digest = caller.digest(f"request {request}")
        where = [caller.tenant_id, caller.principal_id, caller.digest(f"idempotency {key}")]
        fresh = fetch_all(
            sql="""
                INSERT INTO idempotency_keys (id, tenant_id, principal_id, key_digest, request_digest, status, answer,
                    created_at)
                VALUES (uuidv7(), %s, %s, %s, %s, NULL, '', %s)
                ON CONFLICT ON CONSTRAINT idempotency_keys_are_used_once DO NOTHING RETURNING id::text
            """,
            params=[*where, request_digest, now],
        )
        if fresh:
            return Begun(fresh[0][0], now, seen)
        held = fetch_all(
            sql="""
                SELECT id::text, request_digest, status, answer, created_at FROM idempotency_keys
                WHERE tenant_id = %s AND principal_id = %s AND key_digest = %s FOR UPDATE
            """,
            params=where,
        )
        key_id, known_digest, status, answer, begun_at = held[0]
        if known_digest != request_digest:
            raise KeyReused
        if status is not None and answer.startswith(seen):
            return Given(status, answer.removeprefix(seen))
        if status is None and now - begun_at < LEASE:
            raise StillRunning(seconds=max(1, (begun_at + LEASE - now).seconds))
        fetch_all(
            sql="""
                UPDATE idempotency_keys SET status = NULL, answer = '', created_at = %s
                WHERE tenant_id = %s AND id = %s
            """,
            params=[now, caller.tenant_id, key_id],
        )
        return Begun(key_id, now, seen)


def finish_answer(*, caller: Caller, begun: Begun, status: int, answer: str) -> None:
    """Keep the answer under the key, unless another run has taken the key over meanwhile."""
    with naming_errors(), tenant_context(caller.tenant_id):
        fetch_all(
            sql="""
                UPDATE idempotency_keys SET status = %s, answer = %s
                WHERE tenant_id = %s AND id = %s AND created_at = %s AND status IS NULL
            """,
            params=[status, begun.seen + answer, caller.tenant_id, begun.key_id, begun.at],
        )


def release_answer(*, caller: Caller, begun: Begun) -> None:
    """Let the next call take the key over at once: this one led to no answer worth keeping."""
    with naming_errors(), tenant_context(caller.tenant_id):
        fetch_all(
            sql="""
                UPDATE idempotency_keys SET created_at = %s
                WHERE tenant_id = %s AND id = %s AND created_at = %s AND status IS NULL
            """,
            params=[_LONG_AGO, caller.tenant_id, begun.key_id, begun.at],
        )


def _describe_standing(*, caller: Caller) -> str:
    """Return a digest of what the caller may do where, under which deletion epochs."""
    standing = [
        [scope.id, scope.deletion_epoch, sorted(right for right in scope.rights if caller.may_use(right))]
        for scope in list_scopes(caller=caller)
    ]
    return caller.digest(f"standing {canonical_json(standing)}")
