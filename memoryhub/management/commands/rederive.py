"""Fold every memory again and say where the tables differ from the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from memoryhub.access.models import Tenant
from memoryhub.lib import clock
from memoryhub.usecases.rederive import check_memories, derive_former, list_memory_ids

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Check that derived state equals its evidence, or derive what an earlier release left."""

    help = "Fold every memory again from its claims and rulings, and say where the tables differ."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take what to do, and a tenant."""
        modes = parser.add_mutually_exclusive_group(required=True)
        modes.add_argument("--check", action="store_true", help="find differences, change nothing")
        modes.add_argument("--former", action="store_true", help="derive anew what an earlier release derived")
        parser.add_argument("--tenant", default="", help="slug of one tenant; all without it")

    def handle(self, **options: Any) -> None:
        """Print one line a difference, and end with an error if there is one; or how many beliefs changed."""
        found = 0
        tenants = Tenant.objects.filter(slug=options["tenant"]) if options["tenant"] else Tenant.objects.all()
        for tenant in tenants.order_by("slug"):
            if options["former"]:
                changed = derive_former(tenant_id=str(tenant.pk), now=clock.now())
                self.stdout.write(f"{tenant.slug}: the belief in {changed} memories was derived anew")
                continue
            memories = len(list_memory_ids(tenant_id=str(tenant.pk)))
            for mismatch in check_memories(tenant_id=str(tenant.pk)):
                found += 1
                self.stdout.write(
                    f"{tenant.slug} {mismatch.memory_id} {mismatch.what}: "
                    f"stored {mismatch.stored}, derived {mismatch.derived}"
                )
            self.stdout.write(f"{tenant.slug}: {memories} memories folded again")
        if found:
            message = f"{found} differences"
            raise CommandError(message)
        if options["check"]:
            self.stdout.write("no difference")
