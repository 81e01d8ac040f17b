"""A confirmation comes from the owner of the scope, and never from the proposer."""

from __future__ import annotations

import re

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.ids import new_id
from memoryhub.memory.models import MemoryHead
from memoryhub.review.models import ReviewItem
from memoryhub.types.enums import CandidateKind, EpistemicStatus
from memoryhub.usecases.ingest import EventInput
from memoryhub.usecases.propose import CandidateInput, EvidenceInput
from memoryhub.usecases.write_memory import write_memory
from tests.cast import EARLY, Cast
from tests.console.conftest import sign_in

QUEUE = "/queues/confirmation/"


def infer_preference(cast: Cast) -> str:
    """Let the agent infer a preference of Alice's; returns the address of the question."""
    scope, event = ("user", cast.alice.username), str(new_id())
    words = "以后默认用中文回答"
    write_memory(
        caller=cast.caller,
        event=EventInput(
            event_id=event, scope=scope, source_type="message", occurred_at=EARLY, payload={"text": words}
        ),
        proposal=CandidateInput(
            scope=scope,
            subject="person:alice",
            fact_key="reply.language",
            content=words,
            value="zh-Hans",
            kind=CandidateKind.PREFERENCE,
            epistemic_status=EpistemicStatus.INFERRED,
            evidence=(EvidenceInput(event, (5, 9)),),
        ),
        now=clock.now(),
    )
    with tenant_context(cast.tenant_id, read_only=True):
        return f"{QUEUE}{ReviewItem.objects.get(kind='confirmation').pk}/"


def test_the_owner_confirms_and_it_becomes_a_memory(cast: Cast) -> None:
    path = infer_preference(cast)
    alice = sign_in(cast.alice)
    page = alice.get(path).content.decode()
    assert "A preference that was inferred, not stated" in page
    assert "以后默认用<mark>中文回答</mark>" in page
    assert re.findall(r'value="([A-Z_]+)"[^>]*data-hotkey="\w"(?! aria-disabled)', page) == ["ADD", "REJECT"]
    answer = alice.post(path, {"verb": "ADD", "expected_version": "0"}, follow=True)
    assert "Recorded: ADD, person:alice reply.language, version 1" in answer.content.decode()
    with tenant_context(cast.tenant_id, read_only=True):
        assert MemoryHead.objects.get().version == 1


def test_the_owner_rejects_with_a_reason(cast: Cast) -> None:
    path = infer_preference(cast)
    alice = sign_in(cast.alice)
    answer = alice.post(path, {"verb": "REJECT", "reason": "private", "expected_version": "0"}, follow=True)
    assert "Recorded: REJECT, person:alice reply.language" in answer.content.decode()
    with tenant_context(cast.tenant_id, read_only=True):
        assert not MemoryHead.objects.exists()


def test_a_stranger_finds_no_question(cast: Cast) -> None:
    path = infer_preference(cast)
    rita = sign_in(cast.rita)
    assert rita.get(path).status_code == 404
    assert rita.post(path, {"verb": "ADD", "expected_version": "0"}).status_code == 404
    assert "zh-Hans" not in rita.get(QUEUE).content.decode()
