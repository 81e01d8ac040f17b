"""Class H, history: every change tells what was before, what came, who and when, and leaves the rest alone.

Held elsewhere: pages of a history (`tests/api/test_reading.py`), the history a person sees
(`tests/console/test_pages.py`), rulings in it (`tests/api/test_search.py`), that no row of it can be rewritten
(`tests/invariants`).
"""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import Any

from memoryhub.lib import clock
from tests.api.client import Api, a_memory
from tests.cast import Cast

UNTOUCHED = ("memory_id", "memory_type", "fact_key", "subject", "conditions", "namespace", "retention_class")
CHANGES = [
    ("alice", "4.1.1", "4.1.1 is out.", "2022-08-03T00:00:00Z"),
    ("bob", "4.1.2", "4.1.2 is out.", "2022-09-05T00:00:00Z"),
    ("alice", None, "4.1 was withdrawn.", "2022-10-01T00:00:00Z"),
    ("carol", "4.1.3", "4.1.3 已发布。", "2022-10-05T00:00:00Z"),
]


def change_all(api: Api, cast: Cast) -> str:
    for who, value, content, when in CHANGES:
        actor = {"alice": cast.alice, "bob": cast.bob, "carol": cast.carol}[who].username
        told = api.post("memories", a_memory(actor=actor, value=value, content=content, occurred_at=when))
        assert told.status == 201, told.raw
    return str(told.json["memory_id"])


def read_steps(api: Api, memory_id: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = api.get(f"memories/{memory_id}/history").json["items"]
    return steps


def opened_by(step: dict[str, Any]) -> dict[str, Any]:
    """Return the part that a step's own claim opened: the newest one it wrote."""
    part: dict[str, Any] = max(step["parts"], key=lambda written: written["valid_from"])
    return part


def test_every_change_has_before_after_actor_and_time(api: Api, cast: Cast) -> None:
    began = clock.now()
    steps = read_steps(api, change_all(api, cast))
    assert [step["decision"]["author"] for step in steps] == ["Alice", "Bob", "Alice", "Carol"]
    assert {step["decision"]["reason"] for step in steps[1:]} == {"replaces_standing"}
    assert [step["decision"]["action"] for step in steps] == ["ADD", *["SUPERSEDE"] * 3]
    for step, (_, value, content, when) in zip(steps, CHANGES, strict=True):
        after = opened_by(step)
        assert (after["value"], after["is_absent"], after["content"]) == (value, value is None, content)
        assert (after["occurred_at"], after["recorded_from"]) == (when, step["recorded_at"])
        assert step["decision"]["decision_id"]
    written = [part for step in steps for part in step["parts"]]
    for (_, was, _, _), step in zip(CHANGES, steps[1:], strict=False):
        before = [part for part in written if part["recorded_to"] == step["recorded_at"]]
        assert [part["value"] for part in before] == [was]
        assert {part["state"] for part in before} == {"superseded"}
    times = [datetime.fromisoformat(step["recorded_at"]) for step in steps]
    assert began <= times[0]
    assert all(earlier < later for earlier, later in pairwise(times))


def test_a_change_leaves_the_other_fields_alone(api: Api, cast: Cast) -> None:
    memory_id = change_all(api, cast)
    first = opened_by(read_steps(api, memory_id)[0])
    for step in read_steps(api, memory_id):
        for part in step["parts"]:
            assert {name: part[name] for name in UNTOUCHED} == {name: first[name] for name in UNTOUCHED}


def test_what_was_said_first_keeps_its_author_words_and_evidence(api: Api, cast: Cast) -> None:
    """Hold that a part that is cut by a later change is the old statement, only with other bounds."""
    memory_id = change_all(api, cast)
    steps = read_steps(api, memory_id)
    kept = [part for part in steps[1]["parts"] if part["value"] == "4.1.1"]
    original = opened_by(steps[0])
    assert [part["valid_to"] for part in kept] == [CHANGES[1][3]]
    for name in ("content", "content_hash", "author", "occurred_at", "ingested_at", "valid_from", "epistemic_status"):
        assert kept[0][name] == original[name], name
    assert kept[0]["author"] == "Alice"
    assert kept[0]["provenance"]["source_event_ids"] == original["provenance"]["source_event_ids"]


def test_a_confirmation_is_a_step_that_moves_nothing(api: Api, cast: Cast) -> None:
    memory_id = change_all(api, cast)
    again = api.post(
        "memories", a_memory(actor=cast.bob.username, value="4.1.3", occurred_at="2022-11-01T00:00:00Z")
    ).json
    assert (again["action"], again["memory_id"]) == ("ATTACH_EVIDENCE", memory_id)
    *_, last, added = read_steps(api, memory_id)
    assert (added["decision"]["author"], added["parts"]) == ("Bob", [])
    assert opened_by(last)["author"] == "Carol"
    shown = api.get(f"memories/{memory_id}").json
    assert (shown["author"], shown["value"], shown["valid_from"]) == ("Carol", "4.1.3", CHANGES[3][3])
