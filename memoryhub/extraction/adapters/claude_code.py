"""Claude Code session files: one JSON record a line. Pure.

Kept: what the user wrote, what the agent answered, its calls of tools and their results. A record's place is its own
id. Left out with a marker: `thinking` and `redacted_thinking` with their signatures, images and documents, reminders
that the program writes into the user's words. Prompts to helpers (`isSidechain`) and notes of the program itself
(`isMeta`, summaries of a compaction) are kept, but never in the user's name. Records that only keep the program's books
are counted and dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from memoryhub.extraction.adapters.reading import (
    AGENT,
    HARNESS,
    HIDDEN,
    TOOL,
    UNKNOWN,
    USER,
    Adapted,
    AdaptedEvent,
    Left,
    Message,
    as_unknown,
    is_reasoning_type,
    name_event,
    name_session,
    read_instant,
    scrub,
    short,
)

# What the program writes down for itself: nothing was said.
BOOKS = frozenset(
    {
        "summary", "system", "file-history-snapshot", "queue-operation", "custom-title", "ai-title", "agent-name",
        "agent-color", "last-prompt", "permission-mode", "mode", "progress", "attachment", "pr-link", "tag",
        "started", "result", "worktree-state", "content-replacement", "attribution-snapshot", "bridge-session",
    }
)  # fmt: skip
_NOTES = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
_REMINDER = re.compile(
    r"(?s)<(system-reminder|local-command-caveat|local-command-stdout|command-message|command-args|command-contents"
    r"|ide_opened_file|ide_selection|ide_diagnostics)>.*?(?:</\1>|\Z)"
)


class ClaudeCodeAdapter:
    """Read the records of a session."""

    def __init__(self, *, session: str, at: datetime | None) -> None:
        self.session = session
        self.at = at

    def read(self, record: Any, *, place: int) -> Iterator[Adapted]:
        """Yield what was said in one record; a result of a tool beside the user's words is an event of its own."""
        if not isinstance(record, Mapping):
            yield Left("record_malformed", str(place))
            return
        kind = record.get("type")
        if kind in BOOKS:
            yield Left(f"record:{kind}", str(place))
            return
        session = str(record.get("sessionId") or self.session)
        at = read_instant(record.get("timestamp")) or self.at
        if at is None or not session:
            yield Left("no_time" if session else "no_session", str(place))
            return
        spot = short(record.get("uuid") or f"line-{place}")[:70]
        said = record.get("message")
        if kind == "user" and isinstance(said, Mapping):
            found = _read_user(said, record)
        elif kind == "assistant" and isinstance(said, Mapping):
            found = [("", AGENT, "assistant", _read_parts(said.get("content"), is_by_model=True))]
        else:
            found = [("", UNKNOWN, "", as_unknown(kind, record))]
        for suffix, source_type, role, message in found:
            yield from message.tell_left(str(place))
            payload = message.as_payload(role=role)
            if set(payload) == {"role", "text"} and not payload["text"]:
                yield Left("record_without_words", str(place))
                continue
            yield AdaptedEvent(
                event_id=name_event(session, spot + suffix),
                source_type=source_type,
                occurred_at=at,
                payload=payload,
                session=name_session(session),
                source_seq=place,
                is_user=source_type == USER,
            )


def _read_user(said: Mapping[str, Any], record: Mapping[str, Any]) -> list[tuple[str, str, str, Message]]:
    content = said.get("content")
    parts = content if isinstance(content, list) else [content]
    results = [part for part in parts if isinstance(part, Mapping) and part.get("type") == "tool_result"]
    words = [part for part in parts if not (isinstance(part, Mapping) and part.get("type") == "tool_result")]
    found: list[tuple[str, str, str, Message]] = []
    if words:
        is_note = any(record.get(name) for name in _NOTES)
        source_type = AGENT if record.get("isSidechain") else HARNESS if is_note else USER
        message = _read_parts(words)
        if source_type == USER and not message.texts and message.left_out:
            source_type = HARNESS
        found.append(("", source_type, "user", message))
    for number, result in enumerate(results):
        message = Message()
        _read_result(result, message)
        suffix = "" if not words and len(results) == 1 else f"-result-{number}"
        found.append((suffix, TOOL, "tool", message))
    return found


def _read_parts(content: Any, *, is_by_model: bool = False) -> Message:
    message = Message(is_by_model=is_by_model)
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            _add_words(part, message)
        elif not isinstance(part, Mapping):
            message.leave_out("part_malformed")
        else:
            _read_part(part, message)
    return message


def _read_part(part: Mapping[str, Any], message: Message) -> None:
    kind = part.get("type")
    if is_reasoning_type(kind):
        message.leave_out(HIDDEN)
    elif kind == "text":
        _add_words(part.get("text"), message)
    elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        message.add_call(name=part.get("name", ""), call_id=part.get("id"), arguments=part.get("input"))
    elif kind in ("image", "document"):
        _leave_source(part, message)
    else:
        message.leave_out("part", type=short(kind))


def _add_words(text: Any, message: Message) -> None:
    if not isinstance(text, str):
        return
    shown, count = _REMINDER.subn("", text)
    for _ in range(count):
        message.leave_out("note_of_the_program")
    message.add_text(shown)


def _leave_source(part: Mapping[str, Any], message: Message) -> None:
    source = part.get("source")
    held = source if isinstance(source, Mapping) else {}
    message.leave_bytes(held.get("data"), media_type=held.get("media_type"), kind=short(part.get("type")))


def _read_result(result: Mapping[str, Any], message: Message) -> None:
    content = result.get("content")
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, Mapping) and part.get("type") != "text":
            _read_part(part, message)
        elif isinstance(part, Mapping):
            message.add_text(part.get("text"))
        elif isinstance(part, str):
            message.add_text(part)
        elif part is not None:
            message.add_text(json.dumps(scrub(part, message), ensure_ascii=False))
    if result.get("tool_use_id"):
        message.more["tool_call_id"] = short(result["tool_use_id"])
    if result.get("is_error"):
        message.more["is_error"] = True
