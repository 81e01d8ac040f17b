"""Bring the sample in: set up its tenant, send its events and proposals, say what became of them."""

import argparse
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from memoryhub.lib import clock
from memoryhub.management.sample.keys import load_keys, note_loaded, read_loaded
from memoryhub.management.sample.loader import LoadFailed, Report, digest_load, list_items, load_sample
from memoryhub.management.sample.provisioning import (
    ADMIN,
    MACHINES,
    PEOPLE,
    count_events,
    count_waiting,
    is_usable,
    provision_sample,
)
from memoryhub.types.enums import MergeAction, ReviewKind

ABOUT_COUNTS = (
    "Which action a change gets depends on the order in which the workers take it; memories, conflicts and"
    " valid-time answers do not. CONFLICT also counts the later claims that joined an open conflict."
)


class Command(BaseCommand):
    """Send the sample through the REST API, as its agents would."""

    help = "Send the sample through the REST API. Running it again changes nothing."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Take the address of the server, and whether a completed load is repeated."""
        parser.add_argument("--url", default="http://127.0.0.1:8000", help="address of the server")
        parser.add_argument(
            "--unless-loaded", action="store_true", help="send nothing when this very sample was loaded completely"
        )

    def handle(self, **options: Any) -> None:
        """Set up what is missing, print the sign-ins, send everything, and print what became of it."""
        console = Console()
        file = settings.HOME.root / "sample.json"
        keys = load_keys(file=file, people=[*(person.username for person in PEOPLE), ADMIN], machines=MACHINES)
        now = clock.now()
        tenant = provision_sample(keys=keys, now=now)
        url = options["url"].rstrip("/")
        console.print(describe_sign_ins(keys=keys))
        console.print("Not built yet: the deletion desk, the audit page and the health page.")
        console.print(f"Administration: {url}/admin/", soft_wrap=True, highlight=False)
        for machine in MACHINES:
            token = keys[machine] if is_usable(secret=keys[machine], now=now) else "revoked"
            console.print(f"Token of {machine}: {token}", soft_wrap=True, highlight=False)
        digest = digest_load(tenant_id=str(tenant.pk))
        if options["unless_loaded"] and read_loaded(file=file) == digest:
            console.print("The sample is loaded already.")
            return
        console.print("loading the sample")
        sent = [item.event_id for item in list_items()]
        held = count_events(event_ids=sent)
        columns = (TextColumn("{task.description:10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        try:
            with Progress(*columns, console=console) as progress:
                report = load_sample(url=url, host=settings.ALLOWED_HOSTS[0], keys=keys, progress=progress)
        except LoadFailed as reason:
            raise CommandError(str(reason)) from None
        note_loaded(file=file, digest=digest)
        new = count_events(event_ids=sent) - held
        console.print(describe_results(report=report, new=new, waiting=count_waiting()))
        console.print(ABOUT_COUNTS)


def describe_results(*, report: Report, new: int, waiting: dict[str, int]) -> Table:
    """Return what the events became, and how many items wait for a person."""
    table = Table(title="What the sample became", title_justify="left")
    table.add_column("decision")
    table.add_column("count", justify="right")
    for action in MergeAction:
        table.add_row(str(action), str(report.actions[action]))
    table.add_section()
    table.add_row("new events", str(new))
    table.add_row("events known from an earlier load", str(report.sent - new))
    table.add_row("events that propose nothing", str(report.silent))
    table.add_row("conflicts that wait for a reviewer", str(waiting.get(ReviewKind.CONFLICT, 0)))
    table.add_row("guesses that wait for their owner", str(waiting.get(ReviewKind.CONFIRMATION, 0)))
    return table


def describe_sign_ins(*, keys: dict[str, str]) -> Table:
    """Return who can sign in, as what, and what there is to try."""
    table = Table(title="Sign-ins", title_justify="left")
    for name in ("user name", "password"):
        table.add_column(name, no_wrap=True)
    for name in ("role", "can try"):
        table.add_column(name)
    for person in PEOPLE:
        table.add_row(person.username, keys[person.username], person.role, person.can_try)
    table.add_row(ADMIN, keys[ADMIN], "administrator", "principals, at /admin/")
    return table
