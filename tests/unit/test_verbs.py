"""Six verbs, one order; each says what would happen, or which condition fails."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memoryhub.console.shapes import Verb
from memoryhub.console.verbs import HOTKEYS, VerbFacts, judge_verbs

CONTESTED = VerbFacts(
    outcome="SUPERSEDE",
    outcome_reason="ruled",
    is_conflict=True,
    has_open_conflict=True,
    version=2,
    proposed="4.1",
    standing="4.1.1",
    standing_from=datetime(2022, 9, 5, tzinfo=UTC),
    valid_from=datetime(2022, 9, 15, tzinfo=UTC),
    is_effective=True,
    is_own_claim=False,
    is_own_proposal=False,
    is_evidence_gone=False,
    may_decide=True,
)
QUESTION = replace(
    CONTESTED, is_conflict=False, has_open_conflict=False, standing=None, standing_from=None, outcome="ADD"
)


def judge(facts: VerbFacts) -> dict[str, Verb]:
    """Judge and name the verbs."""
    return {verb.action: verb for verb in judge_verbs(facts=facts)}


def list_possible(facts: VerbFacts) -> list[str]:
    """Name the verbs that are possible, in the page's order."""
    return [verb.action for verb in judge_verbs(facts=facts) if verb.is_possible]


@pytest.mark.parametrize("facts", [CONTESTED, QUESTION, replace(CONTESTED, may_decide=False)])
def test_the_six_verbs_never_move_and_none_is_hidden(facts: VerbFacts) -> None:
    verbs = judge_verbs(facts=facts)
    assert [verb.action for verb in verbs] == list(HOTKEYS)
    assert [verb.hotkey for verb in verbs] == list("saencr")
    assert all(verb.sentence and verb.conditions for verb in verbs)


@pytest.mark.parametrize(
    ("facts", "possible"),
    [
        (CONTESTED, ["SUPERSEDE", "CONFLICT", "REJECT"]),
        (replace(CONTESTED, outcome="ADD", standing=None), ["ADD", "CONFLICT", "REJECT"]),
        (replace(CONTESTED, outcome="ATTACH_EVIDENCE", standing="4.1"), ["ATTACH_EVIDENCE", "CONFLICT", "REJECT"]),
        (replace(CONTESTED, is_evidence_gone=True), ["REJECT"]),
        (QUESTION, ["ADD", "REJECT"]),
        (replace(QUESTION, outcome="NO_OP", outcome_reason="same_source"), ["NO_OP", "REJECT"]),
        (replace(QUESTION, outcome="CONFLICT", standing="4.1.1"), ["CONFLICT", "REJECT"]),
        (replace(QUESTION, outcome="SUPERSEDE", standing="4.1.1"), ["SUPERSEDE", "REJECT"]),
    ],
)
def test_the_verb_that_names_the_outcome_is_the_possible_one(facts: VerbFacts, possible: list[str]) -> None:
    assert list_possible(facts) == possible


@pytest.mark.parametrize(
    "facts",
    [
        replace(CONTESTED, is_own_claim=True),
        replace(CONTESTED, may_decide=False),
        replace(QUESTION, is_own_proposal=True),
        replace(QUESTION, may_decide=False),
    ],
)
def test_who_may_not_decide_has_no_verb_and_reads_why(facts: VerbFacts) -> None:
    assert list_possible(facts) == []
    assert all(verb.conditions[-1].state == "fails" for verb in judge_verbs(facts=facts))


def test_a_claim_without_a_date_asks_for_one_and_rejecting_for_a_reason() -> None:
    verbs = judge(replace(CONTESTED, is_effective=False))
    assert verbs["SUPERSEDE"].needs == "date"
    assert verbs["REJECT"].needs == "reason"
    assert judge(CONTESTED)["SUPERSEDE"].needs == ""


def test_what_fails_is_named_with_this_items_values() -> None:
    verbs = judge(CONTESTED)
    assert verbs["ADD"].conditions[0].text == "No free period: v2 covers 5 Sep 2022 on"
    assert verbs["SUPERSEDE"].sentence == "4.1 takes the place of 4.1.1."
    assert verbs["ATTACH_EVIDENCE"].conditions[0].text == "It says something else than v2"
