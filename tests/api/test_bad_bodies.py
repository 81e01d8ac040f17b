"""No body breaks the API: each is refused with its reason, none is cut, none leads to 500."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memoryhub.lib.ids import new_id
from tests.api.client import Api, a_candidate, a_memory, an_event

POSTS = ("events", "candidates", "memories", "memories/search", "retrievals/01a22cac-d783-72eb-bca1-7a6363e49ddf/usage")

RAW: list[tuple[bytes, int, str]] = [
    (b"", 400, "malformed_body"),
    (b" ", 400, "malformed_body"),
    (b"{", 400, "malformed_body"),
    (b"{}{}", 400, "malformed_body"),
    (b"{'a': 1}", 400, "malformed_body"),
    (b"\xff\xfe{\x00}\x00", 400, "malformed_body"),
    (b"\xef\xbb\xbf{}", 400, "malformed_body"),
    (b'{"a": "\xff"}', 400, "malformed_body"),
    (b'{"a": "\xc3\x28"}', 400, "malformed_body"),
    (b'{"a": "\\ud800"}', 400, "malformed_body"),
    (b'{"\\udfff": 1}', 400, "malformed_body"),
    (b'{"a": "\xed\xa0\x80"}', 400, "malformed_body"),
    (b'{"a": "\\u0000"}', 400, "nul_character"),
    (b'{"\\u0000": 1}', 400, "nul_character"),
    (b'{"a": "\x00"}', 400, "malformed_body"),
    (b'{"a": NaN}', 400, "malformed_body"),
    (b'{"a": -Infinity}', 400, "malformed_body"),
    (b'{"a": 1e999}', 400, "malformed_body"),
    (b'{"a": ' + b"9" * 5000 + b"}", 400, "malformed_body"),
    (b'{"a": 1, "a": 2}', 400, "malformed_body"),
    (b"[" * 100_000, 400, "malformed_body"),
    (b"[" * 100 + b"]" * 100, 400, "malformed_body"),
    (b'{"a":' * 65 + b"1" + b"}" * 65, 400, "malformed_body"),
    (b"null", 422, "invalid_input"),
    (b"[]", 422, "invalid_input"),
    (b"1", 422, "invalid_input"),
    (b'"text"', 422, "invalid_input"),
    (b"true", 422, "invalid_input"),
]


@pytest.mark.parametrize("path", POSTS)
def test_what_is_no_json_object_is_refused(shared: Api, path: str) -> None:
    for raw, status, code in RAW:
        told = shared.send("POST", path, raw)
        assert (told.status, told.code) == (status, code), raw[:40]


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_another_media_type_is_refused(shared: Api, content_type: str) -> None:
    told = shared.send("POST", "memories", a_memory(), content_type=content_type)
    assert (told.status, told.code) == (415, "unsupported_media_type")


def test_json_is_read_whatever_its_parameters_and_answered_whatever_is_asked_for(shared: Api) -> None:
    told = shared.send("POST", "events", an_event(), content_type="Application/JSON; charset=utf-8", accept="text/html")
    assert (told.status, told.headers["Content-Type"]) == (202, "application/json")


def test_a_body_larger_than_the_limit_is_refused_with_it(shared: Api) -> None:
    limits = shared.get("me").json["limits"]
    told = shared.send("POST", "events", b'{"a": "' + b"x" * limits["body_bytes"] + b'"}')
    assert (told.status, told.code, told.json["limit"]) == (413, "too_large", limits["body_bytes"])


@pytest.mark.parametrize(
    ("field", "limit", "value"),
    [
        ("content", "content_characters", lambda size: "喜" * size),
        ("text", "content_characters", lambda size: "x" * size),
        ("value", "value_bytes", lambda size: "x" * size),
        ("conditions", "conditions_bytes", lambda size: {"k": "x" * size}),
    ],
)
def test_a_field_larger_than_its_limit_is_refused_and_one_at_it_is_kept(
    shared: Api, field: str, limit: str, value: Any
) -> None:
    size = shared.get("me").json["limits"][limit]
    told = shared.post("memories", a_memory(**{field: value(size + 1)}))
    assert (told.status, told.code, told.json["limit"]) == (413, "too_large", size)
    assert told.json["errors"][0]["pointer"] == f"/{field}"
    overhead = len(json.dumps(value(0))) if limit.endswith("bytes") else 0
    subject = f"product:{new_id()}"
    kept = shared.post("memories", a_memory(**{"subject": subject, field: value(size - overhead)}))
    assert kept.status == 201, kept.raw
    if field in ("content", "value", "conditions"):
        assert shared.get(f"memories/{kept.json['memory_id']}").json[field] == value(size - overhead)


TIMES = [
    ("2024-01-01T00:00:00", "naive_time"),
    ("2024-01-01 00:00:00", "naive_time"),
    ("2024-01-01", "malformed_time"),
    ("20240101T000000Z", "malformed_time"),
    ("2024-01-01T00:00Z", "malformed_time"),
    ("2024-13-01T00:00:00Z", "malformed_time"),
    ("2023-02-29T00:00:00Z", "malformed_time"),
    ("2024-01-01T24:00:00Z", "malformed_time"),
    ("2024-01-01T00:00:60Z", "malformed_time"),
    ("2024-01-01T00:00:00+24:00", "malformed_time"),
    ("2024-01-01T00:00:00.1234567Z", "malformed_time"),
    ("0001-01-01T00:00:00+14:00", "malformed_time"),
    ("9999-12-31T23:59:59-14:00", "malformed_time"),
    ("0000-01-01T00:00:00Z", "malformed_time"),
    ("２０２４-01-01T00:00:00Z", "malformed_time"),
    (" 2024-01-01T00:00:00Z", "malformed_time"),
    ("2024-01-01T00:00:00Z\n", "malformed_time"),
    (1704067200, "malformed_time"),
    (True, "malformed_time"),
    (None, "malformed_time"),
    ("", "malformed_time"),
]


@pytest.mark.parametrize(("path", "make"), [("events", an_event), ("memories", a_memory)])
def test_a_time_that_is_no_instant_is_refused(shared: Api, path: str, make: Any) -> None:
    for time, code in TIMES:
        told = shared.post(path, make(occurred_at=time))
        assert (told.status, told.code) == (400, code), time
        assert told.json["errors"][0]["pointer"] == "/occurred_at"


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        ("2024-01-01T02:00:00+02:00", "2024-01-01T00:00:00Z"),
        ("2024-01-01t00:00:00z", "2024-01-01T00:00:00Z"),
        ("2024-01-01 00:00:00Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00.1Z", "2024-01-01T00:00:00.100000Z"),
        ("2024-01-01T00:00:00.123456000Z", "2024-01-01T00:00:00.123456Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_an_instant_is_kept_exactly(shared: Api, time: str, shown: str) -> None:
    told = shared.post("memories", a_memory(occurred_at=time, subject=f"product:{new_id()}"))
    assert told.status == 201, told.raw
    items = shared.get(f"memories/{told.json['memory_id']}/history").json["items"]
    assert items[0]["parts"][0]["occurred_at"] == shown


FAULTS: list[tuple[str, dict[str, Any], str]] = [
    ("events", {"event_id": ""}, "invalid_input"),
    ("events", {"event_id": "x" * 201}, "invalid_input"),
    ("events", {"event_id": 7}, "invalid_input"),
    ("events", {"event_id": "a\nb"}, "invalid_input"),
    ("events", {"event_id": ".."}, "invalid_input"),
    ("events", {"scope": "project:platform"}, "invalid_input"),
    ("events", {"scope": {"kind": "galaxy", "key": "x"}}, "invalid_input"),
    ("events", {"scope": {"kind": "project"}}, "invalid_input"),
    ("events", {"scope": {"kind": "project", "key": "platform", "id": 1}}, "unknown_field"),
    ("events", {"source_type": "Web Page"}, "invalid_input"),
    ("events", {"source_type": "x" * 33}, "invalid_input"),
    ("events", {"source_seq": -1}, "invalid_input"),
    ("events", {"source_seq": 2**63}, "invalid_input"),
    ("events", {"source_seq": 1.5}, "invalid_input"),
    ("events", {"source_seq": "1"}, "invalid_input"),
    ("events", {"trust": "first_party"}, "unknown_field"),
    ("events", {"recorded_at": "2024-01-01T00:00:00Z"}, "unknown_field"),
    ("events", {"content_ref": "x" * 301}, "invalid_input"),
    ("memories", {"fact_key": ""}, "invalid_input"),
    ("memories", {"fact_key": "x" * 201}, "invalid_input"),
    ("memories", {"subject": "product:" + "x" * 300}, "invalid_input"),
    ("memories", {"content": None}, "invalid_input"),
    ("memories", {"content": ["x"]}, "invalid_input"),
    ("memories", {"confidence": 1.01}, "invalid_input"),
    ("memories", {"confidence": -0.0001}, "invalid_input"),
    ("memories", {"stance": "maybe"}, "invalid_input"),
    ("memories", {"kind": "rumour"}, "invalid_input"),
    ("memories", {"expected_version": 3}, "unknown_field"),
    ("memories", {"epistemic_status": "validated"}, "invalid_input"),
    ("memories", {"modality": "believed"}, "unknown_field"),
    ("memories", {"payload": {}}, "unknown_field"),
]


@pytest.mark.parametrize(("path", "change", "code"), FAULTS, ids=lambda part: str(part)[:50])
def test_a_fault_is_named_by_its_place(shared: Api, path: str, change: dict[str, Any], code: str) -> None:
    body = an_event(**change) if path == "events" else a_memory(**change)
    told = shared.post(path, body)
    assert (told.status, told.code) == (422, code)
    assert told.json["errors"][0]["pointer"].startswith(f"/{next(iter(change))}")


@pytest.mark.parametrize("make", [an_event, a_memory, lambda: a_candidate("x")])
def test_every_field_may_hold_anything_without_breaking_it(shared: Api, make: Any) -> None:
    """Put each odd value into each place of a good body: refused or kept, never 5xx."""
    odd: list[Any] = [
        None,
        True,
        0,
        -1,
        2**70,
        1e308,
        0.1,
        "",
        " ",
        "x" * 5000,
        "\u2028",
        "𝕏",
        [],
        [[]],
        {},
        {"": ""},
        [None],
        "a:b",
    ]
    path = {"payload": "events", "evidence": "candidates"}.get(
        next((f for f in ("payload", "evidence") if f in make()), ""), "memories"
    )
    for field in make():
        for value in odd:
            told = shared.post(path, make() | {field: value})
            assert told.status < 500, (field, value, told.raw)
            if told.status >= 400:
                assert told.code


def test_odd_values_reach_the_search_without_breaking_it(shared: Api) -> None:
    for field in ("query", "scopes", "filters", "top_k", "threshold", "as_of", "session", "read_token", "limit"):
        for value in (
            None,
            True,
            0,
            -1,
            2**70,
            "",
            " ",
            "x" * 5000,
            [],
            {},
            [None],
            {"valid_at": None},
            {"subject": ""},
        ):
            told = shared.post("memories/search", {"query": "django", field: value})
            assert told.status < 500, (field, value, told.raw)


def test_the_detail_says_that_there_are_faults_it_does_not_name(shared: Api) -> None:
    problem = shared.send("POST", "memories", {"event_id": "x"}).json
    assert len(problem["errors"]) > 3
    assert problem["detail"].endswith(" and elsewhere.")
    assert shared.send("POST", "memories/search", {"top_k": 5}).json["detail"] == "1 fault, at /query."
