"""A tenant declares what else must not be stored: at once, for all of its callers, and for nobody else's."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memoryhub.access.models import AuditEvent
from memoryhub.access.operations import grant_tenant_rights
from memoryhub.access.queries import TenantForbidden
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.policy.screening import PatternRefused
from memoryhub.usecases.declare_pattern import (
    PatternNotFound,
    declare_pattern,
    list_patterns,
    retire_pattern,
)
from tests.acts import state_fact
from tests.cast import Cast, make_cast

NUMBER = r"\bKD-\d{6}\b"


@pytest.fixture
def cast() -> Cast:
    """A cast in which Alice may administer the tenant."""
    made = make_cast()
    grant_tenant_rights(tenant=made.tenant, principal=made.alice, rights=("administer_tenant",))
    return made


def read_content(cast: Cast, **claim: Any) -> str:
    """State something of a customer, and return the words that are stored."""
    written = state_fact(cast, value="x", key="note", subject="product:KD-654321", **claim)
    with tenant_context(cast.tenant_id, read_only=True):
        rows = fetch_all(
            sql="SELECT content FROM memory_candidates WHERE id = %s", params=[written.result.candidate_id]
        )
    return str(rows[0][0])


def run(*words: str) -> str:
    told = StringIO()
    call_command("screening_patterns", *words, stdout=told)
    return told.getvalue()


def test_it_holds_from_now_on_for_every_caller_of_the_tenant(cast: Cast) -> None:
    other = make_cast()
    assert "KD-654321" in read_content(cast, cycle="1")
    alice = cast.person(cast.alice)
    declared = declare_pattern(caller=alice, kind="customer_number", pattern=NUMBER, now=clock.now())
    assert "[removed: customer_number]" in read_content(cast, cycle="2")
    assert "KD-654321" in read_content(other, cycle="2")
    retire_pattern(caller=alice, pattern_id=declared.id, now=clock.now())
    assert "KD-654321" in read_content(cast, cycle="3")
    assert list_patterns(caller=alice) == []
    assert declare_pattern(caller=alice, kind="customer_number", pattern=NUMBER, now=clock.now()).id == declared.id
    assert "[removed: customer_number]" in read_content(cast, cycle="4")


def test_a_person_s_own_event_is_screened_as_well(cast: Cast) -> None:
    from memoryhub.usecases.ingest import list_own_patterns

    alice = cast.person(cast.alice)
    declare_pattern(caller=alice, kind="customer_number", pattern=NUMBER, now=clock.now())
    with tenant_context(cast.tenant_id):
        assert [own.kind for own in list_own_patterns(caller=alice)] == ["customer_number"]
    assert [own.kind for own in list_own_patterns(caller=cast.caller)] == ["customer_number"]


def test_each_change_is_audited_once(cast: Cast) -> None:
    alice = cast.person(cast.alice)
    for _ in range(2):
        declared = declare_pattern(caller=alice, kind="customer_number", pattern=NUMBER, now=clock.now())
    retire_pattern(caller=alice, pattern_id=declared.id, now=clock.now())
    with tenant_context(cast.tenant_id, read_only=True):
        told = AuditEvent.objects.filter(tenant=cast.tenant, action__startswith="screening_pattern.").order_by("at")
        assert [one.action for one in told] == ["screening_pattern.declared", "screening_pattern.retired"]
        assert NUMBER not in str([one.object_ids for one in told])


def test_who_does_not_administer_the_tenant_declares_nothing(cast: Cast) -> None:
    bob = cast.person(cast.bob)
    with pytest.raises(TenantForbidden):
        declare_pattern(caller=bob, kind="customer_number", pattern=NUMBER, now=clock.now())
    with pytest.raises(TenantForbidden):
        list_patterns(caller=bob)
    declared = declare_pattern(caller=cast.person(cast.alice), kind="customer_number", pattern=NUMBER, now=clock.now())
    with pytest.raises(TenantForbidden):
        retire_pattern(caller=bob, pattern_id=declared.id, now=clock.now())


def test_another_tenant_retires_nothing_here(cast: Cast) -> None:
    declared = declare_pattern(caller=cast.person(cast.alice), kind="customer_number", pattern=NUMBER, now=clock.now())
    other = make_cast()
    grant_tenant_rights(tenant=other.tenant, principal=other.alice, rights=("administer_tenant",))
    with pytest.raises(PatternNotFound):
        retire_pattern(caller=other.person(other.alice), pattern_id=declared.id, now=clock.now())


def test_a_tenant_has_only_so_many(cast: Cast) -> None:
    alice = cast.person(cast.alice)
    for number in range(50):
        declare_pattern(caller=alice, kind="number", pattern=rf"\bKD-{number:02}-\d+\b", now=clock.now())
    with pytest.raises(PatternRefused):
        declare_pattern(caller=alice, kind="number", pattern=NUMBER, now=clock.now())


def test_the_command_declares_lists_and_retires(cast: Cast) -> None:
    by = f"--by={cast.alice.username}"
    assert "is in use" in run(by, "add", "customer_number", NUMBER)
    line = run(by, "list")
    assert line.split() == [line.split()[0], "customer_number", NUMBER]
    assert "is retired" in run(by, "retire", line.split()[0])
    assert run(by, "list") == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "customer_number", "("), "is refused"),
        (("add", "customer_number", "a*"), "matches where nothing stands"),
        (("retire", "01a22cac-d783-72eb-bca1-7a6363e49ddf"), "No pattern of this id"),
    ],
)
def test_the_command_says_why_not(cast: Cast, words: tuple[str, ...], told: str) -> None:
    with pytest.raises(CommandError, match=told):
        run(f"--by={cast.alice.username}", *words)


def test_the_command_knows_who_may(cast: Cast) -> None:
    with pytest.raises(CommandError, match="lacks the right administer_tenant"):
        run(f"--by={cast.bob.username}", "list")
    with pytest.raises(CommandError, match="is no person of a tenant"):
        run("--by=nobody", "list")
