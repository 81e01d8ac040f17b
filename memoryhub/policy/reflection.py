"""Reflection: what a claim that rests on memories weighs, and what a change of one of them does above. Pure.

Source: Seed 003 §2.3.1 and §2.6 (what compresses derives upward, by the same code); ADR 0009.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from memoryhub.kernel.derivation import derive
from memoryhub.kernel.lineage import group_roots
from memoryhub.kernel.values import DerivationRule, Facet
from memoryhub.policy.belief import derive_belief
from memoryhub.policy.merge import MergePolicy, MergeRuleV1
from memoryhub.types.basis import Basis, LowerBelief, LowerFacts
from memoryhub.types.claims import Claim, Part, Ruling, SourceIdentity
from memoryhub.types.decision import Changes, Decision, PredicateFacts
from memoryhub.types.enums import MergeAction, Modality, VersionState
from memoryhub.types.timeline import fold_timeline

Bases = Mapping[SourceIdentity, Sequence[Basis]]

FELL = "lower_"  # how the reason begins why something that rests on memories is under review
_FELL_BEFORE = "lower_fell_before"
_DIGITS = 9
_ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_TAKEN_BACK = {
    VersionState.REVOKED: "lower_revoked",
    VersionState.ERASED: "lower_erased",
    VersionState.EXPIRED: "lower_expired",
}


def find_fall(*, value_digest: str | None, lower: LowerFacts) -> str:
    """Return why a lower memory does not hold as it was rested on, or nothing; the first reason counts.

    More or less support is no fall, and neither is doubt: the belief above then only derives anew.
    """
    if lower.state in _TAKEN_BACK:
        return _TAKEN_BACK[VersionState(lower.state)]
    if not lower.state or lower.modality is Modality.REFUTED:
        return "lower_refuted"
    if lower.value_digest != value_digest:
        return "lower_superseded"
    if lower.has_open_conflict or lower.modality is Modality.DISPUTED:
        return "lower_disputed"
    return "lower_in_review" if lower.state == VersionState.NEEDS_REVIEW else ""


def lay_basis(*, lower: LowerFacts, carries: bool, share: float) -> Basis:
    """Return a lower memory as a claim rests on it from now on."""
    return Basis(
        lower=lower.memory,
        version=lower.version,
        value_digest=lower.value_digest,
        belief=lower.belief,
        carries=carries,
        share=share,
    )


def drop_basis(*, basis: Basis, lower: LowerFacts) -> Basis:
    """Return a basis that brings nothing any more, since the lower memory does not hold as it was rested on."""
    gone = replace(basis.belief, weight=0.0, roots=frozenset(), principals=frozenset())
    return replace(basis, version=lower.version, belief=gone)


def rest_claim(*, claim: Claim, bases: Iterable[Basis], policy: MergePolicy) -> Claim:
    """Return a claim as it rests on lower memories: weight and roots are what their beliefs derive to.

    The beliefs are facets like any other: one root counts once, however many memories go back to it, and what one
    principal can reach stays capped by the trust of its words. They have faded as far as they have: above, only what
    is reflective fades. A claim that only cites stays as it is.
    """
    carrying = [basis for basis in bases if basis.carries]
    if not carrying:
        return claim
    beliefs = {basis.lower: basis.belief for basis in carrying if basis.belief.roots}
    found = derive(
        facets=[
            Facet(
                key=f"memory:{lower}",
                weight=belief.weight,
                observed_at=belief.observed_at,
                roots=belief.roots,
                principals=belief.principals,
                trust=str(belief.trust),
                independent_count=belief.lineages,
            )
            for lower, belief in beliefs.items()
        ],
        rule=DerivationRule(key=claim.source.as_text(), caps=policy.belief_rule(memory_type="reflective").caps),
        as_of=max(basis.belief.observed_at for basis in carrying),
    )
    return replace(
        claim,
        weight=round(found.weight * carrying[0].share, _DIGITS),
        roots=found.roots,
        lineages=count_bases(bases=carrying),
    )


def count_bases(*, bases: Iterable[Basis]) -> int:
    """Return how many independent lineages lower memories go back to between them; one that brings nothing has none."""
    beliefs = [basis.belief for basis in bases if basis.belief.roots]
    groups = group_roots(pieces=[belief.roots for belief in beliefs])
    return sum(max(beliefs[place].lineages for place in group) for group in groups)


@dataclass(frozen=True, slots=True)
class Held:
    """Hold a memory that rests on others, as a change below meets it.

    `parts` are those that are held now, with all their supporters; `in_review` are those of them under review, and
    `asked` is the reason they are.
    """

    memory_type: str
    claims: tuple[Claim, ...]
    rulings: tuple[Ruling, ...]
    bases: Bases
    parts: tuple[Part, ...]
    predicate: PredicateFacts = field(default_factory=PredicateFacts)
    in_review: frozenset[Part] = frozenset()
    asked: str = ""


@dataclass(frozen=True, slots=True)
class Followed:
    """Hold what becomes of a memory when something below it changed.

    `bases` are all that a claim rests on from now on, for each claim of which that is new. `reviews` are parts that a
    person must look at, `restores` parts that need nobody any more.
    """

    action: MergeAction
    reason: str
    bases: Bases = field(default_factory=dict)
    reviews: tuple[Part, ...] = ()
    restores: tuple[Part, ...] = ()


def follow_lowers(*, held: Held, lowers: Mapping[str, LowerFacts]) -> Followed | None:
    """Return what the lower memories, as they stand now, change above them; None if nothing is new.

    What was seen already, at the same version or a later one, is not looked at again: told twice or late, it changes
    nothing. A part none of whose supporters still holds goes to review; where another one holds, it stays, and what
    fell brings nothing any more.
    """
    fallen: dict[SourceIdentity, str] = {}
    kept: dict[SourceIdentity, list[Basis]] = {}
    dropped: dict[SourceIdentity, list[Basis]] = {}
    for source, bases in held.bases.items():
        if _brings_nothing(bases):
            fallen[source] = _FELL_BEFORE
        kept[source], dropped[source] = [], []
        for basis in bases:
            lower = lowers.get(basis.lower)
            if not basis.carries or lower is None or lower.version <= basis.version:
                again = without = basis
            elif why := find_fall(value_digest=basis.value_digest, lower=lower):
                fallen.setdefault(source, why)
                again, without = basis, drop_basis(basis=basis, lower=lower)
            else:
                again = without = lay_basis(lower=lower, carries=True, share=basis.share)
            kept[source].append(again)
            dropped[source].append(without)
    fell = {part: why for part in held.parts if (why := _find_fall_of(part, fallen))}
    # While a person is asked, what fell is left as it was rested on: it may come to hold again.
    laid = {
        source: tuple(bases)
        for source, bases in (kept if fell else dropped).items()
        if tuple(bases) != tuple(held.bases[source])
    }
    return _name(
        held,
        laid,
        reviews=tuple(part for part in fell if part not in held.in_review),
        restores=_list_restored(held, fell),
        fell=fell,
    )


def _brings_nothing(bases: Sequence[Basis]) -> bool:
    carrying = [basis for basis in bases if basis.carries]
    return bool(carrying) and not any(basis.belief.roots for basis in carrying)


def _find_fall_of(part: Part, fallen: Mapping[SourceIdentity, str]) -> str:
    """Return why a part does not hold any more, when all its supporters fell: what fell now comes first."""
    if not all(source in fallen for source in part.supporters):
        return ""
    reasons = [fallen[source] for source in part.supporters]
    return next((why for why in reasons if why != _FELL_BEFORE), _FELL_BEFORE)


def _list_restored(held: Held, fell: Collection[Part]) -> tuple[Part, ...]:
    if not held.asked.startswith(FELL):
        return ()
    return tuple(part for part in held.parts if part in held.in_review and part not in fell)


def _name(
    held: Held, bases: Bases, *, reviews: tuple[Part, ...], restores: tuple[Part, ...], fell: Mapping[Part, str]
) -> Followed | None:
    if reviews:
        return Followed(MergeAction.ATTACH_EVIDENCE, fell[reviews[0]], bases, reviews, restores)
    if restores:
        return Followed(MergeAction.ATTACH_EVIDENCE, "lower_holds_again", bases, restores=restores)
    if not bases:
        return None
    if all(_list_beliefs(laid) == _list_beliefs(held.bases[source]) for source, laid in bases.items()):
        return Followed(MergeAction.NO_OP, "lower_unmoved", bases)
    return Followed(MergeAction.ATTACH_EVIDENCE, "lower_moved", bases)


def _list_beliefs(bases: Iterable[Basis]) -> list[LowerBelief]:
    """Return what lower memories bring, whenever that was derived."""
    return [replace(basis.belief, observed_at=_ANY_TIME) for basis in bases]


def keep_bases(*, held: Held, lowers: Mapping[str, LowerFacts]) -> Bases:
    """Return what claims rest on once a person lets them stand: the lower memories as they are, disputed or not.

    One that was taken back, or where nothing stands any more, brings nothing.
    """
    kept = {}
    for source, bases in held.bases.items():
        laid = []
        for basis in bases:
            lower = lowers.get(basis.lower)
            if not basis.carries or lower is None:
                laid.append(basis)
            elif not lower.state or lower.state in _TAKEN_BACK:
                laid.append(drop_basis(basis=basis, lower=lower))
            else:
                laid.append(lay_basis(lower=lower, carries=True, share=basis.share))
        kept[source] = tuple(laid)
    return kept


def rest_all(*, held: Held, bases: Bases, policy: MergePolicy) -> list[Claim]:
    """Return the claims of a memory once these bases are laid; those without new ones are as they were."""
    return [rest_claim(claim=claim, bases=bases.get(claim.source, ()), policy=policy) for claim in held.claims]


def decide_followed(*, held: Held, followed: Followed, policy: MergePolicy, now: datetime) -> Decision:
    """Return the decision that follows a change below: no value moves, but belief and what a person must look at.

    A part that changes only in its state is closed and written again, so that what was held before is still known.
    """
    claims = rest_all(held=held, bases=followed.bases, policy=policy)
    rule = MergeRuleV1(contest_window=policy.contest_window, predicate=held.predicate)
    timeline = fold_timeline(claims=claims, rulings=held.rulings, rule=rule)
    rewritten = (*followed.reviews, *followed.restores)
    return Decision(
        action=followed.action,
        reason=followed.reason,
        requires_person=bool(followed.reviews),
        changes=Changes(
            close=rewritten,
            write=rewritten,
            conflict=timeline.conflict,
            belief=derive_belief(
                timeline=timeline, claims=claims, rule=policy.belief_rule(memory_type=held.memory_type), now=now
            ),
        ),
        policy_version=policy.version,
    )
