"""Beliefs derived from beliefs: the same code one level up, and what a change below does above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memoryhub.policy.merge import MergePolicy, MergeRuleV1
from memoryhub.policy.reflection import (
    Followed,
    Held,
    count_bases,
    decide_followed,
    find_fall,
    follow_lowers,
    keep_bases,
    lay_basis,
    rest_claim,
)
from memoryhub.types.basis import Basis, LowerBelief, LowerFacts
from memoryhub.types.claims import Part
from memoryhub.types.enums import MergeAction, Modality, Trust
from memoryhub.types.timeline import fold_timeline
from tests.unit.memories import MAINTAINED, at, claim, source

POLICY = MergePolicy()
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def believe(
    *roots: str, weight: float = 0.5, by: str = "alice", trust: Trust = Trust.FIRST_PARTY, lineages: int = 1
) -> LowerBelief:
    return LowerBelief(
        weight=weight,
        observed_at=at(1),
        roots=frozenset(roots),
        principals=frozenset({by}),
        trust=trust,
        lineages=lineages,
    )


def lower(
    name: str = "low", *, version: int = 1, value: str | None = "v", state: str = "active", **more: object
) -> LowerFacts:
    facts = LowerFacts(
        memory=name,
        version=version,
        value_digest=value,
        state=state,
        modality=Modality.BELIEVED,
        has_open_conflict=False,
        belief=believe(name),
    )
    return replace(facts, **more)  # type: ignore[arg-type]


def rest_on(*facts: LowerFacts, share: float = 1.0) -> tuple[Basis, ...]:
    return tuple(lay_basis(lower=one, carries=True, share=share) for one in facts)


def hold(
    bases: dict[str, Sequence[Basis]], *, in_review: bool = False, asked: str = "", values: dict[str, str] | None = None
) -> Held:
    """Return a memory with one claim a name; all say the same unless `values` says otherwise."""
    claims = tuple(
        rest_claim(claim=claim(name, place, (values or {}).get(name, "x"), by="agent"), bases=laid, policy=POLICY)
        for place, (name, laid) in enumerate(bases.items(), start=1)
    )
    rule = MergeRuleV1(contest_window=POLICY.contest_window, predicate=MAINTAINED)
    parts = fold_timeline(claims=claims, rulings=(), rule=rule).parts
    return Held(
        memory_type="reflective",
        claims=claims,
        rulings=(),
        bases={source(name): tuple(laid) for name, laid in bases.items()},
        parts=parts,
        predicate=MAINTAINED,
        in_review=frozenset(parts) if in_review else frozenset(),
        asked=asked,
    )


def follow(held: Held, *facts: LowerFacts) -> Followed | None:
    return follow_lowers(held=held, lowers={one.memory: one for one in facts})


def test_independent_beliefs_strengthen_each_other() -> None:
    one, other = lower("a"), lower("b", belief=believe("b", by="bob"))
    rested = rest_claim(claim=claim("r", 1, "x"), bases=rest_on(one, other), policy=POLICY)
    assert rested.weight == pytest.approx(0.75)
    assert rested.roots == {"a", "b"}
    assert rested.lineages == 2


def test_what_shares_a_root_counts_once() -> None:
    one, other = lower("a", belief=believe("r")), lower("b", belief=believe("r", weight=0.4))
    rested = rest_claim(claim=claim("r", 1, "x"), bases=rest_on(one, other), policy=POLICY)
    assert (rested.weight, rested.lineages) == (0.5, 1)


def test_one_untrusted_voice_reaches_no_further_through_a_reflection() -> None:
    many = [
        lower(str(number), belief=believe(f"page {number}", weight=0.3, by="web", trust=Trust.UNTRUSTED))
        for number in range(20)
    ]
    rested = rest_claim(claim=claim("r", 1, "x"), bases=rest_on(*many), policy=POLICY)
    assert rested.weight <= POLICY.cap_untrusted


def test_the_order_and_a_repetition_change_nothing() -> None:
    bases = rest_on(lower("a"), lower("b", belief=believe("b", weight=0.3, by="bob")), lower("c"))
    plain = rest_claim(claim=claim("r", 1, "x"), bases=bases, policy=POLICY)
    assert rest_claim(claim=claim("r", 1, "x"), bases=bases[::-1], policy=POLICY) == plain
    assert rest_claim(claim=claim("r", 1, "x"), bases=(*bases, *bases), policy=POLICY) == plain


def test_a_share_is_what_the_reader_is_sure_of() -> None:
    rested = rest_claim(claim=claim("r", 1, "x"), bases=rest_on(lower("a"), share=0.6), policy=POLICY)
    assert rested.weight == pytest.approx(0.3)


def test_what_is_only_cited_weighs_nothing() -> None:
    cited = (lay_basis(lower=lower("a"), carries=False, share=1.0),)
    assert rest_claim(claim=claim("r", 1, "x"), bases=cited, policy=POLICY) == claim("r", 1, "x")


def test_lineages_are_counted_at_the_roots() -> None:
    deep = lower("a", belief=believe("x", "y", lineages=2))
    assert count_bases(bases=rest_on(deep, lower("b", belief=believe("z", by="bob")))) == 3
    assert count_bases(bases=rest_on(deep, lower("b", belief=believe("y", by="bob")))) == 2


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (lower(), ""),
        (lower(modality=Modality.DOUBTED), ""),
        (lower(modality=Modality.POSSIBLE), ""),
        (lower(value="other"), "lower_superseded"),
        (lower(value=None), "lower_superseded"),
        (lower(modality=Modality.DISPUTED), "lower_disputed"),
        (lower(has_open_conflict=True), "lower_disputed"),
        (lower(modality=Modality.REFUTED), "lower_refuted"),
        (lower(state=""), "lower_refuted"),
        (lower(state="revoked"), "lower_revoked"),
        (lower(state="expired"), "lower_expired"),
        (lower(state="erased"), "lower_erased"),
        (lower(state="needs_review"), "lower_in_review"),
    ],
)
def test_only_what_no_longer_stands_falls(facts: LowerFacts, reason: str) -> None:
    assert find_fall(value_digest="v", lower=facts) == reason


def test_more_support_below_is_derived_anew() -> None:
    held = hold({"r": rest_on(lower())})
    moved = lower(version=2, belief=believe("low", "more", weight=0.8))
    followed = follow(held, moved)
    assert followed is not None
    assert (followed.action, followed.reason) == (MergeAction.ATTACH_EVIDENCE, "lower_moved")
    decision = decide_followed(held=held, followed=followed, policy=POLICY, now=at(2))
    assert decision.changes.belief is not None
    before = decide_followed(
        held=held, followed=Followed(MergeAction.NO_OP, "none"), policy=POLICY, now=at(2)
    ).changes.belief
    assert before is not None
    assert decision.changes.belief.confidence > before.confidence
    assert not decision.requires_person
    assert decision.changes.close == decision.changes.write == ()


def test_what_brings_the_same_is_no_difference() -> None:
    followed = follow(hold({"r": rest_on(lower())}), lower(version=2))
    assert followed is not None
    assert (followed.action, followed.reason) == (MergeAction.NO_OP, "lower_unmoved")


@pytest.mark.parametrize("version", [1, 0])
def test_what_was_seen_is_not_looked_at_again(version: int) -> None:
    assert follow(hold({"r": rest_on(lower())}), lower(version=version, value="other")) is None


def test_a_fall_below_asks_a_person() -> None:
    held = hold({"r": rest_on(lower())})
    followed = follow(held, lower(version=2, value="other"))
    assert followed is not None
    assert (followed.reason, followed.reviews, followed.bases) == ("lower_superseded", held.parts, {})
    decision = decide_followed(held=held, followed=followed, policy=POLICY, now=at(2))
    assert decision.requires_person
    assert decision.changes.close == decision.changes.write == held.parts
    asked = replace(held, in_review=frozenset(held.parts), asked="lower_superseded")
    assert follow(asked, lower(version=2, value="other")) is None
    assert follow(asked, lower(version=3, value="third")) is None


def test_what_comes_to_hold_again_asks_nobody() -> None:
    held = hold({"r": rest_on(lower())}, in_review=True, asked="lower_disputed")
    followed = follow(held, lower(version=3))
    assert followed is not None
    assert (followed.reason, followed.restores) == ("lower_holds_again", held.parts)
    assert follow(replace(held, asked="evidence_expired"), lower(version=3)) is not None
    other = follow(replace(held, asked="evidence_expired"), lower(version=3))
    assert other is not None
    assert other.restores == ()


def test_another_supporter_that_holds_keeps_it() -> None:
    held = hold({"r": rest_on(lower("a")), "s": rest_on(lower("b", belief=believe("b", by="bob")))})
    followed = follow(held, lower("a", version=2, value="other"))
    assert followed is not None
    assert (followed.reason, followed.reviews) == ("lower_moved", ())
    bases = {**held.bases, **followed.bases}
    assert bases[source("r")][0].belief.roots == frozenset()
    assert bases[source("s")] == held.bases[source("s")]
    later = replace(held, bases=bases)
    both = follow(later, lower("a", version=2, value="other"), lower("b", version=2, state="revoked"))
    assert both is not None
    assert (both.reason, both.reviews) == ("lower_revoked", later.parts)


def test_kept_it_rests_on_what_is_there() -> None:
    held = hold({"r": rest_on(lower("a"), lower("b"))}, in_review=True, asked="lower_superseded")
    lowers = {"a": lower("a", version=5, value="other"), "b": lower("b", version=2, state="erased")}
    kept = keep_bases(held=held, lowers=lowers)
    first, second = kept[source("r")]
    assert (first.version, first.value_digest) == (5, "other")
    assert second.belief.roots == frozenset()
    assert follow(replace(held, bases=kept), *lowers.values()) is not None, "the person's word restores it"


def test_a_part_is_about_its_own_supporters() -> None:
    """Of two values in turn, only the one whose ground fell is looked at."""
    held = hold({"r": rest_on(lower("a")), "s": rest_on(lower("b"))}, values={"r": "x", "s": "y"})
    assert len(held.parts) == 2
    followed = follow(held, lower("b", version=2, value="other"))
    assert followed is not None
    reviews: tuple[Part, ...] = followed.reviews
    assert [part.opener for part in reviews] == [source("s")]
