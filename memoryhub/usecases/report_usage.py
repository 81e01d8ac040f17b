"""Report usage: the agent says what it put before its model and what it acted on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import fetch_all, naming_errors
from memoryhub.policy.screening import redact_text
from memoryhub.types.enums import UsageOutcome
from memoryhub.usecases.ingest import list_own_patterns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memoryhub.access.callers import Caller


class RunNotFound(Exception):
    """Say that there is no such run of this caller."""


class NotRetrieved(Exception):
    """Say that the run did not give this memory out."""

    def __init__(self, memory_ids: list[str]) -> None:
        """Keep which memories were named."""
        super().__init__("the run did not give out every memory that is named")
        self.memory_ids = memory_ids


@dataclass(frozen=True, slots=True)
class Used:
    """Name one memory and why the agent used it."""

    memory_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Count the rows that are new; what was reported before stays as it was."""

    injected: int
    adopted: int


def report_usage(
    *, caller: Caller, run_id: str, injected: Sequence[Used], adopted: Sequence[Used], now: datetime
) -> UsageReported:
    """Record what of a run was injected and adopted; reporting it again changes nothing.

    Raises:
        RunNotFound: no run of this caller has the id. NotRetrieved: a memory was not in the answer.
        StoreFailure: the database could not be asked; nothing was recorded.
    """
    with naming_errors(), tenant_context(caller.tenant_id):
        rows = fetch_all(
            sql="""
                SELECT item.memory_id::text, item.version FROM retrieval_runs run
                LEFT JOIN retrieval_items item ON item.tenant_id = run.tenant_id AND item.run_id = run.id
                    AND item.outcome = 'retrieved'
                WHERE run.tenant_id = %s AND run.id = %s AND run.principal_id = %s
            """,
            params=[caller.tenant_id, run_id, caller.principal_id],
        )
        if not rows:
            raise RunNotFound
        given = {row[0]: row[1] for row in rows if row[0] is not None}
        unknown = [used.memory_id for used in (*injected, *adopted) if used.memory_id not in given]
        if unknown:
            raise NotRetrieved(unknown)
        counts = [
            _record(caller, run_id, outcome, [(used, given[used.memory_id]) for used in items], now)
            for outcome, items in ((UsageOutcome.INJECTED, injected), (UsageOutcome.ADOPTED, adopted))
        ]
    return UsageReported(injected=counts[0], adopted=counts[1])


def _screen(caller: Caller, reason: str) -> str:
    return redact_text(reason, own=list_own_patterns(caller=caller))[0]


def _record(caller: Caller, run_id: str, outcome: UsageOutcome, items: list[tuple[Used, int]], now: datetime) -> int:
    if not items:
        return 0
    rows = fetch_all(
        sql="""
            INSERT INTO retrieval_items (id, tenant_id, run_id, memory_id, version, outcome, position, score, reason,
                at)
            SELECT uuidv7(), %s, %s, item.memory_id, item.version, %s, 0, '{}', item.reason, %s
            FROM jsonb_to_recordset(%s::jsonb) AS item (memory_id uuid, version int, reason text)
            ON CONFLICT ON CONSTRAINT retrieval_items_say_each_outcome_once DO NOTHING
            RETURNING 1
        """,
        params=[
            caller.tenant_id,
            run_id,
            str(outcome),
            now,
            json.dumps(
                [
                    {"memory_id": used.memory_id, "version": version, "reason": _screen(caller, used.reason)[:64]}
                    for used, version in items
                ]
            ),
        ],
    )
    return len(rows)
