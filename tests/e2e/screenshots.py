"""Take the pictures of the documentation from the sample's Django changes: `make pictures`, not part of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import httpx

from memoryhub.access.models import Principal, Tenant
from memoryhub.access.tenancy import tenant_context
from memoryhub.embedded.paths import PROJECT
from memoryhub.lib import clock
from memoryhub.management.sample.facts import BOT, read_changes, read_messages
from memoryhub.management.sample.loader import Item, describe_change, describe_message
from memoryhub.management.sample.provisioning import ADMIN, PEOPLE, PLANNER, TENANT, provision_sample
from memoryhub.memory.models import MemoryHead
from memoryhub.review.models import ReviewItem
from memoryhub.types.enums import ReviewKind
from memoryhub.usecases.relay import relay_outbox
from memoryhub.usecases.run_jobs import run_due_jobs
from tests.e2e.browsing import Tab
from tests.e2e.conftest import OpenTab

FOLDER = PROJECT / "docs" / "images"
BATCH = 100


def cut(items: list[Item]) -> Iterator[tuple[str, list[Item]]]:
    """Return the items in batches of one sender."""
    for sender, run in groupby(items, key=lambda item: item.sender):
        same = list(run)
        yield from ((sender, same[start : start + BATCH]) for start in range(0, len(same), BATCH))


def load_django(address: str) -> Tenant:
    """Send the Django changes and the messages as the sample's agents do, and decide what can be decided."""
    names = [person.username for person in PEOPLE]
    keys = {name: f"sample-{name}-for-pictures" for name in (*names, ADMIN, PLANNER, BOT)}
    provision_sample(keys=keys, now=clock.now())
    changes = [change for change in read_changes() if change.product == "django"]
    items = [*map(describe_change, changes), *map(describe_message, read_messages())]
    for kind in ("events", "candidates"):
        for sender, batch in cut(items):
            bodies = [item.event if kind == "events" else item.candidate for item in batch]
            answer = httpx.post(
                f"{address}/api/v1/{kind}",
                headers={"Authorization": f"Bearer {keys[sender]}"},
                json={kind: [body for body in bodies if body is not None]},
                timeout=60,
            )
            assert answer.is_success, answer.text
    while run_due_jobs(now=clock.now()) or relay_outbox(now=clock.now()):
        pass
    return Tenant.objects.get(slug=TENANT)


def choose(tab: Tab, *, theme: str, language: str = "en") -> None:
    """Choose theme and language in the profile."""
    tab.page.goto("/profile/")
    tab.page.check(f"input[name=theme][value={theme}]")
    tab.page.check(f"input[name=language][value={language}]")
    tab.page.click("main form:first-of-type button.btn-primary")


def take(tab: Tab, path: str, name: str) -> None:
    """Take the picture of one page, as high as the window."""
    tab.page.goto(path)
    tab.page.wait_for_load_state("networkidle")
    tab.page.screenshot(path=FOLDER / f"{name}.png")


def test_take_the_pictures(open_as: OpenTab, address: str) -> None:
    tenant = load_django(address)
    alice, mei = (Principal.objects.get(tenant=tenant, username=name) for name in ("alice", "mei"))
    with tenant_context(tenant.pk, read_only=True):
        conflict = ReviewItem.objects.filter(kind=ReviewKind.CONFLICT, state="open").earliest("opened_at")
        memory = MemoryHead.objects.filter(version=4, has_open_conflict=False).earliest("id")
        question = ReviewItem.objects.filter(kind=ReviewKind.CONFIRMATION, scope__key="mei").earliest("opened_at")
    review = f"/queues/conflict/{conflict.pk}/"
    tab = open_as(alice)
    for theme, ending in (("light", ""), ("dark", "-dark")):
        choose(tab, theme=theme)
        take(tab, "/", f"dashboard{ending}")
        take(tab, "/queues/conflict/", f"queue{ending}")
        take(tab, review, f"review{ending}")
        take(tab, f"/memories/{memory.pk}/?valid_at=2023-06-01", f"memory{ending}")
    tab = open_as(mei)
    choose(tab, theme="light", language="zh-hans")
    take(tab, f"/queues/confirmation/{question.pk}/", "confirmation-zh")
    choose(tab, theme="light")
