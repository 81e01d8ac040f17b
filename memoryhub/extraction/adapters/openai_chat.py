"""OpenAI chat messages: one conversation a record, or one message a record. Pure.

Kept: role, words, name of the speaker, calls of tools (id, name, arguments), which call a result answers. Left out with
a marker: reasoning in any of its fields and parts, system and developer prompts, images, audio, files.

A record is a window, `{"session", "at", "messages": [...]}` (also `conversation_id`, `id`, `created`), a list of
messages, or a message. A message's place is its number in the window. An agent that sends its whole context on every
turn sends the same places again. A message may have a time of its own; without one it has that of the first window that
brings it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryhub.extraction.adapters.reading import (
    AGENT,
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
    Places,
    as_unknown,
    is_reasoning_name,
    is_reasoning_type,
    name_session,
    read_instant,
    short,
)

_SESSION_NAMES = ("session", "session_id", "conversation_id", "thread_id", "id")
_TIME_NAMES = ("at", "sent_at", "created_at", "timestamp", "time", "created")
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
_KEPT_FIELDS = frozenset(
    {"role", "content", "name", "tool_calls", "function_call", "tool_call_id", "refusal", *_TIME_NAMES, "id"}
)


class OpenAIChatAdapter:
    """Read chat messages."""

    def __init__(self, *, session: str, at: datetime | None) -> None:
        self.session = session
        self.at = at
        self.places = Places()
        self.loose = 0

    def read(self, record: Any, *, place: int) -> Iterator[Adapted]:
        """Yield the messages of a window, or one message."""
        if isinstance(record, list):
            record = {"messages": record}
        if not isinstance(record, Mapping):
            yield Left("record_malformed", str(place))
            return
        if isinstance(record.get("messages"), list):
            session = _find_session(record) or self.session
            at = _find_time(record) or self.at
            yield from self._read_window(record["messages"], session=session, at=at, place=place)
        else:
            yield from self._read_message(
                _read(record), session=self.session, number=self.loose, at=self.at, place=place
            )
            self.loose += 1

    def _read_window(self, messages: list[Any], *, session: str, at: datetime | None, place: int) -> Iterator[Adapted]:
        window = [_read(data) for data in messages]
        numbers = self.places.place_window(
            session=session, payloads=[None if said is None else said.payload for said in window]
        )
        for number, said in zip(numbers, window, strict=True):
            yield from self._read_message(said, session=session, number=number, at=at, place=place)

    def _read_message(
        self, said: _Said | None, *, session: str, number: int, at: datetime | None, place: int
    ) -> Iterator[Adapted]:
        where = f"{place}/{number}"
        if said is None:
            yield Left("message_malformed", where)
            return
        own = said.at or at
        if own is None:
            yield Left("no_time", where)
            return
        event_id, said_at = self.places.identify(session=session, place=str(number), payload=said.payload, at=own)
        yield from said.message.tell_left(where)
        yield AdaptedEvent(
            event_id=event_id,
            source_type=said.source_type,
            occurred_at=said_at,
            payload=said.payload,
            session=name_session(session),
            source_seq=number,
            is_user=said.source_type == USER,
        )


@dataclass(frozen=True, slots=True)
class _Said:
    """Hold one message as it was read, with the time it names itself."""

    source_type: str
    message: Message
    payload: dict[str, Any]
    at: datetime | None


def _read(data: Any) -> _Said | None:
    if not isinstance(data, Mapping):
        return None
    source_type, message = read_message(data)
    return _Said(source_type, message, message.as_payload(role=short(data.get("role", ""))), _find_time(data))


def _find_session(record: Mapping[str, Any]) -> str:
    return next((str(record[name]) for name in _SESSION_NAMES if isinstance(record.get(name), str | int)), "")


def _find_time(record: Mapping[str, Any]) -> datetime | None:
    return next((found for name in _TIME_NAMES if (found := read_instant(record.get(name))) is not None), None)


def read_message(data: Mapping[str, Any]) -> tuple[str, Message]:
    """Return the source type and the kept content of one chat message."""
    role = data.get("role")
    message = Message()
    if role in ("system", "developer"):
        message.leave_out(SYSTEM_PROMPT, characters=len(str(data.get("content") or "")))
        return SYSTEM, message
    source_type = {"user": USER, "assistant": AGENT, "tool": TOOL, "function": TOOL}.get(str(role))
    if source_type is None:
        return UNKNOWN, as_unknown(role, data)
    message.is_by_model = source_type == AGENT
    read_content(data.get("content"), message)
    message.add_text(data.get("refusal"))
    for call in data.get("tool_calls") or ():
        _add_call(call, message)
    if isinstance(data.get("function_call"), Mapping):
        _add_call({"function": data["function_call"]}, message)
    for name in ("name", "tool_call_id"):
        if isinstance(data.get(name), str):
            message.more[name] = short(data[name])
    _leave_fields(data, message)
    return source_type, message


def _leave_fields(data: Mapping[str, Any], message: Message) -> None:
    """Leave out every field that is not kept, and say so."""
    for name, value in data.items():
        if is_reasoning_name(name):
            if value:
                message.leave_out(HIDDEN)
        elif name == "audio" and value:
            audio = value if isinstance(value, Mapping) else {}
            message.leave_bytes(audio.get("data"), kind="audio")
        elif name not in _KEPT_FIELDS and value:
            message.leave_out("field", name=short(name))


def _add_call(call: Any, message: Message) -> None:
    if not isinstance(call, Mapping):
        message.leave_out("tool_call_malformed")
        return
    called = call.get("function") if isinstance(call.get("function"), Mapping) else call.get("custom")
    called = called if isinstance(called, Mapping) else {}
    arguments = called.get("arguments", called.get("input", ""))
    message.add_call(name=called.get("name", ""), call_id=call.get("id"), arguments=arguments)


def read_content(content: Any, message: Message) -> None:
    """Read words or a list of parts into a message."""
    if isinstance(content, str):
        message.add_text(content)
        return
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            message.add_text(part)
        elif isinstance(part, Mapping):
            _read_part(part, message)
        else:
            message.leave_out("part_malformed")


def _read_part(part: Mapping[str, Any], message: Message) -> None:
    kind = part.get("type")
    if is_reasoning_type(kind):
        message.leave_out(HIDDEN)
    elif kind in _TEXT_PARTS:
        message.add_text(part.get("text"))
    elif kind == "refusal":
        message.add_text(part.get("refusal"))
    elif kind in ("image_url", "input_image"):
        url = part.get("image_url")
        message.leave_bytes(url.get("url") if isinstance(url, Mapping) else url, kind="image")
    elif kind == "input_audio":
        audio = part.get("input_audio")
        data = audio if isinstance(audio, Mapping) else {}
        message.leave_bytes(data.get("data"), kind="audio")
    elif kind in ("file", "input_file"):
        held = part.get("file") if isinstance(part.get("file"), Mapping) else part
        message.leave_bytes((held or {}).get("file_data"), kind="file")
    else:
        message.leave_out("part", type=short(kind))
