"""OpenTelemetry GenAI: spans and log records as OTLP JSON, or spans as an SDK prints them. Pure.

Kept: the messages of a call, from `gen_ai.input.messages` and `gen_ai.output.messages` (structured or as JSON text) or
from the older events `gen_ai.user.message` and so on, and the outcome of a tool from `gen_ai.tool.*`. Left out with a
marker: parts of the type `reasoning`, `gen_ai.system_instructions` and system messages, blobs and files. Every other
attribute is dropped, and spans of other conventions are counted and dropped.

A message's place is its number in the call's input; the answer's is the number after. The session is
`gen_ai.conversation.id`, else the trace. Messages have no times here: each has that of the first call that brings it,
the answer that of the end of its call.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
    is_reasoning_type,
    name_session,
    read_instant,
    scrub,
    short,
)

_INPUT = "gen_ai.input.messages"
_OUTPUT = "gen_ai.output.messages"
_OLD = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
_DETAILS = "gen_ai.client.inference.operation.details"
_SOURCE_TYPES = {"user": USER, "assistant": AGENT, "tool": TOOL}
DEEPEST = 30


class GenAIAdapter:
    """Read spans and log records of GenAI calls."""

    def __init__(self, *, session: str, at: datetime | None) -> None:
        self.session = session
        self.at = at
        self.places = Places()
        self.logged: dict[str, int] = {}

    def read(self, record: Any, *, place: int) -> Iterator[Adapted]:
        """Yield the messages of every span and log record in a record of the exporter."""
        if isinstance(record, list):
            for number, one in enumerate(record):
                yield from self.read(one, place=place + number)
            return
        if not isinstance(record, Mapping):
            yield Left("record_malformed", str(place))
            return
        found = False
        for number, span in enumerate(_list_inner(record, "resourceSpans", "scopeSpans", "spans")):
            found = True
            yield from self._read_span(span, where=f"{place}/{number}")
        for number, log in enumerate(_list_inner(record, "resourceLogs", "scopeLogs", "logRecords")):
            found = True
            yield from self._read_log(log, where=f"{place}/{number}")
        if not found and "attributes" in record:
            yield from self._read_span(record, where=str(place))
        elif not found:
            yield Left("record_malformed", str(place))

    def _read_span(self, span: Mapping[str, Any], *, where: str) -> Iterator[Adapted]:
        attributes = read_attributes(span.get("attributes"))
        events = [event for event in span.get("events") or () if isinstance(event, Mapping)]
        if not any(name.startswith("gen_ai.") for name in attributes) and not any(
            str(event.get("name", "")).startswith("gen_ai.") for event in events
        ):
            yield Left("span_of_another_convention", where)
            return
        context = span.get("context") if isinstance(span.get("context"), Mapping) else {}
        trace = str(span.get("traceId") or (context or {}).get("trace_id") or "")
        session = str(attributes.get("gen_ai.conversation.id") or trace or self.session)
        began = read_instant(span.get("startTimeUnixNano") or span.get("start_time")) or self.at
        ended = read_instant(span.get("endTimeUnixNano") or span.get("end_time")) or began
        if began is None or ended is None or not session:
            yield Left("no_time" if session else "no_session", where)
            return
        if attributes.get("gen_ai.operation.name") == "execute_tool":
            span_id = str(span.get("spanId") or (context or {}).get("span_id") or where)
            yield from self._read_tool(
                attributes, session=session, place=f"tool-{short(span_id)}", at=ended, where=where
            )
            return
        inputs, outputs = _read_calls(attributes)
        for event in events:
            more = {**attributes, **read_attributes(event.get("attributes"))}
            if event.get("name") == _DETAILS:
                inputs, outputs = _read_calls(more)
            elif event.get("name") in _OLD:
                (outputs if event["name"] == "gen_ai.choice" else inputs).append(_read_old(event["name"], more, None))
            elif str(event.get("name", "")).startswith("gen_ai."):
                yield Left(f"event:{short(event['name'])}", where)
        if attributes.get("gen_ai.system_instructions"):
            yield Left(SYSTEM_PROMPT, where)
        yield from self._yield_call(inputs, outputs, session=session, began=began, ended=ended, where=where)

    def _read_log(self, log: Mapping[str, Any], *, where: str) -> Iterator[Adapted]:
        attributes = read_attributes(log.get("attributes"))
        name = str(log.get("eventName") or attributes.get("event.name") or "")
        if name not in _OLD and name != _DETAILS:
            yield Left("log_of_another_convention", where)
            return
        at = read_instant(log.get("timeUnixNano") or log.get("observedTimeUnixNano")) or self.at
        session = str(attributes.get("gen_ai.conversation.id") or log.get("traceId") or self.session)
        if at is None or not session:
            yield Left("no_time" if session else "no_session", where)
            return
        if name == _DETAILS:
            inputs, outputs = _read_calls(attributes)
            if attributes.get("gen_ai.system_instructions"):
                yield Left(SYSTEM_PROMPT, where)
            yield from self._yield_call(inputs, outputs, session=session, began=at, ended=at, where=where)
            return
        call = f"{session} {log.get('spanId') or ''}"
        number = self.logged.get(call, 0)
        self.logged[call] = number + 1
        data = _read_old(name, attributes, _read_value(log.get("body")))
        yield from self._yield_message(data, session=session, number=number, at=at, where=where)

    def _read_tool(
        self, attributes: Mapping[str, Any], *, session: str, place: str, at: datetime, where: str
    ) -> Iterator[Adapted]:
        message = Message()
        result = _from_json(attributes.get("gen_ai.tool.call.result"))
        _add_result(result, message)
        message.more = {
            key: short(attributes[name])
            for key, name in (("name", "gen_ai.tool.name"), ("tool_call_id", "gen_ai.tool.call.id"))
            if attributes.get(name)
        }
        payload = message.as_payload(role="tool")
        event_id, said_at = self.places.identify(session=session, place=place, payload=payload, at=at)
        yield from message.tell_left(where)
        yield AdaptedEvent(event_id, TOOL, said_at, payload, name_session(session), 0)

    def _yield_call(
        self, inputs: list[Any], outputs: list[Any], *, session: str, began: datetime, ended: datetime, where: str
    ) -> Iterator[Adapted]:
        if not inputs and not outputs:
            yield Left("call_without_messages", where)
        window = [_read_payload(data) for data in inputs]
        numbers = self.places.place_window(session=session, payloads=window)
        # Several choices answer the same place; the first is the conversation's, the others are branches.
        after = numbers[-1] + 1 if numbers else 0
        numbers += [after] * len(outputs)
        for number, (count, data) in zip(numbers, enumerate([*inputs, *outputs]), strict=True):
            at = began if count < len(inputs) else ended
            yield from self._yield_message(data, session=session, number=number, at=at, where=where)

    def _yield_message(self, data: Any, *, session: str, number: int, at: datetime, where: str) -> Iterator[Adapted]:
        if not isinstance(data, Mapping):
            yield Left("message_malformed", where)
            return
        role = str(data.get("role", ""))
        source_type, message = _read_message(role, data)
        payload = message.as_payload(role=short(role))
        event_id, said_at = self.places.identify(session=session, place=str(number), payload=payload, at=at)
        yield from message.tell_left(where)
        yield AdaptedEvent(
            event_id=event_id,
            source_type=source_type,
            occurred_at=said_at,
            payload=payload,
            session=name_session(session),
            source_seq=number,
            is_user=source_type == USER,
        )


def _list_inner(record: Mapping[str, Any], *names: str) -> Iterator[Mapping[str, Any]]:
    held = record.get(names[0])
    for one in held if isinstance(held, list) else ():
        if isinstance(one, Mapping):
            if len(names) == 1:
                yield one
            else:
                yield from _list_inner(one, *names[1:])


def read_attributes(attributes: Any) -> dict[str, Any]:
    """Return attributes by name, from OTLP's list of keys and values or from a plain object."""
    if isinstance(attributes, Mapping):
        return {str(name): value for name, value in attributes.items()}
    return {
        str(one["key"]): _read_value(one.get("value"))
        for one in (attributes if isinstance(attributes, list) else ())
        if isinstance(one, Mapping) and "key" in one
    }


def _read_value(value: Any, depth: int = 0) -> Any:
    """Return an OTLP AnyValue as plain JSON."""
    if not isinstance(value, Mapping) or depth > DEEPEST:
        return value if not isinstance(value, Mapping) else None
    for name in ("stringValue", "boolValue", "doubleValue"):
        if name in value:
            return value[name]
    if "intValue" in value:
        return int(value["intValue"]) if str(value["intValue"]).lstrip("-").isdigit() else None
    if isinstance(value.get("arrayValue"), Mapping):
        return [_read_value(one, depth + 1) for one in value["arrayValue"].get("values") or ()]
    if isinstance(value.get("kvlistValue"), Mapping):
        return {
            str(one["key"]): _read_value(one.get("value"), depth + 1)
            for one in value["kvlistValue"].get("values") or ()
            if isinstance(one, Mapping) and "key" in one
        }
    return {"type": "blob", "content": value["bytesValue"]} if "bytesValue" in value else dict(value)


def _from_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _read_calls(attributes: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    inputs, outputs = (_from_json(attributes.get(name)) for name in (_INPUT, _OUTPUT))
    return (inputs if isinstance(inputs, list) else []), (outputs if isinstance(outputs, list) else [])


def _read_old(name: str, attributes: Mapping[str, Any], body: Any) -> dict[str, Any]:
    """Return a message of the older events in the newer form."""
    held = dict(body) if isinstance(body, Mapping) else {}
    if isinstance(held.get("message"), Mapping):
        held = {**held, **held["message"]}
    content = held.get("content", attributes.get("content", attributes.get("gen_ai.event.content")))
    content = _from_json(content)
    parts: list[Any] = content if isinstance(content, list) else [] if content is None else [{"content": content}]
    parts = [{"type": "text", **part} if isinstance(part, Mapping) else part for part in parts]
    for call in _from_json(held.get("tool_calls", attributes.get("tool_calls"))) or ():
        called = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(called, Mapping):
            parts.append(
                {
                    "type": "tool_call",
                    "id": call.get("id"),
                    "name": called.get("name"),
                    "arguments": called.get("arguments"),
                }
            )
    if _OLD[name] == "tool":
        parts = [{"type": "tool_call_response", "id": held.get("id", attributes.get("id")), "response": content}]
    return {"role": _OLD[name], "parts": parts}


def _read_message(role: str, data: Mapping[str, Any]) -> tuple[str, Message]:
    message = Message()
    parts = data.get("parts")
    if role in ("system", "developer"):
        message.leave_out(SYSTEM_PROMPT, characters=len(str(parts or "")))
        return SYSTEM, message
    if role not in _SOURCE_TYPES:
        return UNKNOWN, as_unknown(role, data)
    message.is_by_model = role == "assistant"
    held = [part for part in (parts if isinstance(parts, list) else ()) if isinstance(part, Mapping)]
    for part in held:
        _read_part(part, message)
    if isinstance(parts, list) and len(held) < len(parts):
        message.leave_out("part_malformed", count=len(parts) - len(held))
    holds_result = any(part.get("type") == "tool_call_response" for part in held)
    return TOOL if holds_result else _SOURCE_TYPES[role], message


def _read_payload(data: Any) -> dict[str, Any] | None:
    if not isinstance(data, Mapping):
        return None
    role = str(data.get("role", ""))
    return _read_message(role, data)[1].as_payload(role=short(role))


def _read_part(part: Mapping[str, Any], message: Message) -> None:
    kind = part.get("type")
    if is_reasoning_type(kind):
        message.leave_out(HIDDEN)
    elif kind == "text":
        message.add_text(part.get("content", part.get("text")))
    elif kind == "tool_call":
        message.add_call(name=part.get("name", ""), call_id=part.get("id"), arguments=part.get("arguments"))
    elif kind == "tool_call_response":
        _add_result(part.get("response", part.get("result")), message)
        if part.get("id"):
            message.more["tool_call_id"] = short(part["id"])
    elif kind == "blob":
        message.leave_bytes(part.get("content"), media_type=part.get("mime_type"), kind=short(part.get("modality")))
    elif kind in ("uri", "file", "file_data"):
        message.leave_out("file", media_type=part.get("mime_type") and short(part["mime_type"]))
    else:
        message.leave_out("part", type=short(kind))


def _add_result(result: Any, message: Message) -> None:
    """Add what a tool gave back: words as they are, anything else as JSON."""
    kept = scrub(result, message)
    if isinstance(kept, str):
        message.add_text(kept)
    elif kept is not None:
        message.add_text(json.dumps(kept, ensure_ascii=False))
