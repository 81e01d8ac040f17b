"""The one home of the clock: interfaces read it here and pass the instant on."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now() -> datetime:
    """Return the present instant in UTC."""
    return datetime.now(UTC)


def now_ms() -> int:
    """Return the whole milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000


def monotonic() -> float:
    """Return seconds on a clock that never goes back; only differences mean something."""
    return time.monotonic()
