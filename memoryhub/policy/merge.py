"""Merge, version 1: the decision is the difference that a candidate makes to its memory's timeline. Pure.

Source: Seed 000 §5.3, ADR 0006, ADR 0016.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memoryhub.kernel.lineage import adds_lineage
from memoryhub.policy.admission import ADMITTED, admit_candidate, enter_claim
from memoryhub.policy.belief import BeliefRule, derive_belief, list_roots
from memoryhub.policy.difference import Difference, compare_timelines
from memoryhub.types.claims import Claim, Part, Ruling, Timeline
from memoryhub.types.decision import CandidateFacts, Changes, Decision, PredicateFacts
from memoryhub.types.enums import EpistemicStatus, MergeAction, Stance, Trust
from memoryhub.types.modality import Thresholds
from memoryhub.types.timeline import REPLACE, Verdict, contest, fold_timeline, placed_order


class WholeTimelineNeeded(Exception):
    """Say that the tail is not enough: decide again with all claims and without `start`."""


@dataclass(frozen=True, slots=True)
class MergePolicy:
    """Hold the parameters of a merge policy's version."""

    contest_window: timedelta = timedelta(days=30)
    tau_high: float = 0.75
    epsilon: float = 0.15
    dispute_ratio: float = 0.8
    cap_first_party: float = 0.95
    cap_third_party: float = 0.7
    cap_untrusted: float = 0.3
    version: str = "merge/v1"

    def belief_rule(self, *, memory_type: str) -> BeliefRule:
        """Return the part of the parameters that belief is derived with."""
        return BeliefRule(
            memory_type=memory_type,
            caps={
                Trust.FIRST_PARTY: self.cap_first_party,
                Trust.THIRD_PARTY: self.cap_third_party,
                Trust.UNTRUSTED: self.cap_untrusted,
            },
            thresholds=Thresholds(tau_high=self.tau_high, epsilon=self.epsilon, dispute_ratio=self.dispute_ratio),
        )


@dataclass(frozen=True, slots=True)
class MergeRuleV1:
    """Say who may replace whom alone (ADR 0006)."""

    contest_window: timedelta
    predicate: PredicateFacts

    def judge(self, *, standing: Part, claim: Claim) -> Verdict:
        """Return whether the claim may replace the part, which says something else."""
        author, holder = claim.author, standing.author
        group = self.predicate.authority_group
        is_same = author.principal == holder.principal
        if not (is_same or (group and group in author.groups) or author.rank > holder.rank):
            return contest("author_may_not_supersede")
        if not claim.effective:
            return contest("no_effective_time")
        if self.predicate.yields_only_to_validation and standing.validated and not claim.validated:
            return contest("yields_only_to_validation")
        if (
            not is_same
            and claim.value_digest is not None
            and claim.value_digest == standing.replaced_digest
            and claim.valid.start - standing.since <= self.contest_window
        ):
            return contest("put_back_in_contest_window")
        return REPLACE


_RELIABILITY = {Trust.FIRST_PARTY: 0.95, Trust.THIRD_PARTY: 0.6, Trust.UNTRUSTED: 0.2}
_DIRECTNESS = {
    EpistemicStatus.EXPLICIT: 1.0,
    EpistemicStatus.OBSERVED: 1.0,
    EpistemicStatus.VALIDATED: 1.0,
    EpistemicStatus.INFERRED: 0.7,
}


def weigh_claim(*, trust: Trust, epistemic_status: EpistemicStatus, confidence: float) -> float:
    """Return what a claim weighs in 0..1 before it fades: source reliability times confidence."""
    return _RELIABILITY[trust] * weigh_reading(epistemic_status=epistemic_status, confidence=confidence)


def weigh_reading(*, epistemic_status: EpistemicStatus, confidence: float) -> float:
    """Return the share in 0..1 that a claim keeps of what it was read from."""
    return _DIRECTNESS[epistemic_status] * confidence


def decide(
    *,
    candidate: CandidateFacts,
    claims: Sequence[Claim],
    rulings: Sequence[Ruling],
    predicate: PredicateFacts,
    policy: MergePolicy,
    now: datetime,
    start: Part | None = None,
) -> Decision:
    """Return what becomes of a candidate, given the claims and rulings its memory has.

    With `start`, the newest part, the decision is made from the tail: `claims` are then those whose valid
    time begins at or after `start.since`, those that oppose or narrow, and the one of the candidate's own
    source if there is one. The decision is the same as from the whole set.

    Raises:
        WholeTimelineNeeded: `start` was given and the candidate is not the newest claim, or a ruling exists.
    """
    held = {claim.source for claim in claims}
    admission = admit_candidate(candidate=candidate, predicate=predicate, held=held)
    if admission.action is not None:
        return Decision(
            action=admission.action,
            reason=admission.reason,
            requires_person=False,
            changes=Changes(),
            policy_version=policy.version,
            admission=admission.reason,
        )
    claim = enter_claim(candidate=candidate)
    rule = MergeRuleV1(contest_window=policy.contest_window, predicate=predicate)
    if start is None:
        old = fold_timeline(claims=claims, rulings=rulings, rule=rule)
        new = fold_timeline(claims=(*claims, claim), rulings=rulings, rule=rule)
    else:
        _check_tail(claim, claims, rulings, start, now)
        old = Timeline(parts=(start,))
        new = fold_timeline(claims=(claim,), rulings=(), rule=rule, start=start, earlier=claims)
    difference = compare_timelines(old=old, new=new)
    action, reason = _name_difference(claim, claims, new, difference)
    question = admission.question if action is not MergeAction.NO_OP else ""
    if not question and not candidate.confirmed and _unsettles_history(claim, difference, rule):
        question = "unsettles_history"
    belief = derive_belief(
        timeline=new,
        claims=(*claims, claim),
        rule=policy.belief_rule(memory_type=candidate.memory_type),
        now=now,
    )
    return Decision(
        action=action,
        reason=question or reason,
        requires_person=bool(question),
        changes=Changes(
            close=difference.close,
            write=difference.write,
            conflict=difference.conflict,
            conflict_changed=difference.conflict_changed,
            dissolves=difference.dissolves,
            belief=belief,
            adds_claim=True,
            newly_dismissed=difference.newly_dismissed,
            claim=claim,
        ),
        policy_version=policy.version,
        admission=admission.question or ADMITTED,
    )


def decide_ruling(
    *,
    ruling: Ruling,
    claims: Sequence[Claim],
    rulings: Sequence[Ruling],
    predicate: PredicateFacts,
    policy: MergePolicy,
    memory_type: str,
    now: datetime,
) -> Decision:
    """Return the difference a ruling makes: a ruling is one more piece of evidence.

    `changes.dissolves` then says that the ruling settled the open conflict. A ruling that moves no part is
    ATTACH_EVIDENCE.
    """
    rule = MergeRuleV1(contest_window=policy.contest_window, predicate=predicate)
    old = fold_timeline(claims=claims, rulings=rulings, rule=rule)
    new = fold_timeline(claims=claims, rulings=(*rulings, ruling), rule=rule)
    difference = compare_timelines(old=old, new=new)
    action, reason = MergeAction.ATTACH_EVIDENCE, "ruled"
    if difference.joined and difference.conflict is not None:
        action, reason = MergeAction.CONFLICT, difference.conflict.reason
    elif difference.supersedes:
        action = MergeAction.SUPERSEDE
    elif difference.fills:
        action = MergeAction.ADD
    elif ruling.keeps_conflict:
        reason = "conflict_kept"
    elif difference.dissolves:
        reason = "conflict_settled"
    belief = derive_belief(timeline=new, claims=claims, rule=policy.belief_rule(memory_type=memory_type), now=now)
    return Decision(
        action=action,
        reason=reason,
        requires_person=False,
        changes=Changes(
            close=difference.close,
            write=difference.write,
            conflict=difference.conflict,
            conflict_changed=difference.conflict_changed,
            dissolves=difference.dissolves,
            belief=belief,
            newly_dismissed=difference.newly_dismissed,
        ),
        policy_version=policy.version,
    )


_LACKS_AUTHORITY = ("author_may_not_supersede", "no_effective_time")


def _unsettles_history(claim: Claim, difference: Difference, rule: MergeRuleV1) -> bool:
    """Tell whether a claim about the past takes away, through a conflict, what its author may not replace.

    Everything later than an open conflict joins it, and what stood may itself become the contested claim; so an
    author who may replace nothing could put a memory back by years. A person is asked before such a claim enters the
    set (ADR 0017). A value put back within the contest window is a dispute between two who may, and goes to the
    conflict queue at once.
    """
    return bool(difference.joined) and any(
        rule.judge(standing=part, claim=claim).reason in _LACKS_AUTHORITY
        for part in difference.close
        if part.value_digest not in (None, claim.value_digest)
    )


def _check_tail(
    claim: Claim,
    claims: Iterable[Claim],
    rulings: Sequence[Ruling],
    start: Part,
    now: datetime,
) -> None:
    if rulings:
        raise WholeTimelineNeeded("a ruling may place or dismiss claims that the tail does not hold")
    if claim.valid.start <= start.valid.start or start.valid.start > now:
        raise WholeTimelineNeeded("the candidate does not begin within the newest part")
    place = placed_order(claim=claim)
    if any(placed_order(claim=held) >= place for held in claims):
        raise WholeTimelineNeeded("the candidate is not the newest claim")


def _name_difference(
    claim: Claim, claims: Sequence[Claim], new: Timeline, difference: Difference
) -> tuple[MergeAction, str]:
    """Return the action that the difference is called, and its reason; a conflict comes first."""
    conflict = difference.conflict
    if conflict is not None and difference.joined:
        opened_it = conflict.members[0] == claim.source or claim.source not in difference.joined
        return MergeAction.CONFLICT, conflict.reason if opened_it else "joins_open_conflict"
    if difference.supersedes:
        return MergeAction.SUPERSEDE, "replaces_standing" if _succeeds(claim, new, difference) else "corrects_history"
    if difference.fills:
        return MergeAction.ADD, "fills_free_period" if claims else "first_claim"
    return _name_support(claim, claims, new, difference)


def _succeeds(claim: Claim, new: Timeline, difference: Difference) -> bool:
    """Tell whether the newest value now is another, and what stood before it keeps a time of its own.

    Otherwise the past is corrected: the present is left alone, or what stood was wrong from its beginning (ADR 0024).
    """
    newest = new.parts[-1] if new.parts else None
    displaced = [part for part in difference.close if part.value_digest != claim.value_digest]
    return (
        newest in difference.write
        and not any(_is_same_value(part, newest) for part in difference.close)
        and any(part.valid.start < claim.valid.start for part in displaced)
    )


def _is_same_value(old: Part, new: Part | None) -> bool:
    """Tell whether a part is the old one with other bounds: its value came to stand at the same instant."""
    return new is not None and (old.value_digest, old.since) == (new.value_digest, new.since)


def _name_support(
    claim: Claim, claims: Sequence[Claim], new: Timeline, difference: Difference
) -> tuple[MergeAction, str]:
    """Return what a claim that moves no value amounts to."""
    if claim.source in new.dismissed:
        return MergeAction.NO_OP, "settled_by_ruling"
    changes_record = difference.conflict_changed or difference.write
    stands = claim.stance is not Stance.SUPPORTS or any(claim.source in part.supporters for part in new.parts)
    if not stands:
        # Another claim begins at the same instant and comes after it in order: nothing of this one holds, though
        # what the other replaced may now be this one.
        return MergeAction.ATTACH_EVIDENCE if changes_record else MergeAction.NO_OP, "settled_by_order"
    if claim.validated and difference.write:
        return MergeAction.ATTACH_EVIDENCE, "validated"
    if changes_record or _is_independent(claim, claims, new):
        return MergeAction.ATTACH_EVIDENCE, _ATTACHES[claim.stance]
    return MergeAction.NO_OP, "lineage_already_counted"


_ATTACHES = {
    Stance.SUPPORTS: "independent_support",
    Stance.CONTRADICTS: "evidence_against",
    Stance.QUALIFIES: "narrows",
}


def _is_independent(claim: Claim, claims: Sequence[Claim], new: Timeline) -> bool:
    """Tell whether the claim is a lineage of its own beside what already speaks the same way."""
    if claim.stance is Stance.SUPPORTS:
        beside = {source for part in new.parts if claim.source in part.supporters for source in part.supporters}
    else:
        beside = {held.source for held in claims if held.stance is claim.stance}
        beside.difference_update(new.dismissed)
    return adds_lineage(
        piece=list_roots(claim=claim),
        beside=[list_roots(claim=held) for held in claims if held.source in beside and held.source != claim.source],
    )
