"""Two worlds with a row in every table, one a tenant, for attacks on the tables by SQL."""

from __future__ import annotations

import pytest
from pytest_django import DjangoDbBlocker

from tests.invariants.world import World, make_world


@pytest.fixture(scope="session")
def worlds(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> tuple[World, World]:  # noqa: ARG001
    """Make both worlds once; every attack on them is rolled back."""
    with django_db_blocker.unblock():
        return make_world(), make_world()


@pytest.fixture
def world(worlds: tuple[World, World]) -> World:
    """Return the world that is attacked."""
    return worlds[0]
