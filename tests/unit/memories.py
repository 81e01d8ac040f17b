"""Claims, candidates and rulings of one memory, written briefly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memoryhub.policy.merge import MergePolicy, decide, decide_ruling
from memoryhub.types.claims import Author, Claim, Ruling, SourceIdentity, Timeline
from memoryhub.types.decision import CandidateFacts, Decision, PredicateFacts
from memoryhub.types.enums import (
    CandidateKind,
    EpistemicStatus,
    MemoryType,
    ScopeKind,
    Stance,
    Trust,
)
from memoryhub.types.temporal import Period

POLICY = MergePolicy()
MAINTAINERS = frozenset({"maintainers"})
MAINTAINED = PredicateFacts(authority_group="maintainers")
NOW = datetime(2027, 1, 1, tzinfo=UTC)


def at(day: int) -> datetime:
    """Return the instant a number of days into 2026."""
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)


def source(name: str) -> SourceIdentity:
    """Return the identity of the named event."""
    return SourceIdentity("event", name)


def claim(
    name: str,
    day: int,
    value: str | None,
    by: str = "ana",
    end: int | None = None,
    **changes: Any,
) -> Claim:
    """Return a claim by a maintainer, effective and with a root of its own."""
    made = Claim(
        source=source(name),
        value_digest=value,
        valid=Period(at(day), None if end is None else at(end)),
        author=Author(by, 0, MAINTAINERS),
        roots=frozenset({name}),
        weight=0.95,
        observed_at=at(day),
        order_digest=name,
    )
    return replace(made, **changes)


def candidate(of: Claim, **changes: Any) -> CandidateFacts:
    """Return a candidate that nothing speaks against."""
    made = CandidateFacts(
        claim=of,
        kind=CandidateKind.FACT,
        memory_type=MemoryType.SEMANTIC,
        epistemic_status=EpistemicStatus.EXPLICIT,
        scope_kind=ScopeKind.PROJECT,
        trust=Trust.FIRST_PARTY,
        confidence=1.0,
    )
    return replace(made, **changes)


def ruling(sequence: int, settles: str, winner: str | None, *, keeps: bool = False, since: int | None = None) -> Ruling:
    """Return a ruling on the claims whose one-letter names `settles` spells."""
    return Ruling(
        key=f"ruling-{sequence}",
        settles=frozenset(source(name) for name in settles),
        winner=None if winner is None else source(winner),
        effective_from=None if since is None else at(since),
        sequence=sequence,
        keeps_conflict=keeps,
    )


def propose(
    new: Claim | CandidateFacts,
    held: Sequence[Claim] = (),
    rulings: Sequence[Ruling] = (),
    predicate: PredicateFacts = MAINTAINED,
) -> Decision:
    """Decide on a claim beside the held ones."""
    facts = new if isinstance(new, CandidateFacts) else candidate(new)
    return decide(candidate=facts, claims=held, rulings=rulings, predicate=predicate, policy=POLICY, now=NOW)


def settle(new: Ruling, held: Sequence[Claim], rulings: Sequence[Ruling] = ()) -> Decision:
    """Decide on a ruling."""
    return decide_ruling(
        ruling=new,
        claims=held,
        rulings=rulings,
        predicate=MAINTAINED,
        policy=POLICY,
        memory_type=MemoryType.SEMANTIC,
        now=NOW,
    )


def show(timeline: Timeline) -> list[tuple[int, int | None, str | None, str]]:
    """Return the parts as (first day, last day, value, opener)."""
    return [
        (
            (part.valid.start - at(0)).days,
            None if part.valid.end is None else (part.valid.end - at(0)).days,
            part.value_digest,
            part.opener.key,
        )
        for part in timeline.parts
    ]


def oppose(name: str, day: int, stance: Stance, **changes: Any) -> Claim:
    """Return a claim that brings no rival value."""
    return claim(name, day, None, "cem", stance=stance, **changes)
