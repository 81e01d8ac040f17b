"""A column with a lifecycle follows the table beside its enum: the trigger is made from that table."""

from __future__ import annotations

from enum import StrEnum

import pytest
from django.apps import apps
from django.db import models
from psycopg import errors

from memoryhub.lib.fields import TenantModel, enum_check
from memoryhub.types.enums import LIFECYCLES
from memoryhub.types.status import may_change
from tests.conftest import ConnectAs
from tests.invariants.attacks import Attack, show_guard
from tests.invariants.world import World

ATTACKS = [
    Attack(
        "review_items_state_follows_its_table",
        "review_items",
        "UPDATE review_items SET state = 'open' WHERE id = %(decided_item)s",
    ),
    Attack(
        "conflict_sets_state_follows_its_table",
        "conflict_sets",
        "UPDATE conflict_sets SET state = 'open' WHERE id = %(settled_conflict)s",
    ),
    Attack(
        "evidence_availability_follows_its_table",
        "evidence",
        "UPDATE evidence SET availability = 'available' WHERE id = %(erased_evidence)s",
    ),
    Attack(
        "revocations_mode_follows_its_table",
        "revocations",
        "UPDATE revocations SET mode = 'lifted' WHERE id = %(revocation)s",
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_what_ended_does_not_begin_again(attack: Attack, connect_as: ConnectAs, world: World) -> None:
    show_guard(connect_as=connect_as, world=world, attack=attack)


def list_lifecycles() -> list[tuple[str, str, type[StrEnum]]]:
    """Return table, column and enum of every column whose CHECK is that of an enum with a lifecycle."""
    return [
        (model._meta.db_table, field.name, enum)
        for model in apps.get_app_config("memoryhub").get_models()
        if issubclass(model, TenantModel)
        for field in model._meta.local_fields
        if isinstance(field, models.CharField)
        for enum in LIFECYCLES
        for constraint in model._meta.constraints
        if constraint == enum_check(field=field.name, enum=enum, name=constraint.name)
    ]


def test_every_lifecycle_has_a_column() -> None:
    assert {enum for _, _, enum in list_lifecycles()} == set(LIFECYCLES)


@pytest.mark.parametrize(("table", "column", "enum"), list_lifecycles(), ids=str)
def test_the_trigger_is_made_from_the_table(
    table: str, column: str, enum: type[StrEnum], connect_as: ConnectAs
) -> None:
    """Let the column's own trigger judge every pair of values, on a table that has nothing else."""
    with connect_as("superuser") as superuser:
        superuser.execute(f"CREATE TEMPORARY TABLE probe ({column} text)".encode())
        superuser.execute(
            f"CREATE TRIGGER judge BEFORE UPDATE OF {column} ON probe FOR EACH ROW"
            f" EXECUTE FUNCTION {table}_{column}_follows_its_table()".encode()
        )
        told = superuser.execute(
            "SELECT 1 FROM pg_trigger WHERE tgname = %s AND tgrelid = %s::regclass AND tgenabled = 'O'",
            [f"{table}_{column}_follows_its_table", table],
        ).fetchall()
        assert told, f"{table}.{column} has no trigger"
        for old in enum:
            for new in enum:
                superuser.execute("DELETE FROM probe")
                superuser.execute("INSERT INTO probe VALUES (%s)", [str(old)])
                try:
                    with superuser.transaction():
                        superuser.execute(f"UPDATE probe SET {column} = %s".encode(), [str(new)])
                except errors.RestrictViolation:
                    moved = False
                else:
                    moved = True
                assert moved == (old == new or may_change(table=LIFECYCLES[enum], old=old, new=new)), (old, new)
        superuser.rollback()
