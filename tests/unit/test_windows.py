"""Windows of a conversation: an agent that cuts off the front of its context says nothing twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoryhub.extraction.adapters import ADAPTERS
from memoryhub.extraction.adapters.reading import AdaptedEvent

AT = datetime(2026, 5, 20, tzinfo=UTC)
SYSTEM = {"role": "system", "content": "Be kind."}
TALK = [{"role": ("user", "assistant")[number % 2], "content": f"word {number}"} for number in range(14)]


def read_chat(*windows: list[Any]) -> list[list[str]]:
    """Return the ids of the events of each window of one session."""
    adapter = ADAPTERS["openai-chat"](session="s", at=AT)
    return [
        [
            one.event_id
            for one in adapter.read({"at": (AT + timedelta(minutes=place)).isoformat(), "messages": said}, place=place)
            if isinstance(one, AdaptedEvent)
        ]
        for place, said in enumerate(windows)
    ]


def read_spans(*windows: list[Any]) -> list[list[str]]:
    adapter = ADAPTERS["otel-genai"](session="s", at=AT)
    return [
        [
            one.event_id
            for one in adapter.read(
                {
                    "attributes": {
                        "gen_ai.conversation.id": "s",
                        "gen_ai.input.messages": [
                            {"role": one["role"], "parts": [{"type": "text", "content": one["content"]}]}
                            for one in said
                        ],
                    }
                },
                place=place,
            )
            if isinstance(one, AdaptedEvent)
        ]
        for place, said in enumerate(windows)
    ]


@pytest.mark.parametrize("read", [read_chat, read_spans])
@pytest.mark.parametrize("head", [[], [SYSTEM], [SYSTEM, TALK[0]]])
def test_a_window_whose_front_was_cut_off_goes_on(read: Any, head: list[Any]) -> None:
    rest = TALK[1:] if TALK[0] in head else TALK
    windows = [[*head, *rest[:6]], [*head, *rest[:8]], [*head, *rest[5:10]], [*head, *rest[8:]]]
    found = read(*windows)
    said = {one["content"] for window in windows for one in window}
    assert len({event_id for ids in found for event_id in ids}) == len(said)
    known: dict[str, str] = {}
    for window, ids in zip(windows, found, strict=True):
        for one, event_id in zip(window, ids, strict=True):
            assert known.setdefault(event_id, one["content"]) == one["content"]


def test_another_branch_is_no_cut() -> None:
    other = {"role": "assistant", "content": "another answer"}
    first, second = read_chat(TALK[:5], [*TALK[:3], other, TALK[4], *TALK[6:8]])
    assert second[:3] == first[:3]
    assert second[3:] == ["s/3.1", "s/4", "s/5", "s/6"]


def test_one_message_alone_is_said_again() -> None:
    thanks = {"role": "user", "content": "Thanks."}
    first, second = read_chat([*TALK[:4], thanks], [thanks, *TALK[6:8]])
    assert not set(first) & set(second)


def test_what_is_repeated_in_a_talk_keeps_its_places() -> None:
    again = [{"role": "user", "content": "again"}, {"role": "assistant", "content": "ok"}]
    first, second = read_chat([SYSTEM, *TALK[:2], *again], [SYSTEM, *again, *again])
    assert second == ["s/0", "s/3", "s/4", "s/5", "s/6"]
    assert first == ["s/0", "s/1", "s/2", "s/3", "s/4"]
    growing = read_chat(*([SYSTEM, *again * count] for count in range(1, 5)))
    assert growing[-1] == [f"s/{place}" for place in range(9)]


def test_two_talks_of_one_session_that_begin_alike_stay_two() -> None:
    first, second = read_chat(TALK[:6], [*TALK[:2], *TALK[8:12]])
    assert second[:2] == first[:2]
    assert not set(second[2:]) & set(first)
