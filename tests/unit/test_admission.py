"""What may enter, what a person is asked first, and the five examples of the admission rules."""

from __future__ import annotations

from typing import Any

import pytest

from memoryhub.policy.admission import admit_candidate, enter_claim
from memoryhub.types.decision import PredicateFacts
from memoryhub.types.enums import (
    CandidateKind,
    EpistemicStatus,
    MemoryType,
    MergeAction,
    Modality,
    ScopeKind,
    Trust,
)
from tests.unit.memories import MAINTAINED, candidate, claim, propose

A = claim("a", 0, "x")
PERSONAL = {"scope_kind": ScopeKind.USER, "kind": CandidateKind.PREFERENCE}
INFERRED = EpistemicStatus.INFERRED


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"future_value": False, "barred": True}, "no_future_value"),
        ({"source_traceable": False, "scope_authorised": False}, "source_untraceable"),
        ({"evidence_available": False}, "evidence_unavailable"),
        ({"scope_authorised": False, "forbidden_content": True}, "scope_not_authorised"),
        ({"forbidden_content": True, "barred": True}, "forbidden_content"),
        ({"barred": True}, "barred_by_revocation"),
    ],
)
def test_the_first_failure_decides(facts: dict[str, Any], reason: str) -> None:
    decision = propose(candidate(A, confirmed=True, **facts))
    assert (decision.action, decision.reason) == (MergeAction.REJECT, reason)
    assert not decision.requires_person
    assert not decision.changes.adds_claim


@pytest.mark.parametrize(
    ("facts", "predicate", "reason"),
    [
        ({"instruction_like": True}, MAINTAINED, "instruction_like"),
        ({}, PredicateFacts(requires_confirmation=True), "predicate_requires_confirmation"),
        ({}, PredicateFacts(sensitive=True), "sensitive_predicate"),
        ({"epistemic_status": INFERRED, **PERSONAL}, MAINTAINED, "inferred_preference"),
        ({"epistemic_status": INFERRED}, MAINTAINED, "wider_scope"),
        ({"evidence_scope_kind": ScopeKind.USER}, MAINTAINED, "wider_scope"),
    ],
)
def test_a_person_is_asked(facts: dict[str, Any], predicate: PredicateFacts, reason: str) -> None:
    asked = propose(candidate(A, **facts), predicate=predicate)
    assert (asked.action, asked.reason, asked.requires_person) == (MergeAction.ADD, reason, True)
    confirmed = propose(candidate(A, confirmed=True, **facts), predicate=predicate)
    assert (confirmed.action, confirmed.requires_person) == (MergeAction.ADD, False)


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"epistemic_status": EpistemicStatus.OBSERVED},
        {"epistemic_status": INFERRED, "scope_kind": ScopeKind.USER},
        {"evidence_scope_kind": ScopeKind.PROJECT},
        {"confidence": 0.01},
    ],
)
def test_the_rest_lands_by_itself(facts: dict[str, Any]) -> None:
    admission = admit_candidate(candidate=candidate(A, **facts), predicate=MAINTAINED)
    assert admission.refusal == admission.question == ""


def test_nobody_is_asked_about_what_changes_nothing() -> None:
    again = propose(candidate(A, instruction_like=True), [A])
    assert (again.action, again.requires_person) == (MergeAction.NO_OP, False)


def test_example_a_lasting_preference_is_an_explicit_memory_of_its_user() -> None:
    decision = propose(candidate(A, **PERSONAL))
    assert (decision.action, decision.requires_person) == (MergeAction.ADD, False)


def test_example_this_report_in_english_has_no_value_after_its_task() -> None:
    decision = propose(candidate(A, future_value=False, **PERSONAL))
    assert decision.reason == "no_future_value"


def test_example_maybe_the_proxy_is_a_lead_and_cannot_be_validated() -> None:
    lead = candidate(
        claim("a", 0, "x", validated=True, weight=0.95),
        kind=CandidateKind.LEAD,
        memory_type=MemoryType.EPISODIC,
        scope_kind=ScopeKind.USER,
        epistemic_status=EpistemicStatus.VALIDATED,
    )
    assert not enter_claim(candidate=lead).validated
    decision = propose(lead)
    assert decision.action is MergeAction.ADD
    assert decision.changes.claim is not None
    assert not decision.changes.claim.validated
    assert not decision.changes.write[0].validated
    assert decision.changes.belief is not None
    assert decision.changes.belief.modality is Modality.POSSIBLE


def test_example_all_tests_passed_without_a_result_asks_for_validation() -> None:
    decision = propose(candidate(A, kind=CandidateKind.EXPERIENCE, evidence_available=False))
    assert (decision.reason, decision.requires_person) == ("validation_missing", True)


def test_example_a_page_that_gives_orders_is_never_promoted_by_itself() -> None:
    decision = propose(candidate(A, trust=Trust.UNTRUSTED, instruction_like=True))
    assert (decision.reason, decision.requires_person) == ("instruction_like", True)
