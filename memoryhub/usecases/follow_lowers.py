"""Follow: when a memory changed, derive anew what rests on it, or send that to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryhub.lib.db import fetch_all
from memoryhub.memory.exceptions import StaleHead
from memoryhub.memory.loading import load_claimed, load_state_of_memory
from memoryhub.memory.lowers import hold_bases, list_uppers, load_lowers
from memoryhub.memory.operations import Resting, commit_decision
from memoryhub.policy.merge import MergePolicy
from memoryhub.policy.reflection import Held, decide_followed, follow_lowers, rest_all
from memoryhub.types.enums import VersionState
from memoryhub.usecases.rederive import fold_state

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from memoryhub.memory.records import Committed, MemoryState
    from memoryhub.policy.reflection import Followed
    from memoryhub.types.claims import Part

MAX_ATTEMPTS = 20

# Several guards are taken by ascending id (ADR 0014).
_GUARDS = "SELECT pg_advisory_xact_lock_shared(hashtextextended(%s, 0))"
_ASKED = """
    SELECT reason FROM review_items
    WHERE tenant_id = %s AND object_id = %s AND kind = 'rereview' AND state = 'open'
"""


def follow_memory(*, tenant_id: str, memory_id: str, version: int, now: datetime) -> int:
    """Let every memory that rests on this one follow it, inside the open transaction; returns how many changed.

    A consumer of the outbox: told twice, late or in another order it changes nothing more, for each looks at the
    lower memories as they stand now. What changes is told in turn, so that a change reaches any height.

    Raises:
        StaleHead: another writer changed one of them every time.
        StoreFailure: the database could not be asked.
    """
    del version  # whatever is told, what counts is how the memory stands
    uppers = list_uppers(tenant_id=tenant_id, memory_id=memory_id)
    if not uppers:
        return 0
    for scope_id in sorted({upper.scope_id for upper in uppers}):
        fetch_all(sql=_GUARDS, params=[scope_id])
    hold_bases(tenant_id=tenant_id)
    return sum(follow_one(tenant_id=tenant_id, memory_id=upper.memory_id, now=now) for upper in uppers)


def follow_within(*, tenant_id: str, scope_id: str, memory_ids: list[str], now: datetime) -> None:
    """Let what rests on these memories follow at once, at any height, as far as it is of the scope whose guard is held.

    What is of another scope follows by the outbox.
    """
    waiting = list(memory_ids)
    seen = set(waiting)
    while waiting:
        for upper in list_uppers(tenant_id=tenant_id, memory_id=waiting.pop(0)):
            changed = upper.scope_id == scope_id and follow_one(tenant_id=tenant_id, memory_id=upper.memory_id, now=now)
            if changed and upper.memory_id not in seen:
                seen.add(upper.memory_id)
                waiting.append(upper.memory_id)


def follow_one(*, tenant_id: str, memory_id: str, now: datetime, policy: MergePolicy | None = None) -> bool:
    """Let one memory follow the lower ones as they stand; returns whether anything was recorded.

    Raises:
        StaleHead: another writer changed it every time.
    """
    rules = policy or MergePolicy()
    version = 0
    for _ in range(MAX_ATTEMPTS):
        state = load_state_of_memory(tenant_id=tenant_id, memory_id=memory_id, now=now)
        held = describe_held(tenant_id=tenant_id, state=state, policy=rules)
        lowers = load_lowers(
            tenant_id=tenant_id, memory_ids=[basis.lower for bases in held.bases.values() for basis in bases]
        )
        followed = follow_lowers(held=held, lowers={lower_id: lower.facts for lower_id, lower in lowers.items()})
        if followed is None or not held.parts:
            return False
        committed = _commit(
            tenant_id=tenant_id,
            state=state,
            held=held,
            followed=followed,
            seen={lower_id: lower.facts.version for lower_id, lower in lowers.items()},
            policy=rules,
            now=now,
        )
        if committed.outcome == "committed":
            return True
        if committed.outcome == "barred":
            return False  # it was revoked itself, and nothing of it stands
        version = committed.version or 0
    raise StaleHead(version)


def describe_held(*, tenant_id: str, state: MemoryState, policy: MergePolicy) -> Held:
    """Return a memory as a change below meets it."""
    timeline = fold_state(state=state, policy=policy)
    states = {stored.part.valid.start: stored.state for stored in state.parts}
    asked = fetch_all(sql=_ASKED, params=[tenant_id, state.memory_id])
    return Held(
        memory_type=state.memory_type,
        claims=state.claims,
        rulings=state.rulings,
        bases=state.bases,
        parts=timeline.parts,
        predicate=state.predicate,
        in_review=frozenset(
            part for part in timeline.parts if states.get(part.valid.start) == VersionState.NEEDS_REVIEW
        ),
        asked=asked[0][0] if asked else "",
    )


def _commit(
    *,
    tenant_id: str,
    state: MemoryState,
    held: Held,
    followed: Followed,
    seen: Mapping[str, int],
    policy: MergePolicy,
    now: datetime,
) -> Committed:
    opener = _choose_opener(held, followed)
    candidate = load_claimed(tenant_id=tenant_id, candidate_id=state.candidates[opener.opener])
    decision = decide_followed(held=held, followed=followed, policy=policy, now=now)
    return commit_decision(
        tenant_id=tenant_id,
        candidate=candidate,
        state=state,
        decision=decision,
        epoch=state.epoch,
        now=now,
        principal_id=candidate.proposer_id,
        right="",
        settles_candidate=False,
        resting=Resting(
            bases=followed.bases,
            weights={claim.source: claim.weight for claim in rest_all(held=held, bases=followed.bases, policy=policy)},
            reviews=followed.reviews,
            asks=followed.reason if followed.reviews else "",
            seen=seen,
        ),
    )


def _choose_opener(held: Held, followed: Followed) -> Part:
    """Return the part that the decision is about: one whose state changes, else the newest."""
    return (*followed.reviews, *followed.restores, held.parts[-1])[0]
