"""Take an agent's token back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from memoryhub.access.models import ApiToken
from memoryhub.access.operations import revoke_token
from memoryhub.lib import clock
from memoryhub.lib.db import naming_errors

if TYPE_CHECKING:
    from argparse import ArgumentParser

KEPT = 10  # characters of a secret that are stored as they are
FEWEST = 7


class Command(BaseCommand):
    """Revoke one token, named by its first characters or by its owner and its name."""

    help = "Revoke a token of an agent or a service. The next request with it is refused."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take what names the token."""
        parser.add_argument("--prefix", default="", help="its first characters, for instance mh_3fQ9")
        parser.add_argument("--principal", default="", help="user name of the agent or service that it belongs to")
        parser.add_argument("--name", default="", help="what the token is for, as it was issued")

    def handle(self, **options: Any) -> None:
        """Revoke the one token that is meant; where several are, list them and revoke none."""
        meant = {
            "prefix__startswith": options["prefix"][:KEPT],
            "principal__username": options["principal"],
            "name": options["name"],
        }
        meant = {field: value for field, value in meant.items() if value}
        if 0 < len(options["prefix"]) < FEWEST:
            raise CommandError(f"--prefix takes the first {FEWEST} characters or more: all tokens begin alike.")
        if not meant:
            raise CommandError("Say which token: --prefix, or --principal and --name.")
        with naming_errors():
            found = list(ApiToken.objects.filter(revoked_at=None, **meant).select_related("principal"))
            if len(found) > 1:
                listed = "\n".join(sorted(describe_token(token) for token in found))
                raise CommandError(f"{len(found)} tokens are meant; none was revoked.\n{listed}")
            if not found or not revoke_token(token=found[0], now=clock.now()):
                raise CommandError("There is no such token, or it is revoked already.")
        self.stdout.write(f"Revoked: {describe_token(found[0])}")


def describe_token(token: ApiToken, /) -> str:
    """Return what a person knows a token by, never its secret."""
    return f"{token.prefix}…  {token.principal.username}  {token.name}"
