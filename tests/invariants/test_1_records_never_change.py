"""Seed 003, first invariant: a record never changes; a body may only go."""

import pytest

from tests.conftest import ConnectAs
from tests.invariants.attacks import Attack, show_guard
from tests.invariants.world import World

_ERASED = "erased_at = now(), payload = NULL, event_key = NULL, salt = NULL"
ATTACKS = [
    Attack(
        "source_events_never_change",
        "source_events",
        "UPDATE source_events SET occurred_at = now() WHERE id = %(event)s",
        needs_owner=True,
    ),
    Attack(
        "source_events_never_change",
        "source_events",
        "DELETE FROM source_events WHERE id = %(lone_event)s",
        needs_owner=True,
    ),
    Attack(
        "evidence_edges_never_change",
        "evidence_edges",
        "UPDATE evidence_edges SET parent_id = %(lone_evidence)s WHERE id = %(edge)s",
        needs_owner=True,
    ),
    Attack(
        "evidence_edges_never_change",
        "evidence_edges",
        "DELETE FROM evidence_edges WHERE id = %(edge)s",
        needs_owner=True,
    ),
    Attack(
        "audit_events_never_change",
        "audit_events",
        "UPDATE audit_events SET outcome = 'x' WHERE id = %(audit)s",
        needs_owner=True,
    ),
    Attack(
        "audit_events_never_change",
        "audit_events",
        "DELETE FROM audit_events WHERE id = %(audit)s",
        needs_owner=True,
    ),
    Attack(
        "evidence_roots_never_change",
        "evidence_roots",
        "UPDATE evidence_roots SET root = uuidv7() WHERE evidence_id = %(evidence)s",
        needs_owner=True,
    ),
    Attack(
        "evidence_roots_never_change",
        "evidence_roots",
        "DELETE FROM evidence_roots WHERE evidence_id = %(evidence)s",
        needs_owner=True,
    ),
    Attack(
        "source_event_bodies_change_only_to_erased",
        "source_event_bodies",
        """UPDATE source_event_bodies SET payload = '{"text": "never said"}' WHERE event_id = %(event)s""",
    ),
    Attack(
        "source_event_bodies_change_only_to_erased",
        "source_event_bodies",
        "DELETE FROM source_event_bodies WHERE event_id = %(event)s",
        needs_owner=True,
    ),
    Attack(
        "source_event_bodies_are_whole_or_erased",
        "source_event_bodies",
        "UPDATE source_event_bodies SET erased_at = now(), payload = NULL WHERE event_id = %(event)s",
    ),
    Attack(
        "evidence_bodies_change_only_to_erased",
        "evidence_bodies",
        "UPDATE evidence_bodies SET quote = 'never said' WHERE evidence_id = %(evidence)s",
    ),
    Attack(
        "evidence_bodies_are_whole_or_erased",
        "evidence_bodies",
        "UPDATE evidence_bodies SET erased_at = now(), salt = NULL WHERE evidence_id = %(evidence)s",
    ),
    Attack(
        "evidence_keeps_its_identity",
        "evidence",
        "UPDATE evidence SET source_id = uuidv7() WHERE id = %(evidence)s",
        needs_owner=True,
    ),
    Attack(
        "evidence_keeps_its_identity",
        "evidence",
        "DELETE FROM evidence WHERE id = %(lone_evidence)s",
        needs_owner=True,
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_a_record_never_changes(attack: Attack, connect_as: ConnectAs, world: World) -> None:
    show_guard(connect_as=connect_as, world=world, attack=attack)


def test_a_body_that_went_stays_gone(connect_as: ConnectAs, world: World) -> None:
    """Erase once, which is allowed; giving it words again is not."""
    with connect_as("app") as app:
        app.execute("SELECT set_config('memoryhub.tenant', %s, true)", [world.tenant_id])
        erase = f"UPDATE source_event_bodies SET {_ERASED} WHERE event_id = %s"
        assert app.execute(erase.encode(), [world.ids["event"]]).rowcount == 1
        with pytest.raises(Exception, match="may change once"):
            app.execute(
                "UPDATE source_event_bodies SET payload = '1', salt = 'x', erased_at = NULL WHERE event_id = %s",
                [world.ids["event"]],
            )
        app.rollback()
