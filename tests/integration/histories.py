"""Random histories through the use cases, and their replay in the in-memory ledger."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from memoryhub.access.callers import Caller
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.memory.exceptions import SourceRevoked
from memoryhub.memory.loading import load_candidate, parse_source, read_echo
from memoryhub.memory.models import Predicate
from memoryhub.policy.ledger import MemoryLedger
from memoryhub.policy.merge import MergePolicy
from memoryhub.retrieval.operations import RunItem, record_run
from memoryhub.types.claims import Ruling
from memoryhub.types.decision import PredicateFacts
from memoryhub.types.enums import CandidateKind, Cardinality, EpistemicStatus, Stance, UsageOutcome
from memoryhub.types.temporal import AsOf
from memoryhub.usecases.consolidate import describe_facts
from memoryhub.usecases.ingest import EventInput, digest_session
from memoryhub.usecases.propose import CandidateInput, EvidenceInput
from memoryhub.usecases.review import DateRefused, Resolution, Verb, VerbNotPossible, resolve_review
from memoryhub.usecases.write_memory import write_memory
from tests.cast import Cast, make_cast
from tests.integration.reflecting import follow_again, is_followed

SCOPE = ("project", "platform")
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
RECORDED = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
TICKS = (timedelta(0), timedelta(microseconds=1), timedelta(seconds=1), HOUR, -timedelta(seconds=1))
KEYS = ("release.latest", "undeclared", "asks.first", "has.many")


class History:
    """Write a random history of one tenant: put-backs, late data, retractions, bounded periods, rulings, questions."""

    def __init__(self, *, seed: int, cycles: int = 3) -> None:
        """Begin with a tenant of its own; the seed decides everything else."""
        self.random = Random(seed)  # noqa: S311  a test draws, nobody guesses
        self.cast: Cast = make_cast()
        self.caller: Caller = self.cast.caller
        self.reviewer: Caller = self.cast.person(self.cast.rita)
        self.cycles = cycles
        self.now = RECORDED
        self.done: Counter[str] = Counter()
        self.said: list[CandidateInput] = []
        self.written: list[str] = []
        with tenant_context(self.cast.tenant_id):
            Predicate.objects.create(tenant=self.cast.tenant, fact_key="asks.first", requires_confirmation=True)
            Predicate.objects.create(tenant=self.cast.tenant, fact_key="has.many", cardinality=Cardinality.MANY)

    @property
    def tenant_id(self) -> str:
        """The id of the tenant."""
        return self.cast.tenant_id

    def grow(self, steps: int) -> None:
        """Take so many random steps."""
        for _ in range(steps):
            self.now += self.random.choice(TICKS)
            if self.random.random() < 0.15:
                self._rule()
            else:
                self._claim()

    def _claim(self) -> None:
        draw, cast = self.random, self.cast
        begins = BEGINNING + draw.randrange(60) * DAY
        event = EventInput(
            event_id=str(new_id()),
            scope=SCOPE,
            source_type=draw.choice(["commit", "commit", "message", "document"]),
            occurred_at=begins,
            payload={"text": "somebody says something"},
            actor=draw.choice([None, cast.alice.username, cast.bob.username, cast.carol.username]),
            source_seq=draw.randrange(3),
            session=draw.choice(["", "first session", "second session"]),
        )
        if self.written and draw.random() < 0.1:
            self._recall(draw.choice(["first session", "second session"]))
        proposal = self._propose(event)
        if self.said and draw.random() < 0.2:  # said again, with reference to the first time: no lineage of its own
            first = draw.choice(self.said)
            proposal = replace(first, evidence=(*proposal.evidence, first.evidence[0]))
        try:
            written = write_memory(caller=self.caller, event=event, proposal=proposal, now=self.now)
        except SourceRevoked:  # it refers to what was taken back meanwhile
            self.done["SourceRevoked"] += 1
            return
        self.said.append(proposal)
        if written.result.memory_id is not None:
            self.written.append(written.result.memory_id)
        self.done[written.result.action] += 1
        if draw.random() < 0.1:
            again = write_memory(caller=self.caller, event=event, proposal=proposal, now=self.now)
            assert again.is_replay
            assert again.result.candidate_id == written.result.candidate_id

    def _recall(self, session: str) -> None:
        """Give some memories to the agent in a session, as an answer does."""
        told = sorted({self.random.choice(self.written) for _ in range(3)})
        with tenant_context(self.tenant_id):
            record_run(
                tenant_id=self.tenant_id,
                principal_id=self.caller.principal_id,
                scope_epochs={},
                query_digest="",
                session_key=digest_session(caller=self.caller, session=session),
                valid_at=self.now,
                recorded_at=self.now,
                policy_version="",
                top_k=len(told),
                items=[
                    RunItem(memory_id=one, version=1, outcome=UsageOutcome.RETRIEVED, position=0, score={}, reason="")
                    for one in told
                ],
                now=self.now,
            )
        self.done["recall"] += 1

    def _propose(self, event: EventInput) -> CandidateInput:
        draw, begins = self.random, event.occurred_at
        ends = begins + draw.randrange(1, 20) * DAY if draw.random() < 0.3 else None
        states_period = ends is not None or draw.random() < 0.3
        key = draw.choice(KEYS)
        value = draw.choice(["a", "b", "c"] if key == "has.many" else ["a", "b", "c", None])
        return CandidateInput(
            scope=SCOPE,
            subject=f"product:p{draw.randrange(2)}",
            fact_key=key,
            content=f"it is {value}",
            value=value,
            conditions={"cycle": draw.randrange(self.cycles)},
            evidence=(EvidenceInput(event.event_id),),
            kind=draw.choice([CandidateKind.FACT] * 4 + [CandidateKind.LEAD]),
            epistemic_status=draw.choice([EpistemicStatus.EXPLICIT, EpistemicStatus.OBSERVED]),
            confidence=draw.choice([1.0, 0.8, 0.3]),
            stance=draw.choice([Stance.SUPPORTS] * 8 + [Stance.CONTRADICTS, Stance.QUALIFIES]),
            valid_from=begins if states_period else None,
            valid_to=ends,
        )

    def _rule(self) -> None:
        draw = self.random
        with tenant_context(self.tenant_id, read_only=True):
            items = fetch_all(
                sql="SELECT item.id::text, coalesce(head.version, 0) FROM review_items item"
                " JOIN memory_candidates asked ON asked.id = item.candidate_id"
                " LEFT JOIN memory_heads head ON (head.scope_id, head.subject_id, head.memory_type, head.fact_key,"
                "   head.conditions_digest) = (asked.scope_id, asked.subject_id, asked.memory_type, asked.fact_key,"
                "   asked.conditions_digest) AND head.value_key IN ('', asked.value_digest)"
                " WHERE item.state = 'open' ORDER BY item.id",
                params=[],
            )
        if not items:
            return
        item_id, version = draw.choice(items)
        verb = draw.choice([Verb.ACCEPT, Verb.ACCEPT, Verb.REJECT, Verb.KEEP_CONFLICT])
        effective = BEGINNING + draw.randrange(60) * DAY if draw.random() < 0.3 else None
        resolution = Resolution(
            item_id=item_id, verb=verb, expected_version=version, reason="outdated", effective_from=effective
        )
        try:
            resolve_review(caller=self.reviewer, resolution=resolution, now=self.now)
        except (DateRefused, VerbNotPossible) as refusal:
            self.done[type(refusal).__name__] += 1
        else:
            self.done[verb] += 1


Snapshot = list[tuple[datetime, datetime | None, str | None]]


@dataclass
class Oracle:
    """Hold for each memory what stood after each change: a dict of lists, and nothing clever."""

    instants: dict[str, list[datetime]] = field(default_factory=dict)
    snapshots: dict[str, list[Snapshot]] = field(default_factory=dict)

    def add(self, memory_id: str, instant: datetime, snapshot: Snapshot) -> None:
        """Write down what stands from a recorded instant on."""
        self.instants.setdefault(memory_id, []).append(instant)
        self.snapshots.setdefault(memory_id, []).append(snapshot)

    def answer(self, memory_id: str, as_of: AsOf) -> str | None:
        """Return the digest of the value that was held; None if there was none, or absence was held."""
        at = bisect_right(self.instants.get(memory_id, []), as_of.recorded_at) - 1
        if at < 0:
            return None
        for begins, ends, value in self.snapshots[memory_id][at]:
            if begins <= as_of.valid_at and (ends is None or as_of.valid_at < ends):
                return value
        return None


@dataclass(frozen=True)
class Replay:
    """Hold a ledger that a tenant's record was replayed in, and what stood after each step."""

    ledger: MemoryLedger
    oracle: Oracle
    decisions: int
    differing: list[str]
    echoes: int = 0


_DECISIONS = """
    SELECT coalesce(decision.memory_id::text, 'candidate ' || decision.candidate_id), decision.candidate_id::text,
        decision.action, decision.reason, decision.requires_person, decision.decider_id IS NOT NULL,
        decision.recorded_at, decision.resulting_version = head.version, head.derived_at, candidate.fact_key,
        decision.id::text, decision.facts->'echo', ruling.id::text, ruling.settles, ruling.winner,
        ruling.effective_from, ruling.sequence, ruling.keeps_conflict
    FROM merge_decisions decision
    JOIN memory_candidates candidate ON candidate.id = decision.candidate_id
    LEFT JOIN memory_heads head ON head.id = decision.memory_id
    LEFT JOIN rulings ruling ON ruling.decision_id = decision.id
    WHERE decision.tenant_id = %s
    ORDER BY 1, decision.resulting_version, decision.expected_version, decision.id
"""


_ECHO = 11  # the place of what a decision's claim repeated


def replay_ledger(*, tenant_id: str) -> Replay:
    """Replay what is recorded of a tenant, in commit order, each decision at its recorded instant.

    Of a head's last change the instant its belief was derived for is known, and taken.
    """
    with tenant_context(tenant_id, read_only=True):
        declared = _read_predicates(tenant_id)
        rows = fetch_all(sql=_DECISIONS, params=[tenant_id])
        candidates = {row[1]: load_candidate(tenant_id=tenant_id, candidate_id=row[1]) for row in rows}
    ledger = MemoryLedger(
        policy=MergePolicy(), predicates={row[0]: declared[row[9]] for row in rows if row[9] in declared}
    )
    oracle, differing = Oracle(), []
    for key, candidate_id, action, reason, asks, by_person, recorded, is_last, derived, _, made, echo, *ruled in rows:
        candidate = candidates[candidate_id]
        assert candidate is not None
        follows = is_followed(reason)
        now = derived if is_last and action not in ("NO_OP", "REJECT") and (follows or not asks) else recorded
        before = ledger.memories[key].last_recorded if key in ledger.memories else None
        if ruled[0] is not None:
            decision = ledger.rule(key=key, ruling=_read_ruling(ruled), now=now)
        elif follows:
            decision = follow_again(ledger, tenant_id=tenant_id, key=key, decision_id=made, now=now)
        elif action == "REJECT" and by_person:
            continue  # a person's refusal of a question: no policy decided
        else:
            facts = describe_facts(
                candidate=candidate,
                echo=read_echo(None if echo is None else _read(echo)),
                is_barred=reason == "barred_by_revocation",
                may=reason != "scope_not_authorised",
                confirmed=by_person,
            )
            decision = ledger.propose(key=key, candidate=facts, now=now)
        if (str(decision.action), decision.reason, decision.requires_person) != (action, reason, asks):
            differing.append(f"{candidate_id}: {action} {reason} was decided, {decision.action} {decision.reason} now")
        memory = ledger.memories.get(key)
        if memory is not None and memory.last_recorded is not None and memory.last_recorded != before:
            snapshot = [
                (held.part.valid.start, held.part.valid.end, held.part.value_digest) for held in memory.list_current()
            ]
            oracle.add(key, memory.last_recorded, snapshot)
    echoes = sum(1 for row in rows if row[_ECHO] is not None and _read(row[_ECHO]) is not None)
    return Replay(ledger, oracle, len(rows), differing, echoes)


def _read_predicates(tenant_id: str) -> dict[str, PredicateFacts]:
    rows = fetch_all(
        sql="SELECT fact_key, cardinality, sensitive, requires_confirmation, authority_group,"
        " yields_only_to_validation FROM predicates WHERE tenant_id = %s",
        params=[tenant_id],
    )
    return {row[0]: PredicateFacts(Cardinality(row[1]), *row[2:]) for row in rows}


def _read_ruling(row: list[Any]) -> Ruling:
    key, settles, winner, effective_from, sequence, keeps = row
    return Ruling(
        key=key,
        settles=frozenset(map(parse_source, settles)),
        winner=None if winner is None else parse_source(winner),
        effective_from=effective_from,
        sequence=sequence,
        keeps_conflict=keeps,
    )


# The shape is that of MemoryLedger.write_canonical. Members stand in the order of their claims.
_TABLES = """
    SELECT head.id::text, head.version, jsonb_build_object('modality', head.modality, 'confidence', head.confidence,
            'support', head.support, 'opposition', head.opposition,
            'independent_evidence_count', head.independent_evidence_count),
        head.derived_at,
        (SELECT jsonb_build_object('standing', held.standing, 'opened_from', held.opened_from, 'reason', held.reason,
            'kept', held.kept_at IS NOT NULL, 'members', (
                SELECT jsonb_agg(member.source ORDER BY claim.valid_from, claim.observed_at, claim.source_seq,
                    claim.order_digest)
                FROM conflict_members member
                JOIN memory_evidence claim ON claim.memory_id = head.id
                    AND claim.source_kind || ':' || claim.source_id || ':' || claim.statement = member.source
                WHERE member.conflict_set_id = held.id AND NOT member.is_standing AND member.left_at IS NULL))
         FROM conflict_sets held WHERE held.memory_id = head.id AND held.state = 'open'),
        (SELECT coalesce(jsonb_agg(jsonb_build_object('value_digest', part.value_digest,
            'valid_from', part.valid_from, 'valid_to', part.valid_to, 'opener', part.opener, 'since', part.since,
            'replaced_digest', part.replaced_digest, 'version', part.version, 'part', part.part,
            'recorded_from', part.recorded_from, 'recorded_to', part.recorded_to)
            ORDER BY part.version, part.part), '[]')
         FROM memory_versions part WHERE part.memory_id = head.id)
    FROM memory_heads head WHERE head.tenant_id = %s
"""
_INSTANTS = ("opened_from", "valid_from", "valid_to", "since", "recorded_from", "recorded_to")


def write_tables(*, tenant_id: str) -> str:
    """Return heads, parts, belief and conflict of a tenant as they are stored, as canonical JSON."""
    with tenant_context(tenant_id, read_only=True):
        rows = fetch_all(sql=_TABLES, params=[tenant_id])
    shown = {}
    for memory_id, version, belief, derived_at, conflict, parts in rows:
        shown[memory_id] = {
            "version": version,
            "belief": {**_read(belief), "derived_at": derived_at.isoformat()},
            "conflict": None if conflict is None else _write_instants(_read(conflict)),
            "parts": [_write_instants(part) for part in _read(parts)],
        }
    return canonical_json(shown)


def _read(raw: Any) -> Any:
    return json.loads(raw) if isinstance(raw, str) else raw


def _write_instants(row: dict[str, Any]) -> dict[str, Any]:
    """Write the instants that PostgreSQL put into JSON as Python writes them."""
    return {
        name: datetime.fromisoformat(value).isoformat() if name in _INSTANTS and value is not None else value
        for name, value in row.items()
    }
