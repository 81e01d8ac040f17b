"""Evidence that expires or cannot be reached disproves nothing; what rested on it alone waits for a person."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memoryhub.access.queries import ScopeForbidden
from memoryhub.lib import clock
from memoryhub.types.enums import Availability
from memoryhub.usecases.lose_evidence import AvailabilityRefused, EvidenceNotKnown, Lost, lose_evidence
from memoryhub.usecases.review import EvidenceGone, Verb
from tests.acts import state_fact
from tests.cast import Cast, make_cast
from tests.integration.reflecting import ask, list_items, look, look_again, reflect, relay
from tests.ledger import assert_ledger_is_clean


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def find_evidence(cast: Cast, candidate_id: str) -> str:
    return str(
        ask(
            cast,
            "SELECT item.evidence_key FROM evidence item JOIN candidate_evidence link ON link.evidence_id = item.id"
            " WHERE link.candidate_id = %s",
            candidate_id,
        )[0][0]
    )


def lose(cast: Cast, candidate_id: str, availability: Availability = Availability.EXPIRED) -> Lost:
    return lose_evidence(
        caller=cast.person(cast.alice),
        evidence_key=find_evidence(cast, candidate_id),
        availability=availability,
        now=clock.now(),
    )


def assert_clean(cast: Cast) -> None:
    assert_ledger_is_clean(cast.tenant_id)


@pytest.mark.parametrize("cause", [Availability.EXPIRED, Availability.UNREACHABLE])
def test_without_other_evidence_it_waits_and_is_not_disproved(cast: Cast, cause: Availability) -> None:
    said = state_fact(cast, value="4.1.0").result
    before = ask(cast, "SELECT modality, confidence FROM memory_heads WHERE id = %s", said.memory_id)
    assert lose(cast, said.candidate_id, cause) == Lost(reviewed=1)
    assert look(cast, said.memory_id).states == ["needs_review"]
    assert list_items(cast, said.memory_id) == [("open", f"evidence_{cause}", "")]
    after = ask(cast, "SELECT modality, confidence FROM memory_heads WHERE id = %s", said.memory_id)
    assert after[0][0] == before[0][0]
    assert after[0][1] == pytest.approx(before[0][1])
    with pytest.raises(EvidenceGone):
        look_again(cast, said.memory_id, Verb.KEEP)
    look_again(cast, said.memory_id, Verb.REJECT)
    assert look(cast, said.memory_id).states == []
    assert_clean(cast)


def test_with_independent_evidence_it_stays_and_names_it(cast: Cast) -> None:
    said = state_fact(cast, value="4.1.0").result
    also = state_fact(cast, value="4.1.0", by=cast.bob.username).result
    assert lose(cast, said.candidate_id) == Lost(relabelled=1)
    assert look(cast, said.memory_id).states == ["active"]
    named = ask(
        cast, "SELECT evidence_refs FROM memory_versions WHERE memory_id = %s AND recorded_to IS NULL", said.memory_id
    )
    assert named == [([find_evidence(cast, also.candidate_id)],)]
    counted = ask(cast, "SELECT independent_evidence_count FROM memory_heads WHERE id = %s", said.memory_id)
    assert counted == [(1,)]
    assert_clean(cast)


def test_new_evidence_lets_a_person_keep_it(cast: Cast) -> None:
    said = state_fact(cast, value="4.1.0").result
    lose(cast, said.candidate_id)
    assert state_fact(cast, value="4.1.0", by=cast.bob.username).result.action == "ATTACH_EVIDENCE"
    assert look(cast, said.memory_id).states == ["needs_review"]
    look_again(cast, said.memory_id, Verb.KEEP)
    assert look(cast, said.memory_id).states == ["active"]
    assert_clean(cast)


def test_an_outage_that_ends_asks_nobody_any_more(cast: Cast) -> None:
    said = state_fact(cast, value="4.1.0").result
    lose(cast, said.candidate_id, Availability.UNREACHABLE)
    assert lose(cast, said.candidate_id, Availability.AVAILABLE) == Lost(restored=1)
    assert look(cast, said.memory_id).states == ["active"]
    assert list_items(cast, said.memory_id) == [("withdrawn", "evidence_unreachable", "evidence_available_again")]
    lose(cast, said.candidate_id)
    with pytest.raises(AvailabilityRefused):
        lose(cast, said.candidate_id, Availability.AVAILABLE)
    assert_clean(cast)


def test_what_rests_on_it_follows(cast: Cast) -> None:
    said = state_fact(cast, value="4.1.0").result
    upper = reflect(cast, (str(said.memory_id), 1)).result.memory_id
    lose(cast, said.candidate_id)
    assert look(cast, upper).states == ["needs_review"]
    assert list_items(cast, upper) == [("open", "lower_in_review", "")]
    relay()
    assert_clean(cast)


def test_the_command_says_what_it_did(cast: Cast) -> None:
    said = state_fact(cast, value="4.1.0").result
    key = find_evidence(cast, said.candidate_id)
    out = StringIO()
    call_command("lose_evidence", key, "expired", username=cast.alice.username, stdout=out)
    assert "that wait for a person: 1" in out.getvalue()
    assert look(cast, said.memory_id).states == ["needs_review"]
    for name in (cast.alice.username, cast.bob.username, cast.charlie.username, "nobody"):
        with pytest.raises(CommandError):
            call_command("lose_evidence", key, "available", username=name)


def test_only_who_administers_the_scope_may_say_so(cast: Cast) -> None:
    said = state_fact(cast, value="4.1.0").result
    key = find_evidence(cast, said.candidate_id)
    for person, refusal in ((cast.bob, ScopeForbidden), (cast.charlie, EvidenceNotKnown)):
        with pytest.raises(refusal):
            lose_evidence(
                caller=cast.person(person), evidence_key=key, availability=Availability.EXPIRED, now=clock.now()
            )
    assert look(cast, said.memory_id).states == ["active"]
