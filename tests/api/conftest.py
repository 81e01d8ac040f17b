"""Give each test a tenant of its own and the two ways to call: as its agent, and as a stranger's."""

import pytest
from pytest_django import DjangoDbBlocker

from tests.api.client import Api
from tests.cast import Cast, make_cast


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def api(cast: Cast) -> Api:
    return Api(cast.secret)


@pytest.fixture
def stranger(cast: Cast) -> Api:
    """Call as an agent of the same tenant that holds no right anywhere."""
    return Api(cast.stranger_secret)


@pytest.fixture
def foreigner() -> Api:
    """Call as an agent of another tenant, whose scopes have the same names."""
    return Api(make_cast().secret)


@pytest.fixture(scope="session")
def shared_cast(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Cast:  # noqa: ARG001 - needs a database
    """Make one tenant for tests whose calls are refused, or are their own by a new event id."""
    with django_db_blocker.unblock():
        return make_cast()


@pytest.fixture
def shared(shared_cast: Cast) -> Api:
    """Call as the agent of the shared tenant."""
    return Api(shared_cast.secret)
