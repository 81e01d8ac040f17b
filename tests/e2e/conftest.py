"""Serve the tests' database as the product does, and open browsers on it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from django.conf import settings
from django.db import connections
from playwright.sync_api import Browser, sync_playwright
from psycopg.conninfo import make_conninfo

from memoryhub.access.models import Principal
from memoryhub.embedded.paths import PROJECT
from memoryhub.embedded.processes import Child
from memoryhub.management.commands.serve import answers
from tests.cast import Cast, make_cast
from tests.e2e.browsing import Tab, launch_chromium, open_context, open_tab

HOST = "127.0.0.1"
OpenTab = Callable[..., Tab]


@pytest.fixture(scope="session")
def address(django_db_setup: None) -> Iterator[str]:  # noqa: ARG001 - it makes the database
    """Serve the tests' database with collected files and as the application's role, until the last test."""
    environment = describe_server()
    manage = [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
    subprocess.run(manage, cwd=PROJECT, env=environment, check=True)
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    web = Child(
        name="web",
        argv=[
            *(sys.executable, "-m", "granian", "--interface", "wsgi", "memoryhub.wsgi:application"),
            *("--host", HOST, "--port", str(port), "--blocking-threads", "4", "--no-ws", "--log-level", "warning"),
        ],
        folder=PROJECT,
        environment=environment,
        log=settings.HOME.logs / "e2e-web.log",
    )
    web.start()
    try:
        deadline = time.monotonic() + 60
        while not answers(host=HOST, port=port):
            assert web.is_running(), web.read_log_tail()
            assert time.monotonic() < deadline, web.read_log_tail()
            time.sleep(0.1)
        yield f"http://{HOST}:{port}"
    finally:
        web.stop()


def describe_server() -> dict[str, str]:
    """Return the environment of a server on the tests' database, with the keys that the tests use."""
    urls = {}
    for alias in ("default", "owner"):
        where = connections[alias].settings_dict
        urls[alias] = make_conninfo(
            host=where["HOST"],
            port=where["PORT"] or None,
            dbname=connections["owner"].settings_dict["NAME"],
            user=where["USER"],
            password=where["PASSWORD"],
        )
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.e2e.settings",
        "MEMORYHUB_HOME": str(settings.HOME.root),
        "MEMORYHUB_PROCESS": "web",
        "MEMORYHUB_SECRET_KEY": settings.SECRET_KEY,
        "MEMORYHUB_DIGEST_SECRET": settings.DIGEST_SECRET,
        "DATABASE_URL": urls["default"],
        "OWNER_DATABASE_URL": urls["owner"],
        "BROKER_URL": settings.CELERY_BROKER_URL,
    }


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium for one file of tests.

    Playwright keeps an event loop in this thread, which Django would take for an asynchronous caller.
    """
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        chromium = launch_chromium(playwright)
        yield chromium
        chromium.close()


@pytest.fixture
def open_as(browser: Browser, address: str) -> Iterator[OpenTab]:
    """Open a browser of somebody's own; at the end none of them may have complained."""
    tabs: list[Tab] = []
    with ExitStack() as stack:

        def open_for(principal: Principal | None = None, *, has_scripts: bool = True) -> Tab:
            context = stack.enter_context(open_context(browser, address=address, has_scripts=has_scripts))
            tabs.append(open_tab(context, address=address, principal=principal))
            return tabs[-1]

        yield open_for
        complaints = [complaint for tab in tabs for complaint in tab.complaints]
        assert complaints == []


@pytest.fixture
def cast() -> Cast:
    """Make a tenant of its own."""
    return make_cast()
