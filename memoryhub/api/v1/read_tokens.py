"""Read tokens: name a write, so that a later search can wait until it finds that write."""

from __future__ import annotations

import base64
import binascii
import time

from memoryhub.access.callers import Caller
from memoryhub.access.tenancy import tenant_context
from memoryhub.api.v1.problems import Code, Problem
from memoryhub.api.v1.reading import read_id
from memoryhub.lib import clock
from memoryhub.lib.db import naming_errors
from memoryhub.retrieval.queries import has_caught_up

_LONGEST_WAIT = 2.0  # seconds
_PAUSE = 0.02
_TOO_LARGE = 2**31


def write_read_token(*, memory_id: str, version: int) -> str:
    """Return the token of a committed version; equal writes have equal tokens."""
    return base64.urlsafe_b64encode(f"{memory_id}:{version}".encode()).decode().rstrip("=")


def _read(token: str) -> tuple[str, int]:
    padded = token + "=" * (-len(token) % 4)
    try:
        text = base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True).decode("ascii")
        memory_id, _, version = text.partition(":")
        known = read_id(memory_id), int(version)
    except (ValueError, binascii.Error):
        known = "", 0
    if not 0 < known[1] < _TOO_LARGE:
        raise Problem(Code.MALFORMED_ID, "The read token did not come from a write.")
    return known


def await_write(*, caller: Caller, token: str) -> None:
    """Wait, for a bounded time, until the search has caught up with the write that the token names.

    Raises:
        Problem: `not_yet_visible`.
    """
    memory_id, version = _read(token)
    until = clock.monotonic() + _LONGEST_WAIT
    while True:
        with naming_errors(), tenant_context(caller.tenant_id, read_only=True):
            if has_caught_up(tenant_id=caller.tenant_id, memory_id=memory_id, version=version):
                return
        if clock.monotonic() >= until:
            raise Problem(Code.NOT_YET_VISIBLE, headers={"Retry-After": "1"})
        time.sleep(_PAUSE)
