"""Write a memory explicitly: event, admission, decision and commit in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import fetch_all, naming_errors
from memoryhub.memory.exceptions import EventReceivedMeanwhile
from memoryhub.memory.operations import describe_candidate
from memoryhub.policy.merge import MergePolicy
from memoryhub.types.enums import Trust
from memoryhub.usecases.consolidate import Consolidated, settle_candidate
from memoryhub.usecases.ingest import Desk, EventInput, describe_event, digest_event
from memoryhub.usecases.propose import CandidateInput, SourceFacts, draft_candidate, words_of

if TYPE_CHECKING:
    from datetime import datetime

    from memoryhub.access.callers import Caller


class EventIdReused(Exception):
    """Say that the event id was used before for something else."""


@dataclass(frozen=True, slots=True)
class Written:
    """Hold the answer to an explicit write, and whether it is the answer to an earlier one."""

    result: Consolidated
    is_replay: bool


def write_memory(
    *,
    caller: Caller,
    event: EventInput,
    proposal: CandidateInput,
    now: datetime,
    policy: MergePolicy | None = None,
) -> Written:
    """Receive the event, propose what it says, decide and commit: all of it, or none.

    The same event again answers what became of the first. Rows written: event, evidence, candidate, decision,
    and what the decision changes.

    Raises:
        as `ingest_events` and `propose_candidate`; EventIdReused: the id was used for something else;
        StaleHead: other writers were faster every time; StoreFailure: nothing is known.
    """
    try:
        with naming_errors(), tenant_context(caller.tenant_id):
            return _write(caller=caller, event=event, proposal=proposal, now=now, policy=policy or MergePolicy())
    except EventReceivedMeanwhile:
        with naming_errors(), tenant_context(caller.tenant_id):
            return _write(caller=caller, event=event, proposal=proposal, now=now, policy=policy or MergePolicy())


def _write(
    *, caller: Caller, event: EventInput, proposal: CandidateInput, now: datetime, policy: MergePolicy
) -> Written:
    desk = Desk(caller)
    scope = desk.find_scope(name=event.scope, right="propose_memory")
    record = describe_event(desk=desk, event=event, now=now)
    earlier = _find_earlier(caller=caller, event=event, record=record)
    if earlier is not None:
        return earlier
    record["deletion_epoch"] = scope.deletion_epoch
    source = SourceFacts(
        id=record["id"],
        scope_id=scope.id,
        actor=desk.find_actor(username=event.actor),
        trust=Trust(record["trust"]),
        occurred_at=event.occurred_at,
        source_seq=event.source_seq,
        order_digest=record["event_key_digest"],
        text=words_of(record["payload"]),
        root=record["id"],
        deletion_epoch=scope.deletion_epoch,
    )
    draft = draft_candidate(caller=caller, scope=scope, proposal=proposal, source=source, now=now)
    result = settle_candidate(
        tenant_id=caller.tenant_id,
        candidate=draft.candidate,
        now=now,
        policy=policy,
        requeues=False,
        event=record,
        evidence=draft.evidence,
        new_candidate=describe_candidate(tenant_id=caller.tenant_id, candidate=draft.candidate),
    )
    return Written(result=result, is_replay=False)


def _find_earlier(*, caller: Caller, event: EventInput, record: dict[str, Any]) -> Written | None:
    """Return what became of an earlier write of the same event, or None if this is the first.

    Raises:
        EventIdReused: the earlier event said something else.
    """
    rows = fetch_all(
        sql="""
            SELECT known.content_digest, encode(body.salt, 'hex'), candidate.id::text, candidate.status,
                decision.action, decision.reason, decision.memory_id::text, decision.resulting_version,
                decision.recorded_at
            FROM source_events known
            LEFT JOIN source_event_bodies body ON body.event_id = known.id
            LEFT JOIN memory_candidates candidate ON candidate.tenant_id = known.tenant_id
                AND candidate.source_event_id = known.id AND candidate.extractor = 'caller'
            LEFT JOIN merge_decisions decision ON decision.tenant_id = known.tenant_id
                AND decision.candidate_id = candidate.id
            WHERE known.tenant_id = %s AND known.event_key_digest = %s
            ORDER BY decision.recorded_at, decision.id LIMIT 1
        """,
        params=[caller.tenant_id, record["event_key_digest"]],
    )
    if not rows:
        return None
    content_digest, salt, candidate_id, status, action, reason, memory_id, version, recorded_at = rows[0]
    if salt is None or candidate_id is None or action is None:
        raise EventIdReused
    again = digest_event(
        caller=caller, event=event, actor_id=record["actor"], payload=record["payload"], salt=bytes.fromhex(salt)
    )
    if again != content_digest:
        raise EventIdReused
    waits = status in ("pending", "needs_confirmation")
    return Written(
        result=Consolidated(
            outcome="waits" if waits else "decided",
            action=action,
            reason=reason,
            candidate_id=candidate_id,
            memory_id=memory_id,
            version=version,
            recorded_at=recorded_at,
            status=status,
        ),
        is_replay=True,
    )
