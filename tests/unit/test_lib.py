"""Ids rise, equal values have equal text, digests do not give their text away."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from uuid import UUID

import pytest

from memoryhub.lib import clock, ids
from memoryhub.lib.canonical import NotCanonical, canonical_json
from memoryhub.lib.hashing import keyed_digest, merkle_root, new_salt, sha256_hex


def test_the_clock_speaks_utc_and_agrees_with_itself() -> None:
    present = clock.now()
    assert present.tzinfo is UTC
    assert abs(present.timestamp() * 1000 - clock.now_ms()) < 1000
    assert clock.monotonic() <= clock.monotonic()


def test_ids_are_version_7_and_rise() -> None:
    given = [ids.new_id() for _ in range(20_000)]
    assert {(one.version, one.variant) for one in given} == {(7, "specified in RFC 4122")}
    assert given == sorted(given)
    assert len(set(given)) == len(given)


def test_an_id_begins_with_its_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    later = clock.now_ms() + 60_000
    monkeypatch.setattr(clock, "now_ms", lambda: later)
    monkeypatch.setattr(ids, "_last_ms", 0)
    assert ids.new_id().int >> 80 == later


def test_ids_rise_while_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([5_000, 4_000, 5_000, 3_000])
    monkeypatch.setattr(ids, "_last_ms", 0)
    monkeypatch.setattr(clock, "now_ms", lambda: next(times))
    given = [ids.new_id() for _ in range(4)]
    assert given == sorted(given)


def test_a_full_millisecond_borrows_from_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "_last_ms", 0)
    monkeypatch.setattr(clock, "now_ms", lambda: 7_000)
    given = [ids.new_id() for _ in range(5_000)]
    assert given == sorted(given)
    assert given[-1].int >> 80 in (7_001, 7_002)


def test_threads_never_share_an_id() -> None:
    found: list[list[UUID]] = []

    def take() -> None:
        found.append([ids.new_id() for _ in range(2_000)])

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = [one for taken in found for one in taken]
    assert len(set(every)) == 8_000
    assert all(taken == sorted(taken) for taken in found)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "x"]}, '{"a":[true,null,"x"],"b":1}'),
        ({"\ue000": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ue000":1}'),
        ("以后默认用中文回答", '"以后默认用中文回答"'),
        ('"\\\n\x1f', '"\\"\\\\\\n\\u001f"'),
        (
            [1.0, -0.0, 0.1, 1e-6, 1.5e-6, 1e-7, -2.5e-5, 1e20],
            "[1,0,0.1,0.000001,0.0000015,1e-7,-0.000025,100000000000000000000]",
        ),
        (9_007_199_254_740_993, "9007199254740993"),
        (({}, []), "[{},[]]"),
    ],
)
def test_a_value_has_one_text(value: object, text: str) -> None:
    assert canonical_json(value) == text


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        "a\x00b",
        {"a\x00": 1},
        "\ud800",
        {1: 2},
        {"at": datetime(2026, 1, 1, tzinfo=UTC)},
        {1, 2},
        b"x",
    ],
)
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(NotCanonical):
        canonical_json([value])


def test_digests_are_the_published_ones() -> None:
    assert sha256_hex("abc") == sha256_hex(b"abc")
    assert sha256_hex("abc").startswith("ba7816bf8f01cfea")
    # RFC 6962's test tree: the leaf and the empty tree
    assert merkle_root(leaves=[]).startswith("e3b0c44298fc1c14")
    assert merkle_root(leaves=[""]).startswith("6e340b9cffb37a98")


def test_a_keyed_digest_needs_key_salt_and_text() -> None:
    salt = new_salt()
    one = keyed_digest(key=b"k", text="Hans", salt=salt)
    assert one == keyed_digest(key=b"k", text="Hans", salt=salt)
    others = {
        keyed_digest(key=b"k", text="Hans"),
        keyed_digest(key=b"j", text="Hans", salt=salt),
        keyed_digest(key=b"k", text="Hans", salt=new_salt()),
        keyed_digest(key=b"k", text="ans", salt=b"H"),
        keyed_digest(key=b"k", text="Hans", salt=b""),
    }
    assert one not in others
    assert len(others) == 4


def test_a_root_tells_every_leaf_its_place_and_its_kind() -> None:
    leaves = [sha256_hex(name) for name in "abcde"]
    root = merkle_root(leaves=leaves)
    assert root != merkle_root(leaves=leaves[:4])
    assert root != merkle_root(leaves=[leaves[1], leaves[0], *leaves[2:]])
    two = merkle_root(leaves=leaves[:2])
    assert merkle_root(leaves=[two, leaves[2]]) != merkle_root(leaves=leaves[:3])
