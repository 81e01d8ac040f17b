"""What people do in the console, in real browsers on a real server."""

from __future__ import annotations

from datetime import timedelta

import httpx
from playwright.sync_api import Page, expect

from memoryhub.access.models import Principal
from memoryhub.access.tenancy import tenant_context
from memoryhub.kernel.models import Evidence
from memoryhub.lib import clock
from memoryhub.memory.models import CandidateEvidence, MemoryHead
from memoryhub.retrieval.models import RetrievalRun
from memoryhub.review.models import ReviewItem
from memoryhub.types.enums import Availability, ReviewState
from memoryhub.usecases.relay import relay_outbox
from memoryhub.usecases.review import Verb
from tests.acts import state_fact
from tests.cast import EARLY, PASSWORD, Cast
from tests.e2e import stories
from tests.e2e.conftest import OpenTab
from tests.e2e.stories import Case

QUEUE = "/queues/conflict/"


def sign_in(page: Page, principal: Principal) -> None:
    """Sign in by the form."""
    page.goto("/")
    page.get_by_label("User name").fill(principal.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def open_item(page: Page, case: Case) -> None:
    """Open the page of a case."""
    page.goto(f"{QUEUE}{case.item_id}/")
    expect(page.get_by_role("heading", name="Decide", exact=True)).to_be_visible()


def write_note(page: Page, text: str) -> None:
    """Write a note by keys, and leave the field."""
    page.keyboard.press("m")
    expect(page.locator("#note")).to_be_focused()
    page.keyboard.type(text)
    page.keyboard.press("Escape")


def read_item(cast: Cast, case: Case) -> ReviewItem:
    """Return the item of a case as it stands."""
    with tenant_context(cast.tenant_id, read_only=True):
        return ReviewItem.objects.get(pk=case.item_id)


def search(cast: Cast, address: str, query: str) -> httpx.Response:
    """Ask as the agent does."""
    while relay_outbox(now=clock.now()):
        pass
    return httpx.post(
        f"{address}/api/v1/memories/search",
        headers={"Authorization": f"Bearer {cast.secret}"},
        json={"query": query, "filters": {"subject": "product:django"}},
    )


def test_a_reviewer_settles_conflicts_by_keys_and_the_agent_recalls_the_result(
    open_as: OpenTab, cast: Cast, address: str
) -> None:
    first, second = stories.contest(cast), stories.contest(cast, cycle="4.0", first="4.0.7", then="4.0.8")
    page = open_as().page
    sign_in(page, cast.rita)
    expect(page.get_by_role("heading", name="Your turn")).to_be_visible()
    expect(page.locator("#count-conflict")).to_have_text("2")
    page.get_by_role("link", name="Conflicts 2").click()
    expect(page).to_have_url(f"{address}{QUEUE}")
    page.wait_for_load_state()
    page.keyboard.press("j")
    expect(page.locator("[data-row].is-here a")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{address}{QUEUE}{first.item_id}/")
    page.wait_for_load_state()
    write_note(page, "The tag is fresh.")
    page.keyboard.press("s")
    expect(page).to_have_url(f"{address}{QUEUE}{second.item_id}/")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.locator("#status")).to_contain_text("Recorded: SUPERSEDE, product:django release.latest, version 4")
    expect(page.locator("#count-conflict")).to_have_text("1")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", name="Everything here is decided")).to_be_visible()
    assert read_item(cast, first).outcome == Verb.ACCEPT
    assert read_item(cast, second).outcome == Verb.KEEP_CONFLICT

    page.goto(f"/memories/{first.memory_id}/")
    expect(page.locator(".mh-big")).to_have_text("4.1")
    expect(page.get_by_role("region", name="Version timeline").locator("li").first).to_contain_text("The tag is fresh.")

    found = search(cast, address, "django 4.1 latest release")
    assert found.status_code == 200, found.text
    answers = {answer["memory_id"]: answer for answer in found.json()["items"]}
    assert answers[first.memory_id]["value"] == "4.1"
    assert answers[first.memory_id]["version"] == 4
    with tenant_context(cast.tenant_id, read_only=True):
        assert RetrievalRun.objects.filter(principal=cast.agent).count() == 1


def test_the_second_of_two_browsers_is_refused_with_name_time_and_state_and_keeps_the_note(
    open_as: OpenTab, cast: Cast
) -> None:
    case = stories.contest(cast)
    alice, tab = open_as(cast.alice).page, open_as(cast.rita)
    rita = tab.page
    for page in (alice, rita):
        open_item(page, case)
    write_note(rita, "My <b>reason</b> & more")
    alice.keyboard.press("s")
    expect(alice.get_by_role("heading", name="Everything here is decided")).to_be_visible()
    rita.keyboard.press("s")
    decided = read_item(cast, case)
    assert decided.decided_at is not None
    heading = rita.get_by_role("heading", name=f"Not recorded: Alice decided this at {decided.decided_at:%H:%M} UTC")
    expect(heading).to_be_focused()
    expect(rita.locator("#status")).to_contain_text("Alice decided this")
    expect(rita.get_by_text("409 decided_by_other")).to_be_visible()
    expect(rita.get_by_text("The item is closed: accepted.")).to_be_visible()
    expect(rita.get_by_text("found version 4")).to_be_visible()
    expect(rita.get_by_label("Your note, kept")).to_have_value("My <b>reason</b> & more")
    assert decided.decided_by_id == cast.alice.pk
    with tenant_context(cast.tenant_id, read_only=True):
        assert MemoryHead.objects.get(pk=case.memory_id).version == 4
    assert tab.find_barriers() == []


def test_a_memory_that_moved_meanwhile_is_compared_three_ways_and_decided_again(open_as: OpenTab, cast: Cast) -> None:
    case = stories.contest(cast)
    tab = open_as(cast.rita)
    page = tab.page
    open_item(page, case)
    write_note(page, "Seen with 4.1.1")
    state_fact(cast, value="4.1.2", at=EARLY + timedelta(days=50), by=cast.bob.username)
    page.keyboard.press("s")
    expect(
        page.get_by_role("heading", name="Not recorded: version 4 came while you were reading version 3")
    ).to_be_focused()
    expect(page.get_by_text("409 stale_version")).to_be_visible()
    changed = page.get_by_role("region", name="What changed")
    for column in ("You read", "Stands now", "Your draft"):
        expect(changed.get_by_role("columnheader", name=column)).to_be_visible()
    expect(page.get_by_label("Your note, kept")).to_have_value("Seen with 4.1.1")
    assert tab.find_barriers() == []
    assert read_item(cast, case).state == ReviewState.OPEN
    page.keyboard.press("c")
    expect(page.get_by_role("heading", name="Everything here is decided")).to_be_visible()
    assert read_item(cast, case).outcome == Verb.KEEP_CONFLICT


def test_an_erasure_that_started_meanwhile_leaves_no_content_on_the_page(open_as: OpenTab, cast: Cast) -> None:
    case = stories.contest(cast)
    tab = open_as(cast.rita)
    page = tab.page
    open_item(page, case)
    write_note(page, "About 4.1.1")
    stories.revoke_memory(cast, case)
    page.keyboard.press("s")
    expect(page.get_by_role("heading", name="Locked: an erasure covers this item")).to_be_focused()
    expect(page.get_by_text("423 erasure_started")).to_be_visible()
    for trace in ("4.1", "release.latest", "About"):
        assert trace not in page.content()
    assert tab.find_barriers() == []
    assert read_item(cast, case).decided_by is None


def test_a_claim_whose_evidence_went_meanwhile_can_only_be_rejected(open_as: OpenTab, cast: Cast) -> None:
    case = stories.contest(cast)
    tab = open_as(cast.rita)
    page = tab.page
    open_item(page, case)
    write_note(page, "It rests on the tag.")
    candidate_id = read_item(cast, case).candidate_id
    with tenant_context(cast.tenant_id):
        rests_on = CandidateEvidence.objects.filter(candidate_id=candidate_id)
        Evidence.objects.filter(pk__in=rests_on.values("evidence_id")).update(availability=Availability.EXPIRED)
    page.keyboard.press("s")
    expect(page.get_by_role("heading", name="Not recorded: the evidence can no longer be used")).to_be_focused()
    expect(page.get_by_text("410 evidence_gone")).to_be_visible()
    expect(page.get_by_text("The quote has expired.")).to_be_visible()
    expect(page.get_by_label("Your note, kept")).to_have_value("It rests on the tag.")
    for verb in ("SUPERSEDE", "CONFLICT"):
        expect(page.locator(f"button[value={verb}]")).to_have_attribute("aria-disabled", "true")
    assert tab.find_barriers() == []
    page.get_by_label("Reason code").select_option("not_supported")
    page.locator("button[value=REJECT]").click()
    expect(page.get_by_role("heading", name="Everything here is decided")).to_be_visible()
    assert read_item(cast, case).outcome == Verb.REJECT


def test_one_item_is_decided_without_scripts(open_as: OpenTab, cast: Cast) -> None:
    case, _ = stories.contest(cast), stories.contest(cast, cycle="4.0", first="4.0.7", then="4.0.8")
    page = open_as(has_scripts=False).page
    sign_in(page, cast.rita)
    page.get_by_role("link", name="Conflicts 2").click()
    page.get_by_role("link", name="Start review").click()
    page.locator("button[value=REJECT]").click()
    expect(page.get_by_text("Choose a reason.")).to_be_visible()
    page.get_by_label("Note, kept with the ruling").fill("By form")
    page.locator("button[value=SUPERSEDE]").click()
    expect(page.get_by_text("Recorded: SUPERSEDE, product:django release.latest, version 4")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("cycle = 4.0")
    assert read_item(cast, case).outcome == Verb.ACCEPT


def test_a_key_in_a_field_is_a_letter(open_as: OpenTab, cast: Cast) -> None:
    case = stories.contest(cast)
    page = open_as(cast.rita).page
    open_item(page, case)
    page.locator("#note").click()
    page.keyboard.type("scare j/k [?]")
    expect(page.locator("#note")).to_have_value("scare j/k [?]")
    assert read_item(cast, case).state == ReviewState.OPEN
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(page.locator("#status")).to_contain_text("No free period")
    page.keyboard.press("r")
    expect(page.get_by_label("Reason code")).to_be_focused()
    assert read_item(cast, case).state == ReviewState.OPEN


def test_a_claim_is_rejected_by_keys_alone(open_as: OpenTab, cast: Cast) -> None:
    case = stories.contest(cast)
    page = open_as(cast.rita).page
    open_item(page, case)
    page.keyboard.press("r")
    page.keyboard.press("6")
    expect(page.get_by_label("Reason code")).to_have_value("other")
    page.keyboard.press("Enter")
    expect(page.locator("#note")).to_be_focused()
    expect(page.locator("#status")).to_contain_text("Write a note")
    page.keyboard.press("Escape")
    page.get_by_label("Reason code").focus()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Everything here is decided")).to_be_visible()
    assert read_item(cast, case).outcome == Verb.REJECT


def test_a_kept_conflict_is_decided_again(open_as: OpenTab, cast: Cast) -> None:
    case = stories.contest(cast)
    stories.decide(cast, case, verb=Verb.KEEP_CONFLICT)
    page = open_as(cast.rita).page
    page.goto(f"/memories/{case.memory_id}/")
    page.get_by_role("button", name="Decide again").click()
    expect(page.get_by_role("heading", name="Decide", exact=True)).to_be_visible()
    page.keyboard.press("s")
    expect(page.get_by_role("heading", name="Everything here is decided")).to_be_visible()


def test_no_key_acts_when_keys_are_off(open_as: OpenTab, cast: Cast, address: str) -> None:
    case = stories.contest(cast)
    page = open_as(cast.rita).page
    page.goto("/profile/")
    page.get_by_role("group", name="Keyboard keys").get_by_label("Off").check()
    page.get_by_role("button", name="Keep these").click()
    expect(page.get_by_text("Kept.", exact=True)).to_be_visible()
    open_item(page, case)
    for key in "saencrm":
        page.keyboard.press(key)
    page.keyboard.press("Shift+?")
    expect(page.locator("#keys")).to_be_hidden()
    expect(page.locator("kbd:visible")).to_have_count(0)
    expect(page.locator("#note")).not_to_be_focused()
    assert page.evaluate("document.activeElement === document.body")
    assert read_item(cast, case).state == ReviewState.OPEN
    page.goto(QUEUE)
    page.keyboard.press("Enter")
    page.keyboard.press("j")
    expect(page).to_have_url(f"{address}{QUEUE}")
    assert page.evaluate("document.activeElement === document.body")


def test_the_key_sheet_lists_what_the_buttons_show(open_as: OpenTab, cast: Cast) -> None:
    case = stories.contest(cast)
    tab = open_as(cast.rita)
    open_item(tab.page, case)
    tab.page.keyboard.press("Shift+?")
    sheet = tab.page.get_by_role("dialog", name="Keys on this page")
    expect(sheet).to_be_visible()
    keys = sheet.locator("dt").all_inner_texts()
    assert set("saencrm?") <= set(keys)
    expect(sheet.get_by_text("Note, kept with the ruling", exact=True)).to_be_visible()
    assert tab.find_barriers() == []
    tab.page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


def test_the_owner_confirms_in_chinese(open_as: OpenTab, cast: Cast) -> None:
    item_id = stories.infer_preference(cast)
    tab = open_as(cast.alice)
    page = tab.page
    page.goto("/profile/")
    page.get_by_label("中文").check()
    page.get_by_role("button", name="Keep these").click()
    expect(page.get_by_text("已保存。")).to_be_visible()
    page.locator("a[href='/queues/confirmation/']").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("待确认")
    page.wait_for_load_state()
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(page.locator("mark")).to_have_text("中文回答")
    expect(page.locator("button[value=ADD]")).to_contain_text("新增")
    assert tab.find_barriers() == []
    page.keyboard.press("a")
    expect(page.locator("#status")).to_contain_text("ADD")
    expect(page.get_by_role("heading", name="这里已全部决定")).to_be_visible()
    with tenant_context(cast.tenant_id, read_only=True):
        item = ReviewItem.objects.get(pk=item_id)
        assert (item.outcome, item.decided_by_id) == (Verb.ACCEPT, cast.alice.pk)
        assert MemoryHead.objects.get().version == 1


def test_an_open_item_shows_colleagues_who_holds_it_and_can_be_taken_over(open_as: OpenTab, cast: Cast) -> None:
    case = stories.contest(cast)
    alice, rita = open_as(cast.alice).page, open_as(cast.rita).page
    open_item(alice, case)
    expect(alice.locator("#lease")).to_contain_text("Yours until")
    rita.goto(QUEUE)
    expect(rita.locator("[data-row]")).to_contain_text("Alice until")
    open_item(rita, case)
    expect(rita.locator("#lease")).to_contain_text("Alice until")
    rita.get_by_role("button", name="Take over").click()
    expect(rita.locator("#lease")).to_contain_text("Yours until")
    assert read_item(cast, case).lease_holder_id == cast.rita.pk
    alice.keyboard.press("s")
    expect(alice.get_by_role("heading", name="Everything here is decided")).to_be_visible()
    assert read_item(cast, case).decided_by_id == cast.alice.pk
