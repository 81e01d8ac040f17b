"""Migrate as the owner of the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management import call_command
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

if TYPE_CHECKING:
    import argparse

# What stood in a database before this migration may have been derived by other rules than today's.
_SINCE = ("memoryhub", "0017_explain_former_epochs")


class Command(migrate.Command):
    """Run Django's migrate against `owner`; the role that serves may not change a table."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Make `owner` the database to migrate."""
        super().add_arguments(parser)  # type: ignore[arg-type]
        parser.set_defaults(database="owner")

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate; where data of an earlier release was there, derive its beliefs anew."""
        recorder = MigrationRecorder(connections[options["database"]])
        before = recorder.applied_migrations()
        super().handle(*args, **options)
        had_data = ("memoryhub", "0002_invariants") in before and _SINCE not in before
        if had_data and options["app_label"] is None and _SINCE in recorder.applied_migrations():
            call_command("rederive", former=True, stdout=self.stdout)
