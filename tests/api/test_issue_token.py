"""A token is issued by command, shown once, and does what its how-to says."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from memoryhub.access import operations
from memoryhub.access.models import ApiToken, PrincipalKind
from memoryhub.lib import clock
from tests.api.client import Api, a_memory
from tests.cast import Cast


def issue(*words: str) -> str:
    out = StringIO()
    call_command("issue_token", *words, stdout=out, stderr=StringIO())
    return out.getvalue().strip()


def test_a_new_agent_gets_its_rights_and_its_secret(cast: Cast) -> None:
    name = f"{cast.tenant.slug}-planner"
    operations.create_principal(tenant=cast.tenant, username=name, display_name="Planner", kind=PrincipalKind.AGENT)
    actions = "ingest_event,propose_memory,recall_memory,view_memory"
    secret = issue(
        "--principal",
        name,
        "--name",
        "planner, staging",
        "--actions",
        actions,
        "--scope",
        "project:platform",
        "--days",
        "90",
    )
    assert secret.startswith("mh_")
    assert Api(secret).post("memories", a_memory()).status == 201
    token = ApiToken.objects.get(principal__username=name)
    assert secret not in (token.secret_digest, token.prefix)
    assert token.expires_at is not None
    assert 89 <= (token.expires_at - clock.now()).days <= 90


def test_without_days_it_stays_until_it_is_revoked(cast: Cast) -> None:
    secret = issue("--principal", cast.bot.username, "--name", "bot", "--actions", "view_memory,relay_user")
    assert Api(secret).get("me").json["token_actions"] == ["relay_user", "view_memory"]
    assert ApiToken.objects.get(principal=cast.bot).expires_at is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"principal": "nobody-at-all"}, "no active principal"),
        ({"actions": "review_memory"}, "never given to an agent"),
        ({"actions": "fly"}, "is no action"),
        ({"actions": ","}, "at least one"),
        ({"scope": "project:elsewhere"}, "no scope"),
        ({"days": "0"}, "1 to 3650"),
    ],
)
def test_what_may_not_be_is_refused(cast: Cast, change: dict[str, str], words: str) -> None:
    named = {"principal": cast.bot.username, "name": "x", "actions": "view_memory", **change}
    with pytest.raises(CommandError, match=words):
        issue(*(word for option, value in named.items() for word in (f"--{option}", value)))
    assert not ApiToken.objects.filter(principal=cast.bot).exists()


def test_a_person_gets_no_token(cast: Cast) -> None:
    with pytest.raises(CommandError, match="is a person"):
        issue("--principal", cast.alice.username, "--name", "x", "--actions", "view_memory")
