"""Recall answers within rights, says what it left out, and is audited."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from memoryhub.access.operations import issue_token
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.ids import new_id
from memoryhub.retrieval.models import RetrievalItem, RetrievalRun
from tests.api.client import Api, a_memory, close_connections, work
from tests.cast import Cast

QUESTION = {"query": "latest release of django"}


@pytest.fixture
def memory_id(api: Api) -> str:
    told = api.post("memories", a_memory())
    work()
    return str(told.json["memory_id"])


def find(api: Api, **more: Any) -> list[str]:
    told = api.post("memories/search", {**QUESTION, **more})
    assert told.status == 200, told.raw
    return [item["memory_id"] for item in told.json["items"]]


def test_a_question_is_answered_with_scores_and_a_run(api: Api, cast: Cast, memory_id: str) -> None:
    told = api.post("memories/search", QUESTION).json
    [item] = told["items"]
    assert (item["memory_id"], item["value"], item["conflict"]) == (memory_id, "4.1.1", None)
    assert set(item["score"]) == {"value", "relevance", "belief", "closeness", "recency"}
    assert all(0 <= part <= 1 for part in item["score"].values())
    with tenant_context(cast.tenant_id, read_only=True):
        run = RetrievalRun.objects.get(tenant_id=cast.tenant_id, pk=told["run_id"])
        assert str(run.principal_id) == str(cast.agent.pk)
        assert RetrievalItem.objects.filter(run=run, outcome="retrieved").count() == 1


def test_filters_leave_out_and_say_so(api: Api, memory_id: str) -> None:
    assert find(api, filters={"subject": "product:django", "fact_key": "release.latest"}) == [memory_id]
    told = api.post("memories/search", {**QUESTION, "filters": {"conditions": {"cycle": "5.0"}}}).json
    assert told["items"] == []
    assert told["excluded"] == [{"memory_id": memory_id, "version": 1, "reason": "condition_differs"}]


def test_limit_means_top_k_and_both_are_one_too_many(api: Api, memory_id: str) -> None:
    api.post("memories", a_memory(subject="product:python", content="The latest release of Python; Django needs it."))
    work()
    assert len(find(api)) == 2
    assert len(find(api, limit=1)) == len(find(api, top_k=1)) == 1
    told = api.post("memories/search", {**QUESTION, "limit": 1, "top_k": 1})
    assert (told.status, told.code) == (422, "unknown_field")
    assert memory_id


def test_as_of_answers_what_held_then(api: Api, memory_id: str) -> None:
    api.post("memories", a_memory(value="4.1.2", occurred_at="2022-09-01T00:00:00Z"))
    work()
    told = api.post("memories/search", {**QUESTION, "as_of": {"valid_at": "2022-08-20T00:00:00Z"}}).json
    assert [item["value"] for item in told["items"]] == ["4.1.1"]
    assert find(api, as_of={"valid_at": "2022-01-01T00:00:00Z"}) == []
    assert memory_id


def test_a_disputed_memory_brings_every_claim(api: Api, cast: Cast) -> None:
    for value, day, actor in (("4.1.1", 3, cast.alice), ("4.1.2", 10, cast.carol), ("4.1.1", 12, cast.alice)):
        api.post("memories", a_memory(value=value, occurred_at=f"2022-08-{day:02}T00:00:00Z", actor=actor.username))
    work()
    [item] = api.post("memories/search", QUESTION).json["items"]
    assert item["modality"] == "disputed"
    assert {claim["value"] for claim in item["conflict"]["claims"]} == {"4.1.1", "4.1.2"}


def test_scopes_limit_and_foreign_ones_are_not_there(api: Api, stranger: Api, cast: Cast, memory_id: str) -> None:
    assert find(api, scopes=[{"kind": "project", "key": "platform"}]) == [memory_id]
    assert find(api, scopes=[{"kind": "user", "key": cast.alice.username}]) == []
    told = api.post("memories/search", {**QUESTION, "scopes": [{"kind": "project", "key": "elsewhere"}]})
    assert (told.status, told.code) == (404, "not_found")
    assert find(stranger) == []


def test_a_write_is_found_by_whoever_brings_its_read_token(api: Api) -> None:
    written = api.post("memories", a_memory())
    assert find(api) == []

    def deliver() -> None:
        time.sleep(0.3)
        work()
        close_connections()

    worker = threading.Thread(target=deliver)
    worker.start()
    try:
        assert find(api, read_token=written.json["read_token"]) == [written.json["memory_id"]]
    finally:
        worker.join()


def test_a_token_that_nothing_catches_up_with_is_refused(api: Api) -> None:
    written = api.post("memories", a_memory())
    started = time.monotonic()
    told = api.post("memories/search", {**QUESTION, "read_token": written.json["read_token"]})
    assert (told.status, told.code, told.headers["Retry-After"]) == (503, "not_yet_visible", "1")
    assert time.monotonic() - started < 4
    assert api.post("memories/search", {**QUESTION, "read_token": "nonsense"}).code == "malformed_id"


def test_usage_is_counted_once(api: Api, memory_id: str) -> None:
    run = api.post("memories/search", QUESTION).json["run_id"]
    used = {"memory_id": memory_id.upper(), "reason": "asked for"}
    first = api.post(f"retrievals/{run}/usage", {"injected": [used, used], "adopted": [used]})
    assert first.json == {"run_id": run, "injected": 1, "adopted": 1}
    assert api.post(f"retrievals/{run}/usage", {"injected": [used]}).json["injected"] == 0
    assert api.post(f"retrievals/{run}/usage", {}).json == {"run_id": run, "injected": 0, "adopted": 0}


def test_usage_names_only_what_was_given_out(api: Api, cast: Cast, memory_id: str) -> None:
    run = api.post("memories/search", QUESTION).json["run_id"]
    other = str(new_id())
    told = api.post(f"retrievals/{run}/usage", {"adopted": [{"memory_id": other, "reason": "r"}]})
    assert (told.status, told.code, told.json["memory_ids"]) == (422, "not_retrieved", [other])
    reason = {"memory_id": memory_id, "reason": "x" * 65}
    assert api.post(f"retrievals/{run}/usage", {"adopted": [reason]}).code == "invalid_input"
    assert api.post(f"retrievals/{new_id()}/usage", {}).code == "not_found"
    assert api.post("retrievals/x/usage", {}).code == "not_found"
    other_agent = Api(issue_token(principal=cast.bot, name="bot", actions=["recall_memory"], now=clock.now()))
    assert other_agent.post(f"retrievals/{run}/usage", {}).code == "not_found"


ODD_QUERIES = ["%", "_", "'; DROP TABLE x", "a:* & !b |", "<->", "x" * 2000, "喜" * 500, "\u2028", "'", "\\"]


def test_any_words_are_only_words(api: Api, memory_id: str) -> None:
    for query in ODD_QUERIES:
        assert memory_id not in find(api, query=query)
