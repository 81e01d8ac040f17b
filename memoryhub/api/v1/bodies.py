"""Bodies: JSON read strictly, so that what is stored is what was sent."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import IO, Any

from rest_framework.parsers import BaseParser

from memoryhub.api.v1.limits import BODY_BYTES, NESTING
from memoryhub.api.v1.problems import Code, Fault, Problem


class StrictJSONParser(BaseParser):
    """Read a JSON body; its bytes stay on the view, for the idempotency key."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the value of the body.

        Raises:
            Problem: it is too large, no JSON, or holds what cannot be kept.
        """
        del media_type
        context = parser_context or {}
        declared = context["request"].META.get("CONTENT_LENGTH") or "0"
        if declared.isdecimal() and int(declared) > BODY_BYTES:
            raise _too_large()
        raw = stream.read(BODY_BYTES + 1)
        if len(raw) > BODY_BYTES:
            raise _too_large()
        context["view"].raw_body = raw
        return read_json(raw)


def _too_large() -> Problem:
    return Problem(Code.TOO_LARGE, f"The body is larger than {BODY_BYTES} bytes.", more={"limit": BODY_BYTES})


def read_json(raw: bytes) -> Any:
    """Return the JSON value that bytes hold.

    Raises:
        Problem: they hold none, or one that cannot be kept as it is.
    """
    try:
        value = json.loads(raw.decode(), object_pairs_hook=_read_object, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise Problem(Code.MALFORMED_BODY, "The body is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise Problem(Code.MALFORMED_BODY, f"{error.msg} at line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise _too_deep("") from None
    except ValueError:
        raise Problem(Code.MALFORMED_BODY, "A number has too many digits.") from None
    check_json(value)
    return value


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Problem(Code.MALFORMED_BODY, "An object names a field twice.")
    return found


def _refuse_constant(name: str) -> Any:
    raise Problem(Code.MALFORMED_BODY, f"{name} is not JSON.")


def check_json(value: Any) -> None:
    """Walk a value and refuse what no store keeps: U+0000, lone surrogates, infinity, too deep nesting.

    Raises:
        Problem: with a pointer to the place.
    """
    open_places: list[tuple[str, int, Any]] = [("", 0, value)]
    while open_places:
        pointer, depth, item = open_places.pop()
        if isinstance(item, str):
            _check_text(item, pointer)
        elif isinstance(item, float):
            if not math.isfinite(item):
                raise _refuse(Code.MALFORMED_BODY, pointer, "a number is larger than any store keeps")
        elif isinstance(item, dict | list):
            if depth >= NESTING:
                raise _too_deep(pointer)
            pairs = item.items() if isinstance(item, dict) else enumerate(item)
            for name, part in pairs:
                if isinstance(name, str):
                    _check_text(name, pointer)
                open_places.append((f"{pointer}/{escape_pointer(name)}", depth + 1, part))


def escape_pointer(name: str | int) -> str:
    """Return one reference token of a JSON pointer (RFC 6901)."""
    return str(name).replace("~", "~0").replace("/", "~1")


def _check_text(text: str, pointer: str) -> None:
    if "\x00" in text:
        raise _refuse(Code.NUL_CHARACTER, pointer, "the text holds U+0000")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _refuse(Code.MALFORMED_BODY, pointer, "the text holds half of a surrogate pair") from None


def _refuse(code: Code, pointer: str, detail: str) -> Problem:
    place = _printable(pointer)
    return Problem(code, f"At {place or 'the root'}: {detail}.", errors=[Fault(place, code, detail)])


def _printable(pointer: str) -> str:
    return pointer.replace("\x00", "�").encode(errors="replace").decode()


def _too_deep(pointer: str) -> Problem:
    detail = f"the body nests deeper than {NESTING}"
    return Problem(
        Code.MALFORMED_BODY,
        f"{detail.capitalize()}.",
        errors=[Fault(_printable(pointer), Code.MALFORMED_BODY, detail)],
        more={"limit": NESTING},
    )
