"""Events: what happened comes in, and where its extraction stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from django.urls import reverse
from pydantic import Field, RootModel
from rest_framework.request import Request
from rest_framework.response import Response

from memoryhub.access.queries import ScopeForbidden, ScopeNotFound, access_scope_by_id
from memoryhub.api.v1.base import ApiView, tell
from memoryhub.api.v1.batches import is_batch, read_batch
from memoryhub.api.v1.describing import EVENT_ID, describe
from memoryhub.api.v1.once import once
from memoryhub.api.v1.problems import Code, Fault, Problem
from memoryhub.api.v1.reading import read_shape
from memoryhub.api.v1.shapes_in import EventIn, Shape
from memoryhub.api.v1.shapes_out import (
    CandidateSummary,
    EventReceived,
    EventResult,
    EventsReceived,
    EventStatusOut,
    ProblemOut,
)
from memoryhub.api.v1.workers import JOBS, call_workers
from memoryhub.memory.queries import CandidateStatusRecord, find_event_status
from memoryhub.usecases.ingest import EventInput, IngestResult, ingest_events

ACCEPTED = "accepted_for_processing"
_CODES = {
    "scope_not_found": Code.NOT_FOUND,
    "scope_forbidden": Code.FORBIDDEN,
    "actor_forbidden": Code.FORBIDDEN,
    "actor_not_found": Code.ACTOR_NOT_FOUND,
    "event_id_reused": Code.EVENT_ID_REUSED,
    "source_revoked": Code.SOURCE_REVOKED,
}


class EventBatchIn(Shape):
    """Up to 1,000 events."""

    events: list[EventIn] = Field(min_length=1)


class EventsBody(RootModel[EventIn | EventBatchIn]):
    """One event, or a batch."""


class EventsAnswer(RootModel[EventReceived | EventsReceived]):
    """What became of one event, or of a batch."""


class Events(ApiView):
    """Receive events."""

    @describe(
        name="ingest_events",
        summary="Send what happened",
        text=(
            "One event, or a batch of up to 1,000. Accepted means that it is on record and will be looked at; "
            "nothing is remembered yet. In a batch each event has its own result, in the order of the events."
        ),
        body=EventsBody,
        answers={202: EventsAnswer},
    )
    @once
    def post(self, request: Request) -> Response:
        """Receive one event or a batch."""
        del request
        if is_batch(self.body, name="events"):
            return self._receive_batch(self.body)
        event = read_shape(EventIn, self.body)
        result = ingest_events(caller=self.caller, events=[as_input(event)], now=self.now)[0]
        problem = _find_problem(result)
        if problem is not None:
            raise problem
        call_workers(look=JOBS)
        received = _tell_received(result)
        return tell(received, status=202, headers={"Location": received.status_url})

    def _receive_batch(self, data: Mapping[str, Any]) -> Response:
        items = read_batch(EventIn, data, name="events")
        valid = [item for item in items if isinstance(item, EventIn)]
        answers = iter(ingest_events(caller=self.caller, events=[as_input(event) for event in valid], now=self.now))
        results = [
            _tell_result(next(answers)) if isinstance(item, EventIn) else _tell_fault(item, data["events"][index])
            for index, item in enumerate(items)
        ]
        accepted = sum(result.accepted is not None for result in results)
        if accepted:
            call_workers(look=JOBS)
        return tell(EventsReceived(accepted=accepted, refused=len(results) - accepted, results=results), status=202)


class EventStatus(ApiView):
    """Tell where an event stands."""

    @describe(
        name="read_event_status",
        summary="See what became of an event",
        text="Extraction state and the candidates it led to, for its sender and for whoever may view the scope.",
        parameters=(EVENT_ID,),
        answers={200: EventStatusOut},
        problems=(403, 404),
    )
    def get(self, request: Request, event_id: str) -> Response:
        """Tell where an event stands."""
        del request
        with self.reading() as caller:
            status = find_event_status(caller=caller, event_id=event_id)
            if status is None:
                raise Problem(Code.NOT_FOUND)
            try:
                access_scope_by_id(caller=caller, right="view_memory", scope_id=status.scope_id)
            except ScopeForbidden:
                if status.sender_id != caller.principal_id:
                    raise
                access_scope_by_id(caller=caller, right="ingest_event", scope_id=status.scope_id)
            except ScopeNotFound:
                raise Problem(Code.NOT_FOUND) from None
        return tell(
            EventStatusOut(
                event_id=event_id,
                id=status.id,
                state=status.state,
                failure=status.failure,
                notes=list(status.notes),
                candidates=[_tell_candidate(candidate) for candidate in status.candidates],
            )
        )


def as_input(event: EventIn) -> EventInput:
    """Return the event as the use case takes it."""
    return EventInput(
        event_id=event.event_id,
        scope=event.scope.as_pair(),
        source_type=event.source_type,
        occurred_at=event.occurred_at,
        payload=event.payload,
        actor=event.actor,
        session=event.session,
        task=event.task,
        source_seq=event.source_seq,
        content_ref=event.content_ref,
    )


def _tell_received(result: IngestResult) -> EventReceived:
    return EventReceived(
        event_id=result.event_id,
        id=result.id or "",
        status=ACCEPTED,
        status_url=reverse("api:event-status", args=["_"]).replace("/_/", f"/{quote(result.event_id, safe='')}/"),
    )


def _find_problem(result: IngestResult) -> Problem | None:
    if result.outcome in ("accepted", "replayed"):
        return None
    code = _CODES[result.outcome]
    if code is Code.FORBIDDEN:
        return Problem(code, f"The right {result.detail} is missing.", more={"right": result.detail})
    if code is Code.ACTOR_NOT_FOUND:
        return Problem(code, errors=[Fault("/actor", code, "no such principal")])
    return Problem(code)


def _tell_result(result: IngestResult) -> EventResult:
    problem = _find_problem(result)
    if problem is None:
        return EventResult(event_id=result.event_id, status=202, accepted=_tell_received(result))
    return EventResult(event_id=result.event_id, status=problem.status, problem=ProblemOut(**problem.as_json()))


def _tell_fault(problem: Problem, item: Any) -> EventResult:
    event_id = item.get("event_id") if isinstance(item, dict) else None
    return EventResult(
        event_id=event_id if isinstance(event_id, str) else None,
        status=problem.status,
        problem=ProblemOut(**problem.as_json()),
    )


def _tell_candidate(candidate: CandidateStatusRecord) -> CandidateSummary:
    return CandidateSummary(
        candidate_id=candidate.id,
        status=candidate.status,
        action=candidate.action,
        reason=candidate.reason,
        fact_key=candidate.fact_key,
        memory_id=candidate.memory_id,
        decided_at=candidate.decided_at,
    )
