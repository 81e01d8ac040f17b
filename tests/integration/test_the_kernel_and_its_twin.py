"""The kernel's five operations keep one contract, in the database and in memory: every test here runs on both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryhub.access.tenancy import tenant_context
from memoryhub.kernel.arbitration import arbitrate
from memoryhub.kernel.surface import (
    Arbitration,
    CyclicLineage,
    DerivationRule,
    EvidenceItem,
    EvidenceReused,
    EvidenceUnknown,
    Facet,
    ForeignRoots,
    Kernel,
    KernelTwin,
    Record,
    RecordReused,
    RulingRequest,
    StoredEvidence,
    StoredKernel,
)
from memoryhub.lib.db import naming_errors
from memoryhub.lib.ids import new_id
from memoryhub.types.enums import Availability, EvidenceKind
from tests.cast import Cast, make_cast

NOW = datetime(2026, 5, 20, tzinfo=UTC)
HOUR = timedelta(hours=1)
NAMES = UUID("00000000-0000-7000-8000-000000000000")
PLAIN = DerivationRule(key="belief", principal_cap=0.95)


class Committed:
    """Run each operation of the stored kernel in a transaction of its own, as a use case would."""

    def __init__(self, kernel: StoredKernel) -> None:
        self._kernel = kernel

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(**given: Any) -> Any:
            with naming_errors(), tenant_context(self._kernel.tenant_id):
                return getattr(self._kernel, name)(**given)

        return call


class World:
    """Hold a kernel, and say records and evidence of one scope briefly."""

    def __init__(self, kernel: Kernel, cast: Cast) -> None:
        self.kernel = kernel
        self.scope = str(cast.project.pk)
        self.actor = str(cast.agent.pk)

    def record(self, key: str, text: str = "words", **changes: Any) -> Record:
        made = Record(
            key=key,
            scope=self.scope,
            actor=self.actor,
            sender=self.actor,
            source_type="message",
            trust="third_party",
            occurred_at=NOW,
            payload={"text": text},
            said={"payload": {"text": text}},
        )
        return replace(made, **changes)

    def append(self, key: str, text: str = "words", **changes: Any) -> str:
        return self.kernel.append_record(record=self.record(key, text, **changes), now=NOW).id

    def item(self, key: str, **changes: Any) -> EvidenceItem:
        made = EvidenceItem(
            key=key,
            kind=EvidenceKind.EVENT_SPAN,
            source=("event", name(key)),
            scope=self.scope,
            observed_at=NOW,
            quote=f"what {key} says",
        )
        return replace(made, **changes)

    def write(self, key: str, **changes: Any) -> str:
        return self.kernel.write_evidence(item=self.item(key, **changes), now=NOW).id

    def read(self, key: str) -> StoredEvidence:
        return self.kernel.read_evidence(keys=[key])[key]

    def rule(self, settles: str, winner: str | None, **changes: Any) -> RulingRequest:
        made = RulingRequest(
            key=str(new_id()),
            settles=frozenset(settles),
            winner=winner,
            decided_by=self.actor,
            scope=self.scope,
            at=NOW,
        )
        return replace(made, **changes)


def name(text: str) -> str:
    """Return an id that a short name stands for."""
    return str(uuid5(NAMES, text))


def open_world(store: str, cast: Cast) -> World:
    stored = StoredKernel(tenant_id=cast.tenant_id, digest_key=cast.caller.digest_key)
    kernel: Any = KernelTwin() if store == "twin" else Committed(stored)
    return World(kernel, cast)


@pytest.fixture(params=["stored", "twin"])
def world(request: pytest.FixtureRequest) -> World:
    return open_world(request.param, make_cast())


def test_a_record_is_appended_once_and_keeps_its_words(world: World) -> None:
    first = world.kernel.append_record(record=world.record("a"), now=NOW)
    again = world.kernel.append_record(record=world.record("a"), now=NOW + HOUR)
    assert (first.is_new, again.is_new, again.id) == (True, False, first.id)
    with pytest.raises(RecordReused):
        world.append("a", "other words")
    held = world.kernel.read_record(key="a")
    assert (held.id, held.payload, held.root, held.is_erased) == (first.id, {"text": "words"}, first.id, False)
    with pytest.raises(EvidenceUnknown):
        world.kernel.read_record(key="b")


def test_a_record_may_go_back_to_another(world: World) -> None:
    root = name("run")
    world.append("a", root=root)
    assert world.kernel.read_record(key="a").root == root
    world.write("e", record=world.append("a", root=root))
    assert world.kernel.lineage_of(key="e") == {root}


def test_evidence_is_a_set_with_stable_keys(world: World) -> None:
    first = world.kernel.write_evidence(item=world.item("e"), now=NOW)
    again = world.kernel.write_evidence(item=world.item("e"), now=NOW + HOUR)
    assert (first.is_new, again.is_new, again.id) == (True, False, first.id)
    others: list[dict[str, Any]] = [
        {"quote": "other words"},
        {"quote": None},
        {"source": ("event", name("another"))},
        {"source": ("document", name("e"))},
        {"kind": EvidenceKind.TOOL_RESULT},
        {"observed_at": NOW + HOUR},
        {"span": (0, 4)},
        {"position": "line 4"},
        {"roots": frozenset({name("root")})},
    ]
    for other in others:
        with pytest.raises(EvidenceReused):
            world.write("e", **other)
    assert world.read("e").quote == "what e says"


def test_roots_are_where_derivation_ends(world: World) -> None:
    record = world.append("a")
    world.write("a", record=record)
    world.write("b")
    world.write("c", roots=frozenset({name("x"), name("y")}))
    world.write("ab", derived_from=("a", "b", "a"))
    world.write("all", derived_from=("ab", "c"))
    assert world.kernel.lineage_of(key="a") == {record}
    assert world.kernel.lineage_of(key="b") == {name("b")}
    assert world.kernel.lineage_of(key="ab") == {record, name("b")}
    assert world.kernel.lineage_of(key="all") == world.read("all").roots == {record, name("b"), name("x"), name("y")}
    assert not world.kernel.write_evidence(item=world.item("ab", derived_from=("b", "a")), now=NOW).is_new
    with pytest.raises(EvidenceReused):
        world.write("ab", derived_from=("b",))


def test_derived_evidence_claims_no_other_roots(world: World) -> None:
    world.write("a")
    world.write("b", derived_from=("a",), roots=frozenset({name("a")}))
    assert world.kernel.lineage_of(key="b") == {name("a")}
    with pytest.raises(ForeignRoots):
        world.write("c", derived_from=("a",), roots=frozenset({name("a"), name("c")}))
    assert "c" not in world.kernel.read_evidence(keys=["c"])


def test_nothing_rests_on_itself_or_on_what_is_not_there(world: World) -> None:
    with pytest.raises(CyclicLineage):
        world.write("a", derived_from=("a",))
    with pytest.raises(EvidenceUnknown) as missing:
        world.write("a", derived_from=("b", "c"))
    assert missing.value.keys == ("b", "c")
    with pytest.raises(EvidenceUnknown):
        world.write("a", record=name("nobody"))
    assert world.kernel.read_evidence(keys=["a"]) == {}
    with pytest.raises(EvidenceUnknown):
        world.kernel.lineage_of(key="a")


def test_unknown_is_told_apart_from_unavailable(world: World) -> None:
    record = world.append("a")
    world.write("a", record=record)
    world.write("bare", record=record, quote=None)
    world.write("other")
    assert world.kernel.erase_record(record=record, by=world.actor, at=NOW) == 2
    assert world.kernel.erase_record(record=record, by=world.actor, at=NOW) == 0
    found = world.kernel.read_evidence(keys=["a", "bare", "other", "nobody"])
    assert {key: (one.availability, one.quote) for key, one in found.items()} == {
        "a": (Availability.ERASED, None),
        "bare": (Availability.ERASED, None),
        "other": (Availability.AVAILABLE, "what other says"),
    }


def test_erasing_a_body_leaves_the_envelope(world: World) -> None:
    record = world.append("a")
    world.write("a", record=record)
    world.write("b", derived_from=("a",))
    world.kernel.erase_record(record=record, by=world.actor, at=NOW)
    held = world.kernel.read_record(key="a")
    assert (held.id, held.occurred_at, held.root) == (record, NOW, record)
    assert (held.payload, held.is_erased) == (None, True)
    assert world.kernel.lineage_of(key="b") == {record}
    # There is nothing left to compare with: the key still stands for the first one.
    assert not world.kernel.append_record(record=world.record("a", "other words"), now=NOW).is_new
    assert not world.kernel.write_evidence(item=world.item("a", record=record, quote="other"), now=NOW).is_new
    with pytest.raises(EvidenceReused):
        world.write("a", record=record, position="elsewhere")


def believe(world: World, facets: list[Facet]) -> Facet:
    settled = arbitrate(facets=facets, arbitrations=world.kernel.list_rulings(scope=world.scope))
    return world.kernel.derive(facets=settled, rule=PLAIN, as_of=NOW)


def test_a_ruling_is_evidence_and_overturning_is_one_more(world: World) -> None:
    for key in "abc":
        world.write(key)
    facets = [
        Facet(key=key, weight=0.5, observed_at=NOW, roots=frozenset({name(key)}), principals=frozenset({key}))
        for key in "ab"
    ]
    assert believe(world, facets).independent_count == 2
    first = world.rule("ab", "a")
    made = world.kernel.arbitrate(ruling=first)
    assert world.kernel.arbitrate(ruling=replace(first, at=NOW + HOUR)) == made
    held = world.read(first.key)
    assert (held.kind, held.roots, held.availability) == (
        EvidenceKind.RULING,
        frozenset({first.key}),
        Availability.AVAILABLE,
    )
    found = believe(world, facets)
    assert (found.superseded_count, found.roots) == (1, frozenset({name("a"), first.key}))

    second = world.rule("ab", "b", at=NOW + HOUR)
    world.kernel.arbitrate(ruling=second)
    found = believe(world, facets)
    assert (found.superseded_count, found.roots) == (1, frozenset({name("b"), second.key}))
    third = world.kernel.arbitrate(ruling=world.rule("abc", None, at=NOW + HOUR))
    assert believe(world, facets).superseded_count == 2
    rulings = world.kernel.list_rulings(scope=world.scope)
    assert [(one.sequence, one.key, set(one.settles), one.winner) for one in rulings] == [
        (1, first.key, {"a", "b"}, "a"),
        (2, second.key, {"a", "b"}, "b"),
        (3, third.key, {"a", "b", "c"}, None),
    ]
    assert rulings[0] == made


def test_a_ruling_is_on_what_is_there_and_stands_for_itself(world: World) -> None:
    world.write("a")
    with pytest.raises(EvidenceUnknown) as missing:
        world.kernel.arbitrate(ruling=world.rule("ab", "a"))
    assert missing.value.keys == ("b",)
    ruling = world.rule("a", "a")
    world.kernel.arbitrate(ruling=ruling)
    with pytest.raises(EvidenceReused):
        world.kernel.arbitrate(ruling=replace(ruling, winner=None))
    assert len(world.kernel.list_rulings(scope=world.scope)) == 1


def test_derivation_is_of_a_set_and_closed(world: World) -> None:
    facets = [
        Facet(key=key, weight=weight, observed_at=NOW, roots=frozenset(roots), principals=frozenset({key}))
        for key, weight, roots in (("a", 0.3, "x"), ("b", 0.7, "y"), ("s", 0.9, "xy"))
    ]
    found = world.kernel.derive(facets=facets, rule=PLAIN, as_of=NOW)
    again = world.kernel.derive(facets=[*reversed(facets), *facets], rule=PLAIN, as_of=NOW)
    assert again == found
    assert (found.independent_count, found.support) == (2, 0.79)
    higher = world.kernel.derive(facets=[found], rule=replace(PLAIN, key="reflection"), as_of=NOW)
    assert (set(higher.roots), higher.weight, higher.independent_count) == ({"x", "y"}, 0.79, 2)


Step = tuple[Any, ...]
KEYS = st.sampled_from("abcd")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), KEYS, st.sampled_from(["words", "other"])),
        st.tuples(
            st.just("write"),
            KEYS,
            st.sampled_from(["", "", "a", "b", "c"]),  # the record it is taken from
            st.lists(KEYS, max_size=2),
            st.sampled_from(["", "", "xy"]),
            st.sampled_from(["words", "other", None]),
        ),
        st.tuples(st.just("rule"), st.sets(KEYS, min_size=1, max_size=2), st.booleans(), st.sampled_from("rst")),
        st.tuples(st.just("erase"), KEYS),
        st.tuples(st.just("read")),
    ),
    min_size=1,
    max_size=14,
)


class Play:
    """Take steps on one kernel, and tell what came of each in words that do not depend on its ids."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.records: dict[str, str] = {}
        self.shown: dict[str, str] = {}

    def take(self, step: Step) -> object:
        try:
            return getattr(self, f"_{step[0]}")(*step[1:])
        except (RecordReused, EvidenceReused, ForeignRoots, CyclicLineage) as refusal:
            return type(refusal).__name__
        except EvidenceUnknown as refusal:
            return "unknown", [self.shown.get(key, key) for key in refusal.keys]

    def _append(self, key: str, text: str) -> object:
        found = self.world.kernel.append_record(record=self.world.record(key, text), now=NOW)
        self.records[key] = found.id
        self.shown[found.id] = f"record {key}"
        return found.is_new, self.shown[found.id]

    def _write(self, key: str, record: str, below: list[str], roots: str, quote: str | None) -> object:
        item = self.world.item(
            key,
            record=self.records.get(record) if record else None,
            derived_from=tuple(below),
            roots=frozenset(map(name, roots)),
            quote=quote,
        )
        return self.world.kernel.write_evidence(item=item, now=NOW).is_new

    def _rule(self, settles: set[str], has_winner: bool, key: str) -> object:
        ruling = replace(self.world.rule("", None), key=name(key), settles=frozenset(settles))
        ruling = replace(ruling, winner=min(settles) if has_winner else None)
        return self._show_ruling(self.world.kernel.arbitrate(ruling=ruling))

    def _erase(self, key: str) -> object:
        if key not in self.records:
            return None
        return self.world.kernel.erase_record(record=self.records[key], by=self.world.actor, at=NOW)

    def _read(self) -> object:
        found = self.world.kernel.read_evidence(keys=[*"abcd", *map(name, "rst")])
        return {
            key: (
                one.kind,
                one.source,
                sorted(self.shown.get(root, root) for root in one.roots),
                one.availability,
                None if one.kind is EvidenceKind.RULING else one.quote,
            )
            for key, one in found.items()
        }, [self._show_ruling(one) for one in self.world.kernel.list_rulings(scope=self.world.scope)]

    def _show_ruling(self, one: Arbitration) -> object:
        return one.key, sorted(one.settles), one.winner, one.sequence


def test_the_twin_answers_as_the_store_does(at_scale: Callable[[int, int], int]) -> None:
    """Take the same random steps on both: every answer and every refusal is the same."""

    @settings(max_examples=at_scale(60, 1_000), deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
    @given(steps=STEPS)
    def play(steps: list[Step]) -> None:
        cast = make_cast()
        plays = [Play(open_world(store, cast)) for store in ("stored", "twin")]
        for step in [*steps, ("read",)]:
            stored, twin = (play.take(step) for play in plays)
            assert stored == twin, step

    play()
