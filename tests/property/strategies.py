"""Random claims, rulings and candidates of one memory, small enough that they meet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from memoryhub.policy.merge import MergePolicy, MergeRuleV1
from memoryhub.types.claims import Author, Claim, Ruling, SourceIdentity
from memoryhub.types.decision import CandidateFacts, PredicateFacts
from memoryhub.types.enums import (
    CandidateKind,
    EpistemicStatus,
    MemoryType,
    ScopeKind,
    Stance,
    Trust,
)
from memoryhub.types.temporal import Period

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
POLICY = MergePolicy(contest_window=timedelta(days=5))
GROUP = frozenset({"maintainers"})

PREDICATES = st.builds(
    PredicateFacts,
    authority_group=st.sampled_from(["", "maintainers"]),
    yields_only_to_validation=st.booleans(),
)


def at(day: int) -> datetime:
    """Return the instant a number of days after the beginning."""
    return BEGINNING + day * DAY


def rule_for(predicate: PredicateFacts) -> MergeRuleV1:
    """Return the shipped rule for a predicate."""
    return MergeRuleV1(contest_window=POLICY.contest_window, predicate=predicate)


def source(number: int) -> SourceIdentity:
    """Return the identity of the numbered event."""
    return SourceIdentity("event", f"e{number}")


@st.composite
def draw_claim(draw: st.DrawFn, number: int, *, first_day: int = 0, quiet: bool = False) -> Claim:
    """Return the numbered claim; a quiet one is by one author, so that nothing is contested."""
    day = draw(st.integers(first_day, first_day + 12))
    length = draw(st.one_of(st.none(), st.integers(1, 8)))
    author = (
        Author("ana", 0, GROUP)
        if quiet
        else Author(
            draw(st.sampled_from(["ana", "bot", "cem"])),
            draw(st.integers(0, 1)),
            draw(st.sampled_from([GROUP, GROUP, frozenset[str]()])),
        )
    )
    stances = st.sampled_from([Stance.SUPPORTS] * 6 + [Stance.CONTRADICTS, Stance.QUALIFIES])
    return Claim(
        source=source(number),
        value_digest=draw(st.sampled_from(["a", "b", "c", None])),
        valid=Period(at(day), None if length is None else at(day + length)),
        author=author,
        roots=frozenset({f"r{draw(st.integers(0, 6))}"}),
        weight=draw(st.sampled_from([0.2, 0.5, 0.9, 1.0])),
        observed_at=at(day + draw(st.sampled_from([0, 0, 1]))),
        source_seq=draw(st.integers(0, 2)),
        order_digest=f"{number:03}",
        stance=draw(stances),
        effective=quiet or draw(st.sampled_from([True, True, True, False])),
        validated=not quiet and draw(st.sampled_from([False, False, False, True])),
    )


@st.composite
def draw_claims(
    draw: st.DrawFn,
    *,
    most: int = 9,
    first_number: int = 0,
    first_day: int = 0,
    quiet: bool = False,
) -> list[Claim]:
    """Return up to `most` claims, each of its own source."""
    count = draw(st.integers(1, most))
    return [draw(draw_claim(first_number + index, first_day=first_day, quiet=quiet)) for index in range(count)]


@st.composite
def draw_rulings(draw: st.DrawFn, claims: list[Claim]) -> list[Ruling]:
    """Return up to three rulings on claims, some of which overturn or keep."""
    sources = [claim.source for claim in claims]
    rulings = []
    for sequence in range(1, draw(st.integers(0, 3)) + 1):
        settles = draw(st.sets(st.sampled_from(sources), min_size=1, max_size=3))
        winner = draw(st.one_of(st.none(), st.sampled_from(sorted(settles))))
        effective = draw(st.one_of(st.none(), st.integers(0, 20).map(at)))
        rulings.append(
            Ruling(
                key=f"ruling-{sequence}",
                settles=frozenset(settles),
                winner=winner,
                effective_from=effective if winner is not None else None,
                sequence=sequence,
                keeps_conflict=winner is None and draw(st.booleans()),
            )
        )
    return rulings


@dataclass(frozen=True)
class Case:
    """Hold one memory's claims and rulings, and what was declared of its fact key."""

    claims: list[Claim]
    rulings: list[Ruling]
    predicate: PredicateFacts


@st.composite
def draw_case(draw: st.DrawFn) -> Case:
    """Return a case."""
    claims = draw(draw_claims())
    return Case(claims, draw(draw_rulings(claims)), draw(PREDICATES))


def to_candidate(claim: Claim) -> CandidateFacts:
    """Return a candidate that admission lets in and about which every question was answered, with this claim."""
    return CandidateFacts(
        claim=claim,
        kind=CandidateKind.FACT,
        memory_type=MemoryType.SEMANTIC,
        epistemic_status=EpistemicStatus.EXPLICIT,
        scope_kind=ScopeKind.PROJECT,
        trust=Trust.FIRST_PARTY,
        confidence=1.0,
        confirmed=True,
    )
