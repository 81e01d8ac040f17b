"""What an agent says again after it was told adds no support; what a user says always counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from memoryhub.access.tenancy import tenant_context
from memoryhub.kernel.models import SourceEvent
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.memory.loading import load_state_of_memory
from memoryhub.memory.models import MemoryHead, MergeDecision
from memoryhub.policy.belief import derive_belief
from memoryhub.policy.merge import MergePolicy
from memoryhub.retrieval.operations import index_memory
from memoryhub.types.decision import Belief
from memoryhub.types.enums import RevocationTarget
from memoryhub.usecases.consolidate import Consolidated, consolidate_candidate
from memoryhub.usecases.ingest import EventInput, ingest_events
from memoryhub.usecases.propose import CandidateInput, EvidenceInput, propose_candidate
from memoryhub.usecases.recall import RecallInput, recall_memories
from memoryhub.usecases.rederive import check_memories, fold_state
from memoryhub.usecases.revoke import revoke
from memoryhub.usecases.write_memory import write_memory
from tests.cast import EARLY, Cast, make_cast
from tests.integration.histories import replay_ledger, write_tables

SCOPE = ("project", "platform")
SESSION = "a session"
HOUR = timedelta(hours=1)


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def describe_event(**more: Any) -> EventInput:
    made = EventInput(
        event_id=str(new_id()),
        scope=SCOPE,
        source_type="message",
        occurred_at=EARLY,
        payload={"text": "django 4.1 release.latest is 4.1.1"},
    )
    return replace(made, **more)


def describe_claim(event: EventInput, **more: Any) -> CandidateInput:
    made = CandidateInput(
        scope=SCOPE,
        subject="product:django",
        fact_key="release.latest",
        content="django 4.1 release.latest is 4.1.1",
        value="4.1.1",
        conditions={"cycle": "4.1"},
        evidence=(EvidenceInput(event.event_id),),
    )
    return replace(made, **more)


def say(cast: Cast, *, value: str | None = "4.1.1", key: str = "release.latest", **event: Any) -> Consolidated:
    """Write at once what the agent, or the user it relays, says."""
    said = describe_event(**event)
    proposal = describe_claim(said, value=value, fact_key=key)
    return write_memory(caller=cast.caller, event=said, proposal=proposal, now=clock.now()).result


def propose(cast: Cast, **event: Any) -> Consolidated:
    """Send an event, propose what it says, and decide on it as a worker does."""
    said = describe_event(**event)
    ingest_events(caller=cast.caller, events=[said], now=clock.now())
    proposed = propose_candidate(caller=cast.caller, proposal=describe_claim(said), now=clock.now())
    return consolidate_candidate(tenant_id=cast.tenant_id, candidate_id=proposed.candidate_id, now=clock.now())


def recall(cast: Cast, *, query: str = "django release", session: str = SESSION) -> tuple[str, set[str]]:
    """Ask in a session; return the run and the memories that were told."""
    question = RecallInput(query=query, session=session)
    answer = recall_memories(caller=cast.caller, question=question, now=clock.now())
    return answer.run_id, {item.memory.memory_id for item in answer.items}


def index(cast: Cast, told: Consolidated) -> str:
    with tenant_context(cast.tenant_id):
        index_memory(tenant_id=cast.tenant_id, memory_id=str(told.memory_id), now=clock.now())
    return str(told.memory_id)


def read_head(cast: Cast, memory_id: str) -> MemoryHead:
    with tenant_context(cast.tenant_id, read_only=True):
        return MemoryHead.objects.get(pk=memory_id)


def derive_now(cast: Cast, memory_id: str) -> Belief:
    """Return the belief as every claim that is held would make it, those that added nothing included."""
    with tenant_context(cast.tenant_id, read_only=True):
        state = load_state_of_memory(tenant_id=cast.tenant_id, memory_id=memory_id, now=clock.now())
    rules = MergePolicy()
    return derive_belief(
        timeline=fold_state(state=state, policy=rules),
        claims=state.claims,
        rule=rules.belief_rule(memory_type="semantic"),
        now=EARLY + 12 * HOUR,
    )


def read_root(cast: Cast, event_key: str) -> tuple[str, str | None, str]:
    """Return an event's id, the run it may be an echo of, and its root."""
    with tenant_context(cast.tenant_id, read_only=True):
        event = SourceEvent.objects.get(event_key_digest=cast.caller.digest(f"event {event_key}"))
    return str(event.pk), None if event.derived_from_run is None else str(event.derived_from_run), str(event.root)


def show_consistent(cast: Cast) -> None:
    """Hold the tables against the record: nothing differs, and the replay is byte-equal."""
    assert list(check_memories(tenant_id=cast.tenant_id)) == []
    replay = replay_ledger(tenant_id=cast.tenant_id)
    assert replay.differing == []
    assert replay.ledger.write_canonical() == write_tables(tenant_id=cast.tenant_id)


def test_an_agent_that_repeats_what_it_recalled_adds_no_support(cast: Cast) -> None:
    """Repeat it in three events and two proposals; then the user says it as well."""
    memory_id = index(cast, say(cast, actor=cast.alice.username))
    before, belief = read_head(cast, memory_id), derive_now(cast, memory_id)
    _, told = recall(cast)
    assert told == {memory_id}
    echoes = [say(cast, session=SESSION, occurred_at=EARLY + number * HOUR) for number in range(1, 4)]
    echoes += [propose(cast, session=SESSION, occurred_at=EARLY + number * HOUR) for number in range(4, 6)]
    assert {(echo.action, echo.reason) for echo in echoes} == {("NO_OP", "lineage_already_counted")}
    after = read_head(cast, memory_id)
    assert (after.independent_evidence_count, after.version) == (1, 1)
    assert after.confidence == before.confidence
    assert derive_now(cast, memory_id) == belief  # with all five of them in the set

    own = say(cast, actor=cast.bob.username, session=SESSION, occurred_at=EARLY + 6 * HOUR)
    assert (own.action, own.reason) == ("ATTACH_EVIDENCE", "independent_support")
    assert read_head(cast, memory_id).independent_evidence_count == 2
    believed = derive_now(cast, memory_id)
    again = say(cast, session=SESSION, occurred_at=EARLY + 9 * HOUR)
    assert again.reason == "lineage_already_counted"  # it repeats both, and joins them to nothing
    assert derive_now(cast, memory_id) == believed
    assert believed.independent_evidence_count == 2
    show_consistent(cast)


def test_what_was_not_recalled_counts_once_for_the_whole_session(cast: Cast) -> None:
    index(cast, say(cast, actor=cast.alice.username))
    first_run, _ = recall(cast)
    recall(cast, query="something else")
    other = {"key": "release.eol", "value": "2023-12-01"}
    added = say(cast, session=SESSION, **other)
    assert added.action == "ADD"
    memory_id = str(added.memory_id)
    alone = derive_now(cast, memory_id)
    for number in range(1, 4):
        echo = say(cast, session=SESSION, occurred_at=EARLY + number * HOUR, **other)
        assert echo.reason == "lineage_already_counted"
    assert derive_now(cast, memory_id) == alone
    elsewhere = say(cast, session="another session", occurred_at=EARLY + 5 * HOUR, **other)
    assert elsewhere.reason == "independent_support"
    assert read_head(cast, memory_id).independent_evidence_count == 2
    with tenant_context(cast.tenant_id, read_only=True):
        roots = fetch_all(
            sql="SELECT DISTINCT root::text FROM source_events WHERE derived_from_run IS NOT NULL", params=[]
        )
    assert roots == [(first_run,)]
    show_consistent(cast)


def test_what_was_left_out_of_the_answer_was_not_recalled(cast: Cast) -> None:
    memory_id = index(cast, say(cast, actor=cast.alice.username))
    question = RecallInput(query="django release", session=SESSION, threshold=1.0)
    answer = recall_memories(caller=cast.caller, question=question, now=clock.now())
    assert [one.memory_id for one in answer.excluded] == [memory_id]
    assert say(cast, session=SESSION, occurred_at=EARLY + HOUR).reason == "independent_support"
    assert read_head(cast, memory_id).independent_evidence_count == 2
    show_consistent(cast)


def test_what_was_said_before_the_answer_is_no_echo_of_it(cast: Cast) -> None:
    """Receive an event, answer a question, and propose only then what the event says."""
    memory_id = index(cast, say(cast, actor=cast.alice.username))
    early = describe_event(session=SESSION, occurred_at=EARLY + HOUR)
    ingest_events(caller=cast.caller, events=[early], now=clock.now())
    recall(cast)
    proposed = propose_candidate(caller=cast.caller, proposal=describe_claim(early), now=clock.now())
    found = consolidate_candidate(tenant_id=cast.tenant_id, candidate_id=proposed.candidate_id, now=clock.now())
    assert found.reason == "independent_support"
    assert read_head(cast, memory_id).independent_evidence_count == 2
    show_consistent(cast)


@pytest.mark.parametrize("way", ["at once", "in a batch"])
def test_every_way_in_marks_alike(cast: Cast, way: str) -> None:
    index(cast, say(cast, actor=cast.alice.username))

    def send(**more: Any) -> tuple[str, str | None, str]:
        event = describe_event(**more)
        if way == "at once":
            write_memory(caller=cast.caller, event=event, proposal=describe_claim(event), now=clock.now())
        else:
            ingest_events(caller=cast.caller, events=[event], now=clock.now())
        return read_root(cast, event.event_id)

    event_id, run, root = send(session=SESSION)
    assert (run, root) == (None, event_id)  # nothing was recalled yet
    first_run, _ = recall(cast)
    last_run, _ = recall(cast)
    assert send(session=SESSION)[1:] == (last_run, first_run)
    event_id, run, root = send(session=SESSION, actor=cast.alice.username)
    assert (run, root) == (None, event_id)  # the user's own words
    event_id, run, root = send(session="another session")
    assert (run, root) == (None, event_id)
    event_id, run, root = send()
    assert (run, root) == (None, event_id)


def test_evidence_of_a_marked_event_goes_back_to_the_run(cast: Cast) -> None:
    index(cast, say(cast, actor=cast.alice.username))
    first_run, _ = recall(cast)
    say(cast, session=SESSION, key="release.eol")
    propose(cast, session=SESSION)
    with tenant_context(cast.tenant_id, read_only=True):
        rows = fetch_all(
            sql="SELECT root.root::text, event.root::text FROM evidence_roots root"
            " JOIN evidence item ON item.id = root.evidence_id JOIN source_events event ON event.id = item.event_id"
            " WHERE event.derived_from_run IS NOT NULL",
            params=[],
        )
    assert rows == [(first_run, first_run)] * 2


def test_a_retraction_and_another_value_are_claims(cast: Cast) -> None:
    memory_id = index(cast, say(cast, actor=cast.alice.username))
    recall(cast)
    other = say(cast, session=SESSION, value="4.1.2", occurred_at=EARLY + HOUR)
    assert other.action == "SUPERSEDE"
    assert read_head(cast, memory_id).independent_evidence_count == 1
    gone = say(cast, session=SESSION, value=None, occurred_at=EARLY + 2 * HOUR)
    assert gone.action == "SUPERSEDE"
    with tenant_context(cast.tenant_id, read_only=True):
        echoes = MergeDecision.objects.filter(memory_id=UUID(memory_id), facts__has_key="echo").exclude(
            facts__echo=None
        )
        assert echoes.count() == 0
    show_consistent(cast)


def test_an_echo_goes_with_what_it_repeats(cast: Cast) -> None:
    """Revoke the user's event: what the agent repeated of it is withdrawn too, and nothing stands."""
    event = describe_event(actor=cast.alice.username)
    told = write_memory(caller=cast.caller, event=event, proposal=describe_claim(event), now=clock.now()).result
    memory_id = index(cast, told)
    recall(cast)
    say(cast, session=SESSION, occurred_at=EARLY + HOUR)
    revoke(
        caller=cast.person(cast.erin),
        scope=SCOPE,
        target=RevocationTarget.EVENT,
        target_id=read_root(cast, event.event_id)[0],
        reason="user_request",
        now=clock.now(),
    )
    with tenant_context(cast.tenant_id, read_only=True):
        assert fetch_all(sql="SELECT 1 FROM memory_evidence WHERE withdrawn_by IS NULL", params=[]) == []
    assert read_head(cast, memory_id).independent_evidence_count == 0
    assert list(check_memories(tenant_id=cast.tenant_id)) == []


def test_the_roots_of_an_echo_are_bounded(cast: Cast) -> None:
    """Let a hundred and ten sources say it before it is repeated: it takes a hundred roots, and adds nothing."""
    memory_id = index(cast, say(cast, actor=cast.alice.username))
    for number in range(109):
        say(cast, actor=cast.bob.username, occurred_at=EARLY + (number + 1) * HOUR)
    recall(cast)
    echo = say(cast, session=SESSION, occurred_at=EARLY + 200 * HOUR)
    assert echo.reason == "lineage_already_counted"
    with tenant_context(cast.tenant_id, read_only=True):
        facts = MergeDecision.objects.get(candidate_id=UUID(echo.candidate_id)).facts
    assert len(facts["echo"]["roots"]) == 100
    assert derive_now(cast, memory_id).independent_evidence_count == 110


def test_without_the_recall_each_of_the_same_events_counts(cast: Cast) -> None:
    """Leave the recall out: the guard is the mark, and without it the same words inflate the count."""
    memory_id = index(cast, say(cast, actor=cast.alice.username))
    for number in range(3):
        said = say(cast, session=SESSION, occurred_at=EARLY + (number + 1) * HOUR)
        assert said.reason == "independent_support"
    assert read_head(cast, memory_id).independent_evidence_count == 4
