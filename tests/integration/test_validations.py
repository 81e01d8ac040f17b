"""Validations that somebody is in the way of: a faster writer, an open conflict."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.memory.exceptions import StaleHead
from memoryhub.usecases import validate_memory as validation
from memoryhub.usecases.consolidate import Consolidated, settle_candidate
from memoryhub.usecases.ingest import describe_event
from tests.acts import state_fact
from tests.cast import EARLY, Cast, make_cast
from tests.ledger import assert_ledger_is_clean

LATER = EARLY + timedelta(days=9)


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def validate(cast: Cast, memory_id: Any, *, version: int) -> Consolidated:
    """Let Rita validate what stands, as she read it."""
    return validation.validate_memory(
        caller=cast.person(cast.rita),
        memory_id=str(memory_id),
        expected_version=version,
        method="review",
        words="I looked.",
        now=clock.now(),
    )


def read(cast: Cast, columns: str) -> list[Any]:
    """Return something of the parts that stand, in order."""
    with tenant_context(cast.tenant_id, read_only=True):
        return fetch_all(
            sql=f"SELECT {columns} FROM memory_versions version"
            " JOIN memory_heads head ON head.id = version.memory_id"
            " WHERE version.tenant_id = %s AND recorded_to IS NULL AND version.state = 'active' ORDER BY valid_from",
            params=[cast.tenant_id],
        )


def overtake(cast: Cast, monkeypatch: pytest.MonkeyPatch, memory_id: Any) -> Consolidated:
    """Let Rita validate version 1 while somebody else corrects it, after she was checked and before she writes."""

    def correct() -> None:
        try:
            state_fact(cast, value="4.1.1", at=LATER, valid_from=EARLY)
        finally:
            connection.close()

    def describe(**facts: Any) -> Any:
        worker = threading.Thread(target=correct)
        worker.start()
        worker.join()
        return describe_event(**facts)

    monkeypatch.setattr(validation, "describe_event", describe)
    return validate(cast, memory_id, version=1)


def test_who_was_overtaken_validates_nothing(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    written = state_fact(cast, value="4.1.0")
    with pytest.raises(StaleHead):
        overtake(cast, monkeypatch, written.result.memory_id)
    assert read(cast, "value #>> '{}', epistemic_status") == [("4.1.1", "observed")]
    assert_ledger_is_clean(cast.tenant_id)


def test_without_the_version_it_would_be_said_of_another_value(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def settle(**facts: Any) -> Consolidated:
        return settle_candidate(**{**facts, "expected_version": None})

    monkeypatch.setattr(validation, "settle_candidate", settle)
    written = state_fact(cast, value="4.1.0")
    assert overtake(cast, monkeypatch, written.result.memory_id).action == "CONFLICT"


def test_a_validation_settles_no_conflict(cast: Cast) -> None:
    written = state_fact(cast, value="4.1.0", key="note.it")
    other = state_fact(cast, value="4.1.9", key="note.it", by=cast.bob.username, at=LATER)
    assert other.result.action == "CONFLICT"
    told = validate(cast, written.result.memory_id, version=other.result.version or 0)
    assert (told.action, told.reason) == ("ATTACH_EVIDENCE", "validated")
    assert read(cast, "value #>> '{}', version.epistemic_status, head.modality") == [("4.1.0", "validated", "disputed")]
    assert_ledger_is_clean(cast.tenant_id)
