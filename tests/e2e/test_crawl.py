"""T20: every page of the URL configuration, with data, empty and refused, in light and dark, as a browser sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from memoryhub.access.models import Principal
from memoryhub.lib.ids import new_id
from memoryhub.usecases.review import Verb
from tests.cast import Cast, make_cast
from tests.e2e import stories
from tests.e2e.browsing import NARROW, WIDE, Tab
from tests.e2e.conftest import OpenTab
from tests.promises import PromiseReport

pytestmark = pytest.mark.promise("T20")

NO_PAGE = {
    "healthz": "a line of text for a supervisor",
    "readyz": "a line of text for a supervisor",
    "set_language": "takes a POST and leads back",
    "console:counts": "a fragment that stands in every page",
    "console:api_schema": "a file to take away",
    "console:lease": "takes a POST and answers with a fragment",
    "console:reopen": "takes a POST and leads to the item",
    "console:again": "takes a POST and leads back to the memory",
    "console:favicon": "leads to the picture",
    "console:sign_out": "takes a POST and leads to the sign-in",
    "console:sign_in": "opened by nobody, in a test of its own",
    "admin": "Django's own pages, in a test of their own",
    "api": "answers agents in JSON",
}
LOOKS = [("light", "en"), ("dark", "zh-hans")]


def walk(patterns: Iterable[URLPattern | URLResolver], room: str = "") -> Iterator[tuple[str, str, list[str]]]:
    """Return room, name and parameters of every address."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from walk(pattern.url_patterns, pattern.namespace or room)
        else:
            yield room, pattern.name or "", list(pattern.pattern.converters)


def list_pages() -> dict[str, list[str]]:
    """Return every address that answers with a page of ours, with its parameters."""
    named = {f"{room}:{name}" if room else name: (room, keys) for room, name, keys in walk(get_resolver().url_patterns)}
    return {name: keys for name, (room, keys) in named.items() if name not in NO_PAGE and room not in NO_PAGE}


@dataclass(frozen=True, slots=True)
class World:
    """Hold who looks, and what fills the parameters of the addresses."""

    viewer: Principal
    cases: list[dict[str, str]]
    memories: list[str]
    queries: list[str] = field(default_factory=lambda: [""])

    def fill(self, name: str, keys: list[str]) -> list[str]:
        """Return the addresses behind one name."""
        if keys == ["kind", "item_id"]:
            return [reverse(name, kwargs=case) for case in self.cases]
        if keys == ["memory_id"]:
            return [reverse(name, args=[memory]) + query for memory in self.memories for query in self.queries]
        if keys == ["kind"]:
            return [reverse(name, args=[kind]) for kind in ("conflict", "confirmation", "rereview")]
        assert keys == [], f"nothing fills {keys} of {name}"
        return [reverse(name)]


def make_full(cast: Cast) -> World:
    """Fill a tenant: open, closed and locked cases, a question of Alice's, long words, a memory to look at again."""
    standing, closed, locked = (stories.contest(cast, cycle=cycle) for cycle in ("4.1", "5.0", "5.1"))
    prose = stories.contest(cast, cycle="5.2", first=stories.LONG, then=stories.LONG + ", or twice a year")
    stories.decide(cast, closed, verb=Verb.ACCEPT, note="The tag is fresh.")
    stories.revoke_memory(cast, locked)
    question = stories.infer_preference(cast)
    lower, upper = stories.fell(cast)
    conflicts = [{"kind": "conflict", "item_id": case.item_id} for case in (standing, prose, closed, locked)]
    return World(
        viewer=cast.alice,
        cases=[*conflicts, {"kind": "confirmation", "item_id": question}],
        memories=[*(case.memory_id for case in (standing, prose, locked)), lower, upper],
        queries=["?valid_at=2022-08-10"],
    )


def make_world(state: str) -> World:
    """Return a full tenant, an empty one, or a full one as somebody sees it who has no right to it."""
    cast = make_cast()
    if state == "empty":
        case = {"kind": "conflict", "item_id": str(new_id())}
        return World(viewer=cast.rita, cases=[case], memories=[str(new_id())])
    full = make_full(cast)
    if state == "refused":
        return World(viewer=cast.charlie, cases=full.cases[:1], memories=full.memories[:1])
    return full


def choose_look(tab: Tab, *, theme: str, language: str) -> None:
    """Choose theme and language in the profile."""
    tab.page.goto("/profile/")
    tab.page.check(f"input[name=theme][value={theme}]")
    tab.page.check(f"input[name=language][value={language}]")
    tab.page.click("main form:first-of-type button.btn-primary")
    assert tab.page.get_attribute("html", "data-bs-theme") == theme
    assert tab.page.get_attribute("html", "lang") == language


def look_at(tab: Tab, path: str) -> list[str]:
    """Open a page and return what is wrong with it."""
    tab.page.set_viewport_size(WIDE)
    tab.page.goto(path)
    found = tab.find_barriers()
    tab.page.set_viewport_size(NARROW)
    if overflow := tab.measure_overflow():
        found.append(f"{path} is {overflow} wider than {NARROW['width']}")
    return found


@pytest.mark.parametrize("state", ["data", "empty", "refused"])
@pytest.mark.parametrize(("theme", "language"), LOOKS)
def test_no_page_breaks_the_policy_or_bars_anybody(
    open_as: OpenTab, state: str, theme: str, language: str, promise_report: PromiseReport
) -> None:
    world = make_world(state)
    tab = open_as(world.viewer)
    choose_look(tab, theme=theme, language=language)
    paths = [path for name, keys in list_pages().items() for path in world.fill(name, keys)]
    found = [line for path in [*paths, "/no-such-page/"] for line in look_at(tab, path)]
    assert found == []
    promise_report(count=len(paths) + 1, what="pages looked at")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nobody_can_sign_in_without_a_barrier(open_as: OpenTab, theme: str, promise_report: PromiseReport) -> None:
    tab = open_as()
    tab.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]  # one of the two words it takes
    assert look_at(tab, "/memories/") == []
    assert "/sign-in/" in tab.page.url
    tab.page.fill("#id_username", "nobody")
    tab.page.fill("#id_password", "wrong")
    tab.page.click("button.btn-primary")
    assert tab.page.inner_text("[role=alert]")
    assert tab.find_barriers() == []
    promise_report(count=2, what="pages looked at")


def test_who_lacks_one_right_reads_why(open_as: OpenTab, cast: Cast, promise_report: PromiseReport) -> None:
    tab = open_as(cast.bob)
    assert look_at(tab, reverse("console:review", args=["conflict", stories.contest(cast).item_id])) == []
    assert "review_memory" in tab.page.inner_text("main")
    promise_report(count=1, what="pages looked at")


def test_a_decision_keeps_the_policy(open_as: OpenTab, cast: Cast, promise_report: PromiseReport) -> None:
    first, second = stories.contest(cast), stories.contest(cast, cycle="5.0")
    tab = open_as(cast.rita)
    tab.page.goto(reverse("console:review", args=["conflict", first.item_id]))
    # as when somebody pulls the field taller
    tab.page.locator("#note").evaluate("field => { field.style.height = '200px'; }")
    tab.page.locator("button[value=CONFLICT]").click()
    tab.page.wait_for_url(f"**{second.item_id}/")
    assert tab.find_barriers() == []
    assert tab.complaints == []
    promise_report(count=2, what="pages looked at")


def test_django_s_own_pages_keep_the_policy(open_as: OpenTab, cast: Cast, promise_report: PromiseReport) -> None:
    Principal.objects.filter(pk=cast.rita.pk).update(is_staff=True, is_superuser=True)
    memory = stories.contest(cast).memory_id
    tab = open_as(cast.rita)
    names = {name for room, name, keys in walk(get_resolver().url_patterns) if room == "admin" and not keys}
    lists = [reverse(f"admin:{name}") for name in sorted(names) if name.endswith("_changelist")]
    looked_at = [
        *(reverse(f"admin:{name}") for name in ("index", "password_change", "memoryhub_principal_add")),
        reverse("admin:app_list", args=["memoryhub"]),
        *(reverse(f"admin:memoryhub_principal_{page}", args=[cast.bob.pk]) for page in ("change", "history", "delete")),
        *(reverse(f"admin:memoryhub_memoryhead_{page}", args=[memory]) for page in ("change", "history")),
        reverse("admin:memoryhub_principal_changelist"),
        reverse("admin:memoryhub_memoryhead_changelist"),
    ]
    assert [line for path in looked_at for line in look_at(tab, path)] == []
    tab.page.set_viewport_size(WIDE)
    for path in lists:
        tab.page.goto(path)
    assert len(lists) > 30
    promise_report(count=len({*looked_at, *lists}), what="pages looked at")


def test_what_breaks_the_policy_or_bars_anybody_is_noticed(open_as: OpenTab, cast: Cast) -> None:
    tab = open_as(cast.rita)
    tab.page.goto("/profile/")
    assert (tab.find_barriers(), tab.measure_overflow(), tab.complaints) == ([], 0, [])
    tab.page.evaluate("""() => {
        document.querySelector("main").insertAdjacentHTML("beforeend",
            '<p style="color: red">x</p><input type="text"><span class="mh-chip">' + "wide".repeat(99) + "</span>");
        document.head.append(Object.assign(document.createElement("script"), { text: "0" }));
        console.error("said by a script");
    }""")
    assert any("label" in line for line in tab.find_barriers())
    assert tab.measure_overflow() > 0
    for trace in ("policy violated: style-src-attr", "policy violated: script-src-elem", "said by a script"):
        assert any(trace in line for line in tab.complaints), trace
    tab.complaints.clear()


def test_every_address_is_looked_at_or_says_why_not() -> None:
    rooms_and_names = {
        (room, f"{room}:{name}" if room else name) for room, name, _ in walk(get_resolver().url_patterns)
    }
    for room, name in rooms_and_names:
        assert (room in NO_PAGE) or (name in NO_PAGE) or name in list_pages()
    assert set(list_pages()) == {
        f"console:{name}"
        for name in ("dashboard", "queue", "review", "memories", "memory", "api", "problems", "profile")
    }
