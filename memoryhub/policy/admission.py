"""Admission: may a candidate enter, and does a person have to say so first? Pure.

`CHECKS` are what may refuse a candidate, in their order; the first failure decides. Whatever comes out is recorded
with its reason code, the pass as well (`ADMITTED`). Only what none of them refuses is asked about: `QUESTIONS`.
Source: Seed 000 §5.2, ADR 0002, ADR 0003.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from memoryhub.types.claims import Claim, SourceIdentity
from memoryhub.types.decision import Admission, CandidateFacts, PredicateFacts
from memoryhub.types.enums import CandidateKind, EpistemicStatus, MergeAction, ScopeKind
from memoryhub.types.scope import is_wider

ADMITTED = "admitted"
LEAD_WEIGHT = 0.5  # stays below every τ_high that makes sense, so that a lead lands as possible


@dataclass(frozen=True, slots=True)
class Reason:
    """Name one way to fail a check, and say of a candidate whether it does.

    `fails` also gets the sources that the memory has claims of.
    """

    code: str
    fails: Callable[[CandidateFacts, Collection[SourceIdentity]], bool]


@dataclass(frozen=True, slots=True)
class Check:
    """Hold one step of the admission; a candidate that fails it goes no further, and `action` is its decision."""

    name: str
    reasons: tuple[Reason, ...]
    action: MergeAction = MergeAction.REJECT


@dataclass(frozen=True, slots=True)
class Question:
    """Name why a person is asked, and say of a candidate whether one has to be."""

    code: str
    asks: Callable[[CandidateFacts, PredicateFacts], bool]


def _is_unreadable(candidate: CandidateFacts) -> bool:
    return not candidate.evidence_available and candidate.kind is not CandidateKind.EXPERIENCE


def _passes_off_a_guess(candidate: CandidateFacts) -> bool:
    """Tell whether an inference is put forward as if it had been said or shown.

    A lead is a guess by its kind; only `validated` would make more of it. Anything else is one by its own words.
    """
    if candidate.kind is CandidateKind.LEAD:
        return candidate.epistemic_status is EpistemicStatus.VALIDATED
    return candidate.sounds_inferred and candidate.epistemic_status in _SAID_OR_SHOWN


_SAID_OR_SHOWN = (EpistemicStatus.EXPLICIT, EpistemicStatus.VALIDATED)

CHECKS: tuple[Check, ...] = (
    Check("future_value", (Reason("no_future_value", lambda candidate, _: not candidate.future_value),)),
    Check(
        "traceable_source",
        (
            Reason("source_untraceable", lambda candidate, _: not candidate.source_traceable),
            Reason("evidence_unavailable", lambda candidate, _: _is_unreadable(candidate)),
            Reason("evidence_cycle", lambda candidate, _: candidate.rests_on_itself),
            Reason("evidence_not_held", lambda candidate, _: not candidate.lower_holds),
        ),
    ),
    Check(
        "fact_apart_from_inference", (Reason("inference_as_fact", lambda candidate, _: _passes_off_a_guess(candidate)),)
    ),
    Check("scope_authorised", (Reason("scope_not_authorised", lambda candidate, _: not candidate.scope_authorised),)),
    Check("forbidden_content", (Reason("forbidden_content", lambda candidate, _: candidate.forbidden_content),)),
    Check("barrier_or_epoch", (Reason("barred_by_revocation", lambda candidate, _: candidate.barred),)),
    Check(
        "equivalent_held",
        (Reason("same_source", lambda candidate, held: candidate.claim.source in held),),
        action=MergeAction.NO_OP,
    ),
)

QUESTIONS: tuple[Question, ...] = (
    Question("instruction_like", lambda candidate, _: candidate.instruction_like),
    Question("claims_authority", lambda candidate, _: candidate.claims_authority),
    Question("subject_unclear", lambda candidate, _: candidate.subject_unclear),
    Question("validation_missing", lambda candidate, _: _lacks_result(candidate)),
    Question("predicate_requires_confirmation", lambda _, predicate: predicate.requires_confirmation),
    Question("sensitive_predicate", lambda _, predicate: predicate.sensitive),
    Question(
        "inferred_preference",
        lambda candidate, _: _is_inferred(candidate) and _is_preference(candidate),
    ),
    Question("wider_scope", lambda candidate, _: _widens_scope(candidate)),
)


def admit_candidate(
    *, candidate: CandidateFacts, predicate: PredicateFacts, held: Collection[SourceIdentity] = ()
) -> Admission:
    """Return whether the candidate may enter; `held` are the sources that its memory has claims of."""
    for check in CHECKS:
        for reason in check.reasons:
            if reason.fails(candidate, held):
                return Admission(action=check.action, reason=reason.code, check=check.name)
    if not candidate.confirmed:
        for question in QUESTIONS:
            if question.asks(candidate, predicate):
                return Admission(question=question.code)
    return Admission()


def enter_claim(*, candidate: CandidateFacts) -> Claim:
    """Return the claim as it enters the set: a lead is never validated and weighs little."""
    claim = candidate.claim
    if candidate.kind is not CandidateKind.LEAD:
        return claim
    return replace(claim, validated=False, weight=min(claim.weight, LEAD_WEIGHT))


def _is_inferred(candidate: CandidateFacts) -> bool:
    return candidate.epistemic_status is EpistemicStatus.INFERRED


def _is_preference(candidate: CandidateFacts) -> bool:
    return candidate.kind is CandidateKind.PREFERENCE or candidate.states_preference


def _lacks_result(candidate: CandidateFacts) -> bool:
    """Tell whether something is said to have worked, and neither a result nor a person's own word shows it."""
    if not candidate.evidence_available:
        return True
    says_it_worked = candidate.kind is CandidateKind.EXPERIENCE or candidate.claims_success
    return says_it_worked and not candidate.result_shown and candidate.epistemic_status not in _SAID_OR_SHOWN


def _widens_scope(candidate: CandidateFacts) -> bool:
    """Tell whether more people would read it than read its evidence, or a guess would become shared."""
    below = candidate.evidence_scope_kind
    if candidate.leaves_scope:
        return True
    if below is not None and is_wider(kind=candidate.scope_kind, than=below):
        return True
    return _is_inferred(candidate) and candidate.scope_kind is not ScopeKind.USER
