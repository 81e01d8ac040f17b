"""Memories: written explicitly, and read with their history, their evidence and on both clocks."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from memoryhub.access.queries import ScopeForbidden
from memoryhub.api.v1.base import ApiView, tell
from memoryhub.api.v1.candidates import as_pointer
from memoryhub.api.v1.describing import CURSOR, LIMIT, MEMORY_ID, RECORDED_AT, VALID_AT, describe
from memoryhub.api.v1.memory_answers import tell_conflict, tell_lineages, tell_memory, tell_step, tell_version
from memoryhub.api.v1.once import once
from memoryhub.api.v1.pages import read_evidence_cursor, read_history_cursor, write_cursor
from memoryhub.api.v1.problems import Code, Problem
from memoryhub.api.v1.read_tokens import write_read_token
from memoryhub.api.v1.reading import read_path_id, read_query, read_shape
from memoryhub.api.v1.shapes_in import AsOfQuery, MemoryIn, PageQuery
from memoryhub.api.v1.shapes_out import (
    AsOfOut,
    ConflictOut,
    EvidencePage,
    HistoryOut,
    MemoryAsOf,
    MemoryOut,
    MemoryWritten,
)
from memoryhub.api.v1.workers import OUTBOX, call_workers
from memoryhub.memory.exceptions import MemoryNotFound
from memoryhub.memory.lowers import list_links
from memoryhub.memory.queries import (
    access_memory,
    find_part,
    find_withheld_state,
    list_conflicting_claims,
    list_decisions,
    list_evidence,
    list_parts,
)
from memoryhub.types.enums import CandidateStatus, EpistemicStatus, MergeAction
from memoryhub.types.temporal import AsOf
from memoryhub.usecases.consolidate import Consolidated
from memoryhub.usecases.ingest import EventInput
from memoryhub.usecases.propose import CandidateInput, EvidenceInput
from memoryhub.usecases.quoting import DocumentInput, MemoryInput
from memoryhub.usecases.write_memory import write_memory

_WAITS = (CandidateStatus.PENDING, CandidateStatus.NEEDS_CONFIRMATION)
_SAYS_THE_SAME = {MergeAction.ATTACH_EVIDENCE: "evidence_attached", MergeAction.NO_OP: "already_held"}


class Memories(ApiView):
    """Take explicit writes."""

    @describe(
        name="write_memory",
        summary="Write a memory",
        text=(
            "Event, proposal, decision and commit in one call. 201: it is remembered. 200: it was held already, or "
            "got one more independent support. 202: a person has to decide. 422 `rejected`: it may not enter."
        ),
        body=MemoryIn,
        answers={201: MemoryWritten, 200: MemoryWritten, 202: MemoryWritten},
    )
    @once
    def post(self, request: Request) -> Response:
        """Write a memory."""
        del request
        memory = read_shape(MemoryIn, self.body)
        written = write_memory(
            caller=self.caller, event=_as_event(memory), proposal=_as_proposal(memory), now=self.now
        ).result
        call_workers(look=OUTBOX)
        if written.status == CandidateStatus.REJECTED:
            raise Problem(
                Code.REJECTED,
                f"The decision was REJECT: {written.reason}.",
                more={"reason": written.reason, "candidate_id": written.candidate_id},
            )
        return self._tell_written(memory, written)

    def _tell_written(self, memory: MemoryIn, written: Consolidated) -> Response:
        waits = written.status in _WAITS
        action = MergeAction(written.action)
        if waits or action is MergeAction.CONFLICT:
            status, word = 202, "pending_review"
        elif action in _SAYS_THE_SAME:
            status, word = 200, _SAYS_THE_SAME[action]
        else:
            status, word = 201, "committed"
        asks = written.status == CandidateStatus.NEEDS_CONFIRMATION
        known = written.memory_id is not None and written.version is not None and not asks
        return tell(
            MemoryWritten(
                status=word,
                action=action,
                reason=written.reason,
                event_id=memory.event_id,
                candidate_id=written.candidate_id,
                memory_id=written.memory_id,
                version=written.version if known else None,
                recorded_at=written.recorded_at,
                read_token=write_read_token(memory_id=written.memory_id or "", version=written.version or 0)
                if known
                else None,
                conflict=self._find_conflict(written.memory_id) if waits and not asks else None,
                question=written.reason if asks else None,
            ),
            status=status,
        )

    def _find_conflict(self, memory_id: str | None) -> ConflictOut | None:
        """Return the open conflict, to whoever may view it."""
        if memory_id is None:
            return None
        with self.reading() as caller:
            try:
                memory = access_memory(caller=caller, memory_id=memory_id)
            except (MemoryNotFound, ScopeForbidden):
                return None
            claims = list_conflicting_claims(tenant_id=caller.tenant_id, memory_ids=[memory.id])
        return tell_conflict(conflict_id=memory.conflict_id, claims=claims.get(memory.id, ()))


class Memory(ApiView):
    """Show a memory."""

    @describe(
        name="read_memory",
        summary="Read a memory",
        text=(
            "What it is believed to be, and the version that holds now. A disputed one comes with every claim. What it "
            "rests on and what rests on it is named where you may read it."
        ),
        parameters=(MEMORY_ID,),
        answers={200: MemoryOut},
        problems=(403, 404),
    )
    def get(self, request: Request, memory_id: str) -> Response:
        """Show a memory as it holds now."""
        del request
        as_of = AsOf(valid_at=self.now, recorded_at=self.now)
        with self.reading() as caller:
            memory = access_memory(caller=caller, memory_id=read_path_id(memory_id))
            part = find_part(tenant_id=caller.tenant_id, memory_id=memory.id, as_of=as_of)
            withheld = None
            if part is None:
                withheld = find_withheld_state(tenant_id=caller.tenant_id, memory_id=memory.id, as_of=as_of)
            claims = list_conflicting_claims(tenant_id=caller.tenant_id, memory_ids=[memory.id])
            links = list_links(caller=caller, memory_id=memory.id)
        return tell(tell_memory(memory, part=part, withheld=withheld, claims=claims.get(memory.id, ()), links=links))


class History(ApiView):
    """Show a memory's history."""

    @describe(
        name="read_history",
        summary="Read a memory's history",
        text="Every decision, oldest first, with who decided and the parts it wrote.",
        parameters=(MEMORY_ID, LIMIT, CURSOR),
        answers={200: HistoryOut},
        problems=(400, 403, 404, 422),
    )
    def get(self, request: Request, memory_id: str) -> Response:
        """Show one page of decisions."""
        page = read_query(PageQuery, request.query_params)
        with self.reading() as caller:
            memory = access_memory(caller=caller, memory_id=read_path_id(memory_id))
            decisions = list_decisions(
                tenant_id=caller.tenant_id,
                memory_id=memory.id,
                after=read_history_cursor(page.cursor),
                limit=page.limit + 1,
            )
            shown = decisions[: page.limit]
            parts = list_parts(
                tenant_id=caller.tenant_id, memory_id=memory.id, decision_ids=[decision.id for decision in shown]
            )
        last = shown[-1] if len(decisions) > page.limit else None
        return tell(
            HistoryOut(
                memory_id=memory.id,
                items=[
                    tell_step(
                        memory,
                        decision=decision,
                        parts=[part for part in parts if part.decision_id == decision.id],
                    )
                    for decision in shown
                ],
                next_cursor=None if last is None else write_cursor(last.recorded_at, last.resulting_version, last.id),
            )
        )


class Evidence(ApiView):
    """Show a memory's evidence."""

    @describe(
        name="read_evidence",
        summary="Read a memory's evidence",
        text="Grouped by lineage: what goes back to the same root counts as one support.",
        parameters=(MEMORY_ID, LIMIT, CURSOR),
        answers={200: EvidencePage},
        problems=(400, 403, 404, 422),
    )
    def get(self, request: Request, memory_id: str) -> Response:
        """Show one page of evidence. Lineages are known only from all of it, so all of the memory's is read."""
        page = read_query(PageQuery, request.query_params)
        after = read_evidence_cursor(page.cursor)
        with self.reading() as caller:
            memory = access_memory(caller=caller, memory_id=read_path_id(memory_id))
            records = list_evidence(caller=caller, memory_id=memory.id)
        rest = [
            record for record in records if after is None or (record.valid_from, record.id, record.candidate_id) > after
        ]
        shown = rest[: page.limit]
        last = shown[-1] if len(rest) > page.limit else None
        return tell(
            EvidencePage(
                memory_id=memory.id,
                lineages=tell_lineages(shown),
                next_cursor=None if last is None else write_cursor(last.valid_from, last.id, last.candidate_id),
            )
        )


class AsOfView(ApiView):
    """Show what was held at one instant to be true at another."""

    @describe(
        name="read_memory_as_of",
        summary="Read a memory on both clocks",
        text="What an agent would have been told at `recorded_at` about `valid_at`.",
        parameters=(MEMORY_ID, VALID_AT, RECORDED_AT),
        answers={200: MemoryAsOf},
        problems=(400, 403, 404, 422),
    )
    def get(self, request: Request, memory_id: str) -> Response:
        """Show the one part that held, or say why there is none."""
        asked = read_query(AsOfQuery, request.query_params)
        as_of = AsOf(valid_at=asked.valid_at or self.now, recorded_at=asked.recorded_at or self.now)
        with self.reading() as caller:
            memory = access_memory(caller=caller, memory_id=read_path_id(memory_id))
            part = find_part(tenant_id=caller.tenant_id, memory_id=memory.id, as_of=as_of)
            outcome = "held"
            if part is None:
                withheld = find_withheld_state(tenant_id=caller.tenant_id, memory_id=memory.id, as_of=as_of)
                outcome = "not_held" if withheld is None else "unavailable"
        return tell(
            MemoryAsOf(
                memory_id=memory.id,
                as_of=AsOfOut(valid_at=as_of.valid_at, recorded_at=as_of.recorded_at),
                outcome=outcome,
                memory=None if part is None else tell_version(memory, part),
            )
        )


def _as_event(memory: MemoryIn) -> EventInput:
    return EventInput(
        event_id=memory.event_id,
        scope=memory.scope.as_pair(),
        source_type=memory.source_type,
        occurred_at=memory.occurred_at,
        payload=memory.as_payload(),
        actor=memory.actor,
        session=memory.session,
        task=memory.task,
        source_seq=memory.source_seq,
        content_ref=memory.content_ref,
    )


def _point_at(memory: MemoryIn) -> tuple[EvidenceInput | DocumentInput | MemoryInput, ...]:
    """Return what a write rests on: documents and lower memories, its own event, and any others."""
    given = [as_pointer(item) for item in memory.evidence]
    events = [pointer for pointer in given if isinstance(pointer, EvidenceInput)]
    others = [pointer for pointer in given if not isinstance(pointer, EvidenceInput)]
    return (*others, EvidenceInput(memory.event_id), *events)


def _as_proposal(memory: MemoryIn) -> CandidateInput:
    return CandidateInput(
        scope=memory.scope.as_pair(),
        subject=memory.subject or "",
        mention=memory.mention,
        fact_key=memory.fact_key,
        content=memory.content,
        value=memory.claimed_value,
        evidence=_point_at(memory),
        kind=memory.kind,
        memory_type=memory.memory_type,
        conditions=dict(memory.conditions),
        epistemic_status=EpistemicStatus(memory.epistemic_status),
        confidence=memory.confidence,
        stance=memory.stance,
        valid_from=memory.valid_from,
        valid_to=memory.valid_to,
        statement=memory.statement,
        task=memory.task,
    )
