"""What a claim may rest on: events, documents at a revision, lower memories; and what is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from memoryhub.access.operations import create_scope, grant_rights, issue_token
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.ids import new_id
from tests.api.client import PROJECT, Api, a_memory, work
from tests.cast import AGENT_RIGHTS, Cast

DOCUMENT = {"ref": "docs/support.md", "revision": "3f2c9d1", "quote": "4.1 ends in April", "position": "line 12"}


def a_reflection(*lowers: tuple[str, int], **more: Any) -> dict[str, Any]:
    """Return a write of what lower memories amount to."""
    return a_memory(
        memory_type="reflective",
        fact_key="release.habit",
        value="quick",
        content="Releases come quickly.",
        evidence=[{"memory": {"id": memory_id, "version": version}} for memory_id, version in lowers],
        **more,
    )


def a_candidate(*evidence: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "scope": PROJECT,
        "subject": "product:django",
        "fact_key": "release.eol",
        "content": "4.1 ends in April.",
        "value": "2023-04-01",
        "evidence": list(evidence),
        **more,
    }


def write(api: Api, **more: Any) -> str:
    return str(api.post("memories", a_memory(**more)).json["memory_id"])


def test_a_reflection_shows_what_it_rests_on_and_the_other_way_round(api: Api) -> None:
    lower = write(api)
    told = api.post("memories", a_reflection((lower, 1)))
    assert (told.status, told.json["action"]) == (201, "ADD")
    upper = told.json["memory_id"]
    (link,) = api.get(f"memories/{upper}").json["derived_from"]
    assert {
        "memory_id": lower,
        "version": 1,
        "current_version": 1,
        "rests": True,
        "holds": True,
    }.items() <= link.items()
    (back,) = api.get(f"memories/{lower}").json["derived_into"]
    assert (back["memory_id"], back["memory_type"]) == (upper, "reflective")
    (lineage,) = api.get(f"memories/{upper}/evidence").json["lineages"]
    (item,) = lineage["items"]
    assert (item["kind"], item["memory"], item["quote"]) == ("memory", {"memory_id": lower, "version": 1}, None)
    work()
    api.post("memories", a_memory(value="4.1.9", occurred_at="2022-09-05T00:00:00Z"))
    work()
    shown = api.get(f"memories/{upper}").json
    assert shown["state"] == "needs_review"
    assert (shown["derived_from"][0]["holds"], shown["derived_from"][0]["reason"]) == (False, "lower_superseded")
    answer = api.post("memories/search", {"query": "django release habit"}).json
    assert upper not in [item["memory_id"] for item in answer["items"]]
    assert {"memory_id": upper, "version": 2, "reason": "needs_review"} in answer["excluded"]


def test_the_same_write_again_is_the_same_answer_whatever_became_of_it(api: Api) -> None:
    lower = write(api)
    body = a_reflection((lower, 1))
    first = api.post("memories", body)
    api.post("memories", a_memory(value="4.1.9", occurred_at="2022-09-05T00:00:00Z"))
    again = api.post("memories", body)
    assert (again.status, again.raw) == (first.status, first.raw)


def test_a_candidate_needs_no_event_of_its_own(api: Api) -> None:
    lower = write(api)
    body = a_candidate({"memory": {"id": lower, "version": 1}}, memory_type="reflective")
    first, second = api.post("candidates", body), api.post("candidates", body)
    assert (first.status, first.json["candidate_id"]) == (202, second.json["candidate_id"])
    work()
    assert api.get(f"candidates/{first.json['candidate_id']}").json["status"] == "accepted"
    assert api.post("candidates", body).json["candidate_id"] == first.json["candidate_id"]


def test_a_document_at_a_revision_counts_once_whoever_brings_it(api: Api, cast: Cast) -> None:
    other = Api(issue_token(principal=cast.bot, name="bot", actions=AGENT_RIGHTS, now=clock.now()))
    first = api.post("candidates", a_candidate({"document": DOCUMENT})).json["candidate_id"]
    second = other.post("candidates", a_candidate({"document": {**DOCUMENT, "position": "top"}})).json["candidate_id"]
    third = other.post("candidates", a_candidate({"document": {**DOCUMENT, "revision": "77aa"}})).json["candidate_id"]
    work()
    told = [api.get(f"candidates/{one}").json for one in (first, second, third)]
    assert [one["action"] for one in told] == ["ADD", "NO_OP", "ATTACH_EVIDENCE"]
    assert told[1]["reason"] == "same_source"
    page = api.get(f"memories/{told[0]['memory_id']}/evidence").json
    items = [item for lineage in page["lineages"] for item in lineage["items"]]
    assert {item["kind"] for item in items} == {"document"}
    assert items[0]["document"] == {name: DOCUMENT[name] for name in ("ref", "revision", "position")}
    assert items[0]["quote"] == DOCUMENT["quote"]


def test_a_write_may_name_its_document(api: Api) -> None:
    first = api.post("memories", a_memory(evidence=[{"document": DOCUMENT}]))
    again = api.post("memories", a_memory(evidence=[{"document": DOCUMENT}]))
    assert (first.status, again.status, again.json["reason"]) == (201, 200, "same_source")


def test_a_result_of_a_tool_is_told_as_one(api: Api) -> None:
    told = api.post("memories", a_memory(source_type="tool_result", epistemic_status="observed"))
    (lineage,) = api.get(f"memories/{told.json['memory_id']}/evidence").json["lineages"]
    assert [item["kind"] for item in lineage["items"]] == ["tool_result"]


def test_what_one_may_not_read_is_not_there(api: Api, cast: Cast) -> None:
    with tenant_context(cast.tenant_id):
        hidden = create_scope(
            tenant=cast.tenant, kind="project", key="hidden", name="Hidden", owner=cast.alice, now=clock.now()
        )
        grant_rights(scope=hidden, principal=cast.bot, rights=AGENT_RIGHTS)
    bot = Api(issue_token(principal=cast.bot, name="bot", actions=AGENT_RIGHTS, now=clock.now()))
    lower = write(bot, scope={"kind": "project", "key": "hidden"})
    unknown = str(new_id())
    for memory_id in (lower, unknown):
        told = api.post("memories", a_reflection((memory_id, 1)))
        assert (told.status, told.code) == (404, "not_found")
    upper = bot.post("memories", a_reflection((lower, 1))).json["memory_id"]
    if upper is not None:
        assert api.get(f"memories/{upper}").json["derived_from"] == []


def test_what_does_not_hold_is_refused_with_its_reason(api: Api) -> None:
    lower = write(api)
    api.post("memories", a_memory(value="4.1.9", occurred_at="2022-09-05T00:00:00Z"))
    told = api.post("memories", a_reflection((lower, 1)))
    assert (told.status, told.code) == (409, "evidence_not_held")
    assert (told.json["memory_id"], told.json["reason"]) == (lower, "lower_superseded")


def test_a_circle_is_refused(api: Api) -> None:
    lower = write(api)
    upper = api.post("memories", a_reflection((lower, 1))).json["memory_id"]
    told = api.post("memories", a_reflection((upper, 1)))
    assert (told.status, told.code) == (422, "evidence_cycle")


def test_a_reflection_without_a_lower_memory_is_refused(api: Api) -> None:
    told = api.post("memories", a_reflection())
    assert (told.status, told.code) == (422, "evidence_refused")
    told = api.post("candidates", a_candidate({"document": DOCUMENT}, memory_type="reflective"))
    assert (told.status, told.code) == (422, "evidence_refused")


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"event_id": "e", "document": DOCUMENT},
        {"document": DOCUMENT, "span": {"start": 0, "end": 1}},
        {"memory": {"id": "0199f0a0-0000-7000-8000-000000000001", "version": 0}},
    ],
)
def test_an_item_points_at_one_thing(api: Api, item: dict[str, Any]) -> None:
    told = api.post("candidates", a_candidate(item))
    assert (told.status, told.code) == (422, "invalid_input")
    assert told.json["errors"][0]["pointer"].startswith("/evidence/0")
