"""A person decides an item: what is recorded, what is refused, what is kept."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client

from memoryhub.access.models import AuditEvent
from memoryhub.access.tenancy import tenant_context
from memoryhub.memory.models import MemoryHead, MergeDecision
from memoryhub.review.models import ReviewComment, ReviewItem
from tests.acts import state_fact
from tests.cast import EARLY, Cast
from tests.console.conftest import sign_in

QUEUE = "/queues/conflict/"


def find_item(cast: Cast) -> ReviewItem:
    """Return the newest item of the tenant."""
    with tenant_context(cast.tenant_id, read_only=True):
        return ReviewItem.objects.select_related("memory").latest("opened_at")


def address(cast: Cast) -> str:
    """Return the address of the newest item."""
    return f"{QUEUE}{find_item(cast).pk}/"


def read_version(page: str) -> str:
    """Return the version a page was made from."""
    found = re.search(r'name="expected_version" value="(\d+)"', page)
    assert found
    return found[1]


def count_decisions(cast: Cast) -> int:
    """Count everything that was decided in the tenant."""
    with tenant_context(cast.tenant_id, read_only=True):
        return MergeDecision.objects.count()


def test_the_page_shows_claim_evidence_and_six_verbs_in_one_order(contested: Cast, rita: Client) -> None:
    page = rita.get(address(contested)).content.decode()
    verbs = re.findall(r'name="verb" value="([A-Z_]+)"', page)
    assert verbs == ["SUPERSEDE", "ADD", "ATTACH_EVIDENCE", "NO_OP", "CONFLICT", "REJECT"]
    possible = re.findall(r'value="([A-Z_]+)"[^>]*data-hotkey="\w"(?! aria-disabled)', page)
    assert possible == ["SUPERSEDE", "CONFLICT", "REJECT"]
    assert "Put back by another principal" in page
    assert "4.1<del>.1</del>" in page
    assert page.count("digest matches") == 3


def test_accepting_records_what_the_verb_says_and_opens_the_list_when_none_is_left(
    contested: Cast, rita: Client
) -> None:
    item = find_item(contested)
    page = rita.get(address(contested)).content.decode()
    answer = rita.post(
        address(contested),
        {"verb": "SUPERSEDE", "expected_version": read_version(page), "note": "The tag is fresh."},
        follow=True,
    )
    assert answer.redirect_chain == [(QUEUE, 302)]
    text = answer.content.decode()
    assert "Recorded: SUPERSEDE, product:django release.latest, version 4" in text
    assert "Everything here is decided" in text
    with tenant_context(contested.tenant_id, read_only=True):
        item.refresh_from_db()
        assert (item.state, item.outcome, item.decided_by_id) == ("decided", "accept", contested.rita.pk)
        assert ReviewComment.objects.get(item=item).text == "The tag is fresh."
        assert item.decision is not None
        assert item.decision.action == "SUPERSEDE"
    memory = rita.get(f"/memories/{item.memory_id}/").content.decode()
    assert '<span class="mh-big mh-mono">4.1</span>' in memory
    assert "“The tag is fresh.”" in memory


def test_deciding_goes_on_to_the_next_item_of_the_same_filter(contested: Cast, rita: Client) -> None:
    for cycle in ("5.0", "5.1"):
        state_fact(contested, value="1", cycle=cycle, by=contested.carol.username)
        state_fact(contested, value="2", cycle=cycle, at=EARLY + timedelta(days=3), by=contested.bob.username)
        state_fact(contested, value="1", cycle=cycle, at=EARLY + timedelta(days=5), by=contested.carol.username)
    filtered = "?q=5."
    listed = re.findall(rf'href="({QUEUE}[0-9a-f-]+/\?q=5\.)"', rita.get(QUEUE + filtered).content.decode())
    first, second = dict.fromkeys(listed)
    page = rita.get(first).content.decode()
    answer = rita.post(first, {"verb": "CONFLICT", "expected_version": read_version(page)})
    assert answer.headers["Location"] == second
    page = rita.get(second).content.decode()
    assert "Recorded: CONFLICT kept" in page
    answer = rita.post(second, {"verb": "CONFLICT", "expected_version": read_version(page)})
    assert answer.headers["Location"] == QUEUE + filtered


def test_the_second_of_two_reviewers_is_told_who_decided_and_keeps_the_note(contested: Cast, rita: Client) -> None:
    alice = sign_in(contested.alice)
    version = read_version(rita.get(address(contested)).content.decode())
    alice.post(address(contested), {"verb": "CONFLICT", "expected_version": version})
    before = count_decisions(contested)
    answer = rita.post(
        address(contested), {"verb": "SUPERSEDE", "expected_version": version, "note": "<b>mine</b> & kept"}
    )
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "409 decided_by_other" in page
    assert "Not recorded: Alice decided this at" in page
    assert "the conflict was kept" in page
    assert "&lt;b&gt;mine&lt;/b&gt; &amp; kept</textarea>" in page
    assert count_decisions(contested) == before


def test_a_memory_that_moved_is_shown_three_ways_and_can_be_decided_again(contested: Cast, rita: Client) -> None:
    version = read_version(rita.get(address(contested)).content.decode())
    state_fact(contested, value="4.1.2", at=EARLY + timedelta(days=50), by=contested.bob.username)
    answer = rita.post(address(contested), {"verb": "SUPERSEDE", "expected_version": version, "note": "kept"})
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "409 stale_version" in page
    assert "Not recorded: version 4 came while you were reading version 3" in page
    assert "Stands now" in page
    assert ">kept</textarea>" in page
    again = rita.post(address(contested), {"verb": "CONFLICT", "expected_version": read_version(page)})
    assert again.status_code == 302


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"verb": "REJECT"}, "Choose a reason."),
        ({"verb": "REJECT", "reason": "because"}, "Choose a reason."),
        ({"verb": "ADD"}, "No free period: v2 covers"),
        ({"verb": "SUPERSEDE", "effective_from": "soon"}, "Write a date as 2022-09-05."),
    ],
)
def test_a_verb_that_cannot_be_recorded_says_why_at_its_place(
    contested: Cast, rita: Client, form: dict[str, str], message: str
) -> None:
    before = count_decisions(contested)
    version = read_version(rita.get(address(contested)).content.decode())
    answer = rita.post(address(contested), {**form, "expected_version": version, "note": "kept"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert re.search(rf'class="mh-field-error" id="error-{form["verb"]}">.*{re.escape(message)}', page)
    assert ">kept</textarea>" in page
    assert count_decisions(contested) == before


def test_another_reason_says_nothing_without_a_note(contested: Cast, rita: Client) -> None:
    form = {"verb": "REJECT", "reason": "other", "expected_version": read_version(rita.get(address(contested)).text)}
    answer = rita.post(address(contested), {**form, "note": " "})
    assert answer.status_code == 422
    assert re.search(r'id="error-note">.*Write a note', answer.text)
    assert '<option value="other" selected>' in answer.text
    assert rita.post(address(contested), {**form, "note": "Seen elsewhere."}).status_code == 302


def test_each_possible_verb_says_what_stands_afterwards(contested: Cast, rita: Client) -> None:
    page = rita.get(address(contested)).text
    told = re.findall(r'value="([A-Z_]+)"|>(Afterwards: [^<]*)<', page)
    verbs = dict(zip([verb for verb, _ in told], [text for _, text in told[1:]], strict=False))
    assert {verb: text for verb, text in verbs.items() if text} == {
        "SUPERSEDE": "Afterwards: 4.1 stands, 1 claim accepted",
        "CONFLICT": "Afterwards: 4.1.1 stands, 1 claim in conflict",
        "REJECT": "Afterwards: 4.1.1 stands",
    }


def test_the_same_value_of_an_earlier_period_is_told_apart(contested: Cast, rita: Client) -> None:
    assert rita.get(address(contested)).text.count("for an earlier period") == 1


def test_the_timeline_and_the_dashboard_name_what_a_person_chose(contested: Cast, rita: Client) -> None:
    item, page = find_item(contested), rita.get(address(contested)).text
    rita.post(address(contested), {"verb": "REJECT", "reason": "not_supported", "expected_version": read_version(page)})
    timeline = rita.get(f"/memories/{item.memory_id}/").text.partition('id="timeline-h"')[2]
    newest = timeline.partition("</li>")[0]
    assert "is-REJECT" in newest
    assert "· Rita" in newest
    assert "The evidence does not support it" in newest
    by_people = rita.get("/").text.partition('id="chart-1"')[2].partition("</section>")[0]
    counts = dict(re.findall(r'is-([A-Z_]+)">.*?<span class="mh-num">(\d+)', by_people))
    assert (len(counts), counts["CONFLICT"], counts["REJECT"]) == (6, "0", "1")


def test_a_kept_conflict_can_be_decided_again(contested: Cast, rita: Client) -> None:
    item = find_item(contested)
    memory, reopen = f"/memories/{item.memory_id}/", f"/memories/{item.memory_id}/reopen/"
    assert "Open the conflict" in rita.get(memory).text
    bob = sign_in(contested.bob)
    assert "Open the conflict" not in bob.get(memory).text
    version = read_version(rita.get(address(contested)).text)
    rita.post(address(contested), {"verb": "CONFLICT", "expected_version": version})
    for path in (memory, f"{QUEUE}{item.pk}/"):
        assert f'action="{reopen}"' in rita.get(path).text
    assert reopen not in bob.get(memory).text
    assert (bob.post(reopen).status_code, sign_in(contested.charlie).post(reopen).status_code) == (403, 404)
    answer = rita.post(reopen)
    assert answer.headers["Location"] == address(contested) != f"{QUEUE}{item.pk}/"
    page = rita.get(address(contested)).text
    rita.post(address(contested), {"verb": "SUPERSEDE", "expected_version": read_version(page)})
    assert "Decide again" not in rita.get(memory).text
    assert "Nothing is in conflict here any more." in rita.post(reopen, follow=True).text


def test_nobody_rules_on_their_own_claim(contested: Cast) -> None:
    state_fact(contested, value="9", cycle="9", by=contested.carol.username)
    state_fact(contested, value="10", cycle="9", at=EARLY + timedelta(days=1), by=contested.carol.username)
    state_fact(contested, value="9", cycle="9", at=EARLY + timedelta(days=2), by=contested.alice.username)
    alice = sign_in(contested.alice)
    page = alice.get(address(contested)).content.decode()
    assert "You stated or proposed it: somebody else decides this one" in page
    answer = alice.post(address(contested), {"verb": "CONFLICT", "expected_version": read_version(page)})
    assert answer.status_code == 422
    assert find_item(contested).state == "open"


def test_who_may_not_review_sees_neither_the_item_nor_that_it_exists(contested: Cast) -> None:
    path = address(contested)
    charlie = sign_in(contested.charlie)
    assert charlie.get(path).status_code == 404
    assert charlie.get(path).content.count(b"4.1") == 0
    assert charlie.post(path, {"verb": "CONFLICT", "expected_version": "3"}).status_code == 404
    bob = sign_in(contested.bob)
    assert bob.get(path).status_code == 403
    assert "review_memory" in bob.get(path).content.decode()
    assert find_item(contested).state == "open"


def test_a_reviewer_of_another_tenant_finds_nothing(contested: Cast) -> None:
    from tests.cast import make_cast

    stranger = sign_in(make_cast().rita)
    assert stranger.get(address(contested)).status_code == 404
    with tenant_context(contested.tenant_id, read_only=True):
        head = MemoryHead.objects.get()
    assert stranger.get(f"/memories/{head.pk}/").status_code == 404


def test_a_lease_is_advice_that_others_see_and_may_take_over(contested: Cast, rita: Client) -> None:
    lease, alice = f"{address(contested)}lease/", sign_in(contested.alice)
    assert alice.post(lease).status_code == 302
    assert rita.post(lease).status_code == 302
    assert find_item(contested).lease_holder_id == contested.alice.pk
    assert "Alice until" in rita.get(QUEUE).content.decode()
    held = rita.post(lease, {"takes_over": "1"}, headers={"HX-Request": "true"}).content.decode()
    assert "Yours until" in held
    assert find_item(contested).lease_holder_id == contested.rita.pk
    with tenant_context(contested.tenant_id, read_only=True):
        taken = AuditEvent.objects.get(action="review_item.taken_over")
        assert (taken.principal_id, taken.object_ids["holder"]) == (contested.rita.pk, str(contested.alice.pk))
    version = read_version(alice.get(address(contested)).content.decode())
    assert alice.post(address(contested), {"verb": "CONFLICT", "expected_version": version}).status_code == 302


def test_who_may_not_decide_holds_no_lease(contested: Cast) -> None:
    lease = f"{address(contested)}lease/"
    assert sign_in(contested.charlie).post(lease).status_code == 404
    assert sign_in(contested.bob).post(lease).status_code == 403
    assert find_item(contested).lease_holder_id is None
    assert sign_in(contested.rita).get(lease).status_code == 405
