"""Explicit writes answer by what was decided."""

from __future__ import annotations

from typing import Any

import pytest

from memoryhub.access.operations import issue_token
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.memory.models import MemoryHead, Predicate
from memoryhub.types.enums import RevocationMode, RevocationTarget
from memoryhub.usecases.revoke import revoke
from tests.api.client import PROJECT, Api, a_memory
from tests.cast import Cast


def test_a_first_claim_is_committed(api: Api) -> None:
    told = api.post("memories", a_memory())
    assert told.status == 201
    assert {"status": "committed", "action": "ADD", "version": 1}.items() <= told.json.items()
    assert told.json["read_token"]


def test_a_newer_value_supersedes(api: Api) -> None:
    first = api.post("memories", a_memory())
    told = api.post("memories", a_memory(value="4.1.2", occurred_at="2022-09-05T00:00:00+02:00"))
    assert (told.status, told.json["action"], told.json["version"]) == (201, "SUPERSEDE", 2)
    assert told.json["memory_id"] == first.json["memory_id"]


def test_the_same_value_from_another_source_is_evidence(api: Api) -> None:
    api.post("memories", a_memory())
    told = api.post("memories", a_memory())
    assert (told.status, told.json["status"], told.json["action"]) == (200, "evidence_attached", "ATTACH_EVIDENCE")
    assert told.json["version"] == 2


def test_the_same_event_again_is_the_same_answer(api: Api, cast: Cast) -> None:
    memory = a_memory()
    first, second = api.post("memories", memory), api.post("memories", memory)
    assert (first.status, first.raw) == (second.status, second.raw) == (201, first.raw)
    with tenant_context(cast.tenant_id, read_only=True):
        assert MemoryHead.objects.filter(tenant_id=cast.tenant_id).count() == 1


def test_what_is_one_text_to_unicode_is_one_memory(api: Api) -> None:
    apart = a_memory(subject="product:cafe\u0301", conditions={"re\u0301gion": "Zu\u0308rich"})
    first = api.post("memories", apart)
    composed = {"subject": "product:caf\u00e9", "conditions": {"r\u00e9gion": "Z\u00fcrich"}}
    second = api.post("memories", a_memory(**composed))
    assert (first.status, second.status) == (201, 200)
    assert first.json["memory_id"] == second.json["memory_id"]


@pytest.mark.parametrize(
    "change",
    [{"value": "4.1.9"}, {"content": "other words"}, {"fact_key": "release.eol"}, {"conditions": {"cycle": "5"}}],
)
def test_the_same_event_id_for_another_claim_is_refused(api: Api, change: dict[str, Any]) -> None:
    memory = a_memory()
    api.post("memories", memory)
    told = api.post("memories", {**memory, **change})
    assert (told.status, told.code) == (409, "event_id_reused")


def test_a_value_put_back_by_another_waits_with_every_claim(api: Api, cast: Cast) -> None:
    api.post("memories", a_memory(value="4.1.1", occurred_at="2022-08-03T00:00:00Z", actor=cast.alice.username))
    api.post("memories", a_memory(value="4.1.2", occurred_at="2022-08-10T00:00:00Z", actor=cast.carol.username))
    put_back = a_memory(value="4.1.1", occurred_at="2022-08-12T00:00:00Z", actor=cast.alice.username)
    told = api.post("memories", put_back)
    assert (told.status, told.json["status"], told.json["action"]) == (202, "pending_review", "CONFLICT")
    claims = told.json["conflict"]["claims"]
    assert [(claim["value"], claim["is_standing"]) for claim in claims] == [("4.1.2", True), ("4.1.1", False)]
    assert told.json["conflict"]["conflict_id"]
    again = api.post("memories", put_back)
    assert (again.status, again.raw) == (202, told.raw)
    shown = api.get(f"memories/{told.json['memory_id']}").json
    assert shown["modality"] == "disputed"
    assert [claim["value"] for claim in shown["conflict"]["claims"]] == ["4.1.2", "4.1.1"]


def test_who_may_not_view_is_not_shown_the_other_claims(api: Api, cast: Cast) -> None:
    api.post("memories", a_memory(value="4.1.1", occurred_at="2022-08-03T00:00:00Z", actor=cast.alice.username))
    api.post("memories", a_memory(value="4.1.2", occurred_at="2022-08-10T00:00:00Z", actor=cast.carol.username))
    actions = ["ingest_event", "propose_memory", "relay_user"]
    blind = Api(issue_token(principal=cast.agent, name="blind", actions=actions, now=clock.now()))
    told = blind.post(
        "memories", a_memory(value="4.1.1", occurred_at="2022-08-12T00:00:00Z", actor=cast.alice.username)
    )
    assert (told.status, told.json["conflict"]) == (202, None)
    assert blind.get(f"memories/{told.json['memory_id']}").code == "forbidden"


@pytest.mark.parametrize("kind", ["preference", "fact", "lead"])
def test_a_guessed_preference_waits_with_its_question(kind: str, api: Api, cast: Cast) -> None:
    told = api.post(
        "memories",
        a_memory(
            scope={"kind": "user", "key": cast.alice.username},
            subject=f"person:{cast.alice.username}",
            fact_key="preference.language",
            kind=kind,
            epistemic_status="inferred",
            conditions={},
            value="en",
            content="Alice seems to like English.",
        ),
    )
    assert (told.status, told.json["status"], told.json["question"]) == (202, "pending_review", "inferred_preference")
    candidate = api.get(f"candidates/{told.json['candidate_id']}").json
    assert (candidate["status"], candidate["question"]) == ("needs_confirmation", "inferred_preference")


def test_a_rejected_write_says_why_and_leaves_a_record(api: Api, cast: Cast) -> None:
    revoke(
        caller=cast.person(cast.erin),
        scope=("project", "platform"),
        target=RevocationTarget.FACT_KEY,
        target_id=None,
        target_key="release.secret_date",
        mode=RevocationMode.SUPPRESS,
        reason="asked",
        now=clock.now(),
    )
    memory = a_memory(fact_key="release.secret_date")
    told = api.post("memories", memory)
    assert (told.status, told.code, told.json["reason"]) == (422, "rejected", "barred_by_revocation")
    candidate = api.get(f"candidates/{told.json['candidate_id']}").json
    assert (candidate["status"], candidate["action"], candidate["content"]) == ("rejected", "REJECT", "")
    assert api.post("memories", memory).json == told.json


def test_null_retracts_and_nothing_given_means_the_content(api: Api) -> None:
    stated = a_memory()
    del stated["value"]
    first = api.post("memories", stated)
    assert api.get(f"memories/{first.json['memory_id']}").json["value"] == stated["content"]
    told = api.post("memories", a_memory(value=None, content="It was removed.", occurred_at="2022-10-01T00:00:00Z"))
    assert (told.status, told.json["action"]) == (201, "SUPERSEDE")
    shown = api.get(f"memories/{first.json['memory_id']}").json
    assert (shown["value"], shown["is_absent"], shown["state"]) == (None, True, "active")


def test_a_write_needs_both_rights(cast: Cast) -> None:
    for action in ("ingest_event", "propose_memory"):
        half = Api(issue_token(principal=cast.agent, name=action, actions=[action], now=clock.now()))
        told = half.post("memories", a_memory())
        assert (told.status, told.code) == (403, "forbidden")


def test_a_declared_key_of_many_values_holds_each(api: Api, cast: Cast) -> None:
    with tenant_context(cast.tenant_id):
        Predicate.objects.create(tenant_id=cast.tenant_id, fact_key="contact", cardinality="many")
    one, two = (api.post("memories", a_memory(fact_key="contact", value=value)) for value in ("a", "b"))
    assert (one.status, two.status) == (201, 201)
    assert one.json["memory_id"] != two.json["memory_id"]


def test_numbers_come_back_as_they_were_sent(api: Api) -> None:
    values: list[Any] = [0, -1, 1.5, 10**40, 2**53 + 1, True, [], {}, {"b": [1, None]}, ""]
    for value in values:
        told = api.post("memories", a_memory(value=value, conditions={"case": repr(value)}))
        assert told.status == 201, told.raw
        assert api.get(f"memories/{told.json['memory_id']}").json["value"] == value


def test_the_scope_of_the_name_must_be_known(api: Api) -> None:
    told = api.post("memories", a_memory(scope={**PROJECT, "key": "elsewhere"}))
    assert (told.status, told.code) == (404, "not_found")
