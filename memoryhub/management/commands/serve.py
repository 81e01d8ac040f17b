"""Run the whole product on one machine."""

import argparse
import os
import sys
from http.client import HTTPConnection, HTTPException
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from memoryhub.embedded.paths import PROJECT, Home, UnusableFolder
from memoryhub.embedded.postgres import ServerFailed, start_postgres
from memoryhub.embedded.processes import Child
from memoryhub.embedded.supervisor import (
    PORT_PATIENCE,
    HomeInUse,
    Interrupted,
    PortTaken,
    Supervisor,
    check_port,
    claim_home,
)
from memoryhub.embedded.valkey import start_valkey

WEB_PATIENCE = 60.0
WEB_WORKERS = 2
WEB_THREADS = 4
JOB_THREADS = 4
LARGEST_PORT = 65535


class Command(BaseCommand):
    """Supervise database, broker, web, worker and beat as children of this process."""

    help = "Run database, broker, web, worker and beat until interrupted."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Take the address, and whether to bring the sample in."""
        default = os.environ.get("MEMORYHUB_PORT", "8000")
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", default=default, help="port to listen on")
        parser.add_argument("--with-sample", action="store_true", help="bring in the sample data")

    def handle(self, **options: Any) -> None:
        """Serve until interrupted; every process is gone when it returns."""
        host, port, home = options["host"], read_port(options["port"]), settings.HOME
        supervisor = Supervisor(say=self._say)
        supervisor.listen_for_stop()
        address = f"http://{host}:{port}"
        try:
            with claim_home(home=home, address=address) as claim:
                patience = PORT_PATIENCE if claim.follows_a_crash else 0.0
                check_port(host=host, port=port, patience=patience, say=self._say)
                try:
                    self._start(supervisor=supervisor, home=home, host=host, port=port)
                    self._say(f"memoryhub is at {address}  (Ctrl-C stops it)")
                    if options["with_sample"]:
                        self._load_sample(supervisor=supervisor, home=home, address=address)
                    supervisor.watch()
                except Interrupted:
                    pass
                finally:
                    self._say("stopping")
                    supervisor.stop()
                    self._say("stopped")
        except HomeInUse as reason:
            raise CommandError(f"{reason} Stop it first, or set MEMORYHUB_HOME.") from None
        except PortTaken as reason:
            raise CommandError(f"{reason} Choose another one: make run PORT=…, or --port.") from None
        except (ServerFailed, UnusableFolder) as reason:
            raise CommandError(str(reason)) from None

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()

    def _start(self, *, supervisor: Supervisor, home: Home, host: str, port: int) -> None:
        if not settings.EXTERNAL_DATABASE:
            supervisor.adopt(start_postgres(home=home, say=self._say))
        if not settings.EXTERNAL_BROKER:
            supervisor.adopt(start_valkey(home=home, say=self._say))
        self._say("migrating")
        call_command("migrate", interactive=False, verbosity=0)
        connections.close_all()
        call_command("collectstatic", interactive=False, verbosity=0)
        self._say("starting web, worker and beat")
        children = describe_children(home=home, host=host, port=port)
        for child in children:
            supervisor.start(child)

        def is_up() -> bool:
            return answers(host=host, port=port)

        if not supervisor.wait_until(ready=is_up, patience=WEB_PATIENCE):
            raise ServerFailed(f"The web server did not answer.\n{children[0].read_log_tail()}")

    def _load_sample(self, *, supervisor: Supervisor, home: Home, address: str) -> None:
        loader = Child(
            name="sample",
            argv=[sys.executable, str(PROJECT / "manage.py"), "load_sample", "--unless-loaded", "--url", address],
            folder=PROJECT,
            environment=describe_environment(home=home, process="command"),
        )
        loader.start()
        try:
            while loader.is_running():
                supervisor.wait_until(ready=lambda: not loader.is_running(), patience=60.0)
        finally:
            loader.stop()
        if loader.process is not None and loader.process.returncode != 0:
            self._say("The sample was not loaded; the next start tries again.")


def read_port(text: str, /) -> int:
    """Return the port that a person named.

    Raises:
        CommandError: it is no port.
    """
    port = int(text) if text.isascii() and text.isdecimal() else 0
    if not 1 <= port <= LARGEST_PORT:
        raise CommandError(f"{text!r} is no port: PORT= and --port take a number from 1 to {LARGEST_PORT}.")
    return port


def describe_environment(*, home: Home, process: str) -> dict[str, str]:
    """Return the environment of a child: ours, with its home and its kind of process."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
        "MEMORYHUB_HOME": str(home.root),
        "MEMORYHUB_PROCESS": process,
        "PYTHONUNBUFFERED": "1",
    }


def describe_children(*, home: Home, host: str, port: int) -> list[Child]:
    """Return the product's own processes, in the order in which they start."""

    def describe(name: str, *argv: str) -> Child:
        return Child(
            name=name,
            argv=[sys.executable, "-m", *argv],
            folder=PROJECT,
            environment=describe_environment(home=home, process=name),
            log=home.logs / f"{name}.log",
        )

    celery = ("celery", "--app", "memoryhub.celery")
    return [
        describe(
            "web",
            *("granian", "--interface", "wsgi", "memoryhub.wsgi:application"),
            *("--host", host, "--port", str(port)),
            *("--workers", str(WEB_WORKERS), "--blocking-threads", str(WEB_THREADS)),
            *("--respawn-failed-workers", "--no-ws", "--log-level", "warning"),
        ),
        describe(
            "worker",
            *(*celery, "worker", "--pool", "threads", "--concurrency", str(JOB_THREADS)),
            *("--loglevel", "WARNING", "--without-gossip", "--without-mingle"),
        ),
        describe(
            "beat",
            *(*celery, "beat", "--loglevel", "WARNING", "--pidfile", ""),
            *("--schedule", str(home.root / "beat-schedule")),
        ),
    ]


def answers(*, host: str, port: int) -> bool:
    """Tell whether the web server can serve a request."""
    connection = HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", "/readyz", headers={"Host": settings.ALLOWED_HOSTS[0]})
        return connection.getresponse().status == 200  # noqa: PLR2004 - HTTP's own number
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
