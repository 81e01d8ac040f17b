"""Seed 003, fourth invariant: nothing sent is lost; whatever became of it stays on record."""

import pytest

from tests.conftest import ConnectAs
from tests.invariants.attacks import Attack, insert_copy, show_guard
from tests.invariants.world import World

SAME_TIME = {"valid_from": "2000-01-01T00:00:00Z", "valid_to": "2000-01-01T00:00:00Z"}
ATTACKS = [
    Attack("source_events_are_received_once", "source_events", insert_copy("source_events", "event")),
    Attack(
        "memory_candidates_keep_what_they_proposed",
        "memory_candidates",
        "UPDATE memory_candidates SET content = 'never proposed' WHERE id = %(pending)s",
        needs_owner=True,
    ),
    Attack(
        "memory_candidates_keep_what_they_proposed",
        "memory_candidates",
        "UPDATE memory_candidates SET deletion_epoch = deletion_epoch - 1 WHERE id = %(pending)s",
    ),
    Attack(
        "memory_candidates_keep_what_they_proposed",
        "memory_candidates",
        "DELETE FROM memory_candidates WHERE id = %(lone_candidate)s",
        needs_owner=True,
    ),
    Attack(
        "memory_candidates_status_follows_its_table",
        "memory_candidates",
        "UPDATE memory_candidates SET status = 'pending' WHERE id = %(accepted)s",
    ),
    Attack("memory_candidates_are_extracted_once", "memory_candidates", insert_copy("memory_candidates", "pending")),
    Attack(
        "memory_candidates_confidence_is_a_share",
        "memory_candidates",
        insert_copy("memory_candidates", "pending", fact_key="other", confidence=2),
    ),
    Attack(
        "memory_candidates_period_ends_after_it_begins",
        "memory_candidates",
        insert_copy("memory_candidates", "pending", fact_key="other", **SAME_TIME),
    ),
    Attack(
        "merge_decisions_never_change",
        "merge_decisions",
        "UPDATE merge_decisions SET reason = 'another' WHERE id = %(decision)s",
        needs_owner=True,
    ),
    Attack(
        "merge_decisions_never_change",
        "merge_decisions",
        "DELETE FROM merge_decisions WHERE id = %(lone_decision)s",
        needs_owner=True,
    ),
    Attack(
        "merge_decisions_are_about_something",
        "merge_decisions",
        insert_copy("merge_decisions", "decision", candidate_id=None),
    ),
    Attack(
        "merge_decisions_raise_a_version_by_at_most_one",
        "merge_decisions",
        insert_copy("merge_decisions", "decision", resulting_version=7),
    ),
    Attack("processing_jobs_are_done_once", "processing_jobs", insert_copy("processing_jobs", "job")),
    Attack(
        "processing_jobs_state_follows_its_table",
        "processing_jobs",
        "UPDATE processing_jobs SET state = 'succeeded' WHERE id = %(job)s",
    ),
    Attack(
        "outbox_state_follows_its_table",
        "outbox",
        "UPDATE outbox SET state = 'discarded' WHERE id = %(told)s",
    ),
    Attack(
        "outbox_is_delivered_at_an_instant",
        "outbox",
        "UPDATE outbox SET state = 'delivered' WHERE id = %(told)s",
    ),
]
BARRIERS = [
    Attack(
        "scopes_deletion_epoch_never_falls",
        "scopes",
        "UPDATE scopes SET deletion_epoch = deletion_epoch - 1 WHERE id = %(scope)s",
    ),
    Attack(
        "scopes_deletion_epoch_is_not_negative",
        "scopes",
        insert_copy("scopes", "scope", key="negative", deletion_epoch=-1),
    ),
    Attack("scopes_are_never_deleted", "scopes", "DELETE FROM scopes WHERE id = %(lone_scope)s", needs_owner=True),
    Attack(
        "revocations_are_never_deleted",
        "revocations",
        "DELETE FROM revocations WHERE id = %(revocation)s",
        needs_owner=True,
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_nothing_sent_is_lost(attack: Attack, connect_as: ConnectAs, world: World) -> None:
    show_guard(connect_as=connect_as, world=world, attack=attack)


@pytest.mark.parametrize("attack", BARRIERS, ids=str)
def test_a_barrier_stands(attack: Attack, connect_as: ConnectAs, world: World) -> None:
    show_guard(connect_as=connect_as, world=world, attack=attack)
