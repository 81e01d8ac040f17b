"""The whole table of ADR 0005, each row reached by what agents send and people decide."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.memory.models import MemoryHead, MemoryVersion
from memoryhub.policy.merge import MergePolicy
from memoryhub.types.enums import EpistemicStatus, Modality, RevocationTarget, Stance
from memoryhub.usecases.consolidate import Consolidated
from memoryhub.usecases.ingest import EventInput
from memoryhub.usecases.propose import CandidateInput, EvidenceInput
from memoryhub.usecases.recall import RecallInput, recall_memories
from memoryhub.usecases.rederive import check_memories
from memoryhub.usecases.relay import relay_outbox
from memoryhub.usecases.review import Resolution, Verb, resolve_review
from memoryhub.usecases.revoke import revoke
from memoryhub.usecases.write_memory import write_memory
from tests.cast import Cast, make_cast
from tests.console.conftest import sign_in

SCOPE = ("project", "platform")
DAY = timedelta(days=1)
POLICY = MergePolicy()


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def say(
    cast: Cast,
    value: str,
    *,
    by: str | None = None,
    source_type: str = "statement",
    at: datetime | None = None,
    **more: Any,
) -> Consolidated:
    """Write what somebody says of one undeclared key; without `at` just now."""
    event_id = str(new_id())
    return write_memory(
        caller=cast.caller,
        event=EventInput(
            event_id=event_id,
            scope=SCOPE,
            source_type=source_type,
            occurred_at=at or clock.now() - timedelta(minutes=1),
            payload={"text": f"the port of the proxy: {value}"},
            actor=by,
        ),
        proposal=CandidateInput(
            scope=SCOPE,
            subject="product:proxy",
            fact_key="proxy.port",
            content=f"the port of the proxy is {value}",
            value=value,
            evidence=(EvidenceInput(event_id),),
            **more,
        ),
        now=clock.now(),
    ).result


def rule(cast: Cast, verb: Verb, *, version: int) -> None:
    with tenant_context(cast.tenant_id, read_only=True):
        [(item_id,)] = fetch_all(
            sql="SELECT id::text FROM review_items WHERE tenant_id = %s AND state = 'open'", params=[cast.tenant_id]
        )
    resolve_review(
        caller=cast.person(cast.rita),
        resolution=Resolution(item_id=item_id, verb=verb, expected_version=version, reason="not_supported"),
        now=clock.now(),
    )


def read_head(cast: Cast) -> MemoryHead:
    with tenant_context(cast.tenant_id, read_only=True):
        return MemoryHead.objects.get(tenant_id=cast.tenant_id)


def recall(cast: Cast, modality: Modality | None = None, *, at: datetime | None = None) -> tuple[list[str], list[str]]:
    """Return the modalities of what an answer gives, and why it leaves the rest out."""
    while relay_outbox(now=clock.now()):
        pass
    now = at or clock.now()
    answer = recall_memories(caller=cast.caller, question=RecallInput(query="proxy", modality=modality), now=now)
    return [item.memory.modality for item in answer.items], [one.reason for one in answer.excluded]


def show(cast: Cast, modality: Modality) -> str:
    """Return the console's list of memories of one modality."""
    return sign_in(cast.rita).get(f"/memories/?modality={modality}").content.decode()


def expect(cast: Cast, modality: Modality, *, is_given: bool = True) -> MemoryHead:
    """Expect the modality of the one memory there is, in the table, in answers and in the console."""
    head = read_head(cast)
    assert head.modality == modality
    given, left_out = recall(cast)
    assert given == ([str(modality)] if is_given else [])
    if is_given:
        assert recall(cast, modality) == ([str(modality)], [])
        other = next(one for one in Modality if one is not modality)
        assert recall(cast, other) == ([], ["modality_differs"])
    else:
        assert left_out in ([], [str(modality)])
    page = show(cast, modality)
    assert "proxy.port" in page
    assert f'class="mh-mod is-{modality}"' in page
    assert "proxy.port" not in show(cast, next(one for one in Modality if one is not modality))
    assert list(check_memories(tenant_id=cast.tenant_id)) == []
    return head


def test_believed_is_what_a_first_hand_source_says(cast: Cast) -> None:
    say(cast, "8080", by=cast.bob.username, epistemic_status=EpistemicStatus.EXPLICIT)
    head = expect(cast, Modality.BELIEVED)
    assert head.confidence > POLICY.tau_high


def test_possible_is_what_little_speaks_for(cast: Cast) -> None:
    say(cast, "8080", by=cast.bob.username, confidence=0.5)
    head = expect(cast, Modality.POSSIBLE)
    assert POLICY.epsilon <= head.confidence <= POLICY.tau_high
    assert head.opposition == 0


def test_doubted_is_what_something_speaks_against(cast: Cast) -> None:
    """A document says otherwise, without a value of its own: too little to dispute it, too much to pass over."""
    say(cast, "8080", by=cast.bob.username)
    say(cast, "8080", source_type="document", stance=Stance.CONTRADICTS, confidence=0.6)
    head = expect(cast, Modality.DOUBTED)
    assert POLICY.epsilon <= head.opposition < POLICY.dispute_ratio * head.support
    assert not head.has_open_conflict


def test_disputed_is_what_an_open_conflict_is_about(cast: Cast) -> None:
    say(cast, "8080", by=cast.bob.username)
    assert say(cast, "9090", by=cast.carol.username).action == "CONFLICT"
    head = expect(cast, Modality.DISPUTED)
    assert head.has_open_conflict


def test_disputed_is_what_as_much_speaks_against_as_for_it(cast: Cast) -> None:
    """Nobody offers another value, so there is no conflict set; and still it is not known."""
    say(cast, "8080", by=cast.bob.username)
    say(cast, "8080", by=cast.carol.username, stance=Stance.CONTRADICTS)
    head = expect(cast, Modality.DISPUTED)
    assert not head.has_open_conflict
    assert head.opposition >= POLICY.dispute_ratio * head.support


def test_refuted_is_what_only_dismissed_claims_spoke_for(cast: Cast) -> None:
    """Rita settled against Carol's value; then Bob's, which stood, is taken back. What is left was ruled against."""
    say(cast, "8080", by=cast.bob.username)
    say(cast, "9090", by=cast.carol.username)
    rule(cast, Verb.REJECT, version=2)
    with tenant_context(cast.tenant_id, read_only=True):
        [(event_id,)] = fetch_all(
            sql="SELECT source_id::text FROM memory_evidence WHERE tenant_id = %s AND superseded_by IS NULL",
            params=[cast.tenant_id],
        )
    revoke(
        caller=cast.person(cast.erin),
        scope=SCOPE,
        target=RevocationTarget.EVENT,
        target_id=event_id,
        reason="user_request",
        now=clock.now(),
    )
    head = expect(cast, Modality.REFUTED, is_given=False)
    assert head.independent_evidence_count == 0
    assert head.support == 0


def test_a_refuted_memory_can_be_believed_again(cast: Cast) -> None:
    test_refuted_is_what_only_dismissed_claims_spoke_for(cast)
    assert say(cast, "7070", by=cast.alice.username).action == "ADD"
    expect(cast, Modality.BELIEVED)


def test_forgotten_is_no_modality_and_changes_no_row(cast: Cast) -> None:
    """Below ε the modality stays `possible`; a projection leaves it out, and the rows are as they were."""
    year_ago = clock.now() - 365 * DAY
    say(cast, "8080", by=cast.bob.username, at=year_ago, memory_type="episodic")

    def dump() -> list[Any]:
        with tenant_context(cast.tenant_id, read_only=True):
            return [
                list(model.objects.filter(tenant_id=cast.tenant_id).values()) for model in (MemoryHead, MemoryVersion)
            ]

    before = dump()
    head = read_head(cast)
    assert head.modality == Modality.POSSIBLE
    assert head.confidence < POLICY.epsilon
    assert recall(cast) == ([], ["forgotten"])
    assert dump() == before
    assert "proxy.port" in show(cast, Modality.POSSIBLE)
    # New evidence brings it back.
    say(cast, "8080", by=cast.carol.username, memory_type="episodic")
    assert recall(cast)[0] == [str(Modality.BELIEVED)]


def test_every_modality_has_its_row_here() -> None:
    reached = {name.removeprefix("test_").split("_is_")[0] for name in globals()}
    assert {str(modality) for modality in Modality} <= reached
