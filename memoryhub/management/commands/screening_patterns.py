"""Declare, list and retire a tenant's own patterns of what must not be stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from memoryhub.access.callers import describe_person
from memoryhub.access.models import Principal
from memoryhub.access.queries import TenantForbidden
from memoryhub.lib import clock
from memoryhub.policy.screening import PatternRefused
from memoryhub.usecases.declare_pattern import PatternNotFound, declare_pattern, list_patterns, retire_pattern

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from memoryhub.access.callers import Caller


class Command(BaseCommand):
    """Manage the patterns of one tenant."""

    help = "List, add or retire a tenant's own patterns of what must not be stored. Patterns are in RE2's syntax."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take what to do, and who answers for it."""
        parser.add_argument(
            "--by", required=True, help="user name of the person who answers for it; needs `administer_tenant`"
        )
        acts = parser.add_subparsers(dest="act", required=True)
        acts.add_parser("list", help="show the patterns in use")
        adding = acts.add_parser("add", help="use one more from now on")
        adding.add_argument("kind", help="what the marker calls it, for instance customer_number")
        adding.add_argument("pattern", help=r"for instance '\bKD-\d{6}\b'")
        retiring = acts.add_parser("retire", help="use one no more")
        retiring.add_argument("id", type=UUID, help="its id, as `list` shows it")

    def handle(self, **options: Any) -> None:
        """Do it; a refusal changes nothing."""
        caller = _find_caller(options["by"])
        try:
            if options["act"] == "add":
                declared = declare_pattern(
                    caller=caller, kind=options["kind"], pattern=options["pattern"], now=clock.now()
                )
                self.stdout.write(f"{declared.id}  {declared.kind}  is in use")
            elif options["act"] == "retire":
                retire_pattern(caller=caller, pattern_id=str(options["id"]), now=clock.now())
                self.stdout.write(f"{options['id']}  is retired; what it took out stays out")
            else:
                for one in list_patterns(caller=caller):
                    self.stdout.write(f"{one.id}  {one.kind}  {one.pattern}")
        except TenantForbidden as refusal:
            raise CommandError(f"{options['by']!r} lacks the right {refusal.right}.") from None
        except PatternRefused as refusal:
            raise CommandError(f"The pattern is refused: {refusal}.") from None
        except PatternNotFound:
            raise CommandError("No pattern of this id is in use.") from None


def _find_caller(username: str) -> Caller:
    person = Principal.objects.filter(username=username, is_active=True).select_related("tenant").first()
    if person is None or person.tenant is None:
        raise CommandError(f"{username!r} is no person of a tenant.")
    return describe_person(principal=person)
