"""Migrate as the owner of the tables."""

import argparse

from django.core.management.commands import migrate


class Command(migrate.Command):
    """Run Django's migrate against `owner`; the role that serves may not change a table."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Make `owner` the database to migrate."""
        super().add_arguments(parser)  # type: ignore[arg-type]
        parser.set_defaults(database="owner")
