"""Give the tests their servers, their database and their sizes."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Literal

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from django.test.utils import setup_databases
from pytest_django import DjangoDbBlocker

from memoryhub.embedded import postgres
from memoryhub.embedded.supervisor import HomeInUse, claim_home, run_servers
from tests.promises import PromiseReport, Promises, read_scale

Role = Literal["app", "owner", "superuser"]
ConnectAs = Callable[[Role], psycopg.Connection[Any]]
PURE_FOLDERS = {"unit", "property", "architecture"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--promises`."""
    parser.addoption("--promises", default="", help="run only these promises: T3,T4")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin that tells which promises are held."""
    wanted = [name for name in config.getoption("--promises").split(",") if name]
    config.pluginmanager.register(Promises(wanted=wanted), "promises")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let every test outside the pure folders reach the database as the application's role.

    Such a test commits for real and nothing is flushed: each makes a tenant of its own.
    """
    folder = item.path.relative_to(item.config.rootpath / "tests").parts[0]
    has_own = any(item.get_closest_marker(name) for name in ("django_db", "own_servers"))
    if folder not in PURE_FOLDERS and not has_own:
        item.add_marker(pytest.mark.django_db(transaction=True, databases=["default"]))


@pytest.fixture(scope="session")
def servers() -> Iterator[None]:
    """Run the embedded servers of the tests' home, or use those that run there already."""
    with contextlib.ExitStack() as stack:
        if not settings.EXTERNAL_DATABASE:
            try:
                stack.enter_context(claim_home(home=settings.HOME, address="tests"))
            except HomeInUse:
                assert postgres.answers(home=settings.HOME)
            else:
                stack.enter_context(run_servers(home=settings.HOME, broker=not settings.EXTERNAL_BROKER))
        yield


@pytest.fixture(scope="session")
def django_db_setup(
    servers: None,  # noqa: ARG001 - the database needs its server
    django_test_environment: None,  # noqa: ARG001 - Django's own preparation comes first
    django_db_blocker: DjangoDbBlocker,
    django_db_keepdb: bool,
) -> None:
    """Make the tests' database as its owner; the next run drops it, so it can be looked at."""
    with django_db_blocker.unblock():
        setup_databases(
            verbosity=0,
            interactive=False,
            aliases={"owner": None},  # the stubs want a mapping; only its keys are looked at
            serialized_aliases=[],
            keepdb=django_db_keepdb,
        )
        for alias in ("default", "owner"):
            assert connections[alias].settings_dict["NAME"].startswith("test_")
        with connections["default"].cursor() as cursor:
            cursor.execute(
                "SELECT rolsuper OR rolbypassrls OR EXISTS ("
                "  SELECT 1 FROM pg_class WHERE relowner = pg_roles.oid"
                ") FROM pg_roles WHERE rolname = current_user"
            )
            assert cursor.fetchone() == (False,), "the application's role has too much power"
        connections.close_all()


@pytest.fixture
def connect_as(django_db_setup: None) -> Iterator[ConnectAs]:  # noqa: ARG001 - it makes the database
    """Open real sessions on the tests' database as a role of choice; closed after the test."""
    with contextlib.ExitStack() as stack:

        def connect(role: Role) -> psycopg.Connection[Any]:
            name = connections["owner"].settings_dict["NAME"]
            if role == "superuser":
                connection: psycopg.Connection[Any] = postgres.connect_as_superuser(home=settings.HOME, database=name)
                connection.autocommit = False
            else:
                where = connections["owner" if role == "owner" else "default"].settings_dict
                connection = psycopg.connect(
                    host=where["HOST"],
                    port=where["PORT"] or None,
                    dbname=name,
                    user=where["USER"],
                    password=where["PASSWORD"],
                )
            stack.callback(connection.close)
            return connection

        yield connect


@pytest.fixture
def promise_report(request: pytest.FixtureRequest) -> PromiseReport:
    """Say what this test counted; it stands on the line of each promise that the test shows."""
    promises = request.config.pluginmanager.get_plugin("promises")
    assert isinstance(promises, Promises)
    names = [str(mark.args[0]) for mark in request.node.iter_markers("promise")]

    def report(*, count: int, what: str) -> None:
        for name in names:
            promises.tallies[name].counted[what] += count

    return report


@pytest.fixture(scope="session")
def at_scale() -> Callable[[int, int], int]:
    """Choose a size: `at_scale(ci, nightly)`, by MEMORYHUB_TEST_SCALE."""
    is_nightly = read_scale() == "nightly"

    def choose(ci: int, nightly: int) -> int:
        return nightly if is_nightly else ci

    return choose
