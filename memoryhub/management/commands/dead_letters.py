"""Look at what used up its attempts, put it back, or give it up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from memoryhub.access.callers import Caller, describe_person
from memoryhub.access.models import Principal
from memoryhub.access.queries import TenantForbidden
from memoryhub.lib import clock
from memoryhub.usecases.dead_letters import (
    MOST_AT_ONCE,
    REASONS_TO_DISCARD,
    REASONS_TO_REDRIVE,
    NoteTooLong,
    ReasonMissing,
    discard_dead_letters,
    redrive_dead_letters,
    see_dead_letters,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """List, redrive or discard the dead letters of one tenant."""

    help = "List dead letters by what failed; redrive or discard those of one fingerprint."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the verb, what it is about, and who answers for it."""
        parser.add_argument("verb", choices=["list", "redrive", "discard"])
        parser.add_argument("fingerprint", nargs="?", default="", help="as `list` prints it")
        parser.add_argument("--by", required=True, help="user name of the person who answers for it; needs `operate`")
        parser.add_argument(
            "--reason",
            default="",
            help=f"to redrive: {', '.join(REASONS_TO_REDRIVE)}; to discard: {', '.join(REASONS_TO_DISCARD)}",
        )
        parser.add_argument("--note", default="", help="a few words of your own, about the failure only")
        parser.add_argument("--limit", type=int, default=MOST_AT_ONCE, help="how many at once, the oldest first")

    def handle(self, **options: Any) -> None:
        """Print what there is, or what was done; a refusal changes nothing."""
        caller = _find_caller(options["by"])
        try:
            if options["verb"] == "list":
                self._list(caller)
            else:
                self._change(caller, **options)
        except TenantForbidden as refusal:
            raise CommandError(f"{options['by']!r} lacks the right {refusal.right}.") from None
        except ReasonMissing as refusal:
            raise CommandError(f"--reason takes one of: {refusal}.") from None
        except NoteTooLong:
            raise CommandError("The note is too long; 200 characters are the most.") from None

    def _list(self, caller: Caller) -> None:
        found = see_dead_letters(caller=caller)
        for one in found:
            self.stdout.write(
                f"{one.count:>7}  {one.fingerprint}  {one.oldest:%Y-%m-%d %H:%M} to {one.newest:%Y-%m-%d %H:%M} UTC  "
                f"for instance {one.example_of}"
            )
        if not found:
            self.stdout.write("no dead letters")

    def _change(
        self, caller: Caller, *, verb: str, fingerprint: str, reason: str, note: str, limit: int, **_: Any
    ) -> None:
        if not fingerprint:
            raise CommandError("Say which: a fingerprint, as `list` prints it.")
        if limit < 1:
            raise CommandError("--limit takes a number from 1 on.")
        change = redrive_dead_letters if verb == "redrive" else discard_dead_letters
        handled = change(caller=caller, fingerprint=fingerprint, reason=reason, note=note, limit=limit, now=clock.now())
        if not handled.changed and not handled.left:
            raise CommandError(f"There are no dead letters {fingerprint!r}; `list` prints what there is.")
        done = "put back" if verb == "redrive" else "discarded"
        also = f", {handled.rejected_candidates} candidates rejected" if handled.rejected_candidates else ""
        self.stdout.write(f"{handled.changed} {done}{also}, {handled.left} left")


def _find_caller(username: str) -> Caller:
    person = Principal.objects.select_related("tenant").filter(username=username, is_active=True).first()
    if person is None:
        raise CommandError(f"There is no active principal {username!r}.")
    try:
        return describe_person(principal=person)
    except ValueError as reason:
        raise CommandError(f"{username!r} cannot act: {reason}.") from None
