"""T16: a state machine does whatever the product can be asked to do, in any order; the invariants hold all the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, ClassVar

import pytest
from django.db import connection
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.memory.exceptions import SourceRevoked
from memoryhub.memory.queries import find_part
from memoryhub.types.enums import RevocationTarget, Stance
from memoryhub.types.temporal import AsOf
from memoryhub.usecases import revoke as revocation
from memoryhub.usecases.ingest import EventInput, ingest_events
from memoryhub.usecases.propose import CandidateInput, CandidateReused, EvidenceInput, propose_candidate
from memoryhub.usecases.recall import RecallInput, recall_memories
from memoryhub.usecases.relay import relay_outbox
from memoryhub.usecases.reopen_conflict import NoOpenConflict, reopen_conflict
from memoryhub.usecases.review import (
    DecidedByOther,
    ErasureStarted,
    EvidenceGone,
    ItemStale,
    NotTheOwner,
    OwnClaim,
    Resolution,
    Verb,
    VerbNotPossible,
    resolve_review,
)
from memoryhub.usecases.run_jobs import run_due_jobs
from memoryhub.usecases.write_memory import write_memory
from tests.cast import EARLY, Cast, make_cast
from tests.conftest import ConnectAs
from tests.ledger import assert_ledger_is_clean
from tests.promises import PromiseReport

SCOPE = ("project", "platform")
DAY = timedelta(days=1)
REFUSED_RULINGS = (DecidedByOther, ErasureStarted, EvidenceGone, ItemStale, NotTheOwner, OwnClaim, VerbNotPossible)

SETTINGS = settings(
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
INVARIANTS = {
    "a key has two heads": """
        SELECT count(*) - count(DISTINCT (scope_id, subject_id, memory_type, fact_key, conditions_digest, value_key))
        FROM memory_heads WHERE tenant_id = %(tenant)s
    """,
    "a head's version is not its newest": """
        SELECT count(*) FROM memory_heads head WHERE head.tenant_id = %(tenant)s AND head.version < (
            SELECT max(held.version) FROM memory_versions held WHERE held.memory_id = head.id)
    """,
    "a flag and its conflict set disagree": """
        SELECT count(*) FROM memory_heads head WHERE head.tenant_id = %(tenant)s AND head.has_open_conflict <> EXISTS (
            SELECT FROM conflict_sets held WHERE held.memory_id = head.id AND held.state = 'open')
    """,
    "an active version has no live claim": """
        SELECT count(*) FROM memory_versions held
        WHERE held.tenant_id = %(tenant)s AND held.state = 'active' AND held.recorded_to IS NULL AND NOT EXISTS (
            SELECT FROM memory_evidence claim WHERE claim.memory_id = held.memory_id
              AND claim.withdrawn_by IS NULL AND claim.value_digest IS NOT DISTINCT FROM held.value_digest)
    """,
    "supersession is not reciprocal": """
        SELECT count(*) FROM memory_versions one JOIN memory_versions other ON other.id = one.superseded_by
        WHERE one.tenant_id = %(tenant)s AND other.supersedes IS DISTINCT FROM one.id
    """,
    "supersession goes round": """
        WITH RECURSIVE path (first, id, length) AS (
            SELECT id, superseded_by, 1 FROM memory_versions
            WHERE tenant_id = %(tenant)s AND superseded_by IS NOT NULL
            UNION ALL
            SELECT path.first, next.superseded_by, path.length + 1
            FROM path JOIN memory_versions next ON next.id = path.id
            WHERE next.superseded_by IS NOT NULL AND path.id <> path.first AND path.length < 1000
        ) SELECT count(*) FROM path WHERE id = first OR length = 1000
    """,
    "work of an older epoch was recorded after a barrier": """
        SELECT count(*) FROM merge_decisions made JOIN revocations barrier
            ON barrier.tenant_id = made.tenant_id AND barrier.scope_id = made.scope_id
        WHERE made.tenant_id = %(tenant)s AND made.recorded_at > barrier.recorded_at
          AND made.deletion_epoch < barrier.epoch
    """,
    "a decision does not name its policy or inputs": """
        SELECT count(*) FROM merge_decisions WHERE tenant_id = %(tenant)s
          AND (policy_version = '' OR (inputs_digest = '' AND reason <> 'barred_by_revocation'))
    """,
    "a person's decision does not name the person": """
        SELECT count(*) FROM merge_decisions WHERE tenant_id = %(tenant)s AND verb <> '' AND decider_id IS NULL
    """,
    "a settled claim does not name its ruling": """
        SELECT count(*) FROM memory_evidence claim WHERE claim.tenant_id = %(tenant)s
          AND claim.superseded_by IS NOT NULL AND NOT EXISTS (
            SELECT FROM rulings ruled WHERE ruled.id = claim.superseded_by AND ruled.memory_id = claim.memory_id)
    """,
    "a decided candidate has no decision": """
        SELECT count(*) FROM memory_candidates candidate WHERE candidate.tenant_id = %(tenant)s
          AND candidate.status IN ('accepted', 'rejected') AND NOT EXISTS (
            SELECT FROM merge_decisions made WHERE made.candidate_id = candidate.id)
    """,
    "what is held is covered by a barrier": """
        SELECT count(*) FROM memory_evidence claim
        JOIN memory_candidates candidate ON candidate.id = claim.candidate_id
        JOIN memory_heads head ON head.id = claim.memory_id
        WHERE claim.tenant_id = %(tenant)s AND claim.withdrawn_by IS NULL AND public.find_barrier_v1(
            claim.tenant_id, head.scope_id, head.subject_id, head.id, head.fact_key,
            ARRAY[claim.source_id] || claim.roots, candidate.deletion_epoch) IS NOT NULL
    """,
}

values = st.sampled_from(["1", "2", "3", None])
numbers = st.integers(0, 10**6)
facts = st.fixed_dictionaries(
    {
        "subject": st.sampled_from(["product:a", "product:a", "product:b"]),
        "key": st.sampled_from(["release.latest", "release.latest", "undeclared"]),
        "value": values,
        "day": st.integers(0, 12),
        "length": st.sampled_from([None, None, 3]),
        "stated": st.booleans(),
        "stance": st.sampled_from([Stance.SUPPORTS] * 6 + [Stance.CONTRADICTS, Stance.QUALIFIES]),
    }
)


class Machine(RuleBasedStateMachine):
    """Hold one tenant and what its callers were told."""

    done: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.cast: Cast = make_cast()
        self.caller = self.cast.caller
        self.sent: list[EventInput] = []
        self.wrote: list[tuple[EventInput, CandidateInput]] = []
        self.answers: list[tuple[str, AsOf, str | None, int]] = []
        self.revoked = 0
        self.people = [None, self.cast.alice.username, self.cast.bob.username]

    # --- what can be asked for ---

    @rule(who=st.integers(0, 2), day=st.integers(0, 12), speaks=st.booleans(), number=st.integers(0, 3))
    def ingest(self, who: int, day: int, speaks: bool, number: int) -> None:
        """Send an event; a message of a person may state a preference."""
        event = EventInput(
            event_id=str(new_id()),
            scope=("user", self.cast.alice.username) if speaks else SCOPE,
            source_type="message" if speaks else "commit",
            occurred_at=EARLY + day * DAY,
            payload={"text": f"I always prefer seat number {number}."},
            actor=self.people[who],
        )
        [result] = ingest_events(caller=self.caller, events=[event], now=clock.now())
        assert result.outcome == "accepted"
        self.sent.append(event)
        self.done["ingest"] += 1

    @precondition(lambda self: any(event.scope == SCOPE for event in self.sent))
    @rule(which=numbers, fact=facts)
    def propose(self, which: int, fact: dict[str, Any]) -> None:
        """Propose a fact out of an event that was sent."""
        mine = [event for event in self.sent if event.scope == SCOPE]
        event = mine[which % len(mine)]
        try:
            propose_candidate(caller=self.caller, proposal=make_proposal(event, fact), now=clock.now())
        except (SourceRevoked, CandidateReused) as refusal:
            self.done[f"propose refused as {type(refusal).__name__}"] += 1
        else:
            self.done["propose"] += 1

    @rule(who=st.integers(0, 2), several=st.lists(facts, min_size=1, max_size=4))
    def write(self, who: int, several: list[dict[str, Any]]) -> None:
        """Write memories explicitly, by turns as the agent itself, Alice and Bob."""
        for turn, fact in enumerate(several):
            self.write_one((who + turn) % 3, fact)

    def write_one(self, who: int, fact: dict[str, Any]) -> None:
        """Write one memory."""
        event = EventInput(
            event_id=str(new_id()),
            scope=SCOPE,
            source_type="commit",
            occurred_at=EARLY + fact["day"] * DAY,
            payload={"text": f"{fact['subject']} is {fact['value']}"},
            actor=self.people[who],
        )
        proposal = make_proposal(event, fact)
        written = write_memory(caller=self.caller, event=event, proposal=proposal, now=clock.now())
        self.sent.append(event)
        self.wrote.append((event, proposal))
        self.done[f"write as {written.result.action}"] += 1

    @rule()
    def work(self) -> None:
        """Do what is due, as a worker does: this is where a policy decides."""
        run_due_jobs(now=clock.now())
        relay_outbox(now=clock.now())
        self.done["work"] += 1

    @rule(which=numbers, verb=st.sampled_from(Verb), by_owner=st.booleans())
    def review(self, which: int, verb: Verb, by_owner: bool) -> None:
        """Decide an open item."""
        items = self.ask("SELECT id::text, expected_version FROM review_items WHERE state = 'open' ORDER BY id")
        if not items:
            return
        item_id, _ = items[which % len(items)]
        [[version]] = self.ask(
            "SELECT coalesce(head.version, 0) FROM review_items item LEFT JOIN memory_heads head "
            "ON head.id = item.memory_id WHERE item.id = %(it)s",
            item_id,
        )
        person = self.cast.person(self.cast.alice if by_owner else self.cast.rita)
        resolution = Resolution(item_id=item_id, verb=verb, expected_version=version, reason="not_supported")
        try:
            resolved = resolve_review(caller=person, resolution=resolution, now=clock.now())
        except REFUSED_RULINGS as refusal:
            self.done[f"review refused as {type(refusal).__name__}"] += 1
        else:
            self.done[f"review {verb} as {resolved.action}"] += 1

    @rule(which=numbers)
    def undo(self, which: int) -> None:
        """Put a conflict that was kept back into the queue."""
        kept = self.ask("SELECT memory_id::text FROM conflict_sets WHERE state = 'open' ORDER BY id")
        if kept:
            try:
                reopen_conflict(
                    caller=self.cast.person(self.cast.rita), memory_id=kept[which % len(kept)][0], now=clock.now()
                )
            except NoOpenConflict:
                return
            self.done["undo"] += 1

    @rule(which=numbers, aim=st.sampled_from([RevocationTarget.EVENT, RevocationTarget.SUBJECT]))
    def delete(self, which: int, aim: RevocationTarget) -> None:
        """Take back an event, or everything about a subject."""
        table = "source_events" if aim is RevocationTarget.EVENT else "subjects"
        where = "WHERE scope_id = %(it)s" if aim is RevocationTarget.EVENT else "WHERE %(it)s <> ''"
        found = self.ask(f"SELECT id::text FROM {table} {where} ORDER BY id", str(self.cast.project.pk))
        if not found or which % 3:
            return
        revocation.revoke(
            caller=self.cast.person(self.cast.erin),
            scope=SCOPE,
            target=aim,
            target_id=found[which % len(found)][0],
            reason="user_request",
            now=clock.now(),
        )
        self.revoked += 1
        self.done[f"delete {aim}"] += 1

    @rule(which=numbers, day=st.integers(0, 14), ago=st.sampled_from([0, 0, 1, 5]))
    def ask_as_of(self, which: int, day: int, ago: int) -> None:
        """Ask on both clocks, and remember the answer."""
        rows = self.ask("SELECT id::text FROM memory_heads ORDER BY id")
        if rows:
            memory_id = rows[which % len(rows)][0]
            as_of = AsOf(EARLY + day * DAY, clock.now() - timedelta(milliseconds=ago))
            self.answers.append((memory_id, as_of, self.find(memory_id, as_of), self.revoked))
            self.done["as-of"] += 1

    @rule(which=numbers)
    def ask_again(self, which: int) -> None:
        """Ask an earlier question again: the past is as it was, or it is unavailable."""
        if self.answers:
            memory_id, as_of, before, revoked = self.answers[which % len(self.answers)]
            again = self.find(memory_id, as_of)
            assert again == before or (revoked < self.revoked and again is None), (before, again)
            self.done["as-of again"] += 1

    @rule(number=st.integers(0, 3))
    def recall(self, number: int) -> None:
        """Ask as an agent: whatever comes back is what is held now, and nothing else."""
        now = clock.now()
        question = RecallInput(query=f"product release latest seat {number} undeclared", top_k=50)
        answer = recall_memories(caller=self.caller, question=question, now=now)
        for item in answer.items:
            [[tenant, state]] = self.ask(
                "SELECT head.tenant_id::text, held.state FROM memory_heads head JOIN memory_versions held "
                "ON held.memory_id = head.id AND held.recorded_to IS NULL AND held.valid_from <= %(now)s "
                "AND (held.valid_to IS NULL OR held.valid_to > %(now)s) WHERE head.id = %(it)s",
                item.memory.memory_id,
                now=now,
            )
            assert (tenant, state) == (self.cast.tenant_id, "active")
        self.done["recall"] += 1

    @precondition(lambda self: self.sent)
    @rule(which=numbers, changed=st.booleans())
    def replay(self, which: int, changed: bool) -> None:
        """Send an event again, as it was or changed."""
        event = self.sent[which % len(self.sent)]
        again = EventInput(**{name: getattr(event, name) for name in event.__slots__})
        if changed:
            again = EventInput(
                **{name: getattr(event, name) for name in event.__slots__ if name != "payload"}, payload={"text": "?"}
            )
        before = self.ask("SELECT count(*) FROM source_events")
        [result] = ingest_events(caller=self.caller, events=[again], now=clock.now())
        expected = {"event_id_reused", "source_revoked"} if changed else {"replayed", "source_revoked"}
        assert result.outcome in expected
        assert self.ask("SELECT count(*) FROM source_events") == before
        self.done["replay"] += 1

    @precondition(lambda self: self.wrote)
    @rule(which=numbers)
    def write_again(self, which: int) -> None:
        """Send an explicit write again: one effect, the first answer."""
        event, proposal = self.wrote[which % len(self.wrote)]
        before = self.ask("SELECT count(*) FROM merge_decisions")
        try:
            written = write_memory(caller=self.caller, event=event, proposal=proposal, now=clock.now())
            assert written.is_replay
        except SourceRevoked:
            self.done["write again refused"] += 1
        assert self.ask("SELECT count(*) FROM merge_decisions") == before
        self.done["write again"] += 1

    # --- what holds ---

    @invariant()
    def every_acknowledged_event_is_there(self) -> None:
        """Count them."""
        [[events]] = self.ask("SELECT count(*) FROM source_events")
        assert events == len(self.sent)

    def teardown(self) -> None:
        """Let the workers finish, and look at everything."""
        while run_due_jobs(now=clock.now()) or relay_outbox(now=clock.now()):
            pass
        broken = {what: self.ask(sql)[0][0] for what, sql in INVARIANTS.items()}
        assert {what: count for what, count in broken.items() if count} == {}
        assert_ledger_is_clean(self.cast.tenant_id)

    def ask(self, sql: str, it: object = None, **more: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query inside the tenant."""
        with tenant_context(self.cast.tenant_id, read_only=True):
            return fetch_all(sql=sql, params={"tenant": self.cast.tenant_id, "it": it, **more})

    def find(self, memory_id: str, as_of: AsOf) -> str | None:
        """Return what was held for a pair of instants, by its row."""
        with tenant_context(self.cast.tenant_id, read_only=True):
            part = find_part(tenant_id=self.cast.tenant_id, memory_id=memory_id, as_of=as_of)
        return None if part is None else f"{part.version}.{part.part} {part.value}"


def make_proposal(event: EventInput, fact: dict[str, Any]) -> CandidateInput:
    begins: datetime = EARLY + fact["day"] * DAY
    return CandidateInput(
        scope=SCOPE,
        subject=fact["subject"],
        fact_key=fact["key"],
        content=f"{fact['subject']} {fact['key']} is {fact['value']}",
        value=fact["value"],
        evidence=(EvidenceInput(event.event_id),),
        stance=fact["stance"],
        valid_from=begins if fact["stated"] else None,
        valid_to=None if fact["length"] is None else max(begins, event.occurred_at) + fact["length"] * DAY,
    )


@pytest.mark.promise("T16")
def test_the_invariants_hold_whatever_is_asked_for(
    at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    examples = at_scale(200, 2_000)
    Machine.done.clear()
    run_state_machine_as_test(
        Machine,
        settings=settings(SETTINGS, max_examples=examples),
    )
    done = Machine.done
    assert min(done[f"write as {action}"] for action in ("ADD", "SUPERSEDE", "CONFLICT", "ATTACH_EVIDENCE")) > 0, done
    assert min(done[what] for what in ("delete event", "delete subject", "undo", "recall", "as-of again")) > 0, done
    assert any(what.startswith("review accept") for what in done), done
    promise_report(count=examples, what="histories of up to 50 steps")
    promise_report(count=done.total(), what="steps without a broken invariant")


BLIND = """
    DROP SCHEMA IF EXISTS without_barriers CASCADE;
    CREATE SCHEMA without_barriers;
    CREATE FUNCTION without_barriers.find_barrier_v1(uuid, uuid, uuid, uuid, text, uuid[], bigint)
    RETURNS uuid LANGUAGE sql STABLE AS 'SELECT NULL::uuid';
    GRANT USAGE ON SCHEMA without_barriers TO memoryhub_app;
"""


@pytest.mark.promise("T16")
def test_without_barriers_an_invariant_breaks(connect_as: ConnectAs, promise_report: PromiseReport) -> None:
    """Let nobody see a barrier: the machine must then find that something revoked is held."""
    owner = connect_as("owner")
    owner.autocommit = True
    owner.execute(BLIND.encode())
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET search_path TO without_barriers, public")
        with pytest.raises(AssertionError):
            run_state_machine_as_test(Machine, settings=settings(SETTINGS, max_examples=200, phases=[Phase.generate]))
    finally:
        connection.close()
        owner.execute(b"DROP SCHEMA without_barriers CASCADE")
    promise_report(count=1, what="broken invariant found in the twin without barriers")
