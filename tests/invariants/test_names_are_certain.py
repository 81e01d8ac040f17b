"""Design of the ontology: what a name means is declared; no subject becomes another, no memory is about a question."""

from __future__ import annotations

import pytest

from tests.conftest import ConnectAs
from tests.invariants.attacks import Attack, insert_copy, show_guard
from tests.invariants.world import World


def insert_with(table: str, of: str, column: str, found: str) -> str:
    """Return the statement that inserts a row again with one column taken from another row."""
    return (
        f"INSERT INTO {table} SELECT (jsonb_populate_record(held, jsonb_build_object('id', uuidv7(),"
        f" '{column}', ({found})))).* FROM {table} held WHERE id = %({of})s"
    )


ATTACKS = [
    Attack("subjects_are_no_alias", "subjects", insert_copy("subjects", "subject", key_digest="a")),
    Attack(
        "subject_aliases_are_no_subject",
        "subject_aliases",
        insert_with("subject_aliases", "alias", "key_digest", "SELECT key_digest FROM subjects WHERE id = %(subject)s"),
    ),
    Attack(
        "subjects_stay_who_they_are", "subjects", "UPDATE subjects SET label = 'person:other' WHERE id = %(subject)s"
    ),
    Attack(
        "subjects_stay_who_they_are",
        "subjects",
        "UPDATE subjects SET is_unclear = false, entity_type_id = (SELECT id FROM entity_types"
        " WHERE tenant_id = %(tenant)s LIMIT 1) WHERE id = %(unclear)s",
        needs_owner=True,
    ),
    Attack("subjects_stay_who_they_are", "subjects", "DELETE FROM subjects WHERE id = %(unclear)s", needs_owner=True),
    Attack(
        "subject_aliases_stay_with_their_subject",
        "subject_aliases",
        "UPDATE subject_aliases SET label = 'person:other' WHERE id = %(alias)s",
    ),
    Attack(
        "subject_mentions_stay_with_their_subject",
        "subject_mentions",
        "UPDATE subject_mentions SET subject_id = %(unclear)s WHERE id = %(mention)s",
        needs_owner=True,
    ),
    Attack(
        "subjects_have_a_type_unless_unclear",
        "subjects",
        insert_copy("subjects", "subject", key_digest="b", entity_type_id=None),
    ),
    Attack(
        "memory_heads_are_about_somebody_named",
        "memory_heads",
        insert_with("memory_heads", "lone_head", "subject_id", "SELECT id FROM subjects WHERE id = %(unclear)s"),
    ),
    Attack(
        "memory_heads_follow_the_cardinality",
        "memory_heads",
        insert_copy("memory_heads", "lone_head", fact_key="other", value_key="x"),
    ),
    Attack(
        "memory_heads_type_is_a_name",
        "memory_heads",
        insert_copy("memory_heads", "lone_head", fact_key="other", memory_type="No name"),
    ),
    Attack(
        "memory_candidates_type_is_a_name",
        "memory_candidates",
        insert_copy("memory_candidates", "pending", fact_key="other", memory_type="No name"),
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_what_a_name_means_is_certain(attack: Attack, connect_as: ConnectAs, world: World) -> None:
    show_guard(connect_as=connect_as, world=world, attack=attack)
