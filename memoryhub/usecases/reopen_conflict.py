"""Reopen a conflict that was kept: a person may always look again at what is still disputed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryhub.access.operations import record_audit
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import fetch_all, naming_errors
from memoryhub.lib.ids import new_id
from memoryhub.memory.queries import access_memory
from memoryhub.usecases.review import REVIEW

if TYPE_CHECKING:
    from datetime import datetime

    from memoryhub.access.callers import Caller


class NoOpenConflict(Exception):
    """Say that the memory has no open conflict set."""


def reopen_conflict(*, caller: Caller, memory_id: str, now: datetime) -> str:
    """Put the open conflict of a memory back into the queue; returns the item, the one that waits if there is one.

    Rows written: one review item and one audit event, if none waits.

    Raises:
        MemoryNotFound, ScopeForbidden: the caller may not see or review it. NoOpenConflict: nothing is disputed.
        StoreFailure: the database could not be asked.
    """
    with naming_errors(), tenant_context(caller.tenant_id):
        memory = access_memory(caller=caller, memory_id=memory_id, right=REVIEW)
        rows = fetch_all(
            sql="""
                INSERT INTO review_items (id, tenant_id, kind, object_id, scope_id, memory_id, candidate_id, state,
                    reason, priority, expected_version, opened_at, waiting_on, outcome)
                SELECT %(id)s, held.tenant_id, 'conflict', held.id, head.scope_id, head.id, member.candidate_id, 'open',
                    held.reason, 0, head.version, %(now)s, '', ''
                FROM conflict_sets held
                JOIN memory_heads head ON head.tenant_id = held.tenant_id AND head.id = held.memory_id
                JOIN LATERAL (
                    SELECT candidate_id FROM conflict_members
                    JOIN memory_candidates candidate ON candidate.tenant_id = conflict_members.tenant_id
                        AND candidate.id = conflict_members.candidate_id
                    WHERE conflict_members.tenant_id = held.tenant_id AND conflict_set_id = held.id
                      AND NOT is_standing AND left_at IS NULL
                    ORDER BY candidate.valid_from, conflict_members.id LIMIT 1
                ) member ON true
                WHERE held.tenant_id = %(tenant)s AND held.memory_id = %(memory)s AND held.state = 'open'
                ON CONFLICT (tenant_id, object_id) WHERE state = 'open'
                DO UPDATE SET expected_version = excluded.expected_version
                RETURNING id::text
            """,
            params={"id": new_id(), "tenant": caller.tenant_id, "memory": memory.id, "now": now},
        )
        if not rows:
            raise NoOpenConflict
        record_audit(
            caller=caller,
            action="conflict.reopened",
            object_ids={"item": rows[0][0], "memory": memory.id},
            outcome="open",
            now=now,
        )
        return str(rows[0][0])
