"""Derived step by step or all at once: parts, conflict and belief are the same after every step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from memoryhub.policy.belief import count_supporting_lineages, derive_belief
from memoryhub.policy.echo import repeat_claim
from memoryhub.policy.ledger import HeldMemory, MemoryLedger
from memoryhub.types.claims import Author, Claim, Echo, Ruling, SourceIdentity
from memoryhub.types.enums import MemoryType, Stance, Trust
from memoryhub.types.timeline import fold_timeline
from tests.property.strategies import (
    GROUP,
    POLICY,
    PREDICATES,
    Case,
    at,
    draw_claim,
    draw_rulings,
    rule_for,
    to_candidate,
)

KEY = "m"


@dataclass(frozen=True)
class Withdrawal:
    """Take the claims of these sources out, as a revocation does."""

    sources: frozenset[SourceIdentity]


Step = Claim | Ruling | Withdrawal


@st.composite
def draw_many_claims(draw: st.DrawFn) -> list[Claim]:
    """Return claims of many principals and trusts, with shared roots, summaries, and echoes of others."""
    claims: list[Claim] = []
    for number in range(draw(st.integers(2, 10))):
        claim: Claim = draw(draw_claim(number))
        claim = replace(
            claim,
            author=Author(draw(st.sampled_from("abcdefgh")), draw(st.integers(0, 1)), GROUP),
            trust=draw(st.sampled_from(list(Trust))),
            roots=draw(st.frozensets(st.sampled_from([f"r{root}" for root in range(8)]), min_size=1, max_size=3)),
        )
        same = [held for held in claims if held.value_digest == claim.value_digest]
        if same and claim.stance is Stance.SUPPORTS and draw(st.booleans()):
            echo = Echo(
                roots=frozenset().union(*(held.roots for held in same)),
                weight=min(held.weight for held in same),
                observed_at=min(held.observed_at for held in same),
            )
            claim = repeat_claim(
                claim=replace(claim, roots=frozenset({"run"})),
                echo=echo,
                root="run",
                memory_type=MemoryType.SEMANTIC,
            )
        claims.append(claim)
    return claims


@st.composite
def draw_steps(draw: st.DrawFn) -> tuple[Case, list[Step]]:
    """Return a case and its steps in some order; withdrawals come in between."""
    claims = draw(draw_many_claims())
    case = Case(claims, draw(draw_rulings(claims)), draw(PREDICATES))
    withdrawals = [
        Withdrawal(
            frozenset(draw(st.sets(st.sampled_from([claim.source for claim in claims]), min_size=1, max_size=2)))
        )
        for _ in range(draw(st.integers(0, 2)))
    ]
    first, *others = draw(st.permutations(claims))
    rest: list[Step] = [*others, *case.rulings, *withdrawals]
    return case, [first, *draw(st.permutations(rest))]


def take(ledger: MemoryLedger, step: Step, number: int) -> None:
    now = at(40) + number * timedelta(hours=7)
    if isinstance(step, Ruling):
        ledger.rule(key=KEY, ruling=step, now=now)
    elif isinstance(step, Withdrawal):
        ledger.withdraw(key=KEY, sources=step.sources, now=now)
    else:
        ledger.propose(key=KEY, candidate=to_candidate(step), now=now)


def hold_against_the_whole(memory: HeldMemory, claims: list[Claim], rulings: list[Ruling]) -> None:
    """Fold the claims and rulings that the last change was derived from, and compare everything that is held."""
    whole = fold_timeline(claims=claims, rulings=rulings, rule=rule_for(memory.predicate))
    held = [(p.part.valid, p.part.value_digest, p.part.opener, p.part.since) for p in memory.list_current()]
    assert held == [(part.valid, part.value_digest, part.opener, part.since) for part in whole.parts]
    assert memory.conflict == whole.conflict
    assert memory.belief is not None
    derived = derive_belief(
        timeline=whole,
        claims=claims,
        rule=POLICY.belief_rule(memory_type=memory.memory_type),
        now=memory.belief.derived_at,
    )
    assert memory.belief == derived


@given(drawn=draw_steps(), uses_tail=st.booleans())
def test_belief_derived_step_by_step_is_that_of_the_whole_set(drawn: tuple[Case, list[Step]], uses_tail: bool) -> None:
    case, steps = drawn
    ledger = MemoryLedger(policy=POLICY, predicates={KEY: case.predicate}, uses_tail=uses_tail)
    version, claims, rulings = 0, list[Claim](), list[Ruling]()
    for number, step in enumerate(steps):
        take(ledger, step, number)
        memory = ledger.memories[KEY]
        if memory.version != version:  # what adds nothing is derived with what comes after it
            version, claims, rulings = memory.version, list(memory.claims.values()), list(memory.rulings)
        hold_against_the_whole(memory, claims, rulings)


@given(drawn=draw_steps(), data=st.data())
def test_belief_does_not_depend_on_the_order_of_steps(drawn: tuple[Case, list[Step]], data: st.DataObject) -> None:
    """Take the steps in two orders, without withdrawals between, and derive both at one instant."""
    case, steps = drawn
    lasting = [step for step in steps if not isinstance(step, Withdrawal)]
    beliefs = []
    for order in (lasting, [lasting[0], *data.draw(st.permutations(lasting[1:]))]):
        ledger = MemoryLedger(policy=POLICY, predicates={KEY: case.predicate})
        for number, step in enumerate(order):
            take(ledger, step, number)
        memory = ledger.memories[KEY]
        claims = list(memory.claims.values())
        timeline = fold_timeline(claims=claims, rulings=memory.rulings, rule=rule_for(case.predicate))
        rule = POLICY.belief_rule(memory_type=memory.memory_type)
        counts = [
            count_supporting_lineages(part=part, claims={claim.source: claim for claim in claims})
            for part in timeline.parts
        ]
        beliefs.append((derive_belief(timeline=timeline, claims=claims, rule=rule, now=at(90)), counts))
    assert beliefs[0] == beliefs[1]
