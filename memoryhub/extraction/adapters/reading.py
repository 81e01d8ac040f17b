"""What the adapters share: the event they make, markers for what is left out, and identity by place. Pure."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from memoryhub.lib.canonical import NotCanonical, canonical_json
from memoryhub.lib.hashing import sha256_hex
from memoryhub.policy.screening import find_thoughts, is_thought_type, names_thoughts

USER = "message"
AGENT = "agent_message"
TOOL = "tool_result"
SYSTEM = "system_message"
HARNESS = "harness_message"
UNKNOWN = "unknown_record"

HIDDEN = "hidden_reasoning"
SYSTEM_PROMPT = "system_prompt"
LONGEST_TEXT = 60_000  # characters; an event's payload holds 256 KiB, and a character may take four bytes
LONGEST_NAME = 200
LONGEST_SESSION = 120
DEEPEST = 40
_LEAST_REPEATED = 2  # messages in a row: one alone, such as a thank-you, is said again
_DATA_URL = re.compile(r"data:(?P<kind>[\w.+-]{1,60}/[\w.+-]{1,60})?(?:;[\w=.+-]{1,60}){0,5};base64,")
_BASE64 = re.compile(r"[A-Za-z0-9+/_=\r\n-]{400,}")


@dataclass(frozen=True, slots=True)
class AdaptedEvent:
    """Hold one event as an adapter makes it; scope and actor are the caller's to add.

    `is_user` says that a person said it, so that it is sent in that person's name.
    """

    event_id: str
    source_type: str
    occurred_at: datetime
    payload: dict[str, Any]
    session: str
    source_seq: int
    is_user: bool = False


@dataclass(frozen=True, slots=True)
class Left:
    """Tell one thing that was left out: its kind, and the record it stood in."""

    kind: str
    place: str


Adapted = AdaptedEvent | Left


class Adapter(Protocol):
    """Read the records of one file, in their order."""

    def __init__(self, *, session: str, at: datetime | None) -> None:
        """Take the session and the time for records that name none."""

    def read(self, record: Any, *, place: int) -> Iterator[Adapted]:
        """Yield what one record becomes; `place` is its number in the file."""


@dataclass(slots=True)
class Message:
    """Hold a message while it is put together: its words, its tool calls, and what was left out of it.

    `is_by_model` says that a model wrote it: then a tag of reasoning that does not begin or end counts too.
    """

    is_by_model: bool = False
    texts: list[str] = field(default_factory=list)
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    def add_text(self, text: Any) -> None:
        """Add words; a reasoning tag in them is left out, and so are the bytes of a file."""
        if not isinstance(text, str) or not text:
            return
        shown = self.leave_thoughts(_scrub_json(text, self))
        if _DATA_URL.match(shown) or _is_bytes(shown):
            self.leave_bytes(shown)
        elif shown.strip():
            self.texts.append(shown)

    def add_call(self, *, name: Any, call_id: Any, arguments: Any) -> None:
        """Add a call of a tool, with its arguments as text."""
        if isinstance(arguments, str):
            text = self.leave_thoughts(_scrub_json(arguments, self))
        else:
            text = _as_text(scrub(arguments, self))
        call = {"name": short(name), "arguments": self._cut(text)}
        self.tool_calls.append({**call, "id": short(call_id)} if call_id else call)

    def leave_out(self, kind: str, **facts: Any) -> None:
        """Put down that something was left out, by kind and facts that hold no content."""
        self.left_out.append({"kind": kind, **{name: value for name, value in facts.items() if value is not None}})

    def leave_thoughts(self, text: str) -> str:
        """Return words without what stands between tags of reasoning."""
        for begin, end in reversed(find_thoughts(text=text, is_by_model=self.is_by_model)):
            self.leave_out(HIDDEN)
            text = text[:begin] + text[end:]
        return text

    def leave_bytes(self, data: Any, *, media_type: Any = None, kind: str = "file") -> None:
        """Leave out encoded bytes: kind and size stay."""
        text = data if isinstance(data, str) else ""
        match = _DATA_URL.match(text)
        if match is not None:
            media_type, text = match["kind"] or media_type, text[match.end() :]
        named = short(media_type) if isinstance(media_type, str) and media_type else None
        self.leave_out(named.partition("/")[0] if named else kind, media_type=named, bytes=len(text) * 3 // 4)

    def _cut(self, text: str) -> str:
        if len(text) <= LONGEST_TEXT:
            return text
        self.leave_out("text_beyond_limit", characters=len(text) - LONGEST_TEXT)
        return text[:LONGEST_TEXT]

    def as_payload(self, *, role: str) -> dict[str, Any]:
        """Return the payload of the event; `text` holds its words."""
        payload: dict[str, Any] = {"role": role, "text": self._cut("\n\n".join(self.texts)), **self.more}
        if self.tool_calls:
            payload["tool_calls"] = self.tool_calls[:100]
            if len(self.tool_calls) > 100:  # noqa: PLR2004  the same hundred
                self.leave_out("tool_calls_beyond_limit", count=len(self.tool_calls) - 100)
        if self.left_out:
            payload["left_out"] = self.left_out[:100]
        return payload

    def tell_left(self, place: str) -> Iterator[Left]:
        """Yield everything that was left out of this message."""
        for one in self.left_out:
            yield Left(str(one["kind"]), place)


@dataclass(slots=True)
class Places:
    """Give each message its id by session and place, and its first time, however often it is sent again.

    A message that stands in the same place of the same session as another one, and says something else, began another
    branch of the conversation: its id gets the number of the branch. A window whose front was cut off goes on where it
    repeats, without a gap, at least two messages up to the last that is known.
    """

    seen: defaultdict[str, dict[str, list[tuple[str, datetime]]]] = field(default_factory=lambda: defaultdict(dict))

    def place_window(self, *, session: str, payloads: Sequence[Mapping[str, Any] | None]) -> list[int]:
        """Return the place of each message of a window in its conversation; None stands for one that cannot be read."""
        known = self.seen.get(session, {})
        digests = ["" if payload is None else sha256_hex(_as_text(payload)) for payload in payloads]

        def stands(number: int, place: int) -> bool:
            return any(held == digests[number] for held, _ in known.get(str(place), ()))

        count = len(digests)
        head = next((number for number in range(count) if not stands(number, number)), count)
        end = 1 + max((int(place) for place in known if place.isdecimal()), default=-1)
        for shift in range(1, end - head):
            repeated = range(head, min(count, end - shift))
            if len(repeated) >= _LEAST_REPEATED and all(stands(number, number + shift) for number in repeated):
                return [*range(head), *range(head + shift, count + shift)]
        return [*range(count)]

    def identify(self, *, session: str, place: str, payload: Mapping[str, Any], at: datetime) -> tuple[str, datetime]:
        """Return the id of a message, and when it was first seen to be said."""
        digest = sha256_hex(_as_text(payload))
        versions = self.seen[session].setdefault(place, [])
        for branch, (known, first_at) in enumerate(versions):
            if known == digest:
                return name_event(session, place, branch), first_at
        versions.append((digest, at))
        return name_event(session, place, len(versions) - 1), at


def name_event(session: str, place: str, branch: int = 0) -> str:
    """Return the id of the event at a place of a session."""
    return f"{name_session(session)}/{place}" + (f".{branch}" if branch else "")


def name_session(session: str) -> str:
    """Return a session's name as it can stand in an id: itself, or its digest if it is long or not printable."""
    is_plain = len(session) <= LONGEST_SESSION and session.isprintable() and session.strip() == session
    return session if is_plain and session else sha256_hex(session)


def short(value: Any) -> str:
    """Return a name or an id as printable text of at most 200 characters."""
    text = value if isinstance(value, str) else _as_text(value)
    return "".join(character for character in text if character.isprintable())[:LONGEST_NAME]


def _as_text(value: Any) -> str:
    try:
        return canonical_json(value)
    except NotCanonical:
        return json.dumps(value, ensure_ascii=True, sort_keys=True, default=str)


def is_reasoning_name(name: Any) -> bool:
    """Tell whether a field of this name holds hidden reasoning, or what proves it."""
    return isinstance(name, str) and names_thoughts(name=name, is_by_model=True)


def is_reasoning_type(kind: Any) -> bool:
    """Tell whether a part of this type is hidden reasoning."""
    return isinstance(kind, str) and is_thought_type(kind=kind)


def _is_bytes(text: str) -> bool:
    """Tell encoded bytes from words: long, without blanks, of the alphabet of base64."""
    return len(text) >= 400 and " " not in text[:400] and _BASE64.fullmatch(text[:4000]) is not None  # noqa: PLR2004


def scrub(value: Any, message: Message, *, depth: int = 0) -> Any:
    """Return JSON of any shape without hidden reasoning and encoded bytes; the message notes what went."""
    if depth > DEEPEST:
        message.leave_out("nested_too_deep")
        return None
    if isinstance(value, str):
        if _DATA_URL.match(value) or _is_bytes(value):
            message.leave_bytes(value)
            return "[left out]"
        return message.leave_thoughts(_scrub_json(value, message, depth=depth))
    if isinstance(value, list):
        return [scrub(item, message, depth=depth + 1) for item in value]
    if isinstance(value, dict):
        return _scrub_fields(value, message, depth)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _scrub_json(text: str, message: Message, *, depth: int = 0) -> str:
    """Return a text that is JSON, such as the arguments of a tool, without hidden reasoning; any other as it is."""
    plain = text.strip()
    if depth > DEEPEST or plain[:1] + plain[-1:] not in ("{}", "[]"):
        return text
    try:
        found = json.loads(plain)
    except (ValueError, RecursionError):
        return text
    before = len(message.left_out)
    kept = scrub(found, message, depth=depth + 1)
    return text if len(message.left_out) == before else _as_text(kept)


def _scrub_fields(value: dict[Any, Any], message: Message, depth: int) -> dict[str, Any] | None:
    if is_reasoning_type(value.get("type")):
        message.leave_out(HIDDEN)
        return None
    kept = {}
    for name, item in value.items():
        if is_reasoning_name(name):
            message.leave_out(HIDDEN)
        else:
            kept[str(name)] = scrub(item, message, depth=depth + 1)
    return kept


def read_instant(value: Any) -> datetime | None:
    """Return an instant written as ISO 8601, or as seconds, milliseconds, micro- or nanoseconds since 1970."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str) and re.fullmatch(r"[0-9]{9,20}(?:\.[0-9]{1,9})?", value):
        value = float(value) if "." in value else int(value)
    try:
        if isinstance(value, int | float):
            number = float(value)
            if not math.isfinite(number):
                return None
            while number > 1e11:  # noqa: PLR2004  the year 5138, in seconds
                number /= 1000
            return datetime.fromtimestamp(number, tz=UTC) if number > 0 else None
        instant = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        return None
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant


def as_unknown(kind: Any, record: Any) -> Message:
    """Return what is kept of a record of a kind that nobody knows: that it was there, and how large."""
    message = Message()
    message.leave_out("unknown_record", record=short(kind), characters=len(_as_text(record)))
    return message
