"""What may enter, what a person is asked first, and the five examples of the admission rules."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from memoryhub.policy.admission import CHECKS, QUESTIONS, admit_candidate
from memoryhub.types.decision import Admission, PredicateFacts
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


# One way to fail each check, in the order of the checks.
FAILURES: dict[str, tuple[dict[str, Any], str]] = {
    "future_value": ({"future_value": False}, "no_future_value"),
    "traceable_source": ({"source_traceable": False}, "source_untraceable"),
    "fact_apart_from_inference": ({"sounds_inferred": True}, "inference_as_fact"),
    "scope_authorised": ({"scope_authorised": False}, "scope_not_authorised"),
    "forbidden_content": ({"forbidden_content": True}, "forbidden_content"),
    "barrier_or_epoch": ({"barred": True}, "barred_by_revocation"),
    "equivalent_held": ({}, "same_source"),
}
# Whether the memory holds a claim of the candidate's own source already, for the last check.
HELD = {"equivalent_held": [A]}


def test_the_checks_stand_in_their_order() -> None:
    assert [check.name for check in CHECKS] == list(FAILURES)


def test_the_reference_lists_every_reason_code_in_order() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/policies.md").read_text()
    chapter = page[page.index("## Admission, version 1") : page.index("### Screening")]
    told = re.findall(r"^\|(?: `\w+` | )\| `(\w+)` \|.*\| `(?:REJECT|NO_OP)` \|$", chapter, re.MULTILINE)
    assert told == [reason.code for check in CHECKS for reason in check.reasons]
    named = re.findall(r"^\| `(\w+)` \| `\w+` \|", chapter, re.MULTILINE)
    assert named == [check.name for check in CHECKS]
    asked = re.findall(r"^\| `(\w+)` \| [^`|]", chapter, re.MULTILINE)
    assert asked == [question.code for question in QUESTIONS]


@pytest.mark.parametrize("name", FAILURES)
def test_a_candidate_that_fails_a_check_gets_its_reason(name: str) -> None:
    facts, reason = FAILURES[name]
    decision = propose(candidate(A, confirmed=True, **facts), HELD.get(name, []))
    action = MergeAction.NO_OP if name == "equivalent_held" else MergeAction.REJECT
    assert (decision.action, decision.reason, decision.admission) == (action, reason, reason)
    assert not decision.requires_person
    assert not decision.changes.adds_claim


@pytest.mark.parametrize(("earlier", "later"), [*combinations(FAILURES, 2)])
def test_of_two_failures_the_earlier_one_decides(earlier: str, later: str) -> None:
    (first, reason), (second, _) = FAILURES[earlier], FAILURES[later]
    decision = propose(candidate(A, **first, **second), HELD.get(later, []))
    assert decision.reason == decision.admission == reason


def test_a_candidate_that_passes_is_recorded_as_admitted() -> None:
    assert propose(A).admission == "admitted"
    assert propose(candidate(A, instruction_like=True)).admission == "instruction_like"


def test_evidence_that_cannot_be_read_refuses_a_fact() -> None:
    assert propose(candidate(A, evidence_available=False)).reason == "evidence_unavailable"


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"sounds_inferred": True, "epistemic_status": INFERRED, **PERSONAL}, "inferred_preference"),
        ({"sounds_inferred": True, "epistemic_status": EpistemicStatus.OBSERVED}, "admitted"),
        ({"sounds_inferred": True, "epistemic_status": EpistemicStatus.VALIDATED}, "inference_as_fact"),
        ({"sounds_inferred": True, "kind": CandidateKind.LEAD}, "admitted"),
        ({"kind": CandidateKind.LEAD, "epistemic_status": EpistemicStatus.VALIDATED}, "inference_as_fact"),
    ],
)
def test_a_guess_may_enter_as_one(facts: dict[str, Any], reason: str) -> None:
    assert propose(candidate(A, **facts)).admission == reason


@pytest.mark.parametrize(
    ("facts", "predicate", "reason"),
    [
        ({"instruction_like": True}, MAINTAINED, "instruction_like"),
        ({"claims_authority": True}, MAINTAINED, "claims_authority"),
        ({"subject_unclear": True}, MAINTAINED, "subject_unclear"),
        (
            {"claims_success": True, "result_shown": False, "epistemic_status": EpistemicStatus.OBSERVED},
            MAINTAINED,
            "validation_missing",
        ),
        ({}, PredicateFacts(requires_confirmation=True), "predicate_requires_confirmation"),
        ({}, PredicateFacts(sensitive=True), "sensitive_predicate"),
        ({"epistemic_status": INFERRED, **PERSONAL}, MAINTAINED, "inferred_preference"),
        (
            {"epistemic_status": INFERRED, "scope_kind": ScopeKind.USER, "states_preference": True},
            MAINTAINED,
            "inferred_preference",
        ),
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
        {"claims_success": True, "result_shown": True, "epistemic_status": EpistemicStatus.OBSERVED},
        {"claims_success": True, "result_shown": False},
    ],
)
def test_the_rest_lands_by_itself(facts: dict[str, Any]) -> None:
    admission = admit_candidate(candidate=candidate(A, **facts), predicate=MAINTAINED)
    assert admission == Admission()


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
        claim("a", 0, "x", weight=0.95),
        kind=CandidateKind.LEAD,
        memory_type=MemoryType.EPISODIC,
        scope_kind=ScopeKind.USER,
        epistemic_status=EpistemicStatus.OBSERVED,
        sounds_inferred=True,
    )
    decision = propose(lead)
    assert decision.action is MergeAction.ADD
    assert decision.changes.belief is not None
    assert decision.changes.belief.modality is Modality.POSSIBLE
    shown = replace(lead, claim=replace(lead.claim, validated=True))
    entered = propose(shown).changes
    assert entered.claim is not None
    assert not entered.claim.validated
    assert not entered.write[0].validated
    refused = propose(replace(shown, epistemic_status=EpistemicStatus.VALIDATED))
    assert (refused.action, refused.reason) == (MergeAction.REJECT, "inference_as_fact")


def test_example_all_tests_passed_without_a_result_asks_for_validation() -> None:
    told = {"kind": CandidateKind.EXPERIENCE, "epistemic_status": EpistemicStatus.OBSERVED}
    decision = propose(candidate(A, result_shown=False, **told))
    assert (decision.reason, decision.requires_person) == ("validation_missing", True)


def test_example_a_page_that_gives_orders_is_never_promoted_by_itself() -> None:
    decision = propose(candidate(A, trust=Trust.UNTRUSTED, instruction_like=True))
    assert (decision.reason, decision.requires_person) == ("instruction_like", True)
