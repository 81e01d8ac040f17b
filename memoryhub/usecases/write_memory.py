"""Write a memory explicitly: event, admission, decision and commit in one transaction."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.db import fetch_json, naming_errors
from memoryhub.lib.ids import new_id
from memoryhub.memory.exceptions import DeclaredMeanwhile, EventReceivedMeanwhile, SourceRevoked
from memoryhub.memory.loading import read_instant, read_state
from memoryhub.memory.operations import describe_candidate
from memoryhub.memory.records import AfterRecall
from memoryhub.policy.merge import MergePolicy
from memoryhub.types.cognitive import is_cognitive_type
from memoryhub.types.enums import CandidateStatus, MergeAction, Trust
from memoryhub.types.fact_keys import BadFactKey
from memoryhub.usecases.align import AlignedProposal, Catalogue, DeclaredKey, align_subject_of, digest_subject
from memoryhub.usecases.consolidate import Consolidated, settle_candidate
from memoryhub.usecases.ingest import (
    Desk,
    EventInput,
    describe_event,
    digest_event,
    digest_session,
    is_by_person,
)
from memoryhub.usecases.propose import (
    CandidateInput,
    SourceFacts,
    digest_value,
    draft_candidate,
    judge_source,
    redact_proposal,
    words_of,
)
from memoryhub.usecases.quoting import identify_document, sort_pointers

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
    except (EventReceivedMeanwhile, DeclaredMeanwhile):
        with naming_errors(), tenant_context(caller.tenant_id):
            return _write(caller=caller, event=event, proposal=proposal, now=now, policy=policy or MergePolicy())


def _write(
    *, caller: Caller, event: EventInput, proposal: CandidateInput, now: datetime, policy: MergePolicy
) -> Written:
    event_id = str(new_id())
    proposal = redact_proposal(caller=caller, proposal=proposal)
    key, proposal, refusal = _find_key(caller=caller, proposal=proposal)
    found = _load(caller=caller, event=event, event_id=event_id, proposal=proposal, now=now)
    desk = Desk(caller)
    desk.keep(name=event.scope, scope=found["scope"], username=event.actor, actor=found.get("actor"))
    scope = desk.find_scope(name=event.scope, right="propose_memory")
    record = describe_event(desk=desk, event=event, now=now) | {"id": event_id}
    if found["earlier"] is not None:
        return _tell_earlier(caller=caller, event=event, record=record, earlier=found["earlier"])
    record |= {
        "deletion_epoch": scope.deletion_epoch,
        "derived_from_run": found["last_run"],
        "root": found["first_run"] or event_id,
    }
    source = SourceFacts(
        id=event_id,
        scope_id=scope.id,
        sender_id=caller.principal_id,
        actor=desk.find_actor(username=event.actor),
        trust=Trust(record["trust"]),
        occurred_at=event.occurred_at,
        source_seq=event.source_seq,
        order_digest=record["event_key_digest"],
        text=words_of(record["payload"]),
        root=record["root"],
        deletion_epoch=scope.deletion_epoch,
        is_tool_result=event.source_type == "tool_result",
        is_person=is_by_person(caller=caller, event=event),
        **judge_source(
            source_type=event.source_type,
            payload=record["payload"],
            content_ref=event.content_ref,
            is_person=is_by_person(caller=caller, event=event),
        ),
    )
    if refusal is not None:
        raise refusal
    key.check(proposal.value)
    draft = draft_candidate(
        caller=caller,
        scope=scope,
        proposal=proposal,
        source=source,
        now=now,
        aligned=replace(
            AlignedProposal(proposal, found["subject"])
            if found["subject"] is not None
            and proposal.mention is None
            and is_cognitive_type(name=proposal.memory_type)
            else align_subject_of(caller=caller, scope_id=scope.id, proposal=proposal, now=now),
            authority_group=key.authority_group,
        ),
    )
    after = None if found["first_run"] is None else AfterRecall(record["session_key"], record["root"], now)
    result = settle_candidate(
        tenant_id=caller.tenant_id,
        candidate=replace(draft.candidate, after_recall=after),
        now=now,
        policy=policy,
        requeues=False,
        event=record,
        evidence=draft.evidence,
        new_candidate=describe_candidate(tenant_id=caller.tenant_id, candidate=draft.candidate),
        state=read_state(found["state"]) if "state" in found else None,
    )
    return Written(result=result, is_replay=False)


def _find_key(*, caller: Caller, proposal: CandidateInput) -> tuple[DeclaredKey, CandidateInput, BadFactKey | None]:
    """Return the key with the proposal in its spelling; what is no key is refused only when it is no replay either."""
    try:
        key = Catalogue(caller).find_key(text=proposal.fact_key)
    except BadFactKey as refusal:
        return DeclaredKey(spelling=proposal.fact_key), proposal, refusal
    return key, replace(proposal, fact_key=key.spelling, value=key.normalise(proposal.value)), None


def _load(
    *, caller: Caller, event: EventInput, event_id: str, proposal: CandidateInput, now: datetime
) -> dict[str, Any]:
    """Read everything the write begins from, in one round trip."""
    conditions = canonical_json(proposal.conditions) if proposal.conditions else ""
    pointers = sort_pointers(pointers=proposal.evidence, memory_type=proposal.memory_type)
    request = {
        "tenant": caller.tenant_id,
        "principal": caller.principal_id,
        "right": "propose_memory",
        "scope_kind": event.scope[0],
        "scope_key": event.scope[1],
        "actor": event.actor,
        "event_key_digest": caller.digest(f"event {event.event_id}"),
        "session": digest_session(caller=caller, session=event.session),
        "subject_digest": "" if proposal.mention else digest_subject(caller=caller, key=proposal.subject),
        "fact_key": proposal.fact_key,
        "memory_type": str(proposal.memory_type),
        "conditions_digest": caller.digest(f"conditions {conditions}") if conditions else "",
        "value_digest": digest_value(caller=caller, value=proposal.value),
        "valid_from": (proposal.valid_from or event.occurred_at).isoformat(),
        "source_kind": "event" if pointers.document is None else "document",
        "source_id": event_id
        if pointers.document is None
        else identify_document(caller=caller, pointer=pointers.document),
        "statement": proposal.statement,
        "sources": [event_id],
        "now": now.isoformat(),
    }
    found: dict[str, Any] = fetch_json(sql="SELECT load_write_v1(%s::jsonb)", params=[json.dumps(request)])
    return found


def _tell_earlier(*, caller: Caller, event: EventInput, record: dict[str, Any], earlier: dict[str, Any]) -> Written:
    """Return what became of an earlier write of the same event.

    Raises:
        EventIdReused: the earlier event said something else, or was no explicit write.
        SourceRevoked: what it said was erased.
    """
    if earlier["barrier"] is not None and earlier["action"] != MergeAction.REJECT:
        raise SourceRevoked
    if earlier["salt"] is None:
        # Nothing is left to compare with: a write that was refused is told again, one that was erased is gone.
        if earlier["action"] != MergeAction.REJECT:
            raise SourceRevoked
    elif earlier["action"] is None or earlier["content_digest"] != digest_event(
        caller=caller,
        event=event,
        actor_id=record["actor"],
        payload=record["payload"],
        salt=bytes.fromhex(earlier["salt"]),
    ):
        raise EventIdReused
    waits = earlier["status"] in (CandidateStatus.PENDING, CandidateStatus.NEEDS_CONFIRMATION)
    return Written(
        result=Consolidated(
            outcome="waits" if waits else "decided",
            action=earlier["action"],
            reason=earlier["reason"],
            candidate_id=earlier["candidate"],
            memory_id=earlier["memory"],
            version=earlier["version"],
            recorded_at=read_instant(earlier["recorded_at"]),
            status=earlier["status"],
        ),
        is_replay=True,
    )
