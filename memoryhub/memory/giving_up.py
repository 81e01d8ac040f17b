"""Give up candidates whose work was discarded: a recorded decision, so that nothing waits for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryhub.lib.db import fetch_all

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

REASON = "work_discarded"

_GUARDS = """
    SELECT pg_advisory_xact_lock_shared(hashtextextended(scope_id::text, 0)) FROM (
        SELECT DISTINCT scope_id FROM memory_candidates
        WHERE tenant_id = %s AND id = ANY (%s::uuid[]) ORDER BY scope_id
    ) scope
"""
_GIVE_UP = """
    WITH ended AS (
        UPDATE memory_candidates SET status = 'rejected', reason = %(reason)s, decided_at = %(now)s
        WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)s::uuid[]) AND status = 'pending' AND memory_id IS NULL
        RETURNING id, scope_id, policy_version
    ), told AS (
        INSERT INTO merge_decisions (id, tenant_id, candidate_id, scope_id, action, requires_person, reason,
            policy_version, decider_id, expected_version, resulting_version, deletion_epoch, inputs_digest, facts,
            recorded_at)
        SELECT uuidv7(), %(tenant)s, ended.id, ended.scope_id, 'REJECT', false, %(reason)s, ended.policy_version,
            %(decider)s, 0, 0, scope.deletion_epoch, '', '{}', %(now)s
        FROM ended JOIN scopes scope ON scope.tenant_id = %(tenant)s AND scope.id = ended.scope_id
    )
    SELECT id::text FROM ended
"""


def give_up_candidates(*, tenant_id: str, ids: Sequence[str], decider_id: str, now: datetime) -> list[str]:
    """Reject candidates that nobody decided yet, each by a decision of this person; returns which.

    Takes the guards of their scopes, in order, as everything does that writes what a revocation covers.
    """
    if not ids:
        return []
    fetch_all(sql=_GUARDS, params=[tenant_id, list(ids)])
    rows = fetch_all(
        sql=_GIVE_UP,
        params={"tenant": tenant_id, "ids": list(ids), "decider": decider_id, "reason": REASON, "now": now},
    )
    return [row[0] for row in rows]
