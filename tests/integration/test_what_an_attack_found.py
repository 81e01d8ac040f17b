"""What somebody tried on purpose: each way in is closed, and stays closed."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from memoryhub.access.callers import authenticate_token
from memoryhub.access.operations import issue_token
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.memory.exceptions import SourceRevoked
from memoryhub.memory.models import Predicate
from memoryhub.types.enums import Cardinality, EpistemicStatus, RevocationTarget
from memoryhub.usecases.align import ValueRefused
from memoryhub.usecases.consolidate import consolidate_candidate
from memoryhub.usecases.ingest import EventInput, ingest_events
from memoryhub.usecases.propose import CandidateInput, EvidenceInput, propose_candidate
from memoryhub.usecases.rederive import check_memories
from memoryhub.usecases.reopen_conflict import NoOpenConflict, reopen_conflict
from memoryhub.usecases.review import OwnClaim, Resolution, Verb, resolve_review
from memoryhub.usecases.revoke import revoke
from tests.acts import state_fact
from tests.cast import AGENT_RIGHTS, EARLY, Cast, make_cast

SCOPE = ("project", "platform")
DAY = timedelta(days=1)


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def ask(cast: Cast, sql: str) -> list[tuple[object, ...]]:
    with tenant_context(cast.tenant_id, read_only=True):
        return fetch_all(sql=sql, params=[])


def send(cast: Cast, event_id: str, *, at: datetime = EARLY) -> str:
    event = EventInput(
        event_id=event_id, scope=SCOPE, source_type="commit", occurred_at=at, payload={"text": "all stays as it is"}
    )
    return ingest_events(caller=cast.caller, events=[event], now=clock.now())[0].outcome


def quote(value: str, *events: str, at: datetime | None = None) -> CandidateInput:
    return CandidateInput(
        scope=SCOPE,
        subject="product:django",
        fact_key="release.latest",
        content=f"it is {value}",
        value=value,
        conditions={"cycle": "4.1"},
        evidence=tuple(EvidenceInput(event_id) for event_id in events),
        epistemic_status=EpistemicStatus.EXPLICIT,
        valid_from=at,
    )


def test_who_reads_something_out_of_anothers_event_speaks_for_itself(cast: Cast) -> None:
    state_fact(cast, value="4.1", event_id="theirs")
    send(cast, "later", at=EARLY + DAY)
    secret = issue_token(principal=cast.bot, name="bot", actions=AGENT_RIGHTS, now=clock.now())
    other = authenticate_token(secret=secret, now=clock.now())
    assert other is not None
    proposed = propose_candidate(caller=other, proposal=quote("6.6.6", "later"), now=clock.now())
    rows = ask(
        cast,
        "SELECT author_id, trust, epistemic_status, effective FROM memory_candidates"
        f" WHERE id = '{proposed.candidate_id}'",
    )
    assert rows == [(cast.bot.pk, "third_party", "observed", False)]
    result = consolidate_candidate(tenant_id=cast.tenant_id, candidate_id=proposed.candidate_id, now=clock.now())
    assert (result.action, result.reason) == ("CONFLICT", "no_effective_time")


def test_a_strangers_older_claim_takes_nothing_away(cast: Cast) -> None:
    state_fact(cast, value="good", key="undeclared", by=cast.alice.username)
    evil = state_fact(cast, value="evil", key="undeclared", at=EARLY - 900 * DAY, by=cast.bob.username).result
    assert (evil.status, evil.reason) == ("needs_confirmation", "unsettles_history")
    assert ask(cast, "SELECT value::text FROM memory_versions WHERE recorded_to IS NULL") == [('"good"',)]


def test_revoked_words_do_not_come_back_beside_a_new_event(cast: Cast) -> None:
    send(cast, "revoked")
    [(event_id,)] = ask(cast, "SELECT id FROM source_events")
    revoke(
        caller=cast.person(cast.erin),
        scope=SCOPE,
        target=RevocationTarget.EVENT,
        target_id=str(event_id),
        reason="asked",
        now=clock.now(),
    )
    send(cast, "fresh", at=EARLY + DAY)
    with pytest.raises(SourceRevoked):
        propose_candidate(caller=cast.caller, proposal=quote("4.1", "fresh", "revoked"), now=clock.now())
    assert send(cast, "revoked") == "source_revoked"
    assert ask(cast, "SELECT count(*) FROM evidence_bodies") == [(0,)]


def test_a_revoked_write_sent_again_is_told_so(cast: Cast) -> None:
    state_fact(cast, value="4.1", event_id="gone")
    [(event_id,)] = ask(cast, "SELECT id FROM source_events")
    revoke(
        caller=cast.person(cast.erin),
        scope=SCOPE,
        target=RevocationTarget.EVENT,
        target_id=str(event_id),
        reason="asked",
        now=clock.now(),
    )
    with pytest.raises(SourceRevoked):
        state_fact(cast, value="4.1", event_id="gone")


def test_a_revoked_sources_words_are_hidden_where_its_value_stands(cast: Cast) -> None:
    state_fact(cast, value="4.1", event_id="first", by=cast.alice.username)
    state_fact(cast, value="4.1", at=EARLY + DAY, by=cast.bob.username)
    [(event_id,)] = ask(cast, "SELECT source_event_id FROM memory_candidates ORDER BY id LIMIT 1")
    revoke(
        caller=cast.person(cast.erin),
        scope=SCOPE,
        target=RevocationTarget.EVENT,
        target_id=str(event_id),
        reason="asked",
        now=clock.now(),
    )
    rows = ask(cast, "SELECT version, state, recorded_to IS NULL FROM memory_versions ORDER BY version")
    assert rows == [(1, "revoked", False), (3, "active", True)]
    assert list(check_memories(tenant_id=cast.tenant_id)) == []


def contest(cast: Cast) -> tuple[str, str]:
    """Return the item and the memory of a value that Bob put back."""
    state_fact(cast, value="4.1", by=cast.bob.username)
    state_fact(cast, value="4.1.1", at=EARLY + DAY, by=cast.alice.username)
    put_back = state_fact(cast, value="4.1", at=EARLY + 2 * DAY, by=cast.bob.username).result
    [(item,)] = ask(cast, "SELECT id FROM review_items WHERE state = 'open'")
    return str(item), str(put_back.memory_id)


def test_who_holds_the_standing_claim_does_not_rule_on_its_rival(cast: Cast) -> None:
    item, _ = contest(cast)
    resolution = Resolution(item_id=item, verb=Verb.REJECT, expected_version=3, reason="outdated")
    with pytest.raises(OwnClaim):
        resolve_review(caller=cast.person(cast.alice), resolution=resolution, now=clock.now())


def test_a_kept_conflict_can_be_decided_after_all(cast: Cast) -> None:
    item, memory_id = contest(cast)
    rita = cast.person(cast.rita)
    kept = Resolution(item_id=item, verb=Verb.KEEP_CONFLICT, expected_version=3)
    resolve_review(caller=rita, resolution=kept, now=clock.now())
    again = reopen_conflict(caller=rita, memory_id=memory_id, now=clock.now())
    assert again != item
    assert reopen_conflict(caller=rita, memory_id=memory_id, now=clock.now()) == again
    rejected = Resolution(item_id=again, verb=Verb.REJECT, expected_version=4, reason="outdated")
    resolve_review(caller=rita, resolution=rejected, now=clock.now())
    assert ask(cast, "SELECT verb, verb_reason FROM merge_decisions WHERE verb <> '' ORDER BY id") == [
        ("keep_conflict", ""),
        ("reject", "outdated"),
    ]
    assert ask(cast, "SELECT status, reason FROM memory_candidates ORDER BY id DESC LIMIT 1") == [
        ("rejected", "ruled_against")
    ]
    with pytest.raises(NoOpenConflict):
        reopen_conflict(caller=rita, memory_id=memory_id, now=clock.now())


def test_a_key_of_many_values_is_not_retracted_as_a_whole(cast: Cast) -> None:
    with tenant_context(cast.tenant_id):
        Predicate.objects.create(tenant=cast.tenant, fact_key="likes", cardinality=Cardinality.MANY)
    state_fact(cast, value="tea", key="likes")
    with pytest.raises(ValueRefused):
        state_fact(cast, value=None, key="likes", at=EARLY + DAY)


def test_of_two_values_for_one_instant_the_loser_is_told(cast: Cast) -> None:
    results = [state_fact(cast, value=value).result for value in ("a", "b", "c", "d", "e", "f")]
    standing = ask(cast, "SELECT value::text FROM memory_versions WHERE recorded_to IS NULL")
    assert len(standing) == 1
    told = {(result.action, result.reason) for result in results[1:]}
    assert {reason for _, reason in told} <= {"corrects_history", "settled_by_order"}
