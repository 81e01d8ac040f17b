"""Bring the sample in: set up its tenant, send its events and proposals, say what became of them."""

import argparse
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from memoryhub.lib import clock
from memoryhub.management.sample.facts import BOT
from memoryhub.management.sample.keys import load_keys
from memoryhub.management.sample.loader import LoadFailed, Report, load_sample
from memoryhub.management.sample.provisioning import (
    ADMIN,
    MACHINES,
    PEOPLE,
    PLANNER,
    count_events,
    count_waiting,
    provision_sample,
)
from memoryhub.types.enums import MergeAction, ReviewKind


class Command(BaseCommand):
    """Send the sample through the REST API, as its agents would."""

    help = "Send the sample through the REST API. Running it again changes nothing."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Take the address of the server."""
        parser.add_argument("--url", default="http://127.0.0.1:8000", help="address of the server")

    def handle(self, **options: Any) -> None:
        """Set up what is missing, send everything, and print results and sign-ins."""
        console = Console()
        keys = load_keys(
            file=settings.HOME.root / "sample.json",
            people=[*(person.username for person in PEOPLE), ADMIN],
            machines=MACHINES,
        )
        provision_sample(keys=keys, now=clock.now())
        held = count_events()
        columns = (TextColumn("{task.description:10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        try:
            with Progress(*columns, console=console) as progress:
                report = load_sample(
                    url=options["url"].rstrip("/"),
                    host=settings.ALLOWED_HOSTS[0],
                    keys=keys,
                    progress=progress,
                )
        except LoadFailed as reason:
            raise CommandError(str(reason)) from None
        console.print(describe_results(report=report, new=count_events() - held, waiting=count_waiting()))
        console.print(describe_sign_ins(keys=keys))
        console.print(f"Agents' tokens: {PLANNER} {keys[PLANNER]}  {BOT} {keys[BOT]}", soft_wrap=True, highlight=False)


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
    """Return who can sign in, as what."""
    table = Table(title="Sign-ins", title_justify="left")
    for name in ("user name", "password", "role"):
        table.add_column(name, no_wrap=True)
    for person in PEOPLE:
        table.add_row(person.username, keys[person.username], person.role)
    table.add_row(ADMIN, keys[ADMIN], "administration of the installation")
    return table
