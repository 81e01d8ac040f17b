"""An in-memory store of memories that decides as production does: the twin that replays run on. Pure.

A replay of a ledger of candidates and rulings in it must give the state that the tables hold, byte for byte.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memoryhub.lib.canonical import canonical_json
from memoryhub.policy.merge import MergePolicy, WholeTimelineNeeded, decide, decide_ruling
from memoryhub.policy.reflection import Followed, Held, decide_followed, rest_all
from memoryhub.policy.withdrawal import decide_withdrawal
from memoryhub.types.claims import Claim, OpenConflict, Part, Ruling, SourceIdentity
from memoryhub.types.decision import Belief, CandidateFacts, Changes, Decision, PredicateFacts
from memoryhub.types.enums import MergeAction, Stance
from memoryhub.types.temporal import AsOf

_TICK = timedelta(microseconds=1)
_UNDECLARED = PredicateFacts()


@dataclass(slots=True)
class RecordedPart:
    """Hold one part of one version, on both clocks."""

    part: Part
    version: int
    number: int
    recorded_from: datetime
    recorded_to: datetime | None = None

    def holds_at(self, as_of: AsOf) -> bool:
        """Tell whether this part is the answer for a pair of instants."""
        return (
            self.part.valid.holds_at(as_of.valid_at)
            and self.recorded_from <= as_of.recorded_at
            and (self.recorded_to is None or as_of.recorded_at < self.recorded_to)
        )


@dataclass(slots=True)
class HeldMemory:
    """Hold everything the ledger knows of one memory."""

    memory_type: str
    predicate: PredicateFacts
    version: int = 0
    claims: dict[SourceIdentity, Claim] = field(default_factory=dict)
    rulings: list[Ruling] = field(default_factory=list)
    parts: list[RecordedPart] = field(default_factory=list)
    conflict: OpenConflict | None = None
    belief: Belief | None = None
    last_recorded: datetime | None = None

    def list_current(self) -> list[RecordedPart]:
        """Return the parts that are recorded as holding, in valid-time order."""
        current = [held for held in self.parts if held.recorded_to is None]
        return sorted(current, key=lambda held: held.part.valid.start)

    def find_tail(self, *, source: SourceIdentity) -> tuple[Part, list[Claim]] | None:
        """Return the newest part and the claims a decision from the tail needs, or None if it needs all."""
        current = self.list_current()
        if not current or self.conflict is not None or self.rulings:
            return None
        newest = current[-1].part
        claims = [
            claim
            for claim in self.claims.values()
            if claim.valid.start >= newest.since or claim.stance is not Stance.SUPPORTS or claim.source == source
        ]
        return newest, claims


class MemoryLedger:
    """Hold memories by key and apply decisions to them, each at its recorded time."""

    def __init__(
        self,
        *,
        policy: MergePolicy,
        predicates: Mapping[str, PredicateFacts] | None = None,
        uses_tail: bool = True,
    ) -> None:
        """Begin empty; `predicates` are by memory key, `uses_tail` decides newest claims in constant work."""
        self.policy = policy
        self.predicates = predicates or {}
        self.uses_tail = uses_tail
        self.memories: dict[str, HeldMemory] = {}

    def propose(self, *, key: str, candidate: CandidateFacts, now: datetime) -> Decision:
        """Decide on a candidate for the memory under `key`, and record what the decision changes.

        What needs a person first is decided, and not recorded.
        """
        memory = self.memories.get(key)
        if memory is None:
            memory = HeldMemory(
                memory_type=candidate.memory_type,
                predicate=self.predicates.get(key, _UNDECLARED),
            )
        decision = self._decide(memory, candidate, now)
        if decision.action is not MergeAction.REJECT and not decision.requires_person:
            self.memories[key] = memory
            _record(memory, decision, now)
        return decision

    def rule(self, *, key: str, ruling: Ruling, now: datetime) -> Decision:
        """Record a ruling on claims of the memory under `key`."""
        memory = self.memories[key]
        decision = decide_ruling(
            ruling=ruling,
            claims=list(memory.claims.values()),
            rulings=memory.rulings,
            predicate=memory.predicate,
            policy=self.policy,
            memory_type=memory.memory_type,
            now=now,
        )
        memory.rulings.append(ruling)
        _record(memory, decision, now)
        return decision

    def follow(self, *, key: str, followed: Followed, now: datetime) -> Decision:
        """Record what a change of a lower memory did to the one under `key`; its bases are inputs, as laid."""
        memory = self.memories[key]
        held = Held(
            memory_type=memory.memory_type,
            claims=tuple(memory.claims.values()),
            rulings=tuple(memory.rulings),
            bases={},
            parts=tuple(held.part for held in memory.list_current()),
            predicate=memory.predicate,
        )
        decision = decide_followed(held=held, followed=followed, policy=self.policy, now=now)
        for claim in rest_all(held=held, bases=followed.bases, policy=self.policy):
            memory.claims[claim.source] = claim
        _record(memory, decision, now)
        return decision

    def withdraw(self, *, key: str, sources: Collection[SourceIdentity], now: datetime) -> Decision:
        """Take claims out of the memory under `key`, because their source was revoked, and fold what is left."""
        memory = self.memories[key]
        for source in sources:
            memory.claims.pop(source, None)
        decision = decide_withdrawal(
            parts=[held.part for held in memory.list_current()],
            claims=list(memory.claims.values()),
            rulings=memory.rulings,
            predicate=memory.predicate,
            policy=self.policy,
            memory_type=memory.memory_type,
            now=now,
        )
        _record(memory, decision, now)
        return decision

    def find_part(self, *, key: str, as_of: AsOf) -> Part | None:
        """Return the part that the ledger held at one instant for another, or None."""
        memory = self.memories.get(key)
        if memory is None:
            return None
        return next((held.part for held in memory.parts if held.holds_at(as_of)), None)

    def write_canonical(self, *, with_recorded: bool = True) -> str:
        """Return heads, parts and belief as canonical JSON.

        Without the recorded clock, versions and derivation times are left out too: what remains is the same
        for any order of arrival.
        """
        return canonical_json(
            {key: _show_memory(memory, with_recorded=with_recorded) for key, memory in self.memories.items()}
        )

    def _decide(self, memory: HeldMemory, candidate: CandidateFacts, now: datetime) -> Decision:
        tail = memory.find_tail(source=candidate.claim.source) if self.uses_tail else None
        if tail is not None:
            try:
                return decide(
                    candidate=candidate,
                    claims=tail[1],
                    rulings=(),
                    predicate=memory.predicate,
                    policy=self.policy,
                    now=now,
                    start=tail[0],
                )
            except WholeTimelineNeeded:
                pass
        return decide(
            candidate=candidate,
            claims=list(memory.claims.values()),
            rulings=memory.rulings,
            predicate=memory.predicate,
            policy=self.policy,
            now=now,
        )


def _record(memory: HeldMemory, decision: Decision, now: datetime) -> None:
    changes = decision.changes
    if changes.adds_claim and changes.claim is not None:
        memory.claims[changes.claim.source] = changes.claim
    if decision.action is MergeAction.NO_OP:
        return
    instant = now if memory.last_recorded is None else max(now, memory.last_recorded + _TICK)
    memory.last_recorded = instant
    memory.version += 1
    memory.conflict = changes.conflict
    memory.belief = changes.belief
    _write_parts(memory, changes, instant)


def _write_parts(memory: HeldMemory, changes: Changes, instant: datetime) -> None:
    closing = {(part.valid, part.opener) for part in changes.close}
    for held in memory.parts:
        if held.recorded_to is None and (held.part.valid, held.part.opener) in closing:
            held.recorded_to = instant
    for number, part in enumerate(changes.write, start=1):
        memory.parts.append(RecordedPart(part=part, version=memory.version, number=number, recorded_from=instant))


def _show_memory(memory: HeldMemory, *, with_recorded: bool) -> dict[str, object]:
    held_parts = memory.parts if with_recorded else memory.list_current()
    shown: dict[str, object] = {
        "conflict": _show_conflict(memory.conflict),
        "parts": [_show_part(held, with_recorded=with_recorded) for held in held_parts],
    }
    belief = memory.belief
    if with_recorded:
        shown["version"] = memory.version
        shown["belief"] = None if belief is None else _show_belief(belief)
    return shown


def _show_belief(belief: Belief) -> dict[str, object]:
    return {
        "modality": belief.modality,
        "confidence": belief.confidence,
        "support": belief.support,
        "opposition": belief.opposition,
        "independent_evidence_count": belief.independent_evidence_count,
        "derived_at": belief.derived_at.isoformat(),
    }


def _show_conflict(conflict: OpenConflict | None) -> dict[str, object] | None:
    if conflict is None:
        return None
    return {
        "standing": conflict.standing.as_text(),
        "members": [source.as_text() for source in conflict.members],
        "opened_from": conflict.opened_from.isoformat(),
        "reason": conflict.reason,
        "kept": conflict.kept,
    }


def _show_part(held: RecordedPart, *, with_recorded: bool) -> dict[str, object]:
    part = held.part
    shown: dict[str, object] = {
        "value_digest": part.value_digest,
        "valid_from": part.valid.start.isoformat(),
        "valid_to": _show_instant(part.valid.end),
        "opener": part.opener.as_text(),
        "since": part.since.isoformat(),
        "replaced_digest": part.replaced_digest,
    }
    if with_recorded:
        shown |= {
            "version": held.version,
            "part": held.number,
            "recorded_from": held.recorded_from.isoformat(),
            "recorded_to": _show_instant(held.recorded_to),
        }
    return shown


def _show_instant(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()
