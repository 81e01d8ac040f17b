"""What no form sends: a page answers it, and the server never fails."""

from __future__ import annotations

import pytest
from django.test import Client

from memoryhub.access.tenancy import tenant_context
from memoryhub.memory.models import MemoryHead
from memoryhub.review.models import ReviewItem
from tests.cast import Cast

LISTS = ("/memories/", "/queues/conflict/", "/queues/confirmation/")
LONG = "9" * 5_000


@pytest.mark.parametrize(
    "query",
    [
        *(f"{name}=%00" for name in ("q", "scope", "modality", "reason", "from")),
        "scope=%00:x",
        "q=%ED%A0%80",
        "from=99999999999999999999999",
        "from=9223372036854775807",
        f"from={LONG}",
        "from=-1",
        "from=%C2%B2",
    ],
)
def test_a_list_answers_any_address(rita: Client, query: str) -> None:
    for path in LISTS:
        assert rita.get(f"{path}?{query}").status_code == 200, path


def test_a_zero_in_a_word_is_left_out(contested: Cast, rita: Client) -> None:
    assert contested.tenant_id
    found = rita.get("/memories/?q=dja%00ngo").content.decode()
    assert "product:django" in found
    assert "\x00" not in found


@pytest.mark.parametrize(
    "query",
    [
        "valid_at=%00",
        "valid_at=0001-01-01T00:00:00%2B10:00",
        "recorded_at=9999-12-31T23:59:59-10:00",
        f"valid_at={LONG}",
        "valid_at=0001-01-01T00:00&recorded_at=9999-12-31T23:59",
    ],
)
def test_a_memory_answers_any_instant(contested: Cast, rita: Client, query: str) -> None:
    with tenant_context(contested.tenant_id, read_only=True):
        head = MemoryHead.objects.get()
    assert rita.get(f"/memories/{head.pk}/?{query}").status_code == 200


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"expected_version": LONG}, 409),
        ({"expected_version": "9" * 30}, 409),
        ({"expected_version": "-1"}, 409),
        ({"expected_version": "\x00"}, 409),
        ({"effective_from": LONG}, 422),
        ({"effective_from": "0001-01-01T00:00:00+10:00"}, 422),
        ({"effective_from": "\x00x"}, 422),
        ({"verb": "\x00"}, 422),
        ({"verb": "REJECT", "reason": "\x00"}, 422),
        ({"expected_version": LONG, "note": "a\x00b"}, 409),
    ],
)
def test_a_decision_that_no_page_offers_is_refused(
    contested: Cast, rita: Client, change: dict[str, str], status: int
) -> None:
    with tenant_context(contested.tenant_id, read_only=True):
        item, head = ReviewItem.objects.get(), MemoryHead.objects.get()
    sent = {"verb": "SUPERSEDE", "expected_version": str(head.version), "note": "n", **change}
    answer = rita.post(f"/queues/conflict/{item.pk}/", sent)
    assert answer.status_code == status
    assert b"<main" in answer.content
    with tenant_context(contested.tenant_id, read_only=True):
        assert ReviewItem.objects.get().state == "open"
