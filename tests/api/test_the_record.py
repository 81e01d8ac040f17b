"""The record of a memory, field by field as the model's example has them (seed 000 §4.2), after its whole life."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memoryhub.access import operations
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.memory.exceptions import StaleHead
from memoryhub.usecases.review import OwnClaim
from memoryhub.usecases.validate_memory import MethodUnknown, NotValidatable, validate_memory
from tests.api.client import PROJECT, Api, a_memory
from tests.cast import Cast
from tests.ledger import assert_ledger_is_clean

GOLDEN: dict[str, Any] = {
    "schema_version": 1,
    "authority": "database",
    "namespace": {"scope": "project", "scope_id": "platform"},
    "memory_type": "procedural",
    "fact_key": "troubleshooting.streaming_response",
    "content": "Look at the deployed version, the closing events and the reader's first error before naming a cause.",
    "conditions": {"project": "platform", "protocol": "responses"},
    "epistemic_status": "validated",
    "state": "active",
    "version": 3,
    "provenance": {"independent_evidence_count": 1},
    "validation": {"method": "review_and_reproduction"},
    "occurred_at": "2026-10-18T10:00:00Z",
    "valid_from": "2026-10-18T10:00:00Z",
    "valid_to": None,
    "review_after": "2027-01-19T00:00:00Z",
    "retention_class": "standard",
    "deletion_epoch": 0,
    "authority_revision": "",
}
RECORD = """
    schema_version memory_id authority namespace memory_type fact_key content conditions epistemic_status state version
    supersedes provenance validation occurred_at ingested_at valid_from valid_to review_after retention_class
    access_policy_id deletion_epoch authority_revision content_hash
"""


def write_guide(api: Api, *, day: int, content: str, **more: Any) -> Any:
    """Write the guide as the agent knows it that day, with the document that shows it."""
    told = api.post(
        "memories",
        {
            "event_id": f"evt_demo_{day:03}",
            "scope": PROJECT,
            "source_type": "statement",
            "occurred_at": f"2026-10-{day:02}T10:00:00Z",
            "subject": "product:stream",
            "memory_type": "procedural",
            "fact_key": "troubleshooting.streaming_response",
            "content": content,
            "conditions": {"protocol": "responses", "project": "platform"},
            **more,
        },
    )
    assert told.status == 201, told.json
    return told.json


@pytest.fixture
def guide(api: Api, cast: Cast) -> Any:
    write_guide(api, day=17, content="Look at the closing events.", actor=cast.bob.username)
    return write_guide(api, day=18, content=GOLDEN["content"], actor=cast.bob.username)


def test_the_example_record_is_told_field_by_field(cast: Cast, api: Api, guide: Any) -> None:
    before = api.get(f"memories/{guide['memory_id']}").json
    assert (before["epistemic_status"], before["version"]) == ("explicit", 2)
    validate_memory(
        caller=cast.person(cast.rita),
        memory_id=guide["memory_id"],
        expected_version=2,
        method="review_and_reproduction",
        words="Followed it on a broken stream: it leads to the cause.",
        review_after=datetime(2027, 1, 19, tzinfo=UTC),
        now=clock.now(),
    )
    record = api.get(f"memories/{guide['memory_id']}").json
    assert set(RECORD.split()) <= set(record)
    for name, expected in GOLDEN.items():
        told = record[name]
        if isinstance(expected, dict) and name != "conditions":
            told = {part: told[part] for part in expected}
        assert told == expected, name
    assert record["namespace"]["tenant_id"] == cast.tenant.slug
    assert record["validation"]["reviewed_by"] == str(cast.rita.pk)
    assert record["validation"]["validated_at"] > record["ingested_at"]
    assert record["supersedes"] is not None
    assert len(record["provenance"]["source_event_ids"]) == 2
    assert len(record["provenance"]["evidence_refs"]) == 1
    assert len(record["content_hash"]) == 64
    history = api.get(f"memories/{guide['memory_id']}/history").json
    decisions = [(step["decision"]["action"], step["decision"]["reason"]) for step in history["items"]]
    assert ("ATTACH_EVIDENCE", "validated") in decisions
    assert_ledger_is_clean(cast.tenant_id)


def test_what_was_validated_stays_so_where_its_period_is_cut(cast: Cast, api: Api, guide: Any) -> None:
    validate_memory(
        caller=cast.person(cast.rita),
        memory_id=guide["memory_id"],
        expected_version=2,
        method="reproduction",
        words="It leads to the cause.",
        now=clock.now(),
    )
    write_guide(api, day=25, content="Ask the operator.", actor=cast.bob.username)
    parts = api.get(f"memories/{guide['memory_id']}/as-of?valid_at=2026-10-20T00:00:00Z").json["memory"]
    assert (parts["content"], parts["epistemic_status"]) == (GOLDEN["content"], "validated")
    assert parts["validation"]["method"] == "reproduction"
    now = api.get(f"memories/{guide['memory_id']}").json
    assert (now["content"], now["epistemic_status"], now["validation"]["method"]) == (
        "Ask the operator.",
        "explicit",
        "",
    )
    assert_ledger_is_clean(cast.tenant_id)


def test_a_validation_has_a_method_a_stranger_and_the_newest_version(cast: Cast, guide: Any) -> None:
    def validate(by: Any, *, method: str = "review", version: int = 2, memory_id: str = guide["memory_id"]) -> None:
        validate_memory(
            caller=cast.person(by),
            memory_id=memory_id,
            expected_version=version,
            method=method,
            words="I looked.",
            now=clock.now(),
        )

    with pytest.raises(MethodUnknown):
        validate(cast.rita, method="a feeling")
    with pytest.raises(StaleHead):
        validate(cast.rita, version=1)
    with tenant_context(cast.tenant_id):
        operations.grant_rights(scope=cast.project, principal=cast.bob, rights=("review_memory",))
    with pytest.raises(OwnClaim):
        validate(cast.bob)


def test_a_lead_is_never_validated(cast: Cast, api: Api) -> None:
    told = api.post("memories", a_memory(kind="lead", value="maybe the proxy", content="It may be the proxy."))
    with pytest.raises(NotValidatable):
        validate_memory(
            caller=cast.person(cast.rita),
            memory_id=told.json["memory_id"],
            expected_version=told.json["version"],
            method="review",
            words="I think so too.",
            now=clock.now(),
        )
