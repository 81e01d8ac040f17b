"""Pages: a cursor says where the next page begins, by a key that no two rows share."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import datetime
from typing import Any

from memoryhub.api.v1.problems import Code, Problem
from memoryhub.api.v1.reading import read_id, read_instant

_TOO_LARGE = 2**31


def write_cursor(*parts: datetime | int | str) -> str:
    """Return the cursor of the last row that was shown."""
    plain = [part.isoformat() if isinstance(part, datetime) else part for part in parts]
    return base64.urlsafe_b64encode(json.dumps(plain).encode()).decode().rstrip("=")


def _read(cursor: str) -> list[Any]:
    padded = cursor + "=" * (-len(cursor) % 4)
    found = json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
    if not isinstance(found, list):
        raise TypeError
    return found


def _read_version(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < _TOO_LARGE:
        raise TypeError
    return value


def read_key_cursor(cursor: str) -> str:
    """Return the key of the last row shown, or an empty text for the first page.

    Raises:
        Problem: `malformed_cursor`.
    """
    if not cursor:
        return ""
    try:
        (key,) = _read(cursor)
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise Problem(Code.MALFORMED_CURSOR) from None
    if not isinstance(key, str) or "\x00" in key or not key.isprintable():
        raise Problem(Code.MALFORMED_CURSOR)
    return key


def read_history_cursor(cursor: str) -> tuple[datetime, int, str] | None:
    """Return (recorded_at, version, id) of the last row shown, or None for the first page.

    Raises:
        Problem: `malformed_cursor`.
    """
    if not cursor:
        return None
    try:
        recorded_at, version, key = _read(cursor)
        return read_instant(recorded_at), _read_version(version), read_id(key)
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise Problem(Code.MALFORMED_CURSOR) from None


def read_evidence_cursor(cursor: str) -> tuple[datetime, str, str] | None:
    """Return (valid_from, evidence id, candidate id) of the last row shown, or None for the first page.

    Raises:
        Problem: `malformed_cursor`.
    """
    if not cursor:
        return None
    try:
        valid_from, evidence_id, candidate_id = _read(cursor)
        return read_instant(valid_from), read_id(evidence_id), read_id(candidate_id)
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise Problem(Code.MALFORMED_CURSOR) from None
