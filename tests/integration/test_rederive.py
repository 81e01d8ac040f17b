"""`rederive --check` finds what was planted in any row of a memory, and nothing in what was written properly."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from memoryhub.usecases.rederive import check_memories
from tests.acts import state_fact
from tests.cast import EARLY, Cast, make_cast
from tests.conftest import ConnectAs
from tests.integration.histories import History

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Planted:
    """Hold a change to one row of a table, and under which name it is told."""

    what: str
    table: str
    change: str
    where: str = "true"
    is_everywhere: bool = False

    def __str__(self) -> str:
        """Return a name for the report."""
        return f"{self.table} {self.change}".replace(" ", "_")[:60]


HELD = "recorded_to IS NULL"
PLANTED = [
    Planted("version", "memory_heads", "version = version + 1"),
    Planted("version", "memory_heads", "version = version - 1"),
    Planted("belief", "memory_heads", "confidence = confidence / 2"),
    Planted("belief", "memory_heads", "support = 0.1"),
    Planted("belief", "memory_heads", "opposition = 0.1"),
    Planted("belief", "memory_heads", "independent_evidence_count = independent_evidence_count + 1"),
    Planted("belief", "memory_heads", "modality = 'doubted'"),
    Planted("open conflict", "memory_heads", "has_open_conflict = NOT has_open_conflict"),
    Planted("parts", "memory_versions", "since = since - interval '1 day'", HELD),
    Planted("parts", "memory_versions", "value_digest = 'forged'", HELD),
    Planted("parts", "memory_versions", "replaced_digest = 'forged'", HELD),
    Planted("parts", "memory_versions", "valid_from = valid_from - interval '1 hour'", HELD),
    Planted("lineages of a part", "memory_versions", "independent_evidence_count = 7", HELD),
    Planted("supersession", "memory_versions", "superseded_by = NULL", "superseded_by IS NOT NULL"),
    Planted("supersession", "memory_versions", "superseded_by = id", "superseded_by IS NOT NULL"),
    Planted("supersession", "memory_versions", "supersedes = NULL", "supersedes IS NOT NULL"),
    Planted("supersession", "memory_versions", "version = 9", "superseded_by IS NOT NULL"),
    Planted("evidence", "evidence", "availability = 'unreachable'", "kind = 'event_span'", is_everywhere=True),
    Planted("belief", "memory_evidence", "weight = weight / 2", is_everywhere=True),
    Planted(
        "belief",
        "memory_evidence",
        "roots = (SELECT roots FROM memory_evidence other WHERE other.memory_id = memory_evidence.memory_id"
        " AND other.valid_from = '2022-08-04Z')",
        "valid_from = '2022-08-05Z'",
    ),
    Planted("open conflict sets", "conflict_sets", "state = 'dissolved', closed_at = now()", "state = 'open'"),
    Planted("conflict set", "conflict_sets", "standing = 'event:' || uuidv7() || ':0'", "state = 'open'"),
    Planted("conflict set", "conflict_sets", "opened_from = opened_from - interval '1 day'", "state = 'open'"),
    Planted("conflict set", "conflict_sets", "reason = 'no_effective_time'", "state = 'open'"),
    Planted("conflict set", "conflict_sets", "kept_at = opened_at", "state = 'open'"),
    Planted("conflict members", "conflict_members", "left_at = now()", "NOT is_standing"),
    Planted("conflict set", "conflict_members", "left_at = now()", "is_standing"),
    Planted("conflict members", "conflict_members", "is_standing = false", "is_standing"),
]


@pytest.fixture
def cast() -> Cast:
    """Give a tenant with a superseded fact, a fact with two lineages and an echo of one, and an open conflict."""
    cast = make_cast()
    alice, bob = cast.alice.username, cast.bob.username
    state_fact(cast, value="4.1.0", by=alice)
    state_fact(cast, value="4.1.1", at=EARLY + DAY, by=bob)
    state_fact(cast, value="4.1.1", at=EARLY + 2 * DAY, by=alice)
    for by, value, day in ((alice, "a", 0), (bob, "b", 1), (cast.carol.username, "c", 2)):
        state_fact(cast, value=value, by=by, key="undeclared", at=EARLY + day * DAY)
    assert list(check_memories(tenant_id=cast.tenant_id)) == []
    return cast


def plant(connect_as: ConnectAs, cast: Cast, planted: Planted) -> None:
    """Change one row (or all that match) as the owner, with every guard off."""
    row = f"SELECT ctid FROM {planted.table} WHERE tenant_id = '{cast.tenant_id}' AND {planted.where} ORDER BY id"
    limit = "" if planted.is_everywhere else "LIMIT 1"
    with connect_as("superuser") as superuser:
        superuser.execute("SET LOCAL session_replication_role = replica")
        changed = superuser.execute(
            f"UPDATE {planted.table} SET {planted.change} WHERE ctid IN ({row} {limit})".encode()
        )
        assert changed.rowcount > 0, "nothing was planted"
        superuser.commit()


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_each_planted_difference_is_found(planted: Planted, cast: Cast, connect_as: ConnectAs) -> None:
    plant(connect_as, cast, planted)
    assert planted.what in {found.what for found in check_memories(tenant_id=cast.tenant_id)}
    with pytest.raises(CommandError):
        call_command("rederive", "--check", "--tenant", cast.tenant.slug)


def test_a_second_open_set_is_found(cast: Cast, connect_as: ConnectAs) -> None:
    """Copy the open set: its key is what keeps it one, so the key is dropped for it."""
    with connect_as("superuser") as superuser:
        index = superuser.execute(
            "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index"
            " WHERE indrelid = 'conflict_sets'::regclass AND indpred IS NOT NULL"
        ).fetchone()
        assert index is not None
        superuser.execute(f"DROP INDEX {index[0]}".encode())
        superuser.execute(
            "INSERT INTO conflict_sets SELECT (jsonb_populate_record(held, jsonb_build_object('id', uuidv7()))).*"
            " FROM conflict_sets held WHERE tenant_id = %s AND state = 'open'",
            [cast.tenant_id],
        )
        superuser.commit()
        assert "open conflict sets" in {found.what for found in check_memories(tenant_id=cast.tenant_id)}
        superuser.execute(
            "DELETE FROM conflict_sets WHERE tenant_id = %s AND id = (SELECT max(id::text)::uuid FROM conflict_sets"
            " WHERE tenant_id = %s)",
            [cast.tenant_id, cast.tenant_id],
        )
        superuser.execute(index[1].encode())
        superuser.commit()


def test_nothing_is_found_in_what_was_written_properly() -> None:
    """Write a random history with rulings, questions, echoes and late data: every count and pointer is as it ought."""
    for seed in range(3):
        history = History(seed=seed)
        history.grow(80)
        assert list(check_memories(tenant_id=history.tenant_id)) == [], f"seed {seed}"
