"""Read the numbers of the dashboard, each counted as the list behind it counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path

from django.conf import settings

from memoryhub.access.callers import Caller
from memoryhub.access.queries import list_scopes
from memoryhub.console.queue_queries import list_reviewable_scopes
from memoryhub.kernel.sealing import load_last_seal
from memoryhub.kernel.seals import Seal
from memoryhub.kernel.witness import WitnessFailure, name_witness, read_newest
from memoryhub.lib.db import fetch_all

WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class QueueAges:
    """How long the open items of one queue have waited, and how many were decided in a week."""

    open: int
    youngest: timedelta
    median: timedelta
    oldest: timedelta
    decided: int


@dataclass(frozen=True, slots=True)
class Holdings:
    """What stands now in the scopes one may see."""

    memories: int
    scopes: int
    open_conflicts: int
    retrievals: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is still to be told and to be done."""

    outbox: int
    outbox_oldest: timedelta
    waiting_jobs: int
    dead_letters: int


class Agreement(StrEnum):
    """Say what the witnesses outside the database know of the newest seal."""

    AGREES = "agrees"
    LAGS = "lags"
    MISSING = "missing"
    DIFFERS = "differs"


@dataclass(frozen=True, slots=True)
class LedgerState:
    """The newest seal, how old it is, and what the witness that agrees least says of it."""

    number: int
    age: timedelta
    agreement: Agreement


def read_ledger(*, caller: Caller, now: datetime) -> LedgerState | None:
    """Return how the ledger stands; None when nothing was sealed yet.

    Only the end of each witness is read: `verify_ledger` holds all of it against the chain.
    """
    seal = load_last_seal(tenant_id=caller.tenant_id)
    if seal is None:
        return None
    found = [_ask_witness(seal, folder, caller.tenant_id) for folder in settings.WITNESSES]
    worst = max(found, key=list(Agreement).index, default=Agreement.MISSING)
    return LedgerState(seal.number, now - seal.sealed_at, worst)


def _ask_witness(seal: Seal, folder: Path, tenant_id: str) -> Agreement:
    try:
        told = read_newest(path=name_witness(folder=folder, tenant_id=tenant_id), tenant_id=tenant_id)
    except WitnessFailure:
        return Agreement.MISSING
    if told is None:
        return Agreement.MISSING
    if told.number < seal.number:
        return Agreement.LAGS
    return Agreement.AGREES if (told.number, told.digest) == (seal.number, seal.digest) else Agreement.DIFFERS


def measure_queue(*, caller: Caller, kind: str, now: datetime) -> QueueAges:
    """Measure the ages of one queue in the scopes whose items the caller may decide."""
    rows = fetch_all(
        sql="""
            SELECT count(*) FILTER (WHERE state = 'open'),
                min(%(now)s - opened_at) FILTER (WHERE state = 'open'),
                percentile_cont(0.5) WITHIN GROUP (ORDER BY %(now)s - opened_at) FILTER (WHERE state = 'open'),
                max(%(now)s - opened_at) FILTER (WHERE state = 'open'),
                count(*) FILTER (WHERE state = 'decided' AND decided_at >= %(since)s)
            FROM review_items
            WHERE tenant_id = %(tenant)s AND kind = %(kind)s AND scope_id = ANY (%(scopes)s::uuid[])
              AND (deferred_until IS NULL OR deferred_until <= %(now)s)
        """,
        params={
            "tenant": caller.tenant_id,
            "kind": kind,
            "scopes": list_reviewable_scopes(caller=caller, kind=kind),
            "now": now,
            "since": now - WEEK,
        },
    )
    opened, youngest, median, oldest, decided = rows[0]
    nothing = timedelta()
    return QueueAges(opened, youngest or nothing, median or nothing, oldest or nothing, decided)


def count_decisions(*, caller: Caller, now: datetime, by_people: bool) -> dict[str, int]:
    """Count the decisions of a week, those of people by what they chose or those of the policy by action."""
    rows = fetch_all(
        sql="""
            SELECT CASE verb WHEN 'reject' THEN 'REJECT' WHEN 'keep_conflict' THEN 'CONFLICT' ELSE action END, count(*)
            FROM merge_decisions
            WHERE tenant_id = %(tenant)s AND scope_id = ANY (%(scopes)s::uuid[]) AND recorded_at >= %(since)s
              AND (decider_id IS NOT NULL) = %(people)s
            GROUP BY 1
        """,
        params={
            "tenant": caller.tenant_id,
            "scopes": [scope.id for scope in list_scopes(caller=caller, right="view_memory")],
            "since": now - WEEK,
            "people": by_people,
        },
    )
    return dict(rows)


def count_holdings(*, caller: Caller, now: datetime) -> Holdings:
    """Count memories, open conflicts, and answers given to agents in a week."""
    scopes = [scope.id for scope in list_scopes(caller=caller, right="view_memory")]
    rows = fetch_all(
        sql="""
            SELECT count(*), count(DISTINCT scope_id), count(*) FILTER (WHERE has_open_conflict),
                (SELECT count(*) FROM retrieval_runs run WHERE run.tenant_id = %(tenant)s AND run.at >= %(since)s)
            FROM memory_heads WHERE tenant_id = %(tenant)s AND scope_id = ANY (%(scopes)s::uuid[])
        """,
        params={"tenant": caller.tenant_id, "scopes": scopes, "since": now - WEEK},
    )
    return Holdings(*rows[0])


def measure_backlog(*, caller: Caller, now: datetime) -> Backlog:
    """Measure what still waits and what is dead in the tenant; never reads what is done.

    A dead row of the outbox waits for a person and no longer for a worker, so it is counted as a dead letter alone.
    """
    rows = fetch_all(
        sql="""
            SELECT waiting.number, waiting.oldest,
                (SELECT count(*) FROM processing_jobs
                    WHERE tenant_id = %(tenant)s AND state IN ('queued', 'retrying', 'running')),
                (SELECT count(*) FROM processing_jobs WHERE tenant_id = %(tenant)s AND state = 'dead')
                + (SELECT count(*) FROM outbox WHERE tenant_id = %(tenant)s AND state = 'dead')
            FROM (SELECT count(*) AS number, max(%(now)s - created_at) AS oldest FROM outbox
                  WHERE tenant_id = %(tenant)s AND state = 'waiting') waiting
        """,
        params={"tenant": caller.tenant_id, "now": now},
    )
    outbox, oldest, waiting, dead = rows[0]
    return Backlog(outbox, oldest or timedelta(), waiting, dead)
