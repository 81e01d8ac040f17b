"""Admission: may a candidate enter, and does a person have to say so first? Pure.

Source: Seed 000 §5.2, ADR 0002, ADR 0003. The first failure decides.
"""

from __future__ import annotations

from dataclasses import replace

from memoryhub.types.claims import Claim
from memoryhub.types.decision import Admission, CandidateFacts, PredicateFacts
from memoryhub.types.enums import CandidateKind, EpistemicStatus, ScopeKind
from memoryhub.types.scope import is_wider

LEAD_WEIGHT = 0.5  # stays below every τ_high that makes sense, so that a lead lands as possible

_ADMITTED = Admission()


def admit_candidate(*, candidate: CandidateFacts, predicate: PredicateFacts) -> Admission:
    """Return whether the candidate may enter."""
    refusal = _find_refusal(candidate)
    if refusal:
        return Admission(refusal=refusal)
    if candidate.confirmed:
        return _ADMITTED
    question = _find_question(candidate, predicate)
    return Admission(question=question) if question else _ADMITTED


def enter_claim(*, candidate: CandidateFacts) -> Claim:
    """Return the claim as it enters the set: a lead is never validated and weighs little."""
    claim = candidate.claim
    if candidate.kind is not CandidateKind.LEAD:
        return claim
    return replace(claim, validated=False, weight=min(claim.weight, LEAD_WEIGHT))


def _find_refusal(candidate: CandidateFacts) -> str:
    is_experience = candidate.kind is CandidateKind.EXPERIENCE
    return _find_first(
        no_future_value=not candidate.future_value,
        source_untraceable=not candidate.source_traceable,
        evidence_unavailable=not candidate.evidence_available and not is_experience,
        scope_not_authorised=not candidate.scope_authorised,
        forbidden_content=candidate.forbidden_content,
        barred_by_revocation=candidate.barred,
    )


def _find_question(candidate: CandidateFacts, predicate: PredicateFacts) -> str:
    inferred = candidate.epistemic_status is EpistemicStatus.INFERRED
    return _find_first(
        instruction_like=candidate.instruction_like,
        validation_missing=not candidate.evidence_available,
        predicate_requires_confirmation=predicate.requires_confirmation,
        sensitive_predicate=predicate.sensitive,
        inferred_preference=inferred and candidate.kind is CandidateKind.PREFERENCE,
        wider_scope=_widens_scope(candidate, inferred=inferred),
    )


def _find_first(**applies: bool) -> str:
    """Return the name of the first check that applies, or nothing."""
    return next((name for name, holds in applies.items() if holds), "")


def _widens_scope(candidate: CandidateFacts, *, inferred: bool) -> bool:
    """Tell whether more people would read it than read its evidence, or a guess would become shared."""
    below = candidate.evidence_scope_kind
    if below is not None and is_wider(kind=candidate.scope_kind, than=below):
        return True
    return inferred and candidate.scope_kind is not ScopeKind.USER
