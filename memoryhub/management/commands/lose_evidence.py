"""Record that one piece of evidence expired, cannot be reached, or can be reached again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from memoryhub.access.callers import describe_person
from memoryhub.access.models import Principal, PrincipalKind
from memoryhub.access.queries import ScopeForbidden
from memoryhub.lib import clock
from memoryhub.lib.db import naming_errors
from memoryhub.types.enums import Availability
from memoryhub.usecases.lose_evidence import LOST, AvailabilityRefused, EvidenceNotKnown, lose_evidence

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Change the availability of one piece of evidence, on behalf of a person who administers its scope."""

    help = "Record that a piece of evidence expired, cannot be reached, or can be reached again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the evidence, what became of it, and who says so."""
        parser.add_argument("evidence", help="its id, as the API shows it: ev_…")
        parser.add_argument("availability", choices=[str(state) for state in (*LOST, Availability.AVAILABLE)])
        parser.add_argument("--by", dest="username", required=True, help="user name of who administers the scope")

    def handle(self, **options: Any) -> None:
        """Change it, and say what that did to memories."""
        with naming_errors():
            person = (
                Principal.objects.select_related("tenant")
                .filter(username=options["username"], is_active=True, kind=PrincipalKind.HUMAN)
                .first()
            )
        if person is None or person.tenant is None:
            raise CommandError("There is no such person.")
        try:
            lost = lose_evidence(
                caller=describe_person(principal=person),
                evidence_key=options["evidence"],
                availability=Availability(options["availability"]),
                now=clock.now(),
            )
        except EvidenceNotKnown:
            raise CommandError("There is no such evidence that this person may know of.") from None
        except ScopeForbidden as refused:
            raise CommandError(f"This person lacks the right {refused.right} on its scope.") from None
        except AvailabilityRefused:
            raise CommandError(
                f"It is {options['availability']} already, or it expired, was erased or was revoked, which is final."
            ) from None
        self.stdout.write(
            f"Memories that name other evidence now: {lost.relabelled}; that wait for a person: {lost.reviewed}; "
            f"that need nobody any more: {lost.restored}."
        )
