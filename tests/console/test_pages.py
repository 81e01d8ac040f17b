"""What holds for every page: signed in, never cached, escaped, without anything inline, in two languages."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import URLPattern

from memoryhub.access.models import Principal
from memoryhub.access.tenancy import tenant_context
from memoryhub.console.urls import urlpatterns
from memoryhub.embedded.paths import PROJECT
from memoryhub.lib import clock
from memoryhub.memory.models import MemoryHead
from memoryhub.review.models import ReviewItem
from memoryhub.types.enums import RevocationTarget
from memoryhub.usecases.revoke import revoke
from tests.acts import state_fact
from tests.cast import EARLY, PASSWORD, Cast
from tests.console.conftest import sign_in

OPEN_TO_ALL = {"sign_in", "sign_out", "problems", "favicon"}
ONLY_POSTED = {"lease", "reopen", "again"}


def list_pages(cast: Cast) -> list[str]:
    """Return the address of every page of the URL configuration, each with something on it."""
    with tenant_context(cast.tenant_id, read_only=True):
        item, head = ReviewItem.objects.get(), MemoryHead.objects.get()
    arguments = {"<slug:kind>": "conflict", "<uuid:item_id>": str(item.pk), "<uuid:memory_id>": str(head.pk)}
    pages = []
    for pattern in urlpatterns:
        assert isinstance(pattern, URLPattern)
        if pattern.name in OPEN_TO_ALL | ONLY_POSTED:
            continue
        path = "/" + str(pattern.pattern)
        for name, value in arguments.items():
            path = path.replace(name, value)
        pages.append(path)
    assert len(pages) >= 9
    assert not [path for path in pages if "<" in path]
    return pages


def test_every_page_asks_to_sign_in_first(contested: Cast) -> None:
    for path in list_pages(contested):
        answer = Client().get(path)
        assert (answer.status_code, answer.headers["Location"]) == (302, f"/sign-in/?next={path}"), path


def test_every_page_answers_and_is_kept_by_no_cache(contested: Cast, rita: Client) -> None:
    for path in list_pages(contested):
        answer = rita.get(path)
        assert answer.status_code == 200, path
        assert "no-store" in answer.headers["Cache-Control"], path
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"], path


def test_no_page_has_anything_inline(contested: Cast, rita: Client) -> None:
    for path in [*list_pages(contested), "/sign-in/"]:
        if path.startswith("/docs/"):
            continue
        page = rita.get(path).content.decode()
        assert not re.search(r"\sstyle=|\son[a-z]+=|<style|<script(?![^>]* src=)|javascript:", page), path
        links = re.findall(r'(?:src|href)="([^"]*)"', page)
        assert [link for link in links if link.startswith("//") or ":" in link.split("?")[0]] == [], path


@pytest.mark.parametrize("path", ["/", "/queues/conflict/", "/queues/confirmation/", "/memories/", "/profile/"])
def test_who_holds_no_right_sees_a_page_that_says_so(contested: Cast, path: str) -> None:
    page = sign_in(contested.charlie).get(path).content.decode()
    assert "django" not in page
    assert "release.latest" not in page
    if path.startswith(("/queues/conflict", "/memories")):
        assert "You may not see these" in page


def test_the_three_kinds_of_nothing_are_told_apart(cast: Cast) -> None:
    rita = sign_in(cast.rita)
    assert "Everything here is decided" in rita.get("/queues/conflict/").content.decode()
    assert "Nothing matches this filter" in rita.get("/queues/conflict/?q=nothing").content.decode()
    assert "Nothing is remembered yet" in rita.get("/memories/").content.decode()
    assert "You may not see these" in sign_in(cast.charlie).get("/queues/conflict/").content.decode()


def test_text_from_the_database_is_data(cast: Cast) -> None:
    hostile = '<img src=x onerror="alert(1)">{{ 7|add:7 }}'
    state_fact(cast, value=hostile, by=cast.carol.username)
    state_fact(cast, value="b", at=EARLY + timedelta(days=1), by=cast.bob.username)
    state_fact(cast, value=hostile, at=EARLY + timedelta(days=2), by=cast.carol.username)
    rita = sign_in(cast.rita)
    for path in list_pages(cast):
        if path.startswith("/docs/"):
            continue
        page = rita.get(path).content.decode()
        assert "<img" not in page, path
    assert "&lt;img" in rita.get("/queues/conflict/").content.decode()
    assert "{{ 7|add:7 }}" in rita.get("/queues/conflict/").content.decode()


def test_the_filter_is_in_the_address_and_narrows_the_list(rita: Client) -> None:
    assert "product:django" in rita.get("/queues/conflict/?q=DJANGO&scope=project:platform").content.decode()
    assert "Nothing matches" in rita.get("/queues/conflict/?scope=project:other").content.decode()
    assert "Nothing matches" in rita.get("/queues/conflict/?q=100%25").content.decode()
    page = rita.get("/queues/conflict/?reason=put_back_in_contest_window").content.decode()
    assert "?reason=put_back_in_contest_window" in page


@pytest.mark.parametrize(
    ("query", "finds"),
    [
        ("cycle = 4.1", True),
        ("django 4.1 latest", True),
        ("4.1 DJANGO", True),
        ("django 4.1 eol", False),
        ("%", False),
        ("release_latest", False),
    ],
)
def test_a_list_is_filtered_by_every_word_as_it_stands(rita: Client, query: str, finds: bool) -> None:
    for path in ("/memories/", "/queues/conflict/"):
        page = rita.get(path, {"q": query}).text
        assert ("Nothing matches this filter" not in page) is finds, (path, query)


def test_memories_stand_in_the_order_of_their_numbers(cast: Cast) -> None:
    for cycle in ("1.10", "10", "1.9", "1.3"):
        state_fact(cast, value="x", cycle=cycle, by=cast.carol.username)
    page = sign_in(cast.rita).get("/memories/").text
    assert re.findall(r"<small>cycle = ([\d.]+)", page) == ["1.3", "1.9", "1.10", "10"]


def test_a_queue_is_offered_to_those_who_may_decide_it(contested: Cast, rita: Client) -> None:
    links = ("/queues/conflict/", "/queues/confirmation/")
    shown = {
        person.username: [link in page.get("/").text for link in links]
        for person, page in ((p, sign_in(p)) for p in (contested.dana, contested.alice))
    }
    assert shown == {contested.dana.username: [False, False], contested.alice.username: [True, True]}
    assert "You hold no right to decide" in sign_in(contested.dana).get("/").text
    assert "You hold no right to decide" not in rita.get("/").text


def test_who_has_no_tenant_is_led_to_the_administration(cast: Cast) -> None:
    Principal.objects.filter(pk=cast.erin.pk).update(tenant=None, is_staff=True, is_superuser=True)
    client = Client()
    answer = client.post("/sign-in/", {"username": cast.erin.username, "password": PASSWORD, "next": "/"})
    assert answer.headers["Location"] == "/admin/"
    refused = client.get("/")
    assert refused.status_code == 403
    assert 'href="/admin/"' in refused.text
    assert 'action="/sign-out/"' in refused.text
    assert "<nav" not in refused.text


def test_every_problem_has_a_place_that_anybody_may_read() -> None:
    page = Client().get("/docs/reference/problems").text
    codes = re.findall(r"^\| `(\w+)`", (PROJECT / "docs/reference/problems.md").read_text(), re.MULTILINE)
    assert len(codes) > 20
    assert re.findall(r'<tr id="(\w+)">', page) == codes
    assert "<code>errors[]</code> says which" in page
    assert "](" not in page


def test_browsers_find_the_picture() -> None:
    assert Client().get("/favicon.ico").headers["Location"].endswith(".svg")


def test_a_number_of_the_dashboard_is_what_its_list_shows(rita: Client) -> None:
    dashboard = rita.get("/").content.decode()
    assert "1 thing waits for you" in dashboard
    assert '<span class="mh-num" id="count-conflict">1</span>' in dashboard
    assert "1 match, 1 shown" in rita.get("/queues/conflict/").content.decode()
    counts = rita.get("/counts/").content.decode()
    assert 'id="count-conflict" hx-swap-oob="true">1<' in counts
    assert "<a" not in counts


def test_the_cross_hair_answers_what_the_system_would_have_said(contested: Cast, rita: Client) -> None:
    with tenant_context(contested.tenant_id, read_only=True):
        path = f"/memories/{MemoryHead.objects.get().pk}/"
    page = rita.get(path, {"valid_at": "2022-08-10"}).content.decode()
    assert "the system would have answered 4.1 for 10 Aug 2022, from version 2" in page
    assert page.count('class="is-here"') == 1
    page = rita.get(path, {"valid_at": "2022-08-10", "recorded_at": "2020-01-01"}).content.decode()
    assert "the system would have had no answer for 10 Aug 2022" in page
    page = rita.get(path, {"valid_at": "yesterday"}).content.decode()
    assert "“yesterday” is no instant" in page


def test_a_revoked_memory_shows_no_value_anywhere(contested: Cast, rita: Client) -> None:
    with tenant_context(contested.tenant_id, read_only=True):
        head, item = MemoryHead.objects.get(), ReviewItem.objects.get()
    revoke(
        caller=contested.person(contested.erin),
        scope=("project", "platform"),
        target=RevocationTarget.MEMORY,
        target_id=str(head.pk),
        reason="request",
        now=clock.now(),
    )
    memory = rita.get(f"/memories/{head.pk}/?valid_at=2022-08-10").content.decode()
    locked = rita.get(f"/queues/conflict/{item.pk}/")
    posted = rita.post(f"/queues/conflict/{item.pk}/", {"verb": "CONFLICT", "expected_version": "3", "note": "n"})
    assert (locked.status_code, posted.status_code) == (200, 423)
    for page in (memory, locked.content.decode(), posted.content.decode(), rita.get("/memories/").content.decode()):
        assert "4.1.1" not in page
        assert "release.latest is" not in page
    assert "Locked: an erasure covers this item" in posted.content.decode()
    assert "</textarea>" not in posted.content.decode()


def test_language_theme_and_keys_are_kept_in_the_profile(contested: Cast, rita: Client) -> None:
    answer = rita.post("/profile/", {"language": "zh-hans", "theme": "dark", "keys": "off", "other": "x"}, follow=True)
    page = answer.content.decode()
    assert '<html lang="zh-hans" data-bs-theme="dark" data-keys="off">' in page
    assert "已保存。" in page
    assert Principal.objects.get(pk=contested.rita.pk).preferences == {
        "language": "zh-hans",
        "theme": "dark",
        "keys": "off",
    }
    assert "冲突" in sign_in(contested.rita).get("/queues/conflict/").content.decode()
    rita.post("/profile/", {"language": "xx", "theme": "pink"})
    assert Principal.objects.get(pk=contested.rita.pk).preferences["theme"] == "dark"


def test_a_wrong_password_and_an_agent_are_refused_alike(cast: Cast) -> None:
    for name in (cast.rita.username, cast.agent.username, "nobody"):
        answer = Client().post("/sign-in/", {"username": name, "password": "wrong"})
        assert answer.status_code == 200
        assert "That name and password do not go together." in answer.content.decode()


def test_signing_out_ends_the_session(rita: Client) -> None:
    rita.post("/sign-out/")
    assert rita.get("/").status_code == 302


def test_an_address_that_is_none_is_a_page_of_ours(rita: Client) -> None:
    answer = rita.get("/no-such-page/")
    assert answer.status_code == 404
    assert "Nothing here" in answer.content.decode()
    assert "<nav" in answer.text
    assert "<nav" not in Client().get("/no-such-page/").text
    assert rita.get("/queues/other/").status_code == 404
