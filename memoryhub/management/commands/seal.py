"""Seal what was committed since the last seal, and tell the witness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from memoryhub.access.models import Tenant
from memoryhub.kernel.witness import WitnessFailure
from memoryhub.lib import clock
from memoryhub.usecases.seal_ledger import seal_ledger

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Seal now instead of at the next beat."""

    help = "Seal what was committed since the last seal, and tell the witness; the beat does so every ten seconds."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take a tenant."""
        parser.add_argument("--tenant", default="", help="slug of one tenant; all without it")

    def handle(self, **options: Any) -> None:
        """Print one line a tenant: what was sealed, or that there was nothing."""
        failed = 0
        for tenant in find_tenants(options["tenant"]):
            try:
                made = seal_ledger(tenant_id=str(tenant.pk), now=clock.now(), waits=True)
            except WitnessFailure as error:
                failed += 1
                self.stderr.write(f"{tenant.slug}: the witness could not be told: {error}")
                continue
            if made:
                entries = sum(seal.entries for seal in made)
                self.stdout.write(f"{tenant.slug}: {entries} entries, seal {made[-1].number} {made[-1].digest}")
            else:
                self.stdout.write(f"{tenant.slug}: nothing new to seal")
        if failed:
            raise CommandError(f"{failed} witnesses could not be told; the seals stand")


def find_tenants(slug: str) -> list[Tenant]:
    """Return one tenant by its slug, or all.

    Raises:
        CommandError: there is no such tenant.
    """
    tenants = list((Tenant.objects.filter(slug=slug) if slug else Tenant.objects.all()).order_by("slug"))
    if slug and not tenants:
        raise CommandError(f"There is no tenant {slug!r}.")
    return tenants
