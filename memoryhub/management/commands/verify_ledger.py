"""Verify the ledger: every row against its seal, every seal against the witness."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from memoryhub.lib import clock
from memoryhub.management.commands.seal import find_tenants
from memoryhub.usecases.verify_ledger import verify_ledger

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from memoryhub.access.models import Tenant


class Command(BaseCommand):
    """Look for what was changed behind the system's back."""

    help = "Hold every row against its seal and the seals against the witness; print each finding, and fail if any."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take a tenant, where to begin, and the form of the answer."""
        parser.add_argument("--tenant", default="", help="slug of one tenant; all without it")
        parser.add_argument("--since", type=int, default=0, help="number of a seal that is taken as it is")
        parser.add_argument("--limit", type=int, default=1000, help="findings to print for a tenant at most")
        parser.add_argument("--json", action="store_true", help="print one JSON object a line")

    def handle(self, **options: Any) -> None:
        """Print one line a finding, and end with an error if there is one."""
        found = 0
        for tenant in find_tenants(options["tenant"]):
            verified = verify_ledger(
                tenant_id=str(tenant.pk),
                now=clock.now(),
                since=options["since"],
                limit=options["limit"],
                say=None if options["json"] else self._tell_progress(tenant),
            )
            found += len(verified.findings)
            if options["since"] > verified.seals:
                self.stderr.write(f"{tenant.slug}: there is no seal {options['since']} yet; no seal was looked at")
            if options["json"]:
                for finding in verified.findings:
                    self.stdout.write(json.dumps({"tenant": tenant.slug, **asdict(finding)}))
                continue
            for finding in verified.findings:
                self.stdout.write(f"{tenant.slug} {finding.kind} {finding.table} {finding.row_id}: {finding.what}")
            self.stdout.write(
                f"{tenant.slug}: {verified.seals} seals, {verified.entries} entries, {verified.rows} rows,"
                f" {verified.pending} not sealed yet"
            )
        if found:
            raise CommandError(f"{found} {'finding' if found == 1 else 'findings'}")
        if not options["json"]:
            self.stdout.write("no finding")

    def _tell_progress(self, tenant: Tenant) -> Any:
        def say(text: str) -> None:
            self.stderr.write(f"{tenant.slug}: looking at {text}")

        return say
