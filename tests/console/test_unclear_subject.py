"""Where a source leaves open whom it speaks of, the reviewer chooses from a list and never types into a memory."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from memoryhub.access.models import EntityType, Subject, SubjectMention
from memoryhub.access.operations import find_or_create_subject
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.ids import new_id
from memoryhub.memory.models import MemoryHead
from memoryhub.review.models import ReviewItem
from memoryhub.types.entity import Mention
from memoryhub.usecases.align import digest_mention
from memoryhub.usecases.ingest import EventInput
from memoryhub.usecases.propose import CandidateInput, EvidenceInput
from memoryhub.usecases.write_memory import write_memory
from tests.cast import EARLY, Cast
from tests.console.conftest import sign_in

SCOPE = ("project", "platform")


@pytest.fixture
def path(cast: Cast) -> str:
    """Let two persons be called Hans, and something be said of Hans; returns the address of the question."""
    caller, now = cast.caller, clock.now()
    with tenant_context(cast.tenant_id):
        for key in ("person:hans.mueller", "person:hans.schmidt"):
            kind = EntityType.objects.get(tenant=cast.tenant, name="person")
            subject = find_or_create_subject(caller=caller, entity_type=kind, key=key, now=now)
            SubjectMention.objects.create(
                tenant=cast.tenant,
                subject=subject,
                mention_digest=digest_mention(caller=caller, words="Hans"),
                label="Hans",
            )
    event = str(new_id())
    write_memory(
        caller=caller,
        event=EventInput(
            event_id=event, scope=SCOPE, source_type="message", occurred_at=EARLY, payload={"text": "Hans likes tea"}
        ),
        proposal=CandidateInput(
            scope=SCOPE,
            subject="",
            mention=Mention("Hans"),
            fact_key="likes.drink",
            content="Hans likes tea",
            value="tea",
            evidence=(EvidenceInput(event),),
        ),
        now=now,
    )
    with tenant_context(cast.tenant_id, read_only=True):
        return f"/queues/confirmation/{ReviewItem.objects.get(kind='confirmation').pk}/"


def list_choices(page: str) -> list[str]:
    [select] = re.findall(r'<select[^>]*name="subject".*?</select>', page, re.DOTALL)
    return re.findall(r'<option value="([^"]*)"', select)


def test_the_reviewer_chooses_whom_it_is_about(cast: Cast, path: str) -> None:
    rita = sign_in(cast.rita)
    page = rita.get(path).content.decode()
    assert "The source leaves open whom it is about" in page
    assert list_choices(page) == ["", "person:hans.mueller", "person:hans.schmidt", "person:Hans", "product:Hans"]
    answer = rita.post(
        path, {"verb": "ADD", "expected_version": "0", "subject": "person:hans.schmidt"}, follow=True
    ).content.decode()
    assert "Recorded: ADD, person:hans.schmidt likes.drink, version 1" in answer
    with tenant_context(cast.tenant_id, read_only=True):
        head = MemoryHead.objects.get()
        assert Subject.objects.get(pk=head.subject_id).label == "person:hans.schmidt"


@pytest.mark.parametrize("subject", ["", "hans", "planet:hans"])
def test_without_a_choice_nothing_is_recorded(cast: Cast, path: str, subject: str) -> None:
    rita = sign_in(cast.rita)
    answer = rita.post(path, {"verb": "ADD", "expected_version": "0", "subject": subject, "note": "kept"})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert 'id="error-ADD"' in page
    assert "kept" in page
    with tenant_context(cast.tenant_id, read_only=True):
        assert not MemoryHead.objects.exists()


def test_the_page_says_it_in_chinese(cast: Cast, path: str) -> None:
    rita: Client = sign_in(cast.rita)
    page = rita.get(path, headers={"accept-language": "zh-hans"}).content.decode()
    assert "来源没有说明说的是谁" in page
    assert "选择主体" in page
