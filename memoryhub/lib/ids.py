"""The one home of ids: UUID version 7, rising within a process.

Source: RFC 9562 §5.7 and §6.2, method 1 (a counter in `rand_a`, seeded anew each millisecond).
"""

from __future__ import annotations

import secrets
import threading
from uuid import UUID

from memoryhub.lib import clock

_COUNTER_LIMIT = 0xFFF
_SEED_BITS = 11  # the counter's top bit stays free, so that a millisecond has room for 2,048 ids
_VERSION = 0x7 << 76
_VARIANT = 0x2 << 62

_lock = threading.Lock()
_last_ms = 0
_counter = 0


def new_id() -> UUID:
    """Return a new id that sorts after every id this process has given."""
    global _last_ms, _counter  # noqa: PLW0603  the monotone state of one process
    tail = secrets.randbits(62)
    with _lock:
        present = clock.now_ms()
        if present > _last_ms:
            _last_ms = present
            _counter = secrets.randbits(_SEED_BITS)
        elif _counter < _COUNTER_LIMIT:
            _counter += 1
        else:
            _last_ms += 1
            _counter = 0
        head = (_last_ms << 80) | _VERSION | (_counter << 64)
    return UUID(int=head | _VARIANT | tail)
