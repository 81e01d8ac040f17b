"""Seed 003, second invariant: memory is derived; what is held follows from claims and is never written over."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from memoryhub.usecases.rederive import check_memories
from tests.acts import state_fact
from tests.cast import EARLY, make_cast
from tests.conftest import ConnectAs
from tests.invariants.attacks import Attack, insert_copy, show_guard
from tests.invariants.world import DAY, World

LONG_AGO = {"valid_from": "2000-01-01T00:00:00Z", "valid_to": "2000-02-01T00:00:00Z"}
NO_TIME = {"valid_from": "2000-01-01T00:00:00Z", "valid_to": "2000-01-01T00:00:00Z"}
VERSIONS = [
    Attack(
        "memory_versions_are_never_rewritten",
        "memory_versions",
        "UPDATE memory_versions SET content = 'never held' WHERE id = %(held)s",
        needs_owner=True,
    ),
    Attack(
        "memory_versions_are_never_rewritten",
        "memory_versions",
        "DELETE FROM memory_versions WHERE id = %(held)s",
        needs_owner=True,
    ),
    Attack(
        "memory_versions_are_never_rewritten",
        "memory_versions",
        "UPDATE memory_versions SET recorded_to = recorded_from + interval '1 microsecond' WHERE id = %(closed)s",
    ),
    Attack(
        "memory_versions_are_never_rewritten",
        "memory_versions",
        "UPDATE memory_versions SET superseded_by = NULL WHERE id = %(closed)s",
    ),
    Attack("memory_versions_no_overlap", "memory_versions", insert_copy("memory_versions", "held", part=9)),
    Attack(
        "memory_versions_follow_their_head",
        "memory_versions",
        insert_copy("memory_versions", "held", version=9, **LONG_AGO),
    ),
    Attack(
        "memory_versions_part_is_numbered_once",
        "memory_versions",
        insert_copy("memory_versions", "held", **LONG_AGO),
    ),
    Attack(
        "memory_versions_valid_period_ends_after_it_begins",
        "memory_versions",
        insert_copy("memory_versions", "held", part=9, **NO_TIME),
    ),
    Attack(
        "memory_versions_recorded_period_ends_after_it_begins",
        "memory_versions",
        "UPDATE memory_versions SET recorded_to = recorded_from WHERE id = %(held)s",
    ),
    Attack(
        "memory_versions_supersede_each_other",
        "memory_versions",
        "UPDATE memory_versions SET superseded_by = id WHERE id = %(held)s",
    ),
    Attack(
        "memory_versions_supersede_each_other",
        "memory_versions",
        insert_copy(
            "memory_versions", "held", part=9, superseded_by="00000000-0000-7000-8000-000000000000", **LONG_AGO
        ),
    ),
    Attack(
        "memory_versions_state_follows_its_table",
        "memory_versions",
        "UPDATE memory_versions SET state = 'active' WHERE id = %(closed)s",
    ),
    Attack(
        "memory_versions_state_follows_its_table",
        "memory_versions",
        "UPDATE memory_versions SET state = 'superseded' WHERE id = %(revoked)s",
    ),
]
HEADS = [
    Attack(
        "memory_heads_version_rises_by_one",
        "memory_heads",
        "UPDATE memory_heads SET version = version + 2 WHERE id = %(memory)s",
    ),
    Attack(
        "memory_heads_version_rises_by_one",
        "memory_heads",
        "UPDATE memory_heads SET version = version - 1 WHERE id = %(memory)s",
    ),
    Attack(
        "memory_heads_version_rises_by_one",
        "memory_heads",
        "UPDATE memory_heads SET last_recorded_at = last_recorded_at - interval '1 day' WHERE id = %(memory)s",
    ),
    Attack(
        "memory_heads_version_rises_by_one",
        "memory_heads",
        "UPDATE memory_heads SET fact_key = 'another' WHERE id = %(memory)s",
        needs_owner=True,
    ),
    Attack(
        "memory_heads_version_rises_by_one",
        "memory_heads",
        "DELETE FROM memory_heads WHERE id = %(lone_head)s",
        needs_owner=True,
    ),
    Attack("memory_heads_hold_one_head_a_key", "memory_heads", insert_copy("memory_heads", "memory")),
    Attack(
        "memory_heads_version_begins_at_one",
        "memory_heads",
        insert_copy("memory_heads", "memory", fact_key="zero", version=0),
    ),
]


@pytest.mark.parametrize("attack", [*VERSIONS, *HEADS], ids=str)
def test_what_is_held_is_never_written_over(attack: Attack, connect_as: ConnectAs, world: World) -> None:
    show_guard(connect_as=connect_as, world=world, attack=attack)


@dataclass(frozen=True)
class Plant:
    """Hold one change that the tables let through or that needs a trigger out of the way, and what finds it."""

    what: str
    table: str
    statement: str
    needs_owner: bool = False


PLANTS = [
    Plant("belief", "memory_heads", "UPDATE memory_heads SET confidence = 0.123 WHERE id = %(memory)s"),
    Plant(
        "belief",
        "memory_heads",
        "UPDATE memory_heads SET independent_evidence_count = 7 WHERE id = %(memory)s",
    ),
    Plant(
        "open conflict",
        "memory_heads",
        "UPDATE memory_heads SET has_open_conflict = true WHERE id = %(memory)s",
    ),
    Plant(
        "parts",
        "memory_versions",
        "UPDATE memory_versions SET recorded_to = now() + interval '1 day'"
        " WHERE memory_id = %(memory)s AND recorded_to IS NULL AND valid_to IS NULL",
    ),
    Plant(
        "parts",
        "memory_versions",
        "UPDATE memory_versions SET value_digest = 'forged' WHERE memory_id = %(memory)s AND recorded_to IS NULL",
        needs_owner=True,
    ),
    Plant(
        "parts",
        "memory_versions",
        "UPDATE memory_versions SET valid_from = valid_from - interval '1 hour'"
        " WHERE memory_id = %(memory)s AND recorded_to IS NULL AND valid_to IS NOT NULL",
        needs_owner=True,
    ),
    Plant(
        "parts",
        "memory_evidence",
        "DELETE FROM memory_evidence WHERE memory_id = %(memory)s AND valid_from = %(later)s",
        needs_owner=True,
    ),
    Plant(
        "belief",
        "memory_evidence",
        "UPDATE memory_evidence SET weight = weight / 2 WHERE memory_id = %(memory)s",
        needs_owner=True,
    ),
    Plant(
        "version",
        "memory_heads",
        "UPDATE memory_heads SET version = 1 WHERE id = %(memory)s",
        needs_owner=True,
    ),
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.statement[:60])
def test_a_planted_change_is_found(plant: Plant, connect_as: ConnectAs) -> None:
    """Change what was derived, or what it was derived from: deriving it again tells."""
    cast = make_cast()
    memory_id = state_fact(cast, value="4.1.0").result.memory_id
    state_fact(cast, value="4.1.1", at=EARLY + DAY)
    assert list(check_memories(tenant_id=cast.tenant_id)) == []
    with connect_as("owner" if plant.needs_owner else "app") as connection:
        connection.execute("SELECT set_config('memoryhub.tenant', %s, true)", [cast.tenant_id])
        if plant.needs_owner:
            connection.execute(f"ALTER TABLE {plant.table} DISABLE TRIGGER USER".encode())
        names = {"memory": memory_id, "later": EARLY + DAY}
        assert connection.execute(plant.statement.encode(), names).rowcount > 0
        if plant.needs_owner:
            connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
            connection.execute(f"ALTER TABLE {plant.table} ENABLE TRIGGER USER".encode())
    found = list(check_memories(tenant_id=cast.tenant_id))
    assert plant.what in [mismatch.what for mismatch in found]
    assert {mismatch.memory_id for mismatch in found} == {memory_id}
