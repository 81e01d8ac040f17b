"""What an earlier release left is derived by today's rules once, and explained: nothing looks as if it were forged."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module

import pytest
from django.core.management import call_command

from memoryhub.lib import clock
from memoryhub.usecases.rederive import check_memories, derive_former
from memoryhub.usecases.verify_ledger import verify_ledger
from tests.acts import state_fact
from tests.cast import EARLY, Cast, make_cast
from tests.conftest import ConnectAs
from tests.ledger import assert_ledger_is_clean

DAY = timedelta(days=1)
FORMER_DECISIONS = "UPDATE merge_decisions SET effects = NULL WHERE tenant_id = %(tenant)s"
OTHER_BELIEF = "UPDATE memory_heads SET confidence = 0.5, modality = 'possible' WHERE tenant_id = %(tenant)s"
OTHER_COUNT = "UPDATE memory_versions SET independent_evidence_count = 7 WHERE tenant_id = %(tenant)s"
FORMER_REQUEUE = "UPDATE memory_candidates SET deletion_epoch = 3 WHERE tenant_id = %(tenant)s"


def leave(connect_as: ConnectAs, cast: Cast, *statements: str) -> None:
    """Leave rows as another release wrote them, with every guard off."""
    with connect_as("superuser") as superuser:
        superuser.execute("SET LOCAL session_replication_role = replica")
        for statement in statements:
            assert superuser.execute(statement.encode(), {"tenant": cast.tenant_id}).rowcount > 0
        superuser.commit()


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    state_fact(cast, value="4.1.0", by=cast.alice.username)
    state_fact(cast, value="4.1.0", by=cast.bob.username, at=EARLY + DAY)
    return cast


def test_a_belief_by_other_rules_is_derived_anew_once(cast: Cast, connect_as: ConnectAs) -> None:
    leave(connect_as, cast, FORMER_DECISIONS, OTHER_BELIEF, OTHER_COUNT)
    assert {found.what for found in check_memories(tenant_id=cast.tenant_id)} == {"belief"}
    call_command("rederive", "--former", "--tenant", cast.tenant.slug)
    assert_ledger_is_clean(cast.tenant_id)
    assert derive_former(tenant_id=cast.tenant_id, now=clock.now()) == 0


def test_a_belief_that_this_release_wrote_is_left_for_the_check(cast: Cast, connect_as: ConnectAs) -> None:
    """Whoever forges a belief does not have it explained by an upgrade."""
    leave(connect_as, cast, OTHER_BELIEF, OTHER_COUNT)
    assert derive_former(tenant_id=cast.tenant_id, now=clock.now()) == 0
    found = {found.what for found in check_memories(tenant_id=cast.tenant_id)}
    assert found == {"belief", "lineages of a part"}


def test_a_requeue_that_left_no_trace_is_recorded_once(cast: Cast, connect_as: ConnectAs) -> None:
    leave(connect_as, cast, FORMER_REQUEUE)
    found = verify_ledger(tenant_id=cast.tenant_id, now=clock.now(), witnesses=[]).findings
    assert [(one.table, one.what) for one in found] == [
        ("memory_candidates", "no source and no requeue has its epoch"),
        ("memory_candidates", "no source and no requeue has its epoch"),
    ]
    statement = import_module("memoryhub.migrations.0017_explain_former_epochs").FORMER_REQUEUES
    with connect_as("owner") as owner:
        assert owner.execute(statement).rowcount >= len(found)
        assert owner.execute(statement).rowcount == 0
        owner.commit()
    assert_ledger_is_clean(cast.tenant_id)
