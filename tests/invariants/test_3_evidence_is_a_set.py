"""Seed 003, third invariant: evidence is a set; a source counts once and a guess never supports itself."""

import pytest

from tests.conftest import ConnectAs
from tests.invariants.attacks import Attack, insert_copy, show_guard
from tests.invariants.world import World

NOBODY = "00000000-0000-7000-8000-000000000000"
ATTACKS = [
    Attack("memory_evidence_counts_a_source_once", "memory_evidence", insert_copy("memory_evidence", "claim")),
    Attack(
        "memory_evidence_is_superseded_once",
        "memory_evidence",
        "UPDATE memory_evidence SET weight = 1 WHERE id = %(claim)s",
        needs_owner=True,
    ),
    Attack(
        "memory_evidence_is_superseded_once",
        "memory_evidence",
        "DELETE FROM memory_evidence WHERE id = %(claim)s",
        needs_owner=True,
    ),
    Attack(
        "memory_evidence_is_superseded_once",
        "memory_evidence",
        "UPDATE memory_evidence SET withdrawn_by = NULL WHERE id = %(withdrawn)s",
    ),
    Attack(
        "memory_evidence_is_superseded_once",
        "memory_evidence",
        "UPDATE memory_evidence SET superseded_at = NULL, superseded_by = NULL WHERE id = %(dismissed)s",
    ),
    Attack(
        "memory_evidence_supersession_names_its_ruling",
        "memory_evidence",
        "UPDATE memory_evidence SET superseded_at = now() WHERE id = %(claim)s",
    ),
    Attack(
        "evidence_edges_have_no_cycle",
        "evidence_edges",
        "INSERT INTO evidence_edges (id, tenant_id, child_id, parent_id)"
        " SELECT uuidv7(), tenant_id, parent_id, child_id FROM evidence_edges WHERE id = %(edge)s",
    ),
    Attack(
        "evidence_edges_precede_roots",
        "evidence_edges",
        "INSERT INTO evidence_edges (id, tenant_id, child_id, parent_id)"
        " SELECT uuidv7(), tenant_id, id, %(lone_evidence)s FROM evidence WHERE id = %(evidence)s",
    ),
    Attack(
        "evidence_edges_carry_their_roots",
        "evidence_edges",
        "INSERT INTO evidence_edges (id, tenant_id, child_id, parent_id)"
        " SELECT uuidv7(), tenant_id, %(lone_evidence)s, id FROM evidence WHERE id = %(evidence)s",
    ),
    Attack(
        "evidence_roots_follow_the_edges",
        "evidence_roots",
        "INSERT INTO evidence_roots (id, tenant_id, evidence_id, root)"
        " SELECT uuidv7(), tenant_id, id, uuidv7() FROM evidence WHERE id = %(derived)s",
    ),
    Attack(
        "evidence_roots_follow_the_edges",
        "evidence_roots",
        "INSERT INTO evidence_roots (id, tenant_id, evidence_id, root)"
        " SELECT uuidv7(), tenant_id, parent_id, uuidv7() FROM evidence_edges WHERE id = %(edge)s",
    ),
    Attack("evidence_edges_are_drawn_once", "evidence_edges", insert_copy("evidence_edges", "edge")),
    Attack("evidence_key_is_never_reassigned", "evidence", insert_copy("evidence", "evidence")),
    Attack(
        "evidence_span_ends_after_it_begins",
        "evidence",
        insert_copy("evidence", "evidence", evidence_key="span", span_start=5, span_end=1),
    ),
    Attack("evidence_roots_are_counted_once", "evidence_roots", insert_copy("evidence_roots", "root")),
    Attack("candidate_evidence_is_a_set", "candidate_evidence", insert_copy("candidate_evidence", "link")),
    Attack(
        "candidate_evidence_never_changes",
        "candidate_evidence",
        "UPDATE candidate_evidence SET evidence_id = %(lone_evidence)s WHERE id = %(link)s",
        needs_owner=True,
    ),
    Attack(
        "candidate_evidence_never_changes",
        "candidate_evidence",
        "DELETE FROM candidate_evidence WHERE id = %(link)s",
        needs_owner=True,
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_a_source_counts_once(attack: Attack, connect_as: ConnectAs, world: World) -> None:
    show_guard(connect_as=connect_as, world=world, attack=attack)


def test_evidence_never_rests_on_itself(connect_as: ConnectAs, world: World) -> None:
    """Draw an edge from a piece of evidence to itself: the cycle check refuses, and behind it the CHECK."""
    to_itself = (
        "INSERT INTO evidence_edges (id, tenant_id, child_id, parent_id)"
        " SELECT uuidv7(), tenant_id, child_id, child_id FROM evidence_edges WHERE id = %(edge)s"
    )
    with connect_as("superuser") as superuser:
        superuser.execute("DROP TRIGGER evidence_edges_have_no_cycle ON evidence_edges")
        with pytest.raises(Exception, match="evidence_edges_lead_to_another"), superuser.transaction():
            superuser.execute(to_itself.encode(), world.ids)
        superuser.execute("ALTER TABLE evidence_edges DROP CONSTRAINT evidence_edges_lead_to_another")
        assert superuser.execute(to_itself.encode(), world.ids).rowcount == 1
        superuser.rollback()
