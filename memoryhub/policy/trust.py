"""Trust: whose word a source is, and how far it goes; the server's judgement, never the body's. Pure.

What a caller names can lower the trust and never raise it: whose word it is follows from the token. A person, or a
token with `relay_user` on behalf of one, speaks in the first person. An agent or a service speaks for itself, and that
is somebody else's word about the world, except where the tenant has made it an authority.
Source: ADR 0006, ADR 0020, ADR 0021.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from memoryhub.types.enums import EpistemicStatus, Trust

# What one says, writes, does or fills in oneself. Of anything else somebody else is the author.
FIRST_HAND = frozenset({"message", "statement", "commit", "form"})
BROUGHT = frozenset({"document", "tool_result"})
_ROLES_OF_PEOPLE = frozenset({"", "user", "human"})
_ROLES_OF_MACHINES = frozenset({"", "assistant", "agent", "model", "ai"})


def is_first_hand(*, source_type: str, payload: Any, is_person: bool) -> bool:
    """Tell whether an event is what its actor itself says or does.

    A `role` in the payload that is not the actor's own gives it away: an agent that passes on what a user said without
    the right to, or a person's token that sends what the model answered.
    """
    role = payload.get("role", "") if isinstance(payload, dict) else ""
    own = _ROLES_OF_PEOPLE if is_person else _ROLES_OF_MACHINES
    return source_type in FIRST_HAND and (role is None or (isinstance(role, str) and role.lower() in own))


def judge_trust(*, source_type: str, payload: Any, is_person: bool) -> Trust:
    """Return how far an event is trusted; `is_person` says that a person is its actor."""
    if is_person and is_first_hand(source_type=source_type, payload=payload, is_person=True):
        return Trust.FIRST_PARTY
    return Trust.THIRD_PARTY if source_type in FIRST_HAND | BROUGHT else Trust.UNTRUSTED


def judge_claim(*, trust: Trust, first_hand: bool, groups: Collection[str], authority_group: str) -> Trust:
    """Return how far a claim is trusted that the sender of its event makes for the event's actor.

    An agent or a service speaks in the first person about what the tenant made it an authority for.
    """
    if first_hand and authority_group and authority_group in groups:
        return Trust.FIRST_PARTY
    return trust


def name_status(*, claimed: EpistemicStatus, trust: Trust, is_person: bool) -> EpistemicStatus:
    """Return the nature of the evidence: `explicit` is what a person said, `validated` comes from a ruling alone."""
    if claimed is EpistemicStatus.EXPLICIT and is_person and trust is Trust.FIRST_PARTY:
        return claimed
    return claimed if claimed is EpistemicStatus.INFERRED else EpistemicStatus.OBSERVED
