"""The adapters: what they keep of each format, and what of it never gets into an event.

Every fixture holds two kinds of words: `KEEP-…` must arrive, `DROP-…` must not, in whatever field a format hides it.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoryhub.extraction.adapters import ADAPTERS, AdaptedEvent, Left
from memoryhub.extraction.adapters.reading import Message, Places, name_event, read_instant, scrub, short
from memoryhub.policy.screening import redact_forbidden

AT = datetime(2026, 5, 20, 9, tzinfo=UTC)
STAMP = "2026-05-20T09:00:00.000Z"
IMAGE = base64.b64encode(b"DROP-image" * 90).decode()
KEPT = re.compile(r"KEEP-[a-z0-9-]+")


def adapt(
    name: str, *records: Any, session: str = "s1", at: datetime | None = AT
) -> tuple[list[AdaptedEvent], Counter[str]]:
    """Return the events that an adapter makes of these records, and what it left out, by kind."""
    adapter = ADAPTERS[name](session=session, at=at)
    events: list[AdaptedEvent] = []
    left: Counter[str] = Counter()
    for place, record in enumerate(records):
        for one in adapter.read(record, place=place):
            if isinstance(one, Left):
                left[one.kind] += 1
            else:
                events.append(one)
    return events, left


def show(events: list[AdaptedEvent]) -> str:
    """Return everything that would be sent."""
    return json.dumps([[event.event_id, event.session, event.payload] for event in events], ensure_ascii=False)


def expect(events: list[AdaptedEvent], fixture: Any) -> None:
    """Check that every word to keep of a fixture arrived, and none to drop, also not encoded."""
    sent = show(events)
    assert set(KEPT.findall(sent)) == set(KEPT.findall(json.dumps(fixture)))
    assert "DROP" not in sent
    assert IMAGE[:40] not in sent
    for event in events:
        redacted, redactions = redact_forbidden(payload=event.payload)
        assert (redacted, redactions) == (event.payload, []), "the door finds nothing more to take out"


CHAT: list[Any] = [
    {"role": "system", "content": "DROP-system sk-live-DROP"},
    {"role": "developer", "content": [{"type": "text", "text": "DROP-developer"}]},
    {
        "role": "user",
        "name": "KEEP-speaker",
        "content": [
            {"type": "text", "text": "KEEP-question"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}"}},
            {"type": "image_url", "image_url": {"url": "https://files.example/a.png?signature=DROP-signed"}},
            {"type": "input_audio", "input_audio": {"data": IMAGE, "format": "wav"}},
            {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{IMAGE}", "filename": "DROP.pdf"}},
        ],
    },
    {
        "role": "assistant",
        "content": "<think>DROP-tag</think>KEEP-answer",
        "reasoning_content": "DROP-reasoning-content",
        "reasoning": "DROP-reasoning",
        "reasoning_details": [{"type": "reasoning.text", "text": "DROP-details"}],
        "thinking_blocks": [{"type": "thinking", "thinking": "DROP-blocks", "signature": "DROP-sig"}],
        "annotations": [{"url": "DROP-annotation"}],
        "audio": {"id": "a", "data": IMAGE, "transcript": "DROP-transcript"},
        "tool_calls": [
            {
                "id": "KEEP-call",
                "type": "function",
                "function": {"name": "KEEP-tool", "arguments": '{"q": "KEEP-arg"}'},
            },
            "DROP-malformed",
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "DROP-thinking", "signature": "DROP-sig"},
            {"type": "redacted_thinking", "data": "DROP-redacted"},
            {"type": "reasoning", "text": "DROP-part"},
            {"type": "output_text", "text": "KEEP-text"},
            {"type": "hologram", "text": "DROP-unknown-part"},
            7,
        ],
        "function_call": {"name": "KEEP-old-tool", "arguments": "{}"},
        "refusal": "KEEP-refusal",
    },
    {"role": "tool", "tool_call_id": "KEEP-call", "content": "KEEP-result"},
    {"role": "oracle", "content": "DROP-unknown-role"},
    "DROP-no-message",
]


def test_openai_chat_keeps_words_and_drops_the_rest() -> None:
    events, left = adapt("openai-chat", {"session": "s1", "at": STAMP, "messages": CHAT})
    expect(events, CHAT)
    assert [event.source_type for event in events] == [
        "system_message",
        "system_message",
        "message",
        "agent_message",
        "agent_message",
        "tool_result",
        "unknown_record",
    ]
    assert [event.event_id for event in events] == [f"s1/{place}" for place in range(7)]
    assert [event.is_user for event in events].count(True) == 1
    assert left["hidden_reasoning"] == 8
    assert left["system_prompt"] == 2
    assert left["image"] == 2
    assert (left["unknown_record"], left["message_malformed"]) == (1, 1)
    assert (left["part"], left["part_malformed"], left["tool_call_malformed"], left["field"]) == (1, 1, 1, 1)


def test_a_marker_says_what_stood_there_and_how_large_it_was() -> None:
    events, _ = adapt("openai-chat", {"messages": [CHAT[2]]})
    [event] = events
    size = len(IMAGE) * 3 // 4
    assert {"kind": "image", "media_type": "image/png", "bytes": size} in event.payload["left_out"]
    assert {"kind": "application", "media_type": "application/pdf", "bytes": size} in event.payload["left_out"]


def test_a_window_sent_again_is_the_same_events_at_the_same_times() -> None:
    first = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    later = [*first, {"role": "user", "content": "one"}]
    events, _ = adapt(
        "openai-chat",
        {"session": "s", "at": STAMP, "messages": first},
        {"session": "s", "at": "2026-05-20T10:00:00Z", "messages": later},
    )
    assert [event.event_id for event in events] == ["s/0", "s/1", "s/0", "s/1", "s/2"]
    assert events[0] == events[2]
    assert events[1] == events[3]
    assert events[4].occurred_at == AT + timedelta(hours=1), "the same words at a later place are another event"


def test_another_message_in_the_same_place_is_another_branch() -> None:
    windows = [
        {"session": "s", "at": STAMP, "messages": [{"role": "user", "content": text}]} for text in ("a", "b", "a", "b")
    ]
    events, _ = adapt("openai-chat", *windows)
    assert [event.event_id for event in events] == ["s/0", "s/0.1", "s/0", "s/0.1"]


def test_messages_one_by_one_and_lists_of_them_are_one_conversation() -> None:
    messages = [{"role": "user", "content": "a", "timestamp": 1_779_267_600}, {"role": "assistant", "content": "b"}]
    alone, _ = adapt("openai-chat", *messages)
    listed, _ = adapt("openai-chat", messages)
    assert alone == listed
    assert alone[0].occurred_at == AT


def test_a_message_without_any_time_is_told() -> None:
    events, left = adapt("openai-chat", {"messages": [{"role": "user", "content": "a"}]}, at=None)
    assert (events, left) == ([], Counter(no_time=1))


CLOUD: list[Any] = [
    {
        "specversion": "1.0",
        "id": "KEEP-id-1",
        "source": "/KEEP-source",
        "type": "com.example.KEEP-type",
        "subject": "KEEP-subject",
        "time": STAMP,
        "traceparent": "DROP-trace",
        "data": {
            "text": "KEEP-words",
            "nested": {"thinking": "DROP-thinking", "note": "KEEP-note", "blob": IMAGE},
            "parts": [{"type": "reasoning", "content": "DROP-reasoning"}, {"type": "text", "text": "KEEP-part"}],
            "reasoningContent": "DROP-camel",
        },
    },
    {
        "specversion": "1.0",
        "id": "2",
        "source": "/KEEP-source",
        "type": "x",
        "time": STAMP,
        "datacontenttype": "image/png",
        "data_base64": IMAGE,
    },
    {"specversion": "1.0", "id": "3", "source": "/KEEP-source", "type": "x", "time": STAMP, "data": "KEEP-string"},
]


def test_cloudevents_keep_their_data_without_what_is_hidden_in_it() -> None:
    events, left = adapt("cloudevents", *CLOUD)
    expect(events, CLOUD)
    assert [event.event_id for event in events] == ["/KEEP-source/KEEP-id-1", "/KEEP-source/2", "/KEEP-source/3"]
    assert events[0].payload["text"] == "KEEP-words"
    assert {event.source_type for event in events} == {"cloud_event"}
    assert (left["hidden_reasoning"], left["file"], left["attribute"], left["image"]) == (3, 1, 1, 1)
    batch, _ = adapt("cloudevents", CLOUD)
    assert [event.payload for event in batch] == [event.payload for event in events]


def test_a_cloudevent_that_is_none_is_told() -> None:
    good = CLOUD[2]
    records = [{**good, "specversion": "0.3"}, {**good, "id": None}, "x", {**good, "time": None}]
    events, left = adapt("cloudevents", *records, at=None)
    assert (events, left) == ([], Counter(specversion_unknown=1, record_malformed=2, no_time=1))
    long, _ = adapt("cloudevents", {**good, "id": "i" * 300, "source": "s" * 300})
    assert len(long[0].event_id) <= 200


def otlp(value: Any) -> dict[str, Any]:
    """Return a value as OTLP writes it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp(one) for one in value]}}
    return {"kvlistValue": {"values": [{"key": name, "value": otlp(one)} for name, one in value.items()]}}


def span(attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a span of OTLP JSON inside its resource and scope."""
    held = {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": "eee19b7ec3c1b174",
        "startTimeUnixNano": "1779267600000000000",
        "endTimeUnixNano": "1779267605000000000",
        "attributes": [{"key": name, "value": otlp(value)} for name, value in attributes.items()],
        **more,
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [held]}]}]}


INPUT = [
    {"role": "system", "parts": [{"type": "text", "content": "DROP-system"}]},
    {
        "role": "user",
        "parts": [
            {"type": "text", "content": "KEEP-question"},
            {"type": "blob", "modality": "image", "mime_type": "image/png", "content": IMAGE},
            {"type": "uri", "modality": "image", "uri": "https://files.example/DROP-signed"},
        ],
    },
    {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "DROP-reasoning"},
            {"type": "tool_call", "id": "KEEP-call", "name": "KEEP-tool", "arguments": {"q": "KEEP-arg"}},
        ],
    },
    {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": "KEEP-call", "response": {"n": "KEEP-result", "raw": IMAGE}}],
    },
]
OUTPUT = [
    {
        "role": "assistant",
        "finish_reason": "stop",
        "parts": [
            {"type": "reasoning", "content": "DROP-reasoning-out"},
            {"type": "text", "content": "KEEP-answer"},
            {"type": "hologram", "content": "DROP-unknown"},
        ],
    }
]
CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.conversation.id": "conv-1",
    "gen_ai.system_instructions": [{"type": "text", "content": "DROP-instructions"}],
    "gen_ai.request.model": "DROP-model",
    "http.url": "https://DROP",
}


@pytest.mark.parametrize("is_text", [True, False])
def test_genai_spans_keep_their_messages(is_text: bool) -> None:
    messages: dict[str, Any] = {"gen_ai.input.messages": INPUT, "gen_ai.output.messages": OUTPUT}
    if is_text:
        messages = {name: json.dumps(value) for name, value in messages.items()}
    events, left = adapt("otel-genai", span({**CALL, **messages}))
    expect(events, [INPUT, OUTPUT])
    assert [event.source_type for event in events] == [
        "system_message",
        "message",
        "agent_message",
        "tool_result",
        "agent_message",
    ]
    assert [event.event_id for event in events] == [f"conv-1/{place}" for place in range(5)]
    assert [event.occurred_at for event in events] == [AT] * 4 + [AT + timedelta(seconds=5)]
    assert (left["hidden_reasoning"], left["system_prompt"], left["image"], left["part"]) == (2, 2, 1, 1)


def test_a_span_that_sends_the_context_again_adds_only_what_is_new() -> None:
    first = span({**CALL, "gen_ai.input.messages": INPUT[:2], "gen_ai.output.messages": OUTPUT})
    longer = [*INPUT[:2], OUTPUT[0], {"role": "user", "parts": [{"type": "text", "content": "KEEP-next"}]}]
    second = span(
        {**CALL, "gen_ai.input.messages": longer, "gen_ai.output.messages": []}, startTimeUnixNano="1779268000000000000"
    )
    events, _ = adapt("otel-genai", first, second)
    assert len(events) == 7
    assert len({event.event_id for event in events}) == 4
    assert events[0] == events[3]


def test_genai_tools_older_events_and_log_records_are_read() -> None:
    tool = span(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.conversation.id": "conv-1",
            "gen_ai.tool.name": "KEEP-tool",
            "gen_ai.tool.call.id": "KEEP-call",
            "gen_ai.tool.call.arguments": '{"q": "DROP-arguments-stand-in-the-call"}',
            "gen_ai.tool.call.result": {"found": "KEEP-found", "thinking": "DROP-thinking"},
        }
    )
    old = span(
        {"gen_ai.system": "x"},
        events=[
            {"name": "gen_ai.system.message", "attributes": [{"key": "content", "value": otlp("DROP-system")}]},
            {"name": "gen_ai.user.message", "attributes": [{"key": "content", "value": otlp("KEEP-old-question")}]},
            {"name": "gen_ai.choice", "attributes": [{"key": "content", "value": otlp("KEEP-old-answer")}]},
            {"name": "gen_ai.something", "attributes": [{"key": "content", "value": otlp("DROP-something")}]},
        ],
    )
    log = {
        "resourceLogs": [
            {
                "scopeLogs": [
                    {
                        "logRecords": [
                            {
                                "timeUnixNano": "1779267600000000000",
                                "traceId": "t2",
                                "eventName": "gen_ai.user.message",
                                "body": otlp({"role": "user", "content": "KEEP-logged"}),
                            },
                            {
                                "timeUnixNano": "1779267600000000000",
                                "traceId": "t2",
                                "eventName": "gen_ai.choice",
                                "body": otlp({"index": 0, "message": {"role": "assistant", "content": "KEEP-chosen"}}),
                            },
                            {"timeUnixNano": "1779267600000000000", "eventName": "x", "body": otlp("DROP-other")},
                        ]
                    }
                ]
            }
        ]
    }
    events, left = adapt("otel-genai", tool, old, log, span({"http.url": "DROP"}), {"x": 1})
    expect(events, [tool, old, log])
    assert [event.source_type for event in events] == [
        "tool_result",
        "system_message",
        "message",
        "agent_message",
        "message",
        "agent_message",
    ]
    assert left["span_of_another_convention"] == 1
    assert left["log_of_another_convention"] == 1
    assert (left["record_malformed"], left["event:gen_ai.something"]) == (1, 1)


def test_spans_as_an_sdk_prints_them_are_read() -> None:
    printed = {
        "name": "chat",
        "context": {"trace_id": "0xabc", "span_id": "0xdef"},
        "start_time": STAMP,
        "end_time": STAMP,
        "attributes": {"gen_ai.input.messages": json.dumps(INPUT[1:2])},
    }
    events, _ = adapt("otel-genai", printed)
    assert [event.event_id for event in events] == ["0xabc/0"]


def claude(kind: str, content: Any, uuid: str, **more: Any) -> dict[str, Any]:
    """Return a record of a Claude Code session."""
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": "DROP-parent",
        "sessionId": "sess-1",
        "timestamp": STAMP,
        "cwd": "/home/DROP",
        "gitBranch": "DROP-branch",
        "userType": "external",
        "message": {"role": kind, "content": content, "model": "DROP-model", "usage": {"input_tokens": 7}},
        **more,
    }


CLAUDE: list[Any] = [
    {"type": "summary", "summary": "DROP-summary", "leafUuid": "u"},
    {"type": "file-history-snapshot", "snapshot": {"DROP": 1}},
    {"type": "queue-operation", "operation": "enqueue", "content": "DROP-queued"},
    {"type": "system", "subtype": "turn_duration", "content": "DROP-duration", "uuid": "x", "timestamp": STAMP},
    claude("user", "KEEP-question<system-reminder>DROP-reminder</system-reminder>", "u1"),
    claude(
        "assistant",
        [
            {"type": "thinking", "thinking": "DROP-thinking", "signature": "DROP-signature"},
            {"type": "redacted_thinking", "data": "DROP-redacted"},
            {"type": "text", "text": "KEEP-answer"},
            {
                "type": "tool_use",
                "id": "KEEP-call",
                "name": "KEEP-tool",
                "input": {"path": "KEEP-path", "thinking": "DROP"},
            },
        ],
        "u2",
        requestId="DROP-request",
    ),
    claude(
        "user",
        [
            {
                "type": "tool_result",
                "tool_use_id": "KEEP-call",
                "is_error": True,
                "content": [
                    {"type": "text", "text": "KEEP-result"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}},
                ],
            }
        ],
        "u3",
        toolUseResult={"file": {"content": "DROP-duplicate"}},
    ),
    claude("user", [{"type": "text", "text": "KEEP-second"}, {"type": "document", "source": {"data": IMAGE}}], "u4"),
    claude("user", "KEEP-caveat", "u5", isMeta=True),
    claude("user", "KEEP-compacted", "u6", isCompactSummary=True),
    claude("user", "KEEP-prompt-to-a-helper", "u7", isSidechain=True),
    claude("user", "<local-command-stdout>DROP-output</local-command-stdout>", "u8"),
    {"type": "telepathy", "uuid": "u9", "sessionId": "sess-1", "timestamp": STAMP, "payload": "DROP-unknown"},
    claude("user", [{"type": "text", "text": "KEEP-both"}, {"type": "tool_result", "content": "KEEP-beside"}], "u10"),
]


def test_claude_code_sessions_keep_what_was_said() -> None:
    events, left = adapt("claude-code", *CLAUDE)
    expect(events, CLAUDE)
    assert [(event.event_id.removeprefix("sess-1/"), event.source_type) for event in events] == [
        ("u1", "message"),
        ("u2", "agent_message"),
        ("u3", "tool_result"),
        ("u4", "message"),
        ("u5", "harness_message"),
        ("u6", "harness_message"),
        ("u7", "agent_message"),
        ("u8", "harness_message"),
        ("u9", "unknown_record"),
        ("u10", "message"),
        ("u10-result-0", "tool_result"),
    ]
    assert {event.event_id for event in events if event.is_user} == {"sess-1/u1", "sess-1/u4", "sess-1/u10"}
    assert left["hidden_reasoning"] == 3
    assert left["note_of_the_program"] == 2
    assert (left["image"], left["document"], left["unknown_record"]) == (1, 1, 1)
    books = ("summary", "file-history-snapshot", "queue-operation", "system")
    assert [left[f"record:{kind}"] for kind in books] == [1] * 4
    assert events[2].payload["is_error"] is True


def item(**payload: Any) -> dict[str, Any]:
    """Return a response item of a Codex session."""
    return {"timestamp": STAMP, "type": "response_item", "payload": payload}


CODEX: list[Any] = [
    {
        "timestamp": STAMP,
        "type": "session_meta",
        "payload": {"id": "roll-1", "timestamp": STAMP, "cwd": "/DROP", "instructions": "DROP-instructions"},
    },
    {"timestamp": STAMP, "type": "turn_context", "payload": {"cwd": "/DROP", "user_instructions": "DROP-context"}},
    item(type="message", role="developer", content=[{"type": "input_text", "text": "DROP-developer"}]),
    item(type="message", role="user", content=[{"type": "input_text", "text": "<environment_context>DROP</e>"}]),
    item(type="message", role="user", content=[{"type": "input_text", "text": "# AGENTS.md instructions DROP"}]),
    item(
        type="message",
        role="user",
        content=[
            {"type": "input_text", "text": "KEEP-question"},
            {"type": "input_image", "image_url": f"data:image/jpeg;base64,{IMAGE}"},
        ],
    ),
    {"timestamp": STAMP, "type": "event_msg", "payload": {"type": "user_message", "message": "DROP-repeated"}},
    {"timestamp": STAMP, "type": "event_msg", "payload": {"type": "agent_reasoning", "text": "DROP-thought"}},
    {"timestamp": STAMP, "type": "event_msg", "payload": {"type": "agent_reasoning_raw_content", "text": "DROP-raw"}},
    {"timestamp": STAMP, "type": "event_msg", "payload": {"type": "token_count", "info": "DROP-count"}},
    item(
        type="reasoning",
        summary=[{"type": "summary_text", "text": "DROP-summary"}],
        content=[{"type": "reasoning_text", "text": "DROP-content"}],
        encrypted_content="DROP-encrypted",
    ),
    item(type="function_call", name="KEEP-tool", arguments='{"cmd": "KEEP-arg"}', call_id="KEEP-call"),
    item(type="function_call_output", call_id="KEEP-call", output='{"output": "KEEP-out", "metadata": {"x": "DROP"}}'),
    item(type="custom_tool_call", name="KEEP-patch", input="KEEP-input", call_id="KEEP-call-2"),
    item(type="custom_tool_call_output", call_id="KEEP-call-2", output=[{"type": "input_text", "text": "KEEP-done"}]),
    item(type="local_shell_call", call_id="KEEP-call-3", action={"command": ["KEEP-ls"], "reasoning": "DROP-why"}),
    item(type="web_search_call", action={"type": "search", "query": "KEEP-query"}),
    item(type="ghost_snapshot", ghost_commit={"id": "DROP-ghost"}),
    item(type="compaction", encrypted_content="DROP-compaction"),
    item(type="message", role="assistant", content=[{"type": "output_text", "text": "KEEP-answer"}]),
    {
        "timestamp": STAMP,
        "type": "compacted",
        "payload": {"message": "DROP-compacted", "replacement_history": ["DROP"]},
    },
    item(type="telepathy", text="DROP-unknown-item"),
    {"timestamp": STAMP, "type": "mystery", "payload": "DROP-unknown-record"},
    {"timestamp": STAMP, "type": "session_meta", "payload": {"id": "other-session"}},
]


def test_codex_sessions_keep_what_was_said() -> None:
    events, left = adapt("codex", *CODEX)
    expect(events, CODEX)
    assert [(event.event_id, event.source_type) for event in events] == [
        ("roll-1/2", "system_message"),
        ("roll-1/3", "harness_message"),
        ("roll-1/4", "harness_message"),
        ("roll-1/5", "message"),
        ("roll-1/11", "agent_message"),
        ("roll-1/12", "tool_result"),
        ("roll-1/13", "agent_message"),
        ("roll-1/14", "tool_result"),
        ("roll-1/15", "agent_message"),
        ("roll-1/16", "agent_message"),
        ("roll-1/19", "agent_message"),
        ("roll-1/21", "unknown_record"),
        ("roll-1/22", "unknown_record"),
    ]
    assert left["hidden_reasoning"] == 5
    assert left["system_prompt"] == 4
    assert left["summary_of_the_conversation"] == 1
    assert (left["event_msg:user_message"], left["event_msg:token_count"]) == (1, 1)


def test_codex_sessions_of_the_first_versions_are_read() -> None:
    records = [
        {"id": "old-1", "timestamp": STAMP, "instructions": "DROP-instructions"},
        {"record_type": "state", "x": "DROP"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "KEEP-question"}]},
        {"type": "reasoning", "summary": [{"text": "DROP"}]},
        {"type": "function_call_output", "call_id": "KEEP-call", "output": {"content": "KEEP-out", "success": True}},
    ]
    events, _ = adapt("codex", *records, at=None)
    expect(events, records)
    assert [event.event_id for event in events] == ["old-1/2", "old-1/4"]
    assert {event.occurred_at for event in events} == {AT}


@pytest.mark.parametrize("name", sorted(ADAPTERS))
@pytest.mark.parametrize(
    "record",
    [None, 7, "x", [], {}, [[]], {"type": 7}, {"messages": 7}, {"role": None}, {"message": []}, {"type": "user"},
     {"type": "assistant", "message": {"content": {"a": 1}}}, {"type": "response_item"}, {"attributes": 7},
     {"type": "response_item", "payload": {"type": "message", "content": 7}}, {"resourceSpans": [{"scopeSpans": 7}]},
     {"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [7], "events": [7]}]}]}]},
     {"messages": [None, {"role": "assistant", "tool_calls": [{}], "content": [[], None]}]},
     {"specversion": "1.0", "id": "1", "source": "s", "type": "t", "data": [[{"type": "thinking"}]]}],
)  # fmt: skip
def test_malformed_records_are_told_and_break_nothing(name: str, record: Any) -> None:
    events, left = adapt(name, record)
    assert events or left or record in ([], [[]], {"messages": 7}, {"resourceSpans": [{"scopeSpans": 7}]})


def test_a_record_is_never_lost_without_a_trace() -> None:
    for name, fixture in (("claude-code", CLAUDE), ("codex", CODEX), ("cloudevents", CLOUD)):
        for record in fixture:
            events, left = adapt(name, record)
            assert events or left, record


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        (STAMP, AT),
        ("2026-05-20T11:00:00+02:00", AT),
        ("2026-05-20T09:00:00", AT),
        (1779267600, AT),
        (1779267600.0, AT),
        (1779267600000, AT),
        ("1779267600000000000", AT),
        ("yesterday", None),
        (True, None),
        (None, None),
        (-1, None),
        (float("inf"), None),
    ],
)
def test_instants_are_read_in_the_forms_that_programs_write(value: Any, instant: datetime | None) -> None:
    assert read_instant(value) == instant


def test_ids_are_short_and_printable_whatever_the_session_is_called() -> None:
    for session in ("s" * 500, "a\nb", " a", "", "会话"):
        name = name_event(session, "0")
        assert len(name) <= 200
        assert name.isprintable()
    assert name_event("s" * 500, "0") != name_event("s" * 501, "0")
    assert short("a\x00b\n" + "c" * 500) == "ab" + "c" * 198


def test_places_grow_with_the_conversation_and_not_with_how_often_it_is_sent() -> None:
    places = Places()
    for _ in range(50):
        places.identify(session="s", place="0", payload={"text": "a"}, at=AT)
    assert len(places.seen["s"]["0"]) == 1


def test_long_words_and_deep_json_are_cut_with_a_marker() -> None:
    events, left = adapt("openai-chat", {"messages": [{"role": "user", "content": "字" * 200_000}]})
    assert len(json.dumps(events[0].payload, ensure_ascii=False).encode()) < 256 * 1024
    assert left["text_beyond_limit"] == 1
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]
    message = Message()
    scrub(deep, message)
    assert message.left_out == [{"kind": "nested_too_deep"}]
