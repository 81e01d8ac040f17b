"""Echo: what an agent says again after it was told; it adds no support, now or later. Pure.

Source: ADR 0022.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from memoryhub.types.claims import Claim, Echo
from memoryhub.types.cognitive import get_decay

_NOW = timedelta(0)
# Less than any it repeats, so that not even the share of a principal can move by it.
ECHO_SHARE = 0.5


def repeat_claim(*, claim: Claim, echo: Echo, root: str, memory_type: str) -> Claim:
    """Return the claim as the echo of others: with their roots in place of the session's own `root`.

    It weighs half of what is left by then of the lightest of them, taken as old as the oldest: at no instant as much
    as any of them. When it was observed stays as it is, because claims of one instant are ordered by that.
    """
    age = max(claim.observed_at - echo.observed_at, _NOW)
    left = echo.weight * get_decay(memory_type=memory_type).retain(age)
    return replace(claim, roots=(claim.roots - {root}) | echo.roots, weight=min(claim.weight, left * ECHO_SHARE))
