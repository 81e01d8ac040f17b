"""An agent that sends its whole context again on every turn: a real session of 41 windows inflates nothing.

Only the shape of the session is beside the repository (who, when, digest of the words), so the digests stand for the
words. A message is its session and its place in the conversation, never only its text. The trace does not name its
sessions: windows that begin with the same message at the same time are one.

474 messages come in, of 81 distinct texts. One text, of 5,451 characters, was sent twice: it opens window 35 and, 14
minutes later, window 40, and was answered differently. Those are two sessions, so they are two events: 82 records. By
text alone it would have been 81 and the second question would have been lost.
"""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memoryhub.access.operations import declare_entity_type
from memoryhub.access.tenancy import tenant_context
from memoryhub.extraction.adapters.openai_chat import OpenAIChatAdapter
from memoryhub.extraction.adapters.reading import AdaptedEvent
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.management.importing import Job, describe_event
from memoryhub.usecases.ingest import ingest_events
from memoryhub.usecases.propose import CandidateInput, EvidenceInput, propose_candidates
from memoryhub.usecases.run_jobs import run_due_jobs
from tests.cast import Cast, make_cast

TRACE = Path(__file__).resolve().parents[3] / "shared/data/agent_trace_shape/overlapping_windows_shape.jsonl"
WINDOWS, MESSAGES, TEXTS, RECORDS = 41, 474, 81, 82
SCOPE = ("project", "platform")


def read_windows() -> list[list[dict[str, Any]]]:
    """Return the messages of each window; a build fails without them, and elsewhere a shape like theirs is made."""
    if not TRACE.exists():
        assert "CI" not in os.environ, f"{TRACE} is missing"
        warnings.warn("the trace is missing; a session of the same shape takes its place", stacklevel=2)
        return make_windows()
    windows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for line in TRACE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        windows[row["window"]].append(row)
    return [windows[number] for number in sorted(windows)]


def make_windows() -> list[list[dict[str, Any]]]:
    """Return windows that grow as those of the trace do, with its numbers and words of our own."""
    began = datetime.fromisoformat("2026-05-15T10:00:00+00:00")
    lengths = [(0, 1), *((1, n) for n in range(1, 14)), *((2, n) for n in range(1, 6)), *((3, n) for n in range(1, 4))]
    lengths += [*((4, n) for n in range(1, 5)), (5, 1), *((4, n) for n in range(5, 13)), (6, 1), (4, 13), (4, 14)]
    lengths += [(7, 1), (4, 15), (8, 1)]
    return [
        [
            {
                "role": role,
                "sent_at": (began + timedelta(hours=session, minutes=turn)).isoformat(),
                "content_sha256": f"{role[0]}-{6 if session == 8 and role == 'user' else session}-{turn}",
                "content_chars": 40,
            }
            for turn in range(turns)
            for role in ("user", "assistant")
        ]
        for session, turns in lengths
    ]


def adapt(windows: list[list[dict[str, Any]]]) -> list[AdaptedEvent]:
    """Return what the adapter makes of the windows, every message of every one."""
    adapter = OpenAIChatAdapter(session="", at=None)
    events: list[AdaptedEvent] = []
    for place, rows in enumerate(windows):
        session = f"{rows[0]['content_sha256'][:12]}-{rows[0]['sent_at']}"
        messages = [{"role": row["role"], "content": row["content_sha256"], "sent_at": row["sent_at"]} for row in rows]
        for one in adapter.read({"session": session, "messages": messages}, place=place):
            assert isinstance(one, AdaptedEvent), one
            events.append(one)
    return events


def send(cast: Cast, events: list[AdaptedEvent]) -> Counter[str]:
    """Ingest events one window's worth at a time, as Bob's; returns how many had which outcome."""
    job = Job(path=TRACE, format="openai-chat", scope=SCOPE, actor=cast.bob.username)
    outcomes: Counter[str] = Counter()
    for start in range(0, len(events), 50):
        batch = [describe_event(event=event, job=job) for event in events[start : start + 50]]
        outcomes.update(result.outcome for result in ingest_events(caller=cast.caller, events=batch, now=clock.now()))
    return outcomes


def propose(cast: Cast, events: list[AdaptedEvent], *, by_text: bool) -> None:
    """Propose a fact of every message that was sent, as often as it was: one a message, or one a text."""
    for start in range(0, len(events), 100):
        propose_candidates(
            caller=cast.caller,
            proposals=[
                CandidateInput(
                    scope=SCOPE,
                    subject=f"said:{event.payload['text'][:32] if by_text else event.event_id.replace('/', '-')}",
                    fact_key="text.digest" if by_text else "message.digest",
                    content=event.payload["text"],
                    value=event.payload["text"],
                    evidence=(EvidenceInput(event.event_id),),
                )
                for event in events[start : start + 100]
            ],
            now=clock.now(),
        )
    while run_due_jobs(now=clock.now()):
        pass


def ask(cast: Cast, sql: str) -> list[Any]:
    """Read something of the tenant."""
    with tenant_context(cast.tenant_id, read_only=True):
        return fetch_all(sql=sql, params=[])


def count_lineages(cast: Cast, fact_key: str) -> Counter[int]:
    """Return how many memories of a key rest on how many lineages."""
    return Counter(
        row[0]
        for row in ask(cast, f"SELECT independent_evidence_count FROM memory_heads WHERE fact_key = '{fact_key}'")
    )


@pytest.fixture(scope="module")
def windows() -> list[list[dict[str, Any]]]:
    return read_windows()


def test_474_messages_are_82_records_of_81_texts(windows: list[list[dict[str, Any]]]) -> None:
    events = adapt(windows)
    assert (len(windows), len(events)) == (WINDOWS, MESSAGES)
    assert len({event.payload["text"] for event in events}) == TEXTS
    assert len({event.event_id for event in events}) == RECORDS
    ids_of_text: dict[str, set[str]] = defaultdict(set)
    for event in events:
        ids_of_text[event.payload["text"]].add(event.event_id)
    [pair] = [ids for ids in ids_of_text.values() if len(ids) > 1]
    assert len(pair) == 2, "one text opens two sessions"
    assert all(event_id.endswith("/0") for event_id in pair)


def test_sent_again_it_is_known_and_nothing_counts_twice(windows: list[list[dict[str, Any]]]) -> None:
    cast = make_cast()
    with tenant_context(cast.tenant_id):
        declare_entity_type(tenant=cast.tenant, name="said")
    events = adapt(windows)
    assert send(cast, events) == {"accepted": RECORDS, "replayed": MESSAGES - RECORDS}
    assert ask(cast, "SELECT count(*) FROM source_events") == [(RECORDS,)]
    propose(cast, events, by_text=False)
    assert count_lineages(cast, "message.digest") == {1: RECORDS}, "a message counts once, however often it was sent"
    propose(cast, events, by_text=True)
    assert count_lineages(cast, "text.digest") == {1: TEXTS - 1, 2: 1}, "only what was said twice was said twice"


def test_the_same_words_a_day_later_are_a_new_event(windows: list[list[dict[str, Any]]]) -> None:
    cast = make_cast()
    send(cast, adapt(windows))
    later = [
        [{**row, "sent_at": (datetime.fromisoformat(row["sent_at"]) + timedelta(days=1)).isoformat()} for row in rows]
        for rows in windows
    ]
    assert send(cast, adapt(later)) == {"accepted": RECORDS, "replayed": MESSAGES - RECORDS}
    assert ask(cast, "SELECT count(*) FROM source_events") == [(2 * RECORDS,)]


def test_identity_by_text_would_lose_a_question(windows: list[list[dict[str, Any]]]) -> None:
    """The twin: with the digest of the words as id, the second question of the pair is taken for the first."""
    cast = make_cast()
    job = Job(path=TRACE, format="openai-chat", scope=SCOPE, actor=cast.bob.username)
    outcomes: Counter[str] = Counter()
    for event in adapt(windows):
        described = describe_event(event=event, job=job)
        object.__setattr__(described, "event_id", event.payload["text"])
        outcomes.update(
            result.outcome for result in ingest_events(caller=cast.caller, events=[described], now=clock.now())
        )
    assert outcomes["accepted"] == TEXTS
    assert outcomes["event_id_reused"] == 1
