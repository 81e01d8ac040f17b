"""Run the embedded database and broker alone."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memoryhub.embedded.supervisor import HomeInUse, Supervisor, claim_home, run_servers


class Command(BaseCommand):
    """Run the embedded servers until interrupted, for work on the product itself."""

    help = "Run the embedded PostgreSQL and Valkey until interrupted."
    requires_system_checks: list[str] = []

    def handle(self, **options: Any) -> None:
        """Start both servers, say where they listen and wait."""
        del options
        home = settings.HOME
        supervisor = Supervisor(say=self.stdout.write)
        supervisor.listen_for_stop()
        try:
            with claim_home(home=home, address="servers only"), run_servers(home=home) as servers:
                for server in servers:
                    supervisor.adopt(server)
                self.stdout.write(f"PostgreSQL and Valkey listen in {home.sockets}")
                supervisor.watch()
        except HomeInUse as reason:
            raise CommandError(str(reason)) from None
