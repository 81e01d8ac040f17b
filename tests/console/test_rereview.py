"""A person looks again at a memory that lost what it rested on: on its own page."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from tests.acts import state_fact
from tests.cast import EARLY, Cast
from tests.console.conftest import sign_in
from tests.integration.reflecting import look, reflect, relay


@pytest.fixture
def fallen(cast: Cast) -> tuple[Cast, str, str]:
    """Make a reflection whose lower memory says something else by now."""
    lower = str(state_fact(cast, value="4.1.0").result.memory_id)
    upper = str(reflect(cast, (lower, 1)).result.memory_id)
    state_fact(cast, value="4.1.9", at=EARLY + timedelta(days=1))
    relay()
    return cast, lower, upper


def read_form(page: str) -> dict[str, str]:
    """Return the fields of the form that the page holds."""
    return {
        name: match[1]
        for name in ("item", "expected_version")
        if (match := re.search(rf'name="{name}" value="([^"]+)"', page))
    }


def test_the_page_says_why_and_links_both_ways(fallen: tuple[Cast, str, str]) -> None:
    cast, lower, upper = fallen
    rita = sign_in(cast.rita)
    page = rita.get(f"/memories/{upper}/").content.decode()
    assert "Under review" in page
    assert "A memory it rests on says something else now" in page
    assert f'href="/memories/{lower}/"' in page
    assert "version 1, now 2" in page
    assert f'href="/memories/{upper}/"' in rita.get(f"/memories/{lower}/").content.decode()
    assert "uses version 1, now 2" in rita.get(f"/memories/{lower}/").content.decode()
    queue = rita.get("/queues/rereview/").content.decode()
    assert f'href="/memories/{upper}/"' in queue
    assert "<ins>" not in queue
    assert "Current to proposed" not in queue


@pytest.mark.parametrize(("verb", "states"), [("keep", ["active"]), ("reject", [])])
def test_a_reviewer_keeps_it_or_lets_it_end(fallen: tuple[Cast, str, str], verb: str, states: list[str]) -> None:
    cast, _, upper = fallen
    rita = sign_in(cast.rita)
    form = read_form(rita.get(f"/memories/{upper}/").content.decode())
    told = rita.post(f"/memories/{upper}/again/", {**form, "verb": verb, "reason": "outdated"}, follow=True)
    assert "Recorded" in told.content.decode()
    assert look(cast, upper).states == states
    again = rita.post(f"/memories/{upper}/again/", {**form, "verb": verb, "reason": "outdated"}, follow=True)
    assert "Somebody else decided this meanwhile" in again.content.decode()


def test_a_reject_needs_its_reason(fallen: tuple[Cast, str, str]) -> None:
    cast, _, upper = fallen
    rita = sign_in(cast.rita)
    form = read_form(rita.get(f"/memories/{upper}/").content.decode())
    told = rita.post(f"/memories/{upper}/again/", {**form, "verb": "reject"}, follow=True)
    assert "Choose a reason." in told.content.decode()
    assert look(cast, upper).states == ["needs_review"]


def test_who_may_not_decide_sees_no_form(fallen: tuple[Cast, str, str]) -> None:
    cast, _, upper = fallen
    bob = sign_in(cast.bob)
    page = bob.get(f"/memories/{upper}/").content.decode()
    assert "Under review" in page
    assert "/again/" not in page
    form = read_form(sign_in(cast.rita).get(f"/memories/{upper}/").content.decode())
    assert bob.post(f"/memories/{upper}/again/", {**form, "verb": "keep"}).status_code == 403
    assert look(cast, upper).states == ["needs_review"]


def test_its_item_has_no_page_of_its_own(fallen: tuple[Cast, str, str]) -> None:
    cast, _, upper = fallen
    rita = sign_in(cast.rita)
    item = read_form(rita.get(f"/memories/{upper}/").content.decode())["item"]
    for kind in ("rereview", "conflict", "confirmation"):
        assert rita.get(f"/queues/{kind}/{item}/").status_code == 404
