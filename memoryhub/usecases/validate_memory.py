"""Validate: a reviewer says by which method a standing value was shown to hold; only this makes it `validated`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memoryhub.access.operations import record_audit
from memoryhub.access.queries import ScopeForbidden
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import fetch_all, naming_errors
from memoryhub.lib.ids import new_id
from memoryhub.memory.exceptions import StaleHead
from memoryhub.memory.operations import describe_candidate
from memoryhub.memory.queries import access_memory, find_part
from memoryhub.memory.records import Validation
from memoryhub.policy.merge import MergePolicy
from memoryhub.types.enums import CandidateKind, EpistemicStatus, MemoryType, Trust
from memoryhub.types.temporal import AsOf
from memoryhub.usecases.align import AlignedProposal
from memoryhub.usecases.consolidate import BY_REVIEWER, REVIEW, Consolidated, settle_candidate
from memoryhub.usecases.ingest import Desk, EventInput, describe_event
from memoryhub.usecases.propose import (
    CandidateInput,
    EvidenceInput,
    SourceFacts,
    digest_value,
    draft_candidate,
    judge_source,
    words_of,
)
from memoryhub.usecases.quoting import DocumentInput
from memoryhub.usecases.review import OwnClaim

if TYPE_CHECKING:
    from datetime import datetime

    from memoryhub.access.callers import Caller
    from memoryhub.memory.queries import MemoryRecord, PartRecord

METHODS = ("review", "reproduction", "review_and_reproduction", "measurement", "document")
_SOURCE_TYPE = "statement"


class MethodUnknown(Exception):
    """Say that a validation names no method of the list."""


class NotValidatable(Exception):
    """Say why a memory cannot be validated: nothing stands, it is a lead, or it rests on lower memories alone."""


def validate_memory(
    *,
    caller: Caller,
    memory_id: str,
    expected_version: int,
    method: str,
    words: str,
    now: datetime,
    reproduction: DocumentInput | None = None,
    review_after: datetime | None = None,
) -> Consolidated:
    """Validate the value that stands now: the reviewer's word is an event, a claim beside the others, and a label.

    `words` say what was done; `reproduction` is a document that shows it. The part is written anew with method,
    reviewer and instant, and keeps its value and period. Rows written: as an explicit write, and one audit event.

    Raises:
        MemoryNotFound, ScopeForbidden: the caller may not see or review it. MethodUnknown: no such method.
        OwnClaim: nobody validates what they said or proposed. NotValidatable: there is nothing that could be.
        StaleHead: the memory is not at the expected version. StoreFailure: nothing is known.
    """
    if method not in METHODS:
        raise MethodUnknown(method)
    with naming_errors(), tenant_context(caller.tenant_id):
        memory = access_memory(caller=caller, memory_id=memory_id, right=REVIEW)
        if caller.kind != "human":
            raise ScopeForbidden(REVIEW)
        if memory.version != expected_version:
            raise StaleHead(memory.version)
        part = find_part(tenant_id=caller.tenant_id, memory_id=memory_id, as_of=AsOf(now, now))
        if part is None or part.is_absent or memory.memory_type == MemoryType.REFLECTIVE:
            raise NotValidatable(memory.memory_type)
        looked_at = _check_claims(caller=caller, memory=memory, part=part)
        result = _write(
            caller=caller,
            memory=memory,
            part=part,
            validation=Validation(method, review_after),
            words=words,
            reproduction=reproduction,
            looked_at=looked_at,
            expected_version=expected_version,
            now=now,
        )
        record_audit(
            caller=caller,
            action="memory.validated",
            object_ids={"memory": memory.id, "candidate": result.candidate_id},
            outcome=result.action,
            reason=method,
            now=now,
        )
        return result


def _check_claims(*, caller: Caller, memory: MemoryRecord, part: PartRecord) -> tuple[str, ...]:
    """Return the roots of the claims that say what stands; refuse what is the reviewer's own, and a lead."""
    rows = fetch_all(
        sql="""
            SELECT made.kind, claim.author_id::text, made.proposer_id::text, made.id::text, claim.roots::text[],
                claim.value_digest = %s
            FROM memory_evidence claim
            JOIN memory_candidates made ON made.tenant_id = claim.tenant_id AND made.id = claim.candidate_id
            WHERE claim.tenant_id = %s AND claim.memory_id = %s AND claim.withdrawn_by IS NULL
        """,
        params=[digest_value(caller=caller, value=part.value), caller.tenant_id, memory.id],
    )
    if any(caller.principal_id in row[1:3] for row in rows):
        raise OwnClaim
    if any(row[0] == CandidateKind.LEAD and row[3] == part.candidate_id for row in rows):
        raise NotValidatable(CandidateKind.LEAD)
    return tuple(sorted({root for row in rows if row[5] for root in row[4]}))


def _write(
    *,
    caller: Caller,
    memory: MemoryRecord,
    part: PartRecord,
    validation: Validation,
    words: str,
    reproduction: DocumentInput | None,
    looked_at: tuple[str, ...],
    expected_version: int,
    now: datetime,
) -> Consolidated:
    scope_name = (memory.scope_kind, memory.scope_key)
    event = EventInput(
        event_id=f"validation {new_id()}",
        scope=scope_name,
        source_type=_SOURCE_TYPE,
        occurred_at=now,
        payload={"text": words, "method": validation.method},
    )
    desk = Desk(caller)
    scope = desk.find_scope(name=scope_name, right=REVIEW)
    record = describe_event(desk=desk, event=event, now=now, right=REVIEW) | {"deletion_epoch": scope.deletion_epoch}
    record |= {"derived_from_run": None, "root": record["id"]}
    source = SourceFacts(
        id=record["id"],
        scope_id=scope.id,
        sender_id=caller.principal_id,
        actor=desk.find_actor(username=None),
        trust=Trust(record["trust"]),
        occurred_at=now,
        source_seq=0,
        order_digest=record["event_key_digest"],
        text=words_of(record["payload"]),
        root=record["id"],
        deletion_epoch=scope.deletion_epoch,
        is_person=True,
        **judge_source(source_type=_SOURCE_TYPE, payload=record["payload"], content_ref="", is_person=True),
    )
    proposal = CandidateInput(
        scope=scope_name,
        subject=memory.subject,
        fact_key=memory.fact_key,
        content=part.content,
        value=part.value,
        evidence=(EvidenceInput(event.event_id), *([reproduction] if reproduction is not None else [])),
        memory_type=memory.memory_type,
        conditions=memory.conditions,
        valid_from=part.valid_from,
        valid_to=part.valid_to,
        extractor=BY_REVIEWER,
    )
    [[subject_id]] = fetch_all(
        sql="SELECT subject_id::text FROM memory_heads WHERE tenant_id = %s AND id = %s",
        params=[caller.tenant_id, memory.id],
    )
    draft = draft_candidate(
        caller=caller,
        scope=scope,
        proposal=proposal,
        source=source,
        now=now,
        aligned=AlignedProposal(proposal, subject_id),
    )
    candidate = replace(
        draft.candidate,
        epistemic_status=str(EpistemicStatus.VALIDATED),
        memory_id=memory.id,
        validation=validation,
        # Who only looked at what was there adds no lineage; a reproduction is evidence of its own.
        roots=draft.candidate.roots if reproduction is not None else looked_at,
    )
    return settle_candidate(
        tenant_id=caller.tenant_id,
        candidate=candidate,
        now=now,
        policy=MergePolicy(),
        requeues=False,
        event=record,
        evidence=draft.evidence,
        new_candidate=describe_candidate(tenant_id=caller.tenant_id, candidate=candidate),
        confirmed=True,
        expected_version=expected_version,
    )
