"""`manage.py serve` keeps every process together, and its data over everything."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryhub.embedded import postgres
from memoryhub.embedded.paths import PROJECT, Home
from memoryhub.embedded.supervisor import run_servers

pytestmark = pytest.mark.own_servers
PATIENCE = 150.0


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(root=tmp_path / "home")
    yield home
    remove(home)


def remove(home: Home) -> None:
    """Remove what the servers of a test's home left outside the test's own folder."""
    for folder in (home.store, home.sockets):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve(home: Home, port: int | str, **environment: str) -> subprocess.Popen[str]:
    """Start `serve` with nothing in its environment but the folder and what is given."""
    return subprocess.Popen(
        [sys.executable, str(PROJECT / "manage.py"), "serve", f"--port={port}"],
        cwd="/",
        env={"MEMORYHUB_HOME": str(home.root), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def reset(home: Home, confirm: str) -> str:
    """Return what `reset` says."""
    return subprocess.run(
        [sys.executable, str(PROJECT / "manage.py"), "reset", "--confirm", confirm],
        env={"MEMORYHUB_HOME": str(home.root), "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def wait_for_answer(process: subprocess.Popen[str], port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while not answers(port):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "serve did not come up"
        time.sleep(0.2)


def find_processes(home: Home) -> list[str]:
    """Return every living process that belongs to the home, by its command line and environment."""
    marks = (f"MEMORYHUB_HOME={home.root}".encode(), bytes(home.store))
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
        except OSError:  # it ended meanwhile, or is not ours to read
            continue
        if marks[0] in environment or marks[1] in command:
            found.append(command.replace(b"\0", b" ").decode())
    return found


def find_web(supervisor: int) -> int:
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    (web,) = [int(child) for child in children if b"granian" in Path(f"/proc/{child}/cmdline").read_bytes()]
    return web


def wait_for_silence(home: Home) -> list[str]:
    deadline = time.monotonic() + 15.0
    while (left := find_processes(home)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def test_serve_survives_kills_and_stops_clean(home: Home, port: int) -> None:
    first = serve(home, port)
    try:
        wait_for_answer(first, port)
        running = "\n".join(find_processes(home))
        for program in ("bin/postgres", "valkey-server", "granian", "celery worker", "beat"):
            assert program.split()[-1] in running, program

        second = serve(home, port + 1)
        words, _ = second.communicate(timeout=PATIENCE)
        assert second.returncode == 1
        assert f"in use already by process {first.pid} (http://127.0.0.1:{port})" in words
        assert "nothing was deleted" in reset(home, "yes")

        with postgres.connect_as_superuser(home=home, database="memoryhub") as connection:
            connection.execute("CREATE TABLE kept AS SELECT 'row' AS word")
    finally:
        first.kill()
        first.communicate()
    assert wait_for_silence(home) == []

    again = serve(home, port)
    try:
        wait_for_answer(again, port)
        with postgres.connect_as_superuser(home=home, database="memoryhub") as connection:
            assert connection.execute("SELECT word FROM kept").fetchall() == [("row",)]
        os.kill(find_web(again.pid), signal.SIGKILL)
        time.sleep(1.0)
        wait_for_answer(again, port)
    finally:
        again.send_signal(signal.SIGTERM)
        words, _ = again.communicate(timeout=PATIENCE)
    assert again.returncode == 0
    assert "web ended by itself; starting it again" in words
    assert words.splitlines()[-2:] == ["stopping", "stopped"]
    for step in ("starting the database", "migrating", "starting web, worker and beat"):
        assert step in words
    assert find_processes(home) == []

    assert "make reset CONFIRM=yes" in reset(home, "")
    assert (home.store / "postgres").exists()
    assert "begins anew" in reset(home, "yes")
    assert not home.root.exists()
    assert not (home.store / "postgres").exists()


def test_a_taken_port_is_said_before_anything_starts(home: Home, port: int) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
        listener.listen()
        refused = serve(home, port)
        words, _ = refused.communicate(timeout=PATIENCE)
    assert refused.returncode == 1
    assert (
        f"127.0.0.1:{port} cannot be used: Address already in use. Choose another one: make run PORT=…, or --port."
        in words
    )
    assert not (home.store / "postgres").exists()


@pytest.mark.parametrize("port", ["99999", "0", "http", "-1"])
def test_what_is_no_port_is_said_in_one_line(home: Home, port: str) -> None:
    process = serve(home, port)
    words, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert words == f"CommandError: '{port}' is no port: PORT= and --port take a number from 1 to 65535.\n"


def test_external_servers_are_used_and_left_alone(home: Home, tmp_path: Path, port: int) -> None:
    elsewhere = Home(root=tmp_path / "elsewhere")
    elsewhere.make_folders()
    known = elsewhere.secrets
    with run_servers(home=elsewhere) as servers:
        process = serve(
            home,
            port,
            DATABASE_URL=f"postgresql://memoryhub_app:{known.app}@/memoryhub?host={elsewhere.sockets}",
            OWNER_DATABASE_URL=f"postgresql://memoryhub_owner:{known.owner}@/memoryhub?host={elsewhere.sockets}",
            BROKER_URL=f"redis+socket://{elsewhere.valkey_socket}",
            MEMORYHUB_SECRET_KEY=known.django,
            MEMORYHUB_DIGEST_SECRET=known.digest,
        )
        try:
            wait_for_answer(process, port)
            assert not (home.store / "postgres").exists()
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert all(server.is_running() for server in servers)
        with postgres.connect_as_superuser(home=elsewhere, database="memoryhub") as connection:
            assert connection.execute("SELECT count(*) > 0 FROM django_migrations").fetchone() == (True,)
    remove(elsewhere)
