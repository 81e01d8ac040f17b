"""Importing files of other programs: each event once, however often and in how many pieces a file is sent."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memoryhub.access.tenancy import tenant_context
from memoryhub.extraction.adapters.reading import Left
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.management import importing
from memoryhub.management.importing import ImportRefused, Job, Report, import_file, read_records
from memoryhub.usecases.ingest import ingest_events
from tests.cast import Cast, make_cast

STAMP = "2026-05-20T09:00:00Z"
SCOPE = ("project", "platform")


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def window(session: str, *texts: str, at: str = STAMP) -> dict[str, Any]:
    """Return a window in which user and assistant take turns."""
    roles = ("user", "assistant")
    messages = [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]
    return {"session": session, "at": at, "messages": messages}


def write(path: Path, *records: Any) -> Path:
    """Write records as JSON Lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def load(cast: Cast, path: Path, *, actor: bool = True, **more: Any) -> Report:
    """Import chat messages of Bob's."""
    job = Job(path=path, format="openai-chat", scope=SCOPE, actor=cast.bob.username if actor else None)
    return import_file(caller=cast.caller, job=job, now=clock.now, **more)


def read(cast: Cast, query: str) -> list[Any]:
    """Read something of the tenant."""
    with tenant_context(cast.tenant_id, read_only=True):
        return fetch_all(sql=query, params=[])


def count(cast: Cast) -> int:
    """Return how many events the tenant has."""
    return int(read(cast, "SELECT count(*) FROM source_events")[0][0])


def test_a_file_sent_again_changes_nothing(cast: Cast, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", window("s", "one", "two"), window("s", "one", "two", "three"))
    assert load(cast, path).outcomes == {"accepted": 3, "replayed": 2}
    held = read(cast, "SELECT id, ingested_at FROM source_events ORDER BY id")
    assert load(cast, path).outcomes == {"replayed": 5}
    assert read(cast, "SELECT id, ingested_at FROM source_events ORDER BY id") == held
    write(path, window("s", "one", "two"), window("s", "one", "two", "three", "four"))
    assert load(cast, path).outcomes == {"accepted": 1, "replayed": 5}


def test_what_the_user_said_is_the_users_and_what_the_agent_said_is_not(cast: Cast, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", window("s", "I always prefer short answers.", "I always prefer long answers."))
    load(cast, path)
    rows = read(
        cast,
        "SELECT record.source_type, record.trust, actor.username, count(job.id) FROM source_events record"
        " JOIN principals actor ON actor.id = record.actor_id"
        " LEFT JOIN processing_jobs job ON job.target_id = record.id GROUP BY 1, 2, 3 ORDER BY 1",
    )
    assert rows == [
        ("agent_message", "untrusted", cast.agent.username, 0),
        ("message", "first_party", cast.bob.username, 1),
    ]


def test_without_an_actor_nobody_stands_behind_the_words(cast: Cast, tmp_path: Path) -> None:
    load(cast, write(tmp_path / "a.jsonl", window("s", "I always prefer tea")), actor=False)
    assert read(cast, "SELECT source_type, trust FROM source_events") == [("relayed_message", "untrusted")]


def test_an_import_that_was_cut_off_goes_on(cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [window(f"s{number}", "one", "two") for number in range(20)]
    path, checkpoint = write(tmp_path / "a.jsonl", *records), tmp_path / "done.json"
    sent = 0
    ingest = ingest_events

    def cut(**call: Any) -> Any:
        nonlocal sent
        if sent == 3:
            raise KeyboardInterrupt
        sent += 1
        return ingest(**call)

    with monkeypatch.context() as patch:
        patch.setattr(importing, "ingest_events", cut)
        with pytest.raises(KeyboardInterrupt):
            load(cast, path, checkpoint=checkpoint, size=4)
    assert count(cast) == 12
    report = load(cast, path, checkpoint=checkpoint, size=4)
    assert report.outcomes == {"done_before": 12, "accepted": 28}
    assert count(cast) == 40
    with path.open("a") as file:
        file.write(json.dumps(window("new", "one")) + "\n")
    report = load(cast, path, checkpoint=checkpoint)
    assert (report.outcomes, report.refused) == ({"done_before": 40, "accepted": 1}, 0)
    with pytest.raises(ImportRefused):
        load(cast, write(tmp_path / "b.jsonl", window("x", "y")), checkpoint=checkpoint)


def test_what_cannot_be_taken_is_counted_and_stops_nothing(cast: Cast, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    good, long = window("s", "one"), window("t", "x " * 29_000, "y")
    long["messages"][1]["tool_calls"] = [
        {"id": str(number), "function": {"name": "t", "arguments": "z" * 59_000}} for number in range(6)
    ]
    untimed = {"session": "u", "messages": [{"role": "user", "content": "x"}]}
    lines = [json.dumps(good), "{broken", json.dumps(long), "", json.dumps(untimed), '{"cut off": ']
    path.write_text("\n".join(lines), encoding="utf-8")
    report = load(cast, path)
    assert report.records == 5
    assert report.outcomes == {"accepted": 2, "too_large": 1}
    assert report.left == {"line_malformed": 2, "no_time": 1}
    assert report.refused == 1


def test_a_scope_that_is_not_there_is_refused_for_each_event(cast: Cast, tmp_path: Path) -> None:
    job = Job(path=write(tmp_path / "a.jsonl", window("s", "a", "b")), format="openai-chat", scope=("project", "none"))
    report = import_file(caller=cast.caller, job=job, now=clock.now)
    assert (report.outcomes, report.refused) == ({"scope_not_found": 2}, 2)


def test_text_that_no_database_keeps_is_made_storable(cast: Cast, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, window("s", "a\x00b\ud800c"))
    assert load(cast, path).outcomes == {"accepted": 1}
    assert read(cast, "SELECT payload->>'text' FROM source_event_bodies") == [("ab?c",)]


@pytest.mark.parametrize("shape", ["lines", "array", "document", "pretty array"])
def test_every_shape_of_file_is_read(shape: str, tmp_path: Path) -> None:
    records = [{"n": number, "text": "ü" * 300} for number in range(1 if shape == "document" else 50)]
    text = {
        "lines": "\ufeff\n" + "\n\n".join(json.dumps(record) for record in records),
        "array": json.dumps(records),
        "pretty array": json.dumps(records, indent=2, ensure_ascii=False),
        "document": json.dumps(records[0], indent=2),
    }[shape]
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    assert list(read_records(path=path)) == records


def test_an_array_that_is_cut_off_gives_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"n": 1}, {"n": 2}, {"n": ')
    *whole, rest = read_records(path=path)
    assert whole == [{"n": 1}, {"n": 2}]
    assert isinstance(rest, Left)


@pytest.mark.parametrize("is_array", [True, False])
def test_a_large_file_is_never_held_as_a_whole(
    is_array: bool, tmp_path: Path, at_scale: Callable[[int, int], int]
) -> None:
    megabytes = at_scale(30, 300)
    path = tmp_path / "a.json"
    record = json.dumps({"text": "x" * 10_000})
    with path.open("w") as file:
        for number in range(megabytes * 100):
            file.write(("," if number else "[") * is_array + record + "\n")
        file.write("]" * is_array)
    began = time.monotonic()
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_records(path=path)) == megabytes * 100
        assert tracemalloc.get_traced_memory()[1] < 12_000_000
    finally:
        tracemalloc.stop()
    assert time.monotonic() - began < megabytes


@pytest.fixture
def token(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MEMORYHUB_TOKEN", cast.secret)
    return cast.secret


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """Run the command and return the lines that it prints."""
    call_command("import_events", *arguments)
    return capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("token")
def test_the_command_says_what_became_of_everything(
    cast: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [
        {"type": "summary", "summary": "x"},
        {"type": "user", "uuid": "u1", "sessionId": "s", "timestamp": STAMP, "message": {"content": "hello"}},
        {
            "type": "assistant",
            "uuid": "u2",
            "sessionId": "s",
            "timestamp": STAMP,
            "message": {"content": [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "hi"}]},
        },
    ]
    path = write(tmp_path / "s.jsonl", *records)
    arguments = (str(path), "--format", "claude-code", "--scope", "project:platform", "--actor", cast.bob.username)
    told = ["left out, hidden_reasoning: 1", "left out, record:summary: 1"]
    assert run(capsys, *arguments) == ["records read: 3", "events accepted: 2", *told]
    assert run(capsys, *arguments) == ["records read: 3", "events replayed: 2", *told]
    kept = (*arguments, "--checkpoint", str(tmp_path / "done.json"))
    run(capsys, *kept)
    assert run(capsys, *kept) == ["records read: 3", "events done before: 2", *told]
    with pytest.raises(CommandError, match="2 events were refused"):
        run(capsys, *arguments[:4], "project:none")
    assert "events refused, scope_not_found: 2" in capsys.readouterr().out


@pytest.mark.usefixtures("token")
def test_the_command_says_how_to_give_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "s.jsonl", {"messages": [{"role": "user", "content": "a"}]})
    arguments = (str(path), "--format", "openai-chat", "--scope", "project:platform")
    call_command("import_events", *arguments)
    told = capsys.readouterr()
    assert "left out, no_time: 1" in told.out
    assert "--at gives them one" in told.err
    call_command("import_events", *arguments, "--at", STAMP)
    assert "--at" not in capsys.readouterr().err


def test_the_command_refuses_what_it_cannot_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cast: Cast
) -> None:
    path = write(tmp_path / "s.jsonl", window("s", "a"))
    good = (str(path), "--format", "openai-chat", "--scope", "project:platform")
    monkeypatch.setenv("MEMORYHUB_TOKEN", "mh_wrong")
    with pytest.raises(CommandError, match="valid token"):
        run(capsys, *good)
    monkeypatch.setenv("MEMORYHUB_TOKEN", cast.secret)
    for bad, why in (
        ((str(tmp_path / "none"), *good[1:]), "no file"),
        ((*good[:4], "platform"), "kind:key"),
        ((*good, "--at", "soon"), "instant"),
        (("--format", "papyrus", *good[:1], *good[3:]), "invalid choice"),
    ):
        with pytest.raises(CommandError, match=why):
            run(capsys, *bad)
