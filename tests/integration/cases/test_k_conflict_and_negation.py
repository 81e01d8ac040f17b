"""Class K, conflict and negation: what contradicts itself stays visible, and only one key can contradict itself.

Held elsewhere: a disputed memory brings every claim (`tests/api/test_search.py`), the answer to a put-back
(`tests/api/test_memories.py`), negation in extraction (`tests/unit/test_extraction.py`) and in the merge
(`tests/unit/test_merge.py`), a review under a deadlier failure, the kill of its process (T1, T2).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from memoryhub.access.operations import record_audit
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.review.models import ReviewItem
from memoryhub.usecases.rederive import check_memories
from memoryhub.usecases.review import Resolution, Verb, resolve_review
from tests.api.client import PROJECT, Api, a_memory, an_event, work
from tests.cast import Cast

DAYS = {"first": "2022-08-03T00:00:00Z", "second": "2022-08-10T00:00:00Z", "third": "2022-08-12T00:00:00Z"}
TABLES = ("memory_versions", "memory_evidence", "merge_decisions", "rulings", "conflict_sets", "conflict_members")


def write(api: Api, **more: Any) -> dict[str, Any]:
    told = api.post("memories", a_memory(**more))
    assert told.status in (200, 201, 202), told.raw
    answer: dict[str, Any] = told.json
    return answer


def dispute(api: Api, cast: Cast, **more: Any) -> dict[str, Any]:
    """Let Carol replace what Alice said and Alice put it back: a conflict of two who may."""
    write(api, value="a", occurred_at=DAYS["first"], actor=cast.alice.username, **more)
    write(api, value="b", occurred_at=DAYS["second"], actor=cast.carol.username, **more)
    told = write(api, value="a", occurred_at=DAYS["third"], actor=cast.alice.username, **more)
    assert (told["status"], told["action"]) == ("pending_review", "CONFLICT")
    return told


def count_rows(cast: Cast) -> dict[str, int]:
    with tenant_context(cast.tenant_id, read_only=True):
        return {
            table: fetch_all(sql=f"SELECT count(*) FROM {table} WHERE tenant_id = %s", params=[cast.tenant_id])[0][0]
            for table in TABLES
        }


def show_item(cast: Cast) -> ReviewItem:
    with tenant_context(cast.tenant_id, read_only=True):
        return ReviewItem.objects.get(tenant_id=cast.tenant_id)


class DiskFull(Exception):
    """Stand for whatever may go wrong at the end of a transaction."""


def settle(cast: Cast, told: dict[str, Any]) -> None:
    resolve_review(
        caller=cast.person(cast.rita),
        resolution=Resolution(
            item_id=str(show_item(cast).pk), verb=Verb.ACCEPT, expected_version=told["version"], note="", reason=""
        ),
        now=clock.now(),
    )


def test_a_conflict_whose_effect_fails_stays_open(api: Api, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    told = dispute(api, cast)
    before, shown = count_rows(cast), api.get(f"memories/{told['memory_id']}").json

    def fail_afterwards(**arguments: Any) -> None:
        record_audit(**arguments)
        raise DiskFull

    monkeypatch.setattr("memoryhub.usecases.review.record_audit", fail_afterwards)
    with pytest.raises(DiskFull):
        settle(cast, told)
    assert (show_item(cast).state, count_rows(cast)) == ("open", before)
    assert api.get(f"memories/{told['memory_id']}").json == shown
    assert shown["modality"] == "disputed"
    monkeypatch.undo()
    settle(cast, told)
    assert show_item(cast).state == "decided"
    settled = api.get(f"memories/{told['memory_id']}").json
    assert (settled["modality"], settled["value"], settled["conflict"]) == ("believed", "a", None)


def test_neither_side_of_a_conflict_vanishes(api: Api, cast: Cast) -> None:
    told = dispute(api, cast)
    third = write(api, value="c", occurred_at="2022-08-20T00:00:00Z", actor=cast.bob.username)
    assert (third["action"], third["reason"]) == ("CONFLICT", "joins_open_conflict")
    work()
    [found] = api.post("memories/search", {"query": "latest release of django"}).json["items"]
    shown = api.get(f"memories/{told['memory_id']}").json
    for answer in (found, shown):
        assert answer["modality"] == "disputed"
        assert answer["value"] == "b"
        claims = Counter((claim["value"], claim["is_standing"]) for claim in answer["conflict"]["claims"])
        assert claims == {("b", True): 1, ("a", False): 1, ("c", False): 1}
    evidence = api.get(f"memories/{told['memory_id']}/evidence").json["lineages"]
    assert sorted(item["value"] for lineage in evidence for item in lineage["items"]) == ["a", "a", "b", "c"]


@pytest.mark.parametrize(
    ("subjects", "words"),
    [
        (("product:alpha", "product:beta"), "{0} ships with a 30 day trial."),
        (("product:甲", "product:乙"), "{0}的试用期是三十天。"),
        (("product:alpha", "product:Alpha"), "{0} ships with a 30 day trial."),
        (("product:プロ", "product:フロ"), "{0}は三十日間試せます。"),
    ],
)
def test_a_conflict_about_one_subject_leaves_another_alone(
    api: Api, cast: Cast, subjects: tuple[str, str], words: str
) -> None:
    """Hold it for names and sentences that differ in next to nothing."""
    alpha, beta = subjects
    held = write(api, subject=beta, value="a", content=words.format(beta))
    told = dispute(api, cast, subject=alpha, content=words.format(alpha))
    settle(cast, told)
    for fact_key in ("release.eol", "release.latest.date"):
        apart = write(api, subject=alpha, fact_key=fact_key, value="z", content=words.format(alpha))
        assert (apart["action"], apart["reason"]) == ("ADD", "first_claim")
    other = api.get(f"memories/{held['memory_id']}").json
    assert (other["value"], other["version"], other["modality"]) == ("a", 1, "believed")
    assert told["memory_id"] != held["memory_id"]
    assert list(check_memories(tenant_id=cast.tenant_id)) == []


PAIRS = [
    ("The export is allowed.", "The export is not allowed.", "allowed", "not allowed"),
    ("允许导出。", "不允许导出。", "允许", "不允许"),
    ("允許匯出。", "不允許匯出。", "允許", "不允許"),
    ("Exports may leave the house.", "Exports may never leave the house.", True, False),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_a_negation_is_another_claim_and_no_repetition(api: Api, cast: Cast, pair: tuple[str, str, Any, Any]) -> None:
    claim, negation, value, negated = pair
    about: dict[str, Any] = {"fact_key": "export.allowed", "conditions": {}}
    first = write(api, value=value, content=claim, **about)
    same = write(api, value=value, content=claim, **about)
    assert (first["action"], same["action"]) == ("ADD", "ATTACH_EVIDENCE")
    denied = write(api, value=negated, content=negation, actor=cast.bob.username, occurred_at=DAYS["second"], **about)
    assert (denied["action"], denied["reason"]) == ("CONFLICT", "author_may_not_supersede")
    about["conditions"] = {"week": "2"}
    write(api, value=negated, content=negation, **about)
    taken_back = write(api, value=value, content=claim, occurred_at=DAYS["second"], **about)
    assert (taken_back["action"], taken_back["reason"]) == ("SUPERSEDE", "replaces_standing")


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        ("可以周末发布", "可以周末发布", ("ATTACH_EVIDENCE", "independent_support")),
        ("可以周末发布", "不可以周末发布", ("CONFLICT", "author_may_not_supersede")),
        ("may ship at weekends", "may not ship at weekends", ("CONFLICT", "author_may_not_supersede")),
    ],
)
def test_a_plain_pair_gives_its_reason(api: Api, cast: Cast, first: str, second: str, answer: tuple[str, str]) -> None:
    about: dict[str, Any] = {"fact_key": "team.weekend_rule", "conditions": {}}
    write(api, value=first, content=first, **about)
    told = write(api, value=second, content=second, actor=cast.bob.username, occurred_at=DAYS["second"], **about)
    assert (told["action"], told["reason"]) == answer


@pytest.mark.parametrize("words", ["可以周末发布", "may ship at weekends"])
def test_where_nothing_is_done_the_reason_is_told(api: Api, words: str) -> None:
    """Hold it for what a summary repeats, which goes back to the same event."""
    about = {
        "scope": PROJECT,
        "subject": "product:django",
        "fact_key": "team.weekend_rule",
        "value": words,
        "content": words,
    }
    event = an_event(payload={"text": words})
    api.post("events", event)
    told = []
    for statement in (0, 1):
        evidence = [{"event_id": event["event_id"]}]
        proposed = api.post("candidates", {**about, "statement": statement, "evidence": evidence})
        assert proposed.status == 202, proposed.raw
        work()
        told.append(api.get(f"candidates/{proposed.json['candidate_id']}").json)
    assert [(one["action"], one["reason"]) for one in told] == [
        ("ADD", "first_claim"),
        ("NO_OP", "lineage_already_counted"),
    ]


SAYINGS = [
    ("I like tea.", "I don't like tea.", True),
    ("I like tea.", "I really like tea.", False),
    ("我喜欢喝茶。", "我不喜欢喝茶。", True),
    ("我喜欢不错的茶。", "我喜欢不错的茶！", False),
    ("我不喜欢不错的茶。", "我喜欢不错的茶。", True),
    ("I prefer dark mode.", "I no longer prefer dark mode.", True),
]


def say(api: Api, cast: Cast, text: str, day: int) -> None:
    told = api.post(
        "events",
        an_event(
            scope={"kind": "user", "key": cast.alice.username},
            source_type="message",
            actor=cast.alice.username,
            payload={"text": text},
            occurred_at=f"2026-03-{day:02}T09:00:00Z",
        ),
    )
    assert told.status == 202, told.raw
    work()


@pytest.mark.parametrize(("first", "second", "is_negated"), SAYINGS)
def test_what_a_person_says_and_then_denies_is_one_memory_with_the_later_word(
    api: Api, cast: Cast, first: str, second: str, is_negated: bool
) -> None:
    say(api, cast, first, 1)
    say(api, cast, second, 2)
    with tenant_context(cast.tenant_id, read_only=True):
        decided = fetch_all(
            sql="SELECT action, memory_id::text FROM merge_decisions WHERE tenant_id = %s ORDER BY id",
            params=[cast.tenant_id],
        )
        values = fetch_all(
            sql="SELECT value FROM memory_versions WHERE tenant_id = %s AND recorded_to IS NULL ORDER BY valid_from",
            params=[cast.tenant_id],
        )
    assert [action for action, _ in decided] == ["ADD", "SUPERSEDE" if is_negated else "ATTACH_EVIDENCE"]
    assert len({memory for _, memory in decided}) == 1
    assert len(values) == (2 if is_negated else 1)
    assert len({value for (value,) in values}) == len(values)
