"""Read input into shapes, and name every fault of it by a JSON pointer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

from memoryhub.api.v1.bodies import escape_pointer
from memoryhub.api.v1.problems import Code, Fault, Problem

M = TypeVar("M", bound=BaseModel)

_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_FINEST = 6  # digits of a second that are kept

# What makes a body malformed comes before what is merely not valid; the first that occurs names the problem.
_FIRST = (
    Code.MALFORMED_ID,
    Code.MALFORMED_TIME,
    Code.NAIVE_TIME,
    Code.NUL_CHARACTER,
    Code.TOO_LARGE,
    Code.UNKNOWN_MEMORY_TYPE,
)


def read_instant(value: Any) -> datetime:
    """Return the instant that an RFC 3339 text with an offset names.

    Raises:
        PydanticCustomError: `naive_time` or `malformed_time`.
    """
    match = _INSTANT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise PydanticCustomError(Code.MALFORMED_TIME, "a time is written 2026-05-03T09:00:00Z")
    day, time, fraction, offset = match.groups()
    if offset is None:
        raise PydanticCustomError(Code.NAIVE_TIME, "the time has no offset")
    if fraction and len(fraction.rstrip("0")) > _FINEST:
        raise PydanticCustomError(Code.MALFORMED_TIME, "a time is kept to the microsecond, no finer")
    kept = (fraction or "0")[:_FINEST].ljust(_FINEST, "0")
    zone = "+00:00" if offset in "Zz" else offset
    try:
        return datetime.fromisoformat(f"{day}T{time}.{kept}{zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise PydanticCustomError(Code.MALFORMED_TIME, "the time is not in the calendar") from None


def read_id(value: Any) -> str:
    """Return an id in its canonical form.

    Raises:
        PydanticCustomError: `malformed_id`.
    """
    if not isinstance(value, str) or not _UUID.fullmatch(value):
        raise PydanticCustomError(Code.MALFORMED_ID, "an id is a UUID")
    return str(UUID(value))


def read_path_id(text: str) -> str:
    """Return an id of a path; one that cannot be read is not there, as any unknown one.

    Raises:
        Problem: `not_found`.
    """
    if not _UUID.fullmatch(text):
        raise Problem(Code.NOT_FOUND)
    return str(UUID(text))


Instant = Annotated[
    datetime,
    BeforeValidator(read_instant),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
Id = Annotated[str, BeforeValidator(read_id), WithJsonSchema({"type": "string", "format": "uuid"})]


class JsonSize:
    """Refuse a JSON value whose text is larger than a limit."""

    def __init__(self, limit: int) -> None:
        """Keep the limit, in bytes."""
        self.limit = limit

    def __call__(self, value: Any) -> Any:
        """Return the value as it is."""
        if len(json.dumps(value, ensure_ascii=False).encode()) > self.limit:
            raise PydanticCustomError(Code.TOO_LARGE, "larger than {limit} bytes", {"limit": self.limit})
        return value


class TextSize:
    """Refuse a text longer than a limit."""

    def __init__(self, limit: int) -> None:
        """Keep the limit, in characters."""
        self.limit = limit

    def __call__(self, value: str) -> str:
        """Return the text as it is."""
        if len(value) > self.limit:
            raise PydanticCustomError(Code.TOO_LARGE, "longer than {limit} characters", {"limit": self.limit})
        return value


def limit_json(limit: int) -> AfterValidator:
    """Return the validator of a JSON value's size."""
    return AfterValidator(JsonSize(limit))


def limit_text(limit: int) -> AfterValidator:
    """Return the validator of a text's length."""
    return AfterValidator(TextSize(limit))


def read_shape(model: type[M], data: Any, *, at: str = "") -> M:
    """Return the data as a shape.

    Raises:
        Problem: it does not have that shape; every fault is named, below the pointer `at`.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise tell_faults(error, at=at) from None


def read_query(model: type[M], query: Mapping[str, Any]) -> M:
    """Return the parameters of a query as a shape; of a repeated one the last counts.

    Raises:
        Problem: as `read_shape`, with the parameter's name as the pointer.
    """
    given = {name: query[name] for name in query}
    for name, value in given.items():
        if "\x00" in name or "\x00" in value:
            raise Problem(Code.NUL_CHARACTER, "A parameter holds U+0000.")
    return read_shape(model, given)


def tell_faults(error: ValidationError, *, at: str = "") -> Problem:
    """Return the problem that the faults of a validation amount to."""
    faults = [_tell_fault(one, at) for one in error.errors(include_url=False, include_input=False)]
    codes = {fault.code for fault in faults}
    code = next((first for first in _FIRST if first in codes), None)
    if code is None:
        code = Code.UNKNOWN_FIELD if codes == {Code.UNKNOWN_FIELD} else Code.INVALID_INPUT
    places = ", ".join(fault.pointer or "the body" for fault in faults[:3]) + " and elsewhere" * bool(faults[3:])
    more: dict[str, Any] = {}
    if code is Code.TOO_LARGE:
        more["limit"] = next(one["ctx"]["limit"] for one in error.errors() if one["type"] == Code.TOO_LARGE)
    return Problem(code, f"{len(faults)} fault{'s' * (len(faults) > 1)}, at {places}.", errors=faults, more=more)


def _tell_fault(found: ErrorDetails, at: str) -> Fault:
    pointer = at + "".join(f"/{escape_pointer(part)}" for part in found["loc"])
    kind = found["type"]
    if kind == "extra_forbidden":
        return Fault(pointer, Code.UNKNOWN_FIELD, "this call has no such field")
    code = kind if kind in _FIRST else Code.INVALID_INPUT
    return Fault(pointer, code, found["msg"])
