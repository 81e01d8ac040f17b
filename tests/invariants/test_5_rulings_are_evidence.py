"""Seed 003, fifth invariant: a ruling is one more piece of evidence, and what is open is open once."""

import pytest

from tests.conftest import ConnectAs
from tests.invariants.attacks import Attack, insert_copy, show_guard
from tests.invariants.world import World

ATTACKS = [
    Attack(
        "rulings_never_change",
        "rulings",
        "UPDATE rulings SET winner = NULL WHERE id = %(ruling)s",
        needs_owner=True,
    ),
    Attack("rulings_never_change", "rulings", "DELETE FROM rulings WHERE id = %(ruling)s", needs_owner=True),
    Attack("rulings_of_a_memory_have_one_order", "rulings", insert_copy("rulings", "ruling")),
    Attack("conflict_sets_one_is_open_a_memory", "conflict_sets", insert_copy("conflict_sets", "conflict")),
    Attack("conflict_members_join_once", "conflict_members", insert_copy("conflict_members", "member")),
    Attack("review_items_one_is_open_an_object", "review_items", insert_copy("review_items", "item")),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_a_ruling_stays_and_what_is_open_is_open_once(attack: Attack, connect_as: ConnectAs, world: World) -> None:
    show_guard(connect_as=connect_as, world=world, attack=attack)


def test_a_ruling_has_the_evidence_it_is(connect_as: ConnectAs, world: World) -> None:
    """See that each ruling points at evidence of its own kind, whose source is the ruling."""
    with connect_as("app") as app:
        app.execute("SELECT set_config('memoryhub.tenant', %s, true)", [world.tenant_id])
        row = app.execute(
            "SELECT count(*), count(*) FILTER (WHERE item.kind = 'ruling' AND item.source_id = ruling.id)"
            " FROM rulings ruling LEFT JOIN evidence item ON item.id = ruling.evidence_id"
        ).fetchone()
    assert row == (2, 2)
