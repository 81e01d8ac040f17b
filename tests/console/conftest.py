"""A reviewer's browser and a case that waits for them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client

from memoryhub.access.models import Principal
from tests.acts import state_fact
from tests.cast import EARLY, PASSWORD, Cast, make_cast


@pytest.fixture(scope="session", autouse=True)
def static_folder() -> None:
    """Make the folder that static files are collected into, as a start does."""
    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)


def sign_in(principal: Principal) -> Client:
    """Sign somebody in as the form does."""
    client = Client()
    answer = client.post("/sign-in/", {"username": principal.username, "password": PASSWORD})
    assert answer.status_code == 302, answer.content
    return client


@pytest.fixture
def cast() -> Cast:
    """Make a tenant of its own."""
    return make_cast()


@pytest.fixture
def contested(cast: Cast) -> Cast:
    """Let Bob replace a value and Carol put it back: the case stands in the queue."""
    state_fact(cast, value="4.1", by=cast.carol.username)
    state_fact(cast, value="4.1.1", at=EARLY + timedelta(days=33), by=cast.bob.username)
    state_fact(cast, value="4.1", at=EARLY + timedelta(days=43), by=cast.carol.username)
    return cast


@pytest.fixture
def rita(contested: Cast) -> Client:
    """Sign in the reviewer who stated nothing herself."""
    return sign_in(contested.rita)
