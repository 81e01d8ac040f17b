"""Trigger, granularity, forgetting, projection, and the registry that names them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from memoryhub.policy import registry
from memoryhub.policy.forgetting import fade_confidence, find_fading
from memoryhub.policy.granularity import GranularityPolicy, choose_level, is_time_to_reflect
from memoryhub.policy.merge import decide
from memoryhub.policy.projection import ProjectionPolicy, RecalledFacts, value_memory
from memoryhub.policy.trigger import EventFacts, list_extractors
from memoryhub.types.enums import CandidateKind, MemoryType, Modality, ScopeKind

YEAR = timedelta(days=365)


@pytest.fixture(autouse=True)
def _fresh_registry() -> Iterator[None]:
    registry.load_policies.cache_clear()
    yield
    registry.load_policies.cache_clear()


def test_an_event_with_a_body_is_looked_at_once_by_each_extractor() -> None:
    message = EventFacts(source_type="message", has_body=True)
    assert list_extractors(event=message, active=["rules", "openai", "rules"]) == ("openai", "rules")
    for quiet in (
        replace(message, has_body=False),
        replace(message, is_replay=True),
        replace(message, source_type="retrieval"),
    ):
        assert list_extractors(event=quiet, active=["rules"]) == ()


def test_each_kind_of_candidate_has_a_level() -> None:
    assert choose_level(kind=CandidateKind.PREFERENCE) is MemoryType.SEMANTIC
    assert choose_level(kind=CandidateKind.EXPERIENCE) is MemoryType.EPISODIC
    assert all(choose_level(kind=kind) in MemoryType for kind in CandidateKind)


def test_reflection_waits_for_enough_that_is_new() -> None:
    policy = GranularityPolicy(reflect_after=3)
    assert not is_time_to_reflect(held=5, reflected=3, policy=policy)
    assert is_time_to_reflect(held=6, reflected=3, policy=policy)


@pytest.mark.parametrize(
    ("modality", "confidence", "reason"),
    [
        (Modality.BELIEVED, 0.9, ""),
        (Modality.POSSIBLE, 0.15, ""),
        (Modality.POSSIBLE, 0.14, "forgotten"),
        (Modality.DISPUTED, 0.0, ""),
        (Modality.DOUBTED, 0.1, ""),
        (Modality.REFUTED, 0.0, "refuted"),
    ],
)
def test_what_is_weak_fades_and_what_is_contested_shows(modality: Modality, confidence: float, reason: str) -> None:
    assert find_fading(modality=modality, confidence=confidence, epsilon=0.15) == reason


def test_confidence_fades_by_type() -> None:
    def fade(kind: MemoryType) -> float:
        return fade_confidence(confidence=0.8, memory_type=kind, age=3 * YEAR)

    assert fade(MemoryType.EPISODIC) < 0.15 < fade(MemoryType.SEMANTIC) <= 0.8


FACTS = RecalledFacts(
    relevance=0.8,
    confidence=0.9,
    modality=Modality.BELIEVED,
    memory_type=MemoryType.SEMANTIC,
    scope_kind=ScopeKind.USER,
    age=timedelta(0),
)
PROJECTION = ProjectionPolicy()


def test_value_is_the_product_of_its_parts() -> None:
    worth = value_memory(facts=FACTS, policy=PROJECTION)
    assert worth.value == pytest.approx(0.72)
    assert (worth.closeness, worth.recency, worth.exclusion) == (1.0, 1.0, "")
    for weaker in (
        replace(FACTS, relevance=0.7),
        replace(FACTS, confidence=0.8),
        replace(FACTS, scope_kind=ScopeKind.ORGANIZATION),
        replace(FACTS, age=20 * YEAR),
    ):
        assert value_memory(facts=weaker, policy=PROJECTION).value < worth.value


def test_what_is_bound_to_the_task_outranks_what_is_more_relevant() -> None:
    bound = replace(FACTS, relevance=0.1, is_bound_to_task=True)
    ranks = [value_memory(facts=facts, policy=PROJECTION).rank() for facts in (FACTS, bound)]
    assert ranks[1] > ranks[0]


def test_a_dispute_is_not_hidden_by_its_opposition() -> None:
    disputed = replace(FACTS, modality=Modality.DISPUTED, confidence=0.0)
    worth = value_memory(facts=disputed, policy=PROJECTION)
    assert worth.exclusion == ""
    assert worth.value > 0
    faded = replace(FACTS, modality=Modality.POSSIBLE, confidence=0.1)
    assert value_memory(facts=faded, policy=PROJECTION).exclusion == "forgotten"


def test_the_registry_names_every_shipped_policy() -> None:
    assert registry.get_policy(kind="merge", version="v1") is decide
    assert {kind for kind, _ in registry.load_policies()} == {
        "trigger",
        "admission",
        "granularity",
        "forgetting",
        "merge",
        "projection",
    }
    with pytest.raises(registry.UnknownPolicy):
        registry.get_policy(kind="merge", version="v0")


def install(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    entry = EntryPoint(name=name, value="memoryhub.policy.trigger:list_extractors", group="g")
    monkeypatch.setattr(registry, "entry_points", lambda *, group: EntryPoints([entry]))  # noqa: ARG005


def test_an_installed_package_adds_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "trigger/shop-1")
    assert registry.get_policy(kind="trigger", version="shop-1") is list_extractors


def test_an_installed_package_replaces_none(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "merge/v1")
    with pytest.raises(registry.PolicyTaken):
        registry.load_policies()
