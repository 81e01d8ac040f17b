"""Write a tenant's entity ontology to a file, or take one over from a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from memoryhub.access.callers import describe_person
from memoryhub.access.models import Principal
from memoryhub.access.queries import TenantForbidden
from memoryhub.lib import clock
from memoryhub.types.ontology import OntologyRefused, read_ontology, write_ontology
from memoryhub.usecases.declare import declare_ontology, read_declared

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from memoryhub.access.callers import Caller

STANDARD = "-"


class Command(BaseCommand):
    """Export or import what a tenant declared: entity types, subjects with aliases, predicates."""

    help = "Export or import a tenant's entity types, subjects with their aliases, and predicates, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the direction, the file, and who answers for it."""
        parser.add_argument("direction", choices=["export", "import"])
        parser.add_argument("file", help="the file; - is standard output or input")
        parser.add_argument(
            "--by", required=True, help="user name of the person who answers for it; needs `administer_tenant`"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what an import would change, change nothing")

    def handle(self, **options: Any) -> None:
        """Write the file, or say what was changed; a refusal names every fault and changes nothing."""
        caller = _find_caller(options["by"])
        try:
            if options["direction"] == "export":
                if options["dry_run"]:
                    raise CommandError("--dry-run is for an import; an export changes nothing.")
                self._export(caller, options["file"])
            else:
                self._import(caller, options["file"], is_trial=options["dry_run"])
        except TenantForbidden as refusal:
            raise CommandError(f"{options['by']!r} lacks the right {refusal.right}.") from None

    def _export(self, caller: Caller, file: str) -> None:
        text = write_ontology(ontology=read_declared(caller=caller))
        if file == STANDARD:
            self.stdout.write(text, ending="")
        else:
            Path(file).write_text(text, encoding="utf-8")

    def _import(self, caller: Caller, file: str, *, is_trial: bool) -> None:
        try:
            wanted = read_ontology(text=_read(file))
            declared = declare_ontology(caller=caller, wanted=wanted, now=clock.now(), is_trial=is_trial)
        except OntologyRefused as refusal:
            for fault in refusal.faults:
                self.stderr.write(f"{file}: {fault.place}: {fault.code}: {fault.detail}")
            count = len(refusal.faults)
            raise CommandError(f"{count} {'fault' if count == 1 else 'faults'}; nothing was changed.") from None
        for change in declared.changes:
            self.stdout.write(change.as_text())
        verb = "would be changed" if is_trial else "changed"
        self.stdout.write(f"{len(declared.changes)} {verb}" if declared.changes else "nothing to change")


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == STANDARD else Path(file).read_text(encoding="utf-8")
    except OSError as reason:
        raise CommandError(f"{file} cannot be read: {reason.strerror}.") from None
    except UnicodeDecodeError:
        raise CommandError(f"{file} is not UTF-8.") from None


def _find_caller(username: str) -> Caller:
    principal = Principal.objects.select_related("tenant").filter(username=username, is_active=True).first()
    if principal is None or principal.tenant is None:
        raise CommandError(f"There is no active principal {username!r} in any tenant.")
    return describe_person(principal=principal)
