"""What a claim costs does not grow with the table, nor with the queue of one tenant, nor with what is done."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.cast import Cast, make_cast
from tests.conftest import ConnectAs

WAITING = {
    "claim_jobs_v1": """
        INSERT INTO processing_jobs (id, tenant_id, kind, target_id, scope_id, extractor_version, policy_version,
            deletion_epoch, state, attempts, next_attempt_at, last_error, created_at)
        SELECT uuidv7(), %(tenant)s, 'extract', uuidv7(), %(scope)s, '', '', 0, 'queued', 0, now(), '', now()
        FROM generate_series(1, %(count)s)
    """,
    "claim_outbox_v1": """
        INSERT INTO outbox (id, tenant_id, topic, key, version, attempts, next_attempt_at, last_error, created_at)
        SELECT uuidv7(), %(tenant)s, 'memory_changed', uuidv7(), 1, 0, now(), '', now()
        FROM generate_series(1, %(count)s)
    """,
}
DONE = {
    "claim_jobs_v1": """
        INSERT INTO processing_jobs (id, tenant_id, kind, target_id, scope_id, extractor_version, policy_version,
            deletion_epoch, state, attempts, next_attempt_at, last_error, created_at, ended_at)
        SELECT uuidv7(), %(tenant)s, 'extract', uuidv7(), %(scope)s, '', '', 0, 'succeeded', 1, now(), '', now(), now()
        FROM generate_series(1, %(count)s)
    """,
    "claim_outbox_v1": """
        INSERT INTO outbox (id, tenant_id, topic, key, version, attempts, next_attempt_at, last_error, created_at,
            state, delivered_at)
        SELECT uuidv7(), %(tenant)s, 'memory_changed', uuidv7(), 1, 1, now(), '', now(), 'delivered', now()
        FROM generate_series(1, %(count)s)
    """,
}
INDEX = {"claim_jobs_v1": "processing_jobs_waiting", "claim_outbox_v1": "outbox_waiting"}
LIMIT = 10
FEW, MANY = 200, 20_000
Connection = psycopg.Connection[Any]


def fill(connection: Connection, sql: str, cast: Cast, count: int) -> None:
    connection.execute(sql.encode(), {"tenant": cast.tenant_id, "scope": str(cast.project.pk), "count": count})


def measure_claim(connection: Connection, function: str) -> int:
    """Return how many pages a claim of ten rows touches; the claim is taken back."""
    with connection.transaction(force_rollback=True):
        rows = connection.execute(
            f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM {function}"
            f"({LIMIT}, now(), interval '1 minute', '00000000-0000-0000-0000-000000000000')".encode()
        ).fetchall()
    plan = rows[0][0] if not isinstance(rows[0][0], str) else json.loads(rows[0][0])
    top = plan[0]["Plan"]
    assert top["Actual Rows"] == LIMIT
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])


@pytest.mark.parametrize("function", WAITING)
def test_a_claim_touches_as_many_pages_in_a_long_queue(function: str, connect_as: ConnectAs) -> None:
    """Nothing of this is committed; the pages touched say what a clock on a busy machine could not."""
    busy, quiet = make_cast(), make_cast()
    with connect_as("superuser") as superuser:
        fill(superuser, WAITING[function], busy, FEW)
        fill(superuser, WAITING[function], quiet, 1)
        measure_claim(superuser, function)
        few = measure_claim(superuser, function)
        fill(superuser, WAITING[function], busy, MANY)
        fill(superuser, DONE[function], busy, MANY)
        many = measure_claim(superuser, function)
        superuser.execute(f"DROP INDEX {INDEX[function]}".encode())
        without = measure_claim(superuser, function)
        superuser.rollback()
    assert many <= 2 * few, f"{few} pages with {FEW} waiting, {many} with {MANY}"
    assert without > 5 * few, "the twin without the index is to be slow"
