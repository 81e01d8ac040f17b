"""Cognitive types: the shipped ones, those of installed packages, and those an application registers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from memoryhub.types import cognitive
from memoryhub.types.cognitive import (
    SHIPPED,
    BadCognitiveType,
    CognitiveTypeTaken,
    Decay,
    UnknownCognitiveType,
    get_decay,
    is_cognitive_type,
    list_cognitive_types,
    register_cognitive_type,
)
from memoryhub.types.enums import MemoryType

WORKING = Decay(a=1.0, tau=timedelta(hours=1), b=1.0)


@pytest.fixture(autouse=True)
def fresh_registry() -> Iterator[None]:
    cognitive._load_types.cache_clear()
    yield
    cognitive._load_types.cache_clear()


def install(monkeypatch: pytest.MonkeyPatch, name: str, value: str = "tests.unit.test_cognitive:WORKING") -> None:
    asked: list[str] = []

    def entry_points(*, group: str) -> EntryPoints:
        asked.append(group)
        return EntryPoints([EntryPoint(name=name, value=value, group=group)])

    monkeypatch.setattr(cognitive, "entry_points", entry_points)


def test_the_shipped_types_are_those_of_the_enum() -> None:
    assert set(SHIPPED) == set(MemoryType)
    assert list_cognitive_types() == tuple(MemoryType)


def test_an_installed_package_brings_a_type(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "working")
    assert get_decay(memory_type="working") == WORKING
    assert list_cognitive_types() == (*MemoryType, "working")


@pytest.mark.parametrize(
    ("name", "value", "refusal"),
    [
        ("semantic", "tests.unit.test_cognitive:WORKING", CognitiveTypeTaken),
        ("Working", "tests.unit.test_cognitive:WORKING", BadCognitiveType),
        ("working", "memoryhub.types.enums:MemoryType", BadCognitiveType),
    ],
)
def test_an_installed_package_replaces_none_and_brings_constants(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, refusal: type[Exception]
) -> None:
    install(monkeypatch, name, value)
    with pytest.raises(refusal):
        list_cognitive_types()


def test_a_registered_type_is_known_until_the_process_ends() -> None:
    assert not is_cognitive_type(name="rumour")
    with pytest.raises(UnknownCognitiveType):
        get_decay(memory_type="rumour")
    register_cognitive_type(name="rumour", decay=WORKING)
    register_cognitive_type(name="rumour", decay=WORKING)
    assert get_decay(memory_type="rumour") == WORKING
    with pytest.raises(CognitiveTypeTaken):
        register_cognitive_type(name="rumour", decay=Decay(a=1.0, tau=timedelta(hours=2), b=1.0))


@pytest.mark.parametrize("name", ["", "Working", "1st", "a-b", "a b", "x" * 41, "工作"])
def test_a_type_has_a_plain_name(name: str) -> None:
    with pytest.raises(BadCognitiveType):
        register_cognitive_type(name=name, decay=WORKING)
