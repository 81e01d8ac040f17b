"""Give each case a tenant of its own, and its agent."""

import pytest

from tests.api.client import Api
from tests.cast import Cast, make_cast


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def api(cast: Cast) -> Api:
    return Api(cast.secret)
