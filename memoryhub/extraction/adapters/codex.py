"""Codex session (rollout) files: one JSON record a line. Pure.

Kept: messages of user and assistant, calls of tools and their outputs. A record's place is its number in the file. Left
out with a marker: `reasoning` items with summary and encrypted content, instructions in any of their places, images.
What `event_msg` records repeat of the same conversation is dropped and counted, and so are the program's books.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from memoryhub.extraction.adapters.openai_chat import read_content
from memoryhub.extraction.adapters.reading import (
    AGENT,
    HARNESS,
    HIDDEN,
    SYSTEM,
    SYSTEM_PROMPT,
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

_ITEMS = frozenset(
    {
        "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
        "local_shell_call", "local_shell_call_output", "web_search_call", "tool_search_call", "tool_search_output",
        "image_generation_call", "ghost_snapshot", "compaction",
    }
)  # fmt: skip
_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "web_search_call": "action",
    "tool_search_call": "arguments",
    "image_generation_call": "revised_prompt",
}
_OUTPUTS = frozenset(
    {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"}
)
_BOOKS = frozenset({"turn_context", "ghost_snapshot", "session_state", "world_state"})
# The program's own words at the beginning of a message that stands in the user's role.
_INJECTED = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|turn_aborted|permissions instructions|collaboration_mode|skill"
    r"|subagent_notification|user_shell_command|model_switch|personality_spec|apps_instructions|skills_instructions"
    r"|plugins_instructions|INSTRUCTIONS)\b|# AGENTS\.md instructions)"
)


class CodexAdapter:
    """Read the records of a session."""

    def __init__(self, *, session: str, at: datetime | None) -> None:
        self.session = session
        self.at = at
        self.is_named = False

    def read(self, record: Any, *, place: int) -> Iterator[Adapted]:
        """Yield what was said in one record."""
        if not isinstance(record, Mapping):
            yield Left("record_malformed", str(place))
            return
        kind = record.get("type")
        held = record.get("payload")
        if kind == "session_meta" or (kind is None and "id" in record):
            yield from self._read_meta(held if isinstance(held, Mapping) else record, place)
            return
        if kind in _BOOKS or record.get("record_type"):
            yield Left(f"record:{short(kind or record.get('record_type'))}", str(place))
            return
        if kind == "event_msg":
            told = held.get("type") if isinstance(held, Mapping) else None
            hidden = "reasoning" in str(told)
            yield Left(HIDDEN if hidden else f"event_msg:{short(told)}", str(place))
            return
        item = held if kind == "response_item" else record if kind in _ITEMS else None
        source_type, role, message = _read_item(item) if isinstance(item, Mapping) else _keep_unknown(kind, record)
        yield from message.tell_left(str(place))
        if source_type is None:
            return
        at = read_instant(record.get("timestamp")) or self.at
        if at is None or not self.session:
            yield Left("no_time" if self.session else "no_session", str(place))
            return
        yield AdaptedEvent(
            event_id=name_event(self.session, str(place)),
            source_type=source_type,
            occurred_at=at,
            payload=message.as_payload(role=role),
            session=name_session(self.session),
            source_seq=place,
            is_user=source_type == USER,
        )

    def _read_meta(self, meta: Mapping[str, Any], place: int) -> Iterator[Adapted]:
        """Take the session's name from the first record; a fork repeats the records it came from."""
        if not self.is_named and isinstance(meta.get("id"), str):
            self.session, self.is_named = meta["id"], True
            self.at = read_instant(meta.get("timestamp")) or self.at
        if any(meta.get(name) for name in ("instructions", "base_instructions", "dynamic_tools")):
            yield Left(SYSTEM_PROMPT, str(place))
        yield Left("record:session_meta", str(place))


def _keep_unknown(kind: Any, record: Mapping[str, Any]) -> tuple[str | None, str, Message]:
    if kind == "compacted":
        # A summary that the model wrote of the conversation before it, which is on record itself.
        message = Message()
        message.leave_out("summary_of_the_conversation")
        return None, "", message
    return UNKNOWN, "", as_unknown(kind, record)


def _read_item(item: Mapping[str, Any]) -> tuple[str | None, str, Message]:
    """Return source type, role and content of a response item; None for one that says nothing."""
    kind = item.get("type")
    message = Message()
    if is_reasoning_type(kind):
        message.leave_out(HIDDEN)
        return None, "", message
    if kind == "message":
        return _read_message(item)
    if kind in _CALLS:
        name = item.get("name") or str(kind).removesuffix("_call")
        message.add_call(name=name, call_id=item.get("call_id"), arguments=item.get(_CALLS[str(kind)]))
        return AGENT, "assistant", message
    if kind in _OUTPUTS:
        _read_output(item.get("output"), message)
        if item.get("call_id"):
            message.more["tool_call_id"] = short(item["call_id"])
        return TOOL, "tool", message
    if kind == "ghost_snapshot":
        message.leave_out("record:ghost_snapshot")
        return None, "", message
    return UNKNOWN, "", as_unknown(kind, item)


def _read_message(item: Mapping[str, Any]) -> tuple[str | None, str, Message]:
    role = str(item.get("role", ""))
    message = Message(is_by_model=role == "assistant")
    read_content(item.get("content"), message)
    if role in ("system", "developer"):
        return SYSTEM, role, _leave_prompt(message)
    if role == "user":
        if message.texts and _INJECTED.match(message.texts[0]):
            return HARNESS, role, _leave_prompt(message)
        return USER, role, message
    if role == "assistant":
        return AGENT, role, message
    return UNKNOWN, "", as_unknown(role, item)


def _leave_prompt(message: Message) -> Message:
    left = Message()
    left.leave_out(SYSTEM_PROMPT, characters=sum(map(len, message.texts)))
    return left


def _read_output(output: Any, message: Message) -> None:
    if isinstance(output, str):
        try:
            inner = json.loads(output)
        except (ValueError, RecursionError):
            inner = None
        # Older files wrap the output of a shell with its exit code.
        if isinstance(inner, Mapping) and isinstance(inner.get("output"), str):
            output = inner["output"]
        message.add_text(output)
    elif isinstance(output, list):
        read_content(output, message)
    elif isinstance(output, Mapping):
        content = output.get("content", output)
        if isinstance(content, str | list):
            _read_output(content, message)
        else:
            message.add_text(json.dumps(scrub(content, message), ensure_ascii=False))
