"""Raise a barrier: the epoch first, under the scope's exclusive guard; what it covers is hidden after."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryhub.lib.db import fetch_json
from memoryhub.lib.ids import new_id

if TYPE_CHECKING:
    from datetime import datetime

    from memoryhub.types.enums import RevocationMode, RevocationTarget


@dataclass(frozen=True, slots=True)
class Raised:
    """Hold the barrier's id, the scope's new epoch, and how many versions it hid.

    `to_fold` are memories that keep claims of other sources and must be folded anew in the same transaction;
    `memories` are these and all others that lost a claim.
    """

    revocation_id: str
    epoch: int
    hidden: int
    to_fold: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()


def raise_barrier(
    *,
    tenant_id: str,
    scope_id: str,
    target: RevocationTarget,
    target_id: str | None,
    target_key: str,
    mode: RevocationMode,
    reason: str,
    principal_id: str,
    now: datetime,
) -> Raised:
    """Raise the scope's epoch, record the barrier, and hide what it covers; one round trip.

    Waits for writers that hold the guard; every later one sees the new epoch.
    """
    request = {
        "id": str(new_id()),
        "tenant": tenant_id,
        "scope": scope_id,
        "target": str(target),
        "target_id": target_id,
        "target_key": target_key,
        "mode": str(mode),
        "reason": reason,
        "principal": principal_id,
        "now": now.isoformat(),
    }
    answer = fetch_json(sql="SELECT raise_barrier_v1(%s::jsonb)", params=[json.dumps(request)])
    return Raised(
        revocation_id=answer["revocation"],
        epoch=answer["epoch"],
        hidden=answer["hidden"],
        to_fold=tuple(answer["to_fold"]),
        memories=tuple(answer["memories"]),
    )
