"""Memories are read with every field of the record, their history, their evidence and on both clocks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

from memoryhub.lib import clock
from memoryhub.types.enums import RevocationTarget
from memoryhub.usecases.revoke import revoke
from tests.api.client import Api, a_memory
from tests.cast import Cast

# The record of the first design text, field by field.
RECORD = {
    "schema_version",
    "memory_id",
    "authority",
    "namespace",
    "memory_type",
    "fact_key",
    "content",
    "value",
    "conditions",
    "epistemic_status",
    "state",
    "version",
    "supersedes",
    "provenance",
    "validation",
    "occurred_at",
    "ingested_at",
    "valid_from",
    "valid_to",
    "recorded_from",
    "recorded_to",
    "review_after",
    "retention_class",
    "access_policy_id",
    "deletion_epoch",
    "authority_revision",
    "content_hash",
}


def write_history(api: Api, *, steps: int = 3) -> str:
    for step in range(1, steps + 1):
        told = api.post(
            "memories",
            a_memory(value=f"4.1.{step}", occurred_at=f"2022-{step % 12 + 1:02}-{step // 12 + 1:02}T00:00:00Z"),
        )
        assert told.status in (200, 201), told.raw
    return str(told.json["memory_id"])


def test_a_memory_has_every_field_of_the_record(api: Api, cast: Cast) -> None:
    memory_id = write_history(api)
    shown = api.get(f"memories/{memory_id}").json
    assert set(shown) >= RECORD | {"subject", "modality", "confidence", "conflict"}
    assert shown["namespace"] == {"tenant_id": cast.tenant.slug, "scope": "project", "scope_id": "platform"}
    assert set(shown["provenance"]) == {"source_event_ids", "evidence_refs", "independent_evidence_count"}
    assert set(shown["validation"]) == {"method", "reviewed_by", "validated_at"}
    assert (shown["schema_version"], shown["authority"], shown["state"]) == (1, "database", "active")
    assert (shown["value"], shown["version"]) == ("4.1.3", 3)
    assert shown["access_policy_id"] == "project_platform_members"
    assert (shown["valid_from"], shown["valid_to"], shown["recorded_to"]) == ("2022-04-01T00:00:00Z", None, None)


def test_history_tells_decision_and_actor_of_every_step(api: Api) -> None:
    memory_id = write_history(api)
    items = api.get(f"memories/{memory_id}/history").json["items"]
    assert [(item["version"], item["decision"]["action"]) for item in items] == [
        (1, "ADD"),
        (2, "SUPERSEDE"),
        (3, "SUPERSEDE"),
    ]
    assert {item["decision"]["author"] for item in items} == {"Agent"}
    assert all(item["decision"]["policy_version"] == "merge/v1" for item in items)
    assert set(items[0]["parts"][0]) >= RECORD
    first, second = items[0]["parts"][0], items[1]["parts"]
    assert first["superseded_by"]
    assert first["recorded_to"] == second[0]["recorded_from"]


@pytest.mark.parametrize("what", ["history", "evidence"])
def test_pages_show_each_row_once(api: Api, what: str) -> None:
    memory_id = write_history(api, steps=7)
    whole = read_all(api, f"memories/{memory_id}/{what}", limit=200)
    assert len(whole) == 7
    for limit in (1, 3, 7):
        assert read_all(api, f"memories/{memory_id}/{what}", limit=limit) == whole


def read_all(api: Api, path: str, *, limit: int) -> list[Any]:
    rows: list[Any] = []
    cursor = ""
    while True:
        page = api.get(f"{path}?limit={limit}&cursor={cursor}").json
        held = page.get("items") or [item for lineage in page["lineages"] for item in lineage["items"]]
        assert 1 <= len(held) <= limit
        rows += held
        cursor = page["next_cursor"]
        if cursor is None:
            return rows


def test_evidence_stands_by_lineage_with_its_words(api: Api) -> None:
    memory_id = api.post("memories", a_memory(text="Release notes: 4.1.1 is out.")).json["memory_id"]
    api.post("memories", a_memory())
    lineages = api.get(f"memories/{memory_id}/evidence").json["lineages"]
    assert [lineage["lineage"] for lineage in lineages] == [1, 2]
    assert lineages[0]["items"][0]["quote"] == "Release notes: 4.1.1 is out."
    assert lineages[0]["roots"] == [lineages[0]["items"][0]["event_id"]]
    assert {item["availability"] for lineage in lineages for item in lineage["items"]} == {"available"}


def test_both_clocks_can_be_asked(api: Api) -> None:
    memory = a_memory(
        subject="person:hans",
        fact_key="invoice.payment_terms_days",
        conditions={},
        value=45,
        occurred_at="2024-03-01T00:00:00Z",
    )
    first = api.post("memories", memory)
    before = clock.now()
    api.post(
        "memories",
        a_memory(
            subject="person:hans",
            fact_key="invoice.payment_terms_days",
            conditions={},
            value=30,
            occurred_at="2026-05-20T00:00:00Z",
            valid_from="2026-05-01T00:00:00Z",
        ),
    )
    path = f"memories/{first.json['memory_id']}/as-of"

    def ask(valid_at: str, recorded_at: str = "") -> Any:
        known = f"&recorded_at={quote(recorded_at)}" if recorded_at else ""
        told = api.get(f"{path}?valid_at={quote(valid_at)}{known}")
        assert told.status == 200, told.raw
        return told.json

    assert ask("2024-04-01T00:00:00Z")["memory"]["value"] == 45
    assert ask("2026-06-10T00:00:00+02:00")["memory"]["value"] == 30
    assert ask("2026-06-10T00:00:00Z", before.isoformat())["memory"]["value"] == 45
    unborn = ask("2020-01-01T00:00:00Z")
    assert (unborn["outcome"], unborn["memory"]) == ("not_held", None)
    early = (before - timedelta(days=1)).isoformat()
    assert ask("2026-06-10T00:00:00Z", early)["outcome"] == "not_held"
    now = api.get(path).json
    assert (now["outcome"], now["memory"]["value"]) == ("held", 30)


def test_what_was_revoked_is_told_of_without_its_words(api: Api, cast: Cast) -> None:
    words = "Hans pays within 45 days."
    written = api.post(
        "memories",
        a_memory(
            subject="person:hans", fact_key="invoice.terms", conditions={"contract": "blue"}, value=45, content=words
        ),
    )
    memory_id, candidate_id = written.json["memory_id"], written.json["candidate_id"]
    erin = cast.person(cast.erin)
    revoke(
        caller=erin,
        scope=("project", "platform"),
        target=RevocationTarget.MEMORY,
        target_id=memory_id,
        reason="asked",
        now=clock.now(),
    )
    head = api.get(f"memories/{memory_id}")
    assert (head.status, head.json["state"], head.json["value"]) == (200, "revoked", None)
    asked = api.get(f"memories/{memory_id}/as-of?valid_at=2024-01-01T00:00:00Z").json
    assert (asked["outcome"], asked["memory"]) == ("unavailable", None)
    evidence = api.get(f"memories/{memory_id}/evidence")
    assert evidence.json["lineages"][0]["items"][0]["availability"] == "revoked"
    answers = [
        head,
        evidence,
        api.get(f"memories/{memory_id}/history"),
        api.get(f"candidates/{candidate_id}"),
        api.post("memories/search", {"query": "hans pays days"}),
    ]
    for told in answers:
        assert told.status == 200
        for trace in ("within", "person:hans", "blue", ":45"):
            assert trace not in told.raw.decode(), trace


@pytest.mark.parametrize("what", ["", "/history", "/evidence", "/as-of"])
@pytest.mark.parametrize(
    "memory_id", ["x", "{01a22cac-d783-72eb-bca1-7a6363e49ddf}", "01a22cac-d783-72eb-bca1-7a6363e49ddf"]
)
def test_an_unknown_memory_is_not_there(shared: Api, memory_id: str, what: str) -> None:
    assert shared.get(f"memories/{quote(memory_id)}{what}").code == "not_found"


BAD_QUERIES = [
    ("as-of?valid_at=2024-01-01T00:00:00", 400, "naive_time"),
    ("as-of?valid_at=yesterday", 400, "malformed_time"),
    ("as-of?valid_at=2024-02-30T00:00:00Z", 400, "malformed_time"),
    ("as-of?valid_at=2024-01-01T00:00:00+02:00", 400, "malformed_time"),
    ("as-of?when=2024-01-01T00:00:00Z", 422, "unknown_field"),
    ("as-of?valid_at=", 400, "malformed_time"),
    ("history?limit=0", 422, "invalid_input"),
    ("history?limit=201", 422, "invalid_input"),
    ("history?limit=many", 422, "invalid_input"),
    ("history?cursor=nonsense", 400, "malformed_cursor"),
    ("history?cursor=W10", 400, "malformed_cursor"),
    ("history?cursor=%E5%96%9C", 400, "malformed_cursor"),
    ("history?cursor=%00", 400, "nul_character"),
    ("evidence?cursor=WzEsMiwzXQ", 400, "malformed_cursor"),
    ("evidence?page=2", 422, "unknown_field"),
]


def test_a_bad_query_is_refused(api: Api) -> None:
    memory_id = write_history(api, steps=1)
    for query, status, code in BAD_QUERIES:
        told = api.get(f"memories/{memory_id}/{query}")
        assert (told.status, told.code) == (status, code), query
