"""Delete an installation's data, to begin anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memoryhub.embedded.paths import UnusableFolder
from memoryhub.embedded.processes import StillHeld
from memoryhub.embedded.reset import list_data, remove_data
from memoryhub.embedded.supervisor import HomeInUse, claim_home

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Delete database, broker, secrets and logs of the installation that MEMORYHUB_HOME names."""

    help = "Delete all data of this installation, once it is confirmed and nothing runs."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the confirmation."""
        parser.add_argument("--confirm", default="", help="yes deletes; anything else says what would be deleted")

    def handle(self, **options: Any) -> None:
        """Delete, or say why not."""
        home = settings.HOME
        if settings.EXTERNAL_DATABASE:
            raise CommandError("The data stand in the database of DATABASE_URL: reset deletes none of it.")
        if options["confirm"] != "yes":
            listed = "\n".join(f"  {path}" for path in list_data(home=home))
            raise CommandError(f"Nothing was deleted. To delete all of this for good: make reset CONFIRM=yes\n{listed}")
        try:
            with claim_home(home=home, address="reset"):
                remove_data(home=home)
        except HomeInUse as reason:
            raise CommandError(f"{reason} Stop it first; nothing was deleted.") from None
        except StillHeld as reason:
            raise CommandError(f"{reason} Try again in some seconds; nothing was deleted.") from None
        except UnusableFolder as reason:
            raise CommandError(str(reason)) from None
        self.stdout.write("All data of this installation is deleted. make run begins anew.")
