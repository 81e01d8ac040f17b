"""CloudEvents 1.0 in JSON: one event a record, or a batch. Pure.

Kept: `type`, `source`, `subject`, and `data` without hidden reasoning and encoded bytes. The id is source and id, which
together are unique by the specification. Left out: every other attribute, and `data_base64`, which leaves a marker with
its media type and size. An event without a time needs one from outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from memoryhub.extraction.adapters.reading import (
    Adapted,
    AdaptedEvent,
    Left,
    Message,
    name_event,
    name_session,
    read_instant,
    scrub,
    short,
)
from memoryhub.lib.hashing import sha256_hex

SOURCE_TYPE = "cloud_event"
_REQUIRED = ("specversion", "id", "source", "type")
_KEPT = frozenset({*_REQUIRED, "subject", "time", "datacontenttype", "data", "data_base64", "session"})
_LONGEST_ID = 70


class CloudEventsAdapter:
    """Read CloudEvents."""

    def __init__(self, *, session: str, at: datetime | None) -> None:
        self.session = session
        self.at = at

    def read(self, record: Any, *, place: int) -> Iterator[Adapted]:
        """Yield one event, or those of a batch."""
        if isinstance(record, list):
            for number, one in enumerate(record):
                yield from self._read(one, where=f"{place}/{number}", seq=number)
        else:
            yield from self._read(record, where=str(place), seq=place)

    def _read(self, data: Any, *, where: str, seq: int) -> Iterator[Adapted]:
        if not isinstance(data, Mapping) or not all(isinstance(data.get(name), str) for name in _REQUIRED):
            yield Left("record_malformed", where)
            return
        if not data["specversion"].startswith("1."):
            yield Left("specversion_unknown", where)
            return
        at = read_instant(data.get("time")) or self.at
        if at is None:
            yield Left("no_time", where)
            return
        message = Message()
        message.more = {"type": short(data["type"]), "source": short(data["source"])}
        if isinstance(data.get("subject"), str):
            message.more["subject"] = short(data["subject"])
        _read_data(data, message)
        for name, value in data.items():
            if name not in _KEPT and value is not None:
                message.leave_out("attribute", name=short(name))
        key = data["id"] if len(data["id"]) <= _LONGEST_ID and data["id"].isprintable() else sha256_hex(data["id"])
        session = data["session"] if isinstance(data.get("session"), str) else self.session
        payload = message.as_payload(role="")
        payload.pop("role")
        yield from message.tell_left(where)
        yield AdaptedEvent(
            event_id=name_event(data["source"], key),
            source_type=SOURCE_TYPE,
            occurred_at=at,
            payload=payload,
            session=name_session(session) if session else "",
            source_seq=seq,
        )


def _read_data(data: Mapping[str, Any], message: Message) -> None:
    if data.get("data_base64") is not None:
        message.leave_bytes(data["data_base64"], media_type=data.get("datacontenttype"))
        return
    held = data.get("data")
    if isinstance(held, str):
        message.add_text(held)
    elif isinstance(held, Mapping):
        kept = scrub(dict(held), message) or {}
        text = kept.pop("text", None)
        if isinstance(text, str):
            message.add_text(text)
        if kept:
            message.more["data"] = kept
    elif held is not None:
        message.more["data"] = scrub(held, message)
