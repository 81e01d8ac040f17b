"""Short ways to say what an agent does in a test."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memoryhub.lib import clock
from memoryhub.lib.ids import new_id
from memoryhub.usecases.ingest import EventInput
from memoryhub.usecases.propose import CandidateInput, EvidenceInput
from memoryhub.usecases.write_memory import Written, write_memory
from tests.cast import EARLY, Cast


def state_fact(
    cast: Cast,
    *,
    value: Any,
    at: datetime = EARLY,
    by: str | None = None,
    key: str = "release.latest",
    cycle: str = "4.1",
    subject: str = "product:django",
    event_id: str | None = None,
    **more: Any,
) -> Written:
    """Write that `subject` has a value from an instant on, as `by` (a user name) said; None is the agent itself."""
    event_id = event_id or str(new_id())
    words = f"{subject} {cycle} {key} is {value}"
    scope = ("project", "platform")
    return write_memory(
        caller=cast.caller,
        event=EventInput(
            event_id=event_id, scope=scope, source_type="commit", occurred_at=at, payload={"text": words}, actor=by
        ),
        proposal=CandidateInput(
            scope=scope,
            subject=subject,
            fact_key=key,
            content=words,
            value=value,
            conditions={"cycle": cycle},
            evidence=(EvidenceInput(event_id),),
            **more,
        ),
        now=clock.now(),
    )
