"""A cognitive type of an application's own, from the door to an answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.memory.models import MemoryHead
from memoryhub.types import cognitive
from memoryhub.types.cognitive import Decay, register_cognitive_type
from memoryhub.usecases.rederive import check_memories
from tests.api.client import Api, a_candidate, a_memory, an_event, work
from tests.cast import Cast

WORKING = Decay(a=1.0, tau=timedelta(hours=1), b=1.0)


@pytest.fixture
def working() -> Iterator[str]:
    """Register a type that fades within hours, for one test."""
    register_cognitive_type(name="working", decay=WORKING)
    yield "working"
    cognitive._load_types.cache_clear()


def test_a_registered_type_is_written_proposed_and_found(api: Api, cast: Cast, working: str) -> None:
    now = clock.now().isoformat()
    told = api.post("memories", a_memory(memory_type=working, occurred_at=now))
    assert told.status == 201
    assert api.get(f"memories/{told.json['memory_id']}").json["memory_type"] == working
    event = an_event(occurred_at=now)
    api.post("events", event)
    api.post("candidates", a_candidate(event["event_id"], memory_type=working, fact_key="release.eol"))
    work()
    for wanted, found in ((working, 2), ("semantic", 0)):
        answer = api.post("memories/search", {"query": "Django", "filters": {"memory_type": wanted}}).json
        assert len(answer["items"]) == found
    assert list(check_memories(tenant_id=cast.tenant_id)) == []


def test_belief_fades_with_the_constants_of_the_type(api: Api, cast: Cast, working: str) -> None:
    """An hour after it was said half of it is left; a semantic memory of the same words keeps nearly all."""
    hour_ago = (clock.now() - timedelta(hours=1)).isoformat()
    for kind in (working, "semantic"):
        assert api.post("memories", a_memory(memory_type=kind, occurred_at=hour_ago)).status == 201
    with tenant_context(cast.tenant_id, read_only=True):
        held = dict(MemoryHead.objects.filter(tenant_id=cast.tenant_id).values_list("memory_type", "confidence"))
    assert held[working] == pytest.approx(held["semantic"] / 2, rel=0.02)


def test_what_faded_is_left_out_of_an_answer(api: Api, working: str) -> None:
    long_ago = (clock.now() - timedelta(days=2)).isoformat()
    api.post("memories", a_memory(memory_type=working, occurred_at=long_ago))
    work()
    answer = api.post("memories/search", {"query": "Django"}).json
    assert answer["items"] == []
    assert [one["reason"] for one in answer["excluded"]] == ["forgotten"]


@pytest.mark.parametrize("name", ["dreaming", "Semantic", "semantic ", "", "a b", "x" * 60])
def test_a_type_that_nobody_registered_is_refused(api: Api, name: str) -> None:
    event = an_event()
    api.post("events", event)
    for path, body in (
        ("memories", a_memory(memory_type=name)),
        ("candidates", a_candidate(event["event_id"], memory_type=name)),
        ("memories/search", {"query": "x", "filters": {"memory_type": name}}),
    ):
        told = api.post(path, body)
        assert told.status == 422
        assert told.code == ("unknown_memory_type" if name == "dreaming" else "invalid_input")
        assert told.json["errors"][0]["pointer"].endswith("/memory_type")


def test_a_type_that_is_gone_keeps_its_memories_out_of_answers(api: Api, working: str) -> None:
    """The package was taken out: nothing says how such a memory fades, so it is told as left out."""
    written = api.post("memories", a_memory(memory_type=working)).json
    api.post("memories", a_memory(fact_key="release.eol"))
    work()
    cognitive._load_types.cache_clear()
    answer = api.post("memories/search", {"query": "Django"})
    assert answer.status == 200
    assert [item["fact_key"] for item in answer.json["items"]] == ["release.eol"]
    left_out = {one["memory_id"]: one["reason"] for one in answer.json["excluded"]}
    assert left_out == {written["memory_id"]: "memory_type_unregistered"}
    assert api.get(f"memories/{written['memory_id']}").status == 200
