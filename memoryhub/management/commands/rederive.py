"""Fold every memory again and say where the tables differ from the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from memoryhub.access.models import Tenant
from memoryhub.usecases.rederive import check_memories, list_memory_ids

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Check that derived state equals its evidence."""

    help = "Fold every memory again from its claims and rulings; with --check say where the tables differ."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the one mode there is, by name, and a tenant."""
        parser.add_argument("--check", action="store_true", required=True, help="find differences, change nothing")
        parser.add_argument("--tenant", default="", help="slug of one tenant; all without it")

    def handle(self, **options: Any) -> None:
        """Print one line a difference, and end with an error if there is one."""
        found = 0
        tenants = Tenant.objects.filter(slug=options["tenant"]) if options["tenant"] else Tenant.objects.all()
        for tenant in tenants.order_by("slug"):
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
        self.stdout.write("no difference")
