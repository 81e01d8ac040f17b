"""ADR 0003: a lead is something to follow up, and whoever writes, it never counts as validated."""

from __future__ import annotations

import pytest

from tests.conftest import ConnectAs
from tests.invariants.attacks import Attack, insert_copy, show_guard
from tests.invariants.world import World

ATTACKS = [
    Attack(
        "memory_candidates_lead_is_never_validated",
        "memory_candidates",
        insert_copy("memory_candidates", "lead", statement=9, epistemic_status="validated"),
    ),
    Attack(
        "memory_evidence_lead_is_never_validated",
        "memory_evidence",
        insert_copy("memory_evidence", "lead_claim", statement=9, validated=True),
    ),
    Attack(
        "memory_versions_lead_is_never_validated",
        "memory_versions",
        insert_copy(
            "memory_versions",
            "lead_version",
            part=9,
            validation_method="review",
            valid_from="1999-01-01T00:00:00Z",
            valid_to="1999-02-01T00:00:00Z",
        ),
    ),
    Attack(
        "memory_versions_lead_is_never_validated",
        "memory_versions",
        insert_copy(
            "memory_versions",
            "lead_version",
            part=9,
            epistemic_status="validated",
            valid_from="1999-01-01T00:00:00Z",
            valid_to="1999-02-01T00:00:00Z",
        ),
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_no_lead_counts_as_validated(attack: Attack, connect_as: ConnectAs, world: World) -> None:
    show_guard(connect_as=connect_as, world=world, attack=attack)
