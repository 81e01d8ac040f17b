"""Candidates stand beside their evidence, and say what became of them."""

from __future__ import annotations

from typing import Any

import pytest

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.ids import new_id
from memoryhub.memory.models import MemoryCandidate, Predicate
from tests.api.client import Api, a_candidate, an_event, work
from tests.cast import Cast


@pytest.fixture
def event_id(api: Api) -> str:
    event = an_event()
    assert api.post("events", event).status == 202
    return str(event["event_id"])


def test_a_candidate_waits_and_is_then_decided(api: Api, event_id: str) -> None:
    told = api.post(
        "candidates", a_candidate(event_id, evidence=[{"event_id": event_id, "span": {"start": 0, "end": 6}}])
    )
    assert (told.status, told.json["status"]) == (202, "pending")
    assert told.headers["Location"] == told.json["status_url"]
    path = told.json["status_url"].removeprefix("/api/v1/")
    before = api.get(path).json
    assert (before["status"], before["action"], before["memory_id"]) == ("pending", None, None)
    work()
    after = api.get(path).json
    assert (after["status"], after["action"], after["reason"]) == ("accepted", "ADD", "first_claim")
    quotes = api.get(f"memories/{after['memory_id']}/evidence").json["lineages"][0]["items"]
    assert [item["quote"] for item in quotes] == ["Django"]


def test_the_same_candidate_again_is_the_same_answer(api: Api, cast: Cast, event_id: str) -> None:
    first, second = (api.post("candidates", a_candidate(event_id)) for _ in range(2))
    assert (first.status, first.raw) == (second.status, second.raw)
    with tenant_context(cast.tenant_id, read_only=True):
        assert MemoryCandidate.objects.filter(tenant_id=cast.tenant_id).count() == 1


def test_the_same_statement_with_another_value_is_told_apart(api: Api, cast: Cast, event_id: str) -> None:
    assert api.post("candidates", a_candidate(event_id)).status == 202
    told = api.post("candidates", a_candidate(event_id, value="9.9"))
    assert (told.status, told.code) == (409, "candidate_reused")
    another = api.post("candidates", a_candidate(event_id, value="9.9", statement=1))
    assert another.status == 202
    with tenant_context(cast.tenant_id, read_only=True):
        assert MemoryCandidate.objects.filter(tenant_id=cast.tenant_id).count() == 2


def test_a_batch_has_one_result_a_candidate(api: Api, event_id: str) -> None:
    told = api.post(
        "candidates",
        {
            "candidates": [
                a_candidate(event_id),
                a_candidate(str(new_id())),
                a_candidate(event_id, scope={"kind": "project", "key": "elsewhere"}),
                a_candidate(event_id, subject="planet:mars"),
                a_candidate(event_id, fact_key="release.eol", value="2024-01-01"),
                a_candidate(event_id, confidence=2),
            ]
        },
    )
    assert told.status == 202
    results = told.json["results"]
    assert [result["status"] for result in results] == [202, 422, 404, 422, 202, 422]
    assert results[1]["problem"]["code"] == "evidence_not_found"
    assert results[1]["problem"]["errors"][0]["pointer"] == "/candidates/1/evidence"
    assert results[3]["problem"]["code"] == "undeclared_entity_type"
    assert results[5]["problem"]["errors"][0]["pointer"] == "/candidates/5/confidence"
    assert (told.json["accepted"], told.json["refused"]) == (2, 4)
    for result in results:
        if result["accepted"]:
            assert api.get(result["accepted"]["status_url"].removeprefix("/api/v1/")).status == 200


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"subject": "no colon"}, "bad_subject", "/subject"),
    ({"subject": "product: blank"}, "bad_subject", "/subject"),
    ({"subject": "planet:mars"}, "undeclared_entity_type", "/subject"),
    ({"valid_from": "2022-08-03T00:00:00Z", "valid_to": "2022-08-03T00:00:00Z"}, "period_refused", "/valid_to"),
    ({"evidence": []}, "invalid_input", "/evidence"),
    ({"epistemic_status": "validated"}, "invalid_input", "/epistemic_status"),
    ({"confidence": True}, "invalid_input", "/confidence"),
    ({"confidence": "1"}, "invalid_input", "/confidence"),
    ({"statement": 40000}, "invalid_input", "/statement"),
    ({"memory_type": "dream"}, "unknown_memory_type", "/memory_type"),
    ({"conditions": ["cycle"]}, "invalid_input", "/conditions"),
    ({"extractor": "rules"}, "unknown_field", "/extractor"),
]


def test_what_does_not_fit_is_refused_with_its_place(api: Api, event_id: str) -> None:
    for change, code, pointer in REFUSED:
        told = api.post("candidates", a_candidate(event_id, **change))
        assert (told.status, told.code) == (422, code), change
        assert told.json["errors"][0]["pointer"] == pointer


def test_a_span_outside_the_words_is_refused(api: Api, event_id: str) -> None:
    for start, end in ((0, 10_000), (6, 6), (9, 3)):
        span = {"start": start, "end": end}
        told = api.post("candidates", a_candidate(event_id, evidence=[{"event_id": event_id, "span": span}]))
        assert (told.status, told.code) == (422, "evidence_not_quoted"), span


def test_a_value_must_fit_its_declared_schema(api: Api, cast: Cast, event_id: str) -> None:
    with tenant_context(cast.tenant_id):
        Predicate.objects.create(tenant_id=cast.tenant_id, fact_key="port", value_schema={"type": "integer"})
    told = api.post("candidates", a_candidate(event_id, fact_key="port", value="eighty"))
    assert (told.status, told.code) == (422, "value_refused")
    assert "eighty" not in told.raw.decode()
    assert api.post("candidates", a_candidate(event_id, fact_key="port", value=80)).status == 202


def test_secrets_are_gone_before_anything_is_stored(api: Api, event_id: str) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3
    told = api.post(
        "candidates",
        a_candidate(event_id, content=f"The key is {secret}.", value={"key": secret}, conditions={"k": secret}),
    )
    shown = api.get(f"candidates/{told.json['candidate_id']}")
    assert secret not in shown.raw.decode()
    assert shown.json["content"] == "The key is [removed: access_token]."


@pytest.mark.parametrize(
    "candidate_id", ["x", "00000000-0000-0000-0000-00000000000", "01a22cac-d783-72eb-bca1-7a6363e49ddf"]
)
def test_an_unknown_candidate_is_not_there(shared: Api, candidate_id: str) -> None:
    assert shared.get(f"candidates/{candidate_id}").code == "not_found"
