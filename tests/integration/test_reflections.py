"""Memories that rest on lower ones: what they weigh, and what a change below does to them at any height."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.memory.exceptions import MemoryNotFound
from memoryhub.types.enums import RevocationTarget
from memoryhub.usecases.follow_lowers import follow_memory
from memoryhub.usecases.quoting import EvidenceCycle, EvidenceNotHeld, EvidenceRefused
from memoryhub.usecases.recall import RecallInput, recall_memories
from memoryhub.usecases.review import EvidenceGone, ItemStale, Verb, VerbNotPossible
from memoryhub.usecases.revoke import revoke
from tests.acts import state_fact
from tests.cast import EARLY, Cast, make_cast
from tests.integration.histories import replay_ledger, write_tables
from tests.integration.reflecting import SCOPE, ask, list_items, look, look_again, reflect, relay
from tests.ledger import assert_ledger_is_clean

DAY = timedelta(days=1)


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def assert_clean(cast: Cast) -> None:
    assert_ledger_is_clean(cast.tenant_id)


def state(cast: Cast, value: str = "4.1.0", cycle: str = "4.1", **more: Any) -> str:
    return str(state_fact(cast, value=value, cycle=cycle, **more).result.memory_id)


def test_it_rests_on_all_its_lower_memories_and_they_stay(cast: Cast) -> None:
    first, second = state(cast), state(cast, cycle="4.2")
    made = reflect(cast, (first, 1), (second, 1)).result
    assert (made.action, made.version) == ("ADD", 1)
    roots = "SELECT roots FROM memory_evidence WHERE memory_id = ANY (%s::uuid[]) ORDER BY roots"
    below = {root for row in ask(cast, roots, [first, second]) for root in row[0]}
    assert set(ask(cast, roots, [made.memory_id])[0][0]) == below
    assert len(below) == 2
    counted = "SELECT independent_evidence_count FROM memory_heads WHERE id = %s"
    assert ask(cast, counted, made.memory_id) == [(2,)], "independence is counted at the roots"
    higher = reflect(cast, (str(made.memory_id), 1), key="release.manner").result
    assert ask(cast, counted, higher.memory_id) == [(2,)]
    assert look(cast, first).states == look(cast, second).states == ["active"]
    assert_clean(cast)


def test_more_support_below_derives_it_anew(cast: Cast) -> None:
    lower = state(cast, confidence=0.4)
    upper = reflect(cast, (lower, 1)).result.memory_id
    relay()
    before = look(cast, upper)
    state(cast, by=cast.bob.username)
    relay()
    after = look(cast, upper)
    assert after.confidence > before.confidence
    assert (after.version, after.states) == (before.version + 1, ["active"])
    assert after.reasons == ["first_claim", "lower_moved"]
    assert list_items(cast, upper) == []
    assert_clean(cast)


def test_what_is_told_twice_and_late_changes_nothing_more(cast: Cast) -> None:
    lower = state(cast)
    upper = reflect(cast, (lower, 1)).result.memory_id
    state(cast, by=cast.bob.username)
    state(cast, value="4.1.9", at=EARLY + DAY)
    relay()
    seen, items = look(cast, upper), list_items(cast, upper)
    for version in (3, 1, 2, 3, 0):
        with tenant_context(cast.tenant_id):
            assert follow_memory(tenant_id=cast.tenant_id, memory_id=lower, version=version, now=clock.now()) == 0
    assert (look(cast, upper), list_items(cast, upper)) == (seen, items)
    assert_clean(cast)


def test_many_who_are_told_at_once_make_one_decision(cast: Cast) -> None:
    lower = state(cast, confidence=0.4)
    upper = reflect(cast, (lower, 1)).result.memory_id
    state(cast, by=cast.bob.username)
    barrier = Barrier(8)

    def follow(_: int) -> int:
        barrier.wait()
        try:
            with tenant_context(cast.tenant_id):
                return follow_memory(tenant_id=cast.tenant_id, memory_id=lower, version=2, now=clock.now())
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=8) as pool:
        assert sorted(pool.map(follow, range(8))) == [0] * 7 + [1]
    assert look(cast, upper).reasons == ["first_claim", "lower_moved"]
    assert_clean(cast)


def test_what_replaces_the_lower_value_sends_it_to_a_person(cast: Cast) -> None:
    lower = state(cast)
    upper = reflect(cast, (lower, 1)).result.memory_id
    relay()
    assert recall(cast) == ({"release.latest", "release.habit"}, {})
    state(cast, value="4.1.9", at=EARLY + DAY)
    relay()
    assert look(cast, upper).states == ["needs_review"]
    assert list_items(cast, upper) == [("open", "lower_superseded", "")]
    assert recall(cast) == ({"release.latest"}, {"release.habit": "needs_review"})
    held = ask(cast, "SELECT state FROM memory_versions WHERE memory_id = %s ORDER BY version", upper)
    assert held == [("superseded",), ("needs_review",)], "what was held before is still known as it was"
    assert_clean(cast)


def recall(cast: Cast) -> tuple[set[str], dict[str, str]]:
    """Return the keys that an agent is told, and those that are left out with their reason."""
    answer = recall_memories(caller=cast.caller, question=RecallInput(query="django", top_k=50), now=clock.now())
    names = dict(ask(cast, "SELECT id::text, fact_key FROM memory_heads"))
    return {item.memory.fact_key for item in answer.items}, {
        names[one.memory_id]: one.reason for one in answer.excluded
    }


@pytest.mark.parametrize("verb", [Verb.KEEP, Verb.REJECT])
def test_a_person_keeps_it_or_lets_it_end(cast: Cast, verb: Verb) -> None:
    lower = state(cast)
    upper = reflect(cast, (lower, 1)).result.memory_id
    state(cast, value="4.1.9", at=EARLY + DAY)
    relay()
    resolved = look_again(cast, upper, verb, note="I looked")
    relay()
    seen = look(cast, upper)
    if verb is Verb.KEEP:
        assert (seen.states, seen.reasons[-1], resolved.action) == (["active"], "kept_after_review", "ATTACH_EVIDENCE")
        newest = "SELECT lower_version FROM memory_bases WHERE memory_id = %s ORDER BY sequence DESC LIMIT 1"
        assert ask(cast, newest, upper) == [(2,)]
        state(cast, value="4.1.9", at=EARLY + DAY, by=cast.bob.username)
        relay()
        assert look(cast, upper).states == ["active"], "the value it was kept on has only gained support"
    else:
        assert (seen.states, resolved.action) == ([], "SUPERSEDE")
        assert ask(cast, "SELECT modality FROM memory_heads WHERE id = %s", upper) == [("refuted",)]
    assert list_items(cast, upper) == [("decided", "lower_superseded", verb)]
    assert_clean(cast)


def test_whoever_said_it_does_not_judge_it(cast: Cast) -> None:
    lower = state(cast)
    upper = reflect(cast, (lower, 1)).result.memory_id
    ask_who = "SELECT author_id::text FROM memory_evidence WHERE memory_id = %s"
    assert ask(cast, ask_who, upper) == [(str(cast.agent.pk),)]
    state(cast, value="4.1.9", at=EARLY + DAY)
    relay()
    with pytest.raises(VerbNotPossible):
        look_again(cast, upper, Verb.ACCEPT)
    with pytest.raises(ItemStale):
        look_again(cast, upper, Verb.KEEP, version=1)


def test_a_dispute_below_is_a_question_and_its_end_answers_it(cast: Cast) -> None:
    lower = state(cast, key="undeclared", by=cast.alice.username)
    upper = reflect(cast, (lower, 1)).result.memory_id
    rival = state_fact(cast, value="4.1.7", key="undeclared", by=cast.bob.username, at=EARLY + DAY).result
    assert rival.action == "CONFLICT"
    relay()
    assert look(cast, upper).states == ["needs_review"]
    assert list_items(cast, upper) == [("open", "lower_disputed", "")]
    settle(cast, rival.candidate_id)
    relay()
    assert look(cast, upper).states == ["active"]
    assert list_items(cast, upper) == [("withdrawn", "lower_disputed", "lower_holds_again")]
    assert_clean(cast)


def settle(cast: Cast, candidate_id: str) -> None:
    from memoryhub.usecases.review import Resolution, resolve_review

    item_id, version = ask(
        cast,
        "SELECT item.id::text, head.version FROM review_items item JOIN memory_heads head ON head.id = item.memory_id"
        " WHERE item.candidate_id = %s AND item.state = 'open'",
        candidate_id,
    )[0]
    resolution = Resolution(item_id=item_id, verb=Verb.REJECT, expected_version=version, reason="outdated")
    resolve_review(caller=cast.person(cast.rita), resolution=resolution, now=clock.now())


def test_a_change_reaches_any_height(cast: Cast) -> None:
    lower = state(cast)
    uppers = [lower]
    for level in range(4):
        uppers.append(str(reflect(cast, (uppers[-1], 1), key=f"level.{level}").result.memory_id))
    relay()
    state(cast, by=cast.bob.username)
    relay()
    assert [look(cast, memory_id).version for memory_id in uppers] == [2] * 5
    state(cast, value="4.1.9", at=EARLY + DAY)
    relay()
    assert [look(cast, memory_id).states for memory_id in uppers[1:]] == [["needs_review"]] * 4
    assert [list_items(cast, memory_id)[0][1] for memory_id in uppers[1:]] == ["lower_superseded"] + [
        "lower_in_review"
    ] * 3
    look_again(cast, uppers[1], Verb.KEEP)
    relay()
    assert [look(cast, memory_id).states for memory_id in uppers[1:]] == [["active"]] * 4
    assert_clean(cast)


def test_the_replayed_record_is_the_stored_state(cast: Cast) -> None:
    """What followed is replayed from what was laid: beliefs, versions and parts are the same, byte for byte."""
    first, second = state(cast, confidence=0.4), state(cast, cycle="4.2")
    upper = str(reflect(cast, (first, 1), (second, 1)).result.memory_id)
    reflect(cast, (upper, 1), key="release.manner")
    relay()
    state(cast, by=cast.bob.username)
    relay()
    state(cast, value="4.1.9", at=EARLY + DAY)
    relay()
    look_again(cast, upper, Verb.KEEP)
    relay()
    state(cast, value="4.2.9", cycle="4.2", at=EARLY + DAY)
    relay()
    look_again(cast, upper, Verb.REJECT)
    relay()
    assert look(cast, upper).reasons == [
        "first_claim",
        "lower_moved",
        "lower_superseded",
        "kept_after_review",
        "lower_superseded",
        "ruled",
    ]
    replay = replay_ledger(tenant_id=cast.tenant_id)
    assert replay.differing == []
    assert replay.ledger.write_canonical() == write_tables(tenant_id=cast.tenant_id)
    assert_clean(cast)


def test_revoking_what_it_goes_back_to_hides_it_at_once(cast: Cast) -> None:
    kept, gone = state(cast), state(cast, cycle="4.2")
    upper = reflect(cast, (kept, 1), (gone, 1)).result.memory_id
    relay()
    source = ask(cast, "SELECT source_id::text FROM memory_evidence WHERE memory_id = %s", gone)[0][0]
    revoke(
        caller=cast.person(cast.erin),
        scope=SCOPE,
        target=RevocationTarget.EVENT,
        target_id=source,
        reason="user_request",
        now=clock.now(),
    )
    assert look(cast, upper).states == ["needs_review"], "before anything is told"
    assert list_items(cast, upper) == [("open", "lower_revoked", "")]
    relay()
    look_again(cast, upper, Verb.KEEP)
    assert look(cast, upper).states == ["active"]
    newest = (
        "SELECT lower_id::text, roots FROM memory_bases WHERE memory_id = %s AND sequence = 2 ORDER BY roots = '{}'"
    )
    (first, roots), (second, none) = ask(cast, newest, upper)
    assert (first, second, none) == (kept, gone, [])
    assert source not in roots
    assert_clean(cast)


def test_ground_that_fell_counts_nowhere_above(cast: Cast) -> None:
    """One of two reflections lost its ground: the memory stands on the other one, and so does what rests on it."""
    lowers = [
        state_fact(cast, value=value, key=key, by=by.username).result
        for key, value, by in (("release.latest", "4.1", cast.alice), ("release.eol", "2025", cast.bob))
    ]
    held = [reflect(cast, (lower.memory_id or "", 1)).result for lower in lowers]
    memory_id = held[0].memory_id or ""
    assert held[1].memory_id == memory_id
    count = "SELECT independent_evidence_count FROM memory_heads WHERE id = %s"
    assert ask(cast, count, memory_id) == [(2,)]
    state_fact(cast, value="4.2", key="release.latest", by=cast.alice.username, at=EARLY + timedelta(days=1))
    relay()
    assert (look(cast, memory_id).states, ask(cast, count, memory_id)) == (["active"], [(1,)])
    upper = reflect(cast, (memory_id, look(cast, memory_id).version), key="release.pace").result
    assert upper.action == "ADD"
    laid = ask(cast, "SELECT roots::text[] FROM memory_bases WHERE memory_id = %s", upper.memory_id)
    other = ask(cast, "SELECT roots::text[] FROM memory_evidence WHERE memory_id = %s", lowers[1].memory_id)
    assert laid == other
    assert_ledger_is_clean(cast.tenant_id)


def test_it_is_not_kept_on_nothing(cast: Cast) -> None:
    gone = state(cast)
    upper = reflect(cast, (gone, 1)).result.memory_id
    revoke(
        caller=cast.person(cast.erin),
        scope=SCOPE,
        target=RevocationTarget.MEMORY,
        target_id=gone,
        reason="user_request",
        now=clock.now(),
    )
    with pytest.raises(EvidenceGone):
        look_again(cast, upper, Verb.KEEP)
    look_again(cast, upper, Verb.REJECT)
    assert look(cast, upper).states == []
    assert_clean(cast)


def test_it_adds_no_support_to_what_it_was_derived_from(cast: Cast) -> None:
    lower = state(cast)
    upper = reflect(cast, (lower, 1), key="release.latest", conditions={"cycle": "4.1"}, value="4.1.0").result
    again = reflect(
        cast, (str(upper.memory_id), 1), key="release.other", conditions={"cycle": "4.1"}, value="4.1.0"
    ).result
    assert ask(cast, "SELECT independent_evidence_count FROM memory_heads WHERE id = %s", again.memory_id) == [(1,)]
    echo = reflect(
        cast,
        (str(upper.memory_id), 1),
        key="release.latest",
        conditions={"cycle": "4.2"},
        value="4.1.0",
        memory_type="semantic",
    ).result
    assert echo.action == "ADD"


def test_it_rests_on_memories_and_on_nothing_else(cast: Cast) -> None:
    with pytest.raises(EvidenceRefused):
        reflect(cast)
    with pytest.raises(MemoryNotFound):
        reflect(cast, (state(cast), 2))


def test_what_does_not_hold_is_no_ground(cast: Cast) -> None:
    lower = state(cast)
    state(cast, value="4.1.9", at=EARLY + DAY)
    with pytest.raises(EvidenceNotHeld) as refused:
        reflect(cast, (lower, 1))
    assert refused.value.reason == "lower_superseded"
    assert reflect(cast, (lower, 2)).result.action == "ADD"


def test_nothing_rests_on_itself(cast: Cast) -> None:
    lower = state(cast)
    first = str(reflect(cast, (lower, 1), key="level.1").result.memory_id)
    second = str(reflect(cast, (first, 1), key="level.2").result.memory_id)
    with pytest.raises(EvidenceCycle):
        reflect(cast, (second, 1), key="level.1")
    with pytest.raises(EvidenceCycle):
        reflect(cast, (first, 1), key="level.1")
