"""A token is taken back by command, and is refused from the next request on."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from memoryhub.access import operations
from memoryhub.access.models import ApiToken
from memoryhub.lib import clock
from tests.api.client import Api
from tests.cast import Cast


def issue(cast: Cast, name: str) -> str:
    return operations.issue_token(principal=cast.bot, name=name, actions=["view_memory"], now=clock.now())


def revoke(*words: str) -> str:
    out = StringIO()
    call_command("revoke_token", *words, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("by", ["few", "prefix", "secret", "name"])
def test_the_next_request_is_refused_and_other_tokens_stay(cast: Cast, by: str) -> None:
    secret, other = issue(cast, "one"), issue(cast, "other")
    words = {
        "few": ("--prefix", secret[:7]),
        "prefix": ("--prefix", secret[:10]),
        "secret": ("--prefix", secret),
        "name": ("--principal", cast.bot.username, "--name", "one"),
    }
    told = revoke(*words[by])
    assert secret[:10] in told
    assert secret not in told
    assert Api(secret).get("me").status == 401
    assert Api(other).get("me").status == 200
    with pytest.raises(CommandError, match="revoked already"):
        revoke(*words[by])


def test_where_several_are_meant_all_are_listed_and_none_is_revoked(cast: Cast) -> None:
    secrets = issue(cast, "twice"), issue(cast, "twice")
    with pytest.raises(CommandError, match="2 tokens are meant; none was revoked") as refused:
        revoke("--principal", cast.bot.username, "--name", "twice")
    for secret in secrets:
        assert secret[:10] in str(refused.value)
        assert Api(secret).get("me").status == 200


def test_some_token_must_be_named() -> None:
    with pytest.raises(CommandError, match="first 7 characters or more"):
        revoke("--prefix", "mh_")
    with pytest.raises(CommandError, match="Say which token"):
        revoke()


def test_a_second_revocation_keeps_the_time_of_the_first(cast: Cast) -> None:
    issue(cast, "once")
    token = ApiToken.objects.get(principal=cast.bot, name="once")
    first = clock.now()
    assert operations.revoke_token(token=token, now=first)
    assert not operations.revoke_token(token=token, now=clock.now())
    token.refresh_from_db()
    assert token.revoked_at == first
