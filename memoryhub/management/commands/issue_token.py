"""Issue an agent's token and print its secret, once."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memoryhub.access.callers import RELAY_USER
from memoryhub.access.models import Principal, PrincipalKind, Scope
from memoryhub.access.operations import RIGHTS_OF_PEOPLE, grant_rights, issue_token
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import naming_errors
from memoryhub.types.enums import ScopeKind

ACTIONS = ("ingest_event", "propose_memory", "recall_memory", "view_memory", "request_erasure")


class Command(BaseCommand):
    """Issue a token for an agent or a service."""

    help = "Issue a token for an agent or a service; the secret is printed once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take whose token it is, what it may do, where, and for how long."""
        parser.add_argument("--principal", required=True, help="user name of the agent or service")
        parser.add_argument("--name", required=True, help="what the token is for")
        parser.add_argument(
            "--actions", required=True, help=f"what it may do, with commas between: {','.join((*ACTIONS, RELAY_USER))}"
        )
        parser.add_argument(
            "--scope", action="append", default=[], help="kind:key where the principal gets these rights; may repeat"
        )
        parser.add_argument("--days", type=int, help="how long it is valid; without it, until it is revoked")

    def handle(self, **options: Any) -> None:
        """Print the secret, or say why there is none."""
        principal = _find_principal(options["principal"])
        actions = _read_actions(options["actions"])
        days = options["days"]
        if days is not None and not 1 <= days <= 3650:  # noqa: PLR2004  ten years
            raise CommandError("--days is a number from 1 to 3650.")
        now = clock.now()
        with naming_errors(), tenant_context(str(principal.tenant_id)):
            for name in options["scope"]:
                rights = [action for action in actions if action != RELAY_USER]
                grant_rights(scope=_find_scope(principal, name), principal=principal, rights=rights)
            secret = issue_token(
                principal=principal,
                name=options["name"],
                actions=actions,
                now=now,
                expires_at=None if days is None else now + timedelta(days=days),
            )
        self.stdout.write(secret)
        self.stderr.write("Keep it now: only its hash is stored.")


def _find_principal(username: str) -> Principal:
    principal = Principal.objects.filter(username=username, is_active=True, tenant__isnull=False).first()
    if principal is None:
        raise CommandError(f"There is no active principal {username!r} in any tenant.")
    if principal.kind == PrincipalKind.HUMAN:
        raise CommandError(f"{username!r} is a person: people sign in, tokens are for agents and services.")
    return principal


def _read_actions(text: str) -> list[str]:
    actions = [name.strip() for name in text.split(",") if name.strip()]
    for name in actions:
        if name in RIGHTS_OF_PEOPLE:
            raise CommandError(f"{name!r} is never given to an agent or a service.")
        if name not in (*ACTIONS, RELAY_USER):
            raise CommandError(f"{name!r} is no action. Known are: {', '.join((*ACTIONS, RELAY_USER))}.")
    if not actions:
        raise CommandError("A token needs at least one action.")
    return actions


def _find_scope(principal: Principal, name: str) -> Scope:
    kind, _, key = name.partition(":")
    scope = Scope.objects.filter(tenant=principal.tenant, kind=kind, key=key).first()
    if scope is None:
        known = ", ".join(ScopeKind)
        raise CommandError(f"There is no scope {name!r} in the principal's tenant; it is written kind:key ({known}).")
    return scope
