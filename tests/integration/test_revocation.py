"""What a revocation ends: also a question that rests on the revoked event beside others."""

from __future__ import annotations

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.memory.models import Predicate
from memoryhub.types.enums import RevocationTarget
from memoryhub.usecases.ingest import EventInput, ingest_events
from memoryhub.usecases.propose import CandidateInput, EvidenceInput
from memoryhub.usecases.revoke import revoke
from memoryhub.usecases.write_memory import write_memory
from tests.cast import EARLY, make_cast

SCOPE = ("project", "platform")


def make_event(event_id: str) -> EventInput:
    return EventInput(
        event_id=event_id, scope=SCOPE, source_type="commit", occurred_at=EARLY, payload={"text": "words"}
    )


def test_a_question_ends_when_one_of_its_sources_is_revoked() -> None:
    cast = make_cast()
    with tenant_context(cast.tenant_id):
        Predicate.objects.create(tenant=cast.tenant, fact_key="asks.first", requires_confirmation=True)
    first = ingest_events(caller=cast.caller, events=[make_event("first")], now=clock.now())[0].id
    asked = write_memory(
        caller=cast.caller,
        event=make_event("second"),
        proposal=CandidateInput(
            scope=SCOPE,
            subject="product:django",
            fact_key="asks.first",
            content="words",
            value="x",
            evidence=(EvidenceInput("second"), EvidenceInput("first")),
        ),
        now=clock.now(),
    ).result
    assert asked.status == "needs_confirmation"
    revoke(
        caller=cast.person(cast.erin),
        scope=SCOPE,
        target=RevocationTarget.EVENT,
        target_id=first,
        reason="user_request",
        now=clock.now(),
    )
    with tenant_context(cast.tenant_id, read_only=True):
        candidates = fetch_all(sql="SELECT status, reason FROM memory_candidates", params=[])
        items = fetch_all(sql="SELECT state, outcome FROM review_items", params=[])
    assert candidates == [("rejected", "barred_by_revocation")]
    assert items == [("withdrawn", "erasure_started")]
