"""Belief: who can make a memory believed, and who cannot."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memoryhub.policy.belief import derive_belief
from memoryhub.policy.merge import MergePolicy, MergeRuleV1, weigh_claim
from memoryhub.types.claims import Author, Claim
from memoryhub.types.decision import Belief, PredicateFacts
from memoryhub.types.enums import EpistemicStatus, Modality, Stance, Trust
from memoryhub.types.timeline import fold_timeline
from tests.unit.memories import at, claim

POLICY = MergePolicy()


def say(number: int, by: str, trust: Trust, *, confidence: float = 1.0, **changes: Any) -> Claim:
    """Return a claim of the value `x` on the numbered day, as heavy as its source makes it."""
    weight = weigh_claim(trust=trust, epistemic_status=EpistemicStatus.OBSERVED, confidence=confidence)
    return claim(f"{by}{number}", number, "x", by, weight=weight, trust=trust, **changes)


def believe(*claims: Claim) -> Belief:
    """Return the belief in what stands after the last claim."""
    rule = MergeRuleV1(contest_window=timedelta(days=30), predicate=PredicateFacts(authority_group="maintainers"))
    timeline = fold_timeline(claims=claims, rulings=(), rule=rule)
    return derive_belief(
        timeline=timeline, claims=claims, rule=POLICY.belief_rule(memory_type="semantic"), now=at(len(claims))
    )


def test_one_first_party_statement_is_believed() -> None:
    found = believe(say(0, "ana", Trust.FIRST_PARTY))
    assert (found.modality, found.confidence, found.independent_evidence_count) == (Modality.BELIEVED, 0.95, 1)


@pytest.mark.parametrize("trust", [Trust.THIRD_PARTY, Trust.UNTRUSTED])
@pytest.mark.parametrize("count", [1, 10, 300])
def test_no_number_of_events_of_one_bot_is_believed(trust: Trust, count: int) -> None:
    found = believe(*(say(number, "bot", trust) for number in range(count)))
    assert found.modality is Modality.POSSIBLE
    assert found.independent_evidence_count == count
    assert found.confidence < POLICY.tau_high


def test_two_independent_third_parties_are_believed() -> None:
    assert believe(say(0, "one", Trust.THIRD_PARTY), say(1, "two", Trust.THIRD_PARTY)).modality is Modality.BELIEVED


def test_untrusted_events_beside_a_statement_lift_it_by_their_own_cap_alone() -> None:
    spam = [say(number, "bot", Trust.UNTRUSTED) for number in range(1, 40)]
    found = believe(say(0, "ana", Trust.FIRST_PARTY, confidence=0.5), *spam)
    alone = 0.95 * 0.5
    assert found.confidence == pytest.approx(1 - (1 - alone) * (1 - POLICY.cap_untrusted), abs=0.01)


def test_no_number_of_untrusted_events_disputes_a_statement() -> None:
    """Speak against it forty times: it is doubted, and neither disputed nor refuted."""
    against = [
        say(number, "bot", Trust.UNTRUSTED, stance=Stance.CONTRADICTS, author=Author("bot")) for number in range(1, 41)
    ]
    found = believe(say(0, "ana", Trust.FIRST_PARTY), *against)
    assert found.opposition == POLICY.cap_untrusted
    assert found.modality is Modality.DOUBTED
