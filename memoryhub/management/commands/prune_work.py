"""Delete the rows of jobs and deliveries that ended long ago."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from memoryhub.lib import clock
from memoryhub.usecases.prune_work import prune_work

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Prune what is done; dead and discarded letters stay."""

    help = "Delete jobs that ended and outbox rows that were delivered more than --days ago, in batches."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take how many days are kept."""
        parser.add_argument("--days", type=int, default=30, help="how many days of ended work are kept (30)")

    def handle(self, **options: Any) -> None:
        """Delete batch after batch until nothing old is left; stopping it loses nothing."""
        if options["days"] < 1:
            raise CommandError("--days takes a number from 1 on.")
        before = clock.now() - timedelta(days=options["days"])
        jobs = rows = 0
        while True:
            pruned = prune_work(before=before)
            jobs, rows = jobs + pruned.jobs, rows + pruned.rows
            if not pruned.jobs and not pruned.rows:
                break
            self.stdout.write(f"{jobs} jobs and {rows} outbox rows deleted")
        self.stdout.write(f"done: {jobs} jobs and {rows} outbox rows ended before {before:%Y-%m-%d %H:%M} UTC")
