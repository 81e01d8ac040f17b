"""What is sealed stays sealed, in one order; the salt of a digest goes with the words; a barrier stays where it is."""

import pytest

from tests.conftest import ConnectAs
from tests.invariants.attacks import SET_TENANT, Attack, insert_copy, show_guard
from tests.invariants.world import World

ATTACKS = [
    Attack(
        "ledger_seals_never_change",
        "ledger_seals",
        "UPDATE ledger_seals SET root = '' WHERE id = %(seal)s",
        needs_owner=True,
    ),
    Attack(
        "ledger_seals_never_change", "ledger_seals", "DELETE FROM ledger_seals WHERE id = %(seal)s", needs_owner=True
    ),
    Attack(
        "ledger_entries_never_change",
        "ledger_entries",
        "UPDATE ledger_entries SET digest = '' WHERE id = %(entry)s",
        needs_owner=True,
    ),
    Attack(
        "ledger_entries_never_change",
        "ledger_entries",
        "DELETE FROM ledger_entries WHERE id = %(entry)s",
        needs_owner=True,
    ),
    Attack("ledger_seals_follow_each_other", "ledger_seals", insert_copy("ledger_seals", "seal", number=2)),
    Attack(
        "revocations_stay_where_they_are",
        "revocations",
        "UPDATE revocations SET target_key = 'another' WHERE id = %(revocation)s",
        needs_owner=True,
    ),
    Attack(
        "revocations_stay_where_they_are",
        "revocations",
        "UPDATE revocations SET effects = '{}' WHERE id = %(revocation)s",
    ),
]
ERASURES = {
    "memory_candidates_lose_their_salt": (
        "memory_candidates",
        "UPDATE memory_candidates SET erased_at = now(), content = '', value = NULL, content_hash = '' WHERE id = %s",
        "accepted",
    ),
    "memory_versions_lose_their_salt": (
        "memory_versions",
        "UPDATE memory_versions SET state = 'erased', content = '', value = NULL, content_hash = '' WHERE id = %s",
        "closed",
    ),
}


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_the_ledger_stays(attack: Attack, connect_as: ConnectAs, world: World) -> None:
    show_guard(connect_as=connect_as, world=world, attack=attack)


@pytest.mark.parametrize("guard", ERASURES)
def test_a_salt_goes_with_the_words(guard: str, connect_as: ConnectAs, world: World) -> None:
    """Erase a row without a word about its salt: the salt is gone. Without the trigger it would stay."""
    table, erase, which = ERASURES[guard]
    with connect_as("owner") as owner:
        for is_dropped in (False, True):
            owner.execute(SET_TENANT, [world.tenant_id])
            if is_dropped:
                owner.execute(f"DROP TRIGGER {guard} ON {table}".encode())
            assert owner.execute(erase.encode(), [world.ids[which]]).rowcount == 1
            row = owner.execute(
                f"SELECT salt IS NULL FROM {table} WHERE id = %s".encode(), [world.ids[which]]
            ).fetchone()
            assert row == (not is_dropped,)
            owner.rollback()
