"""Keep one installation's processes running, and end them all together."""

import fcntl
import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from memoryhub.embedded.paths import Home
from memoryhub.embedded.postgres import start_postgres
from memoryhub.embedded.processes import Child, StillHeld, keep_quiet
from memoryhub.embedded.valkey import start_valkey

LONGEST_PAUSE = 30.0
STEADY_AFTER = 60.0
PORT_PATIENCE = 20.0
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class HomeInUse(Exception):
    """Report that another process serves the same folder."""


class PortTaken(Exception):
    """Report that another program listens on the address."""


class Interrupted(Exception):
    """Report that somebody asked for the end while a start was under way."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Hold a folder for one supervisor.

    `follows_a_crash` tells that the last holder ended without tidying up.
    """

    descriptor: int
    follows_a_crash: bool


@contextmanager
def claim_home(*, home: Home, address: str) -> Iterator[Claim]:
    """Hold the folder until the block ends, and leave word of who holds it.

    Raises:
        HomeInUse: if another process holds it; the message says which, and where it serves.
    """
    home.make_folders()
    descriptor = os.open(home.root / "serve.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HomeInUse(_describe_holder(home, os.read(descriptor, 1000))) from None
        follows_a_crash = os.fstat(descriptor).st_size > 0
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"process": os.getpid(), "address": address}).encode())
        yield Claim(descriptor=descriptor, follows_a_crash=follows_a_crash)
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _describe_holder(home: Home, note: bytes) -> str:
    holder = json.loads(note or b"{}")
    process, address = holder.get("process", "unknown"), holder.get("address", "")
    return f"{home.root} is in use already by process {process} ({address})."


def check_port(*, host: str, port: int, patience: float = 0.0, say: Callable[[str], None] = keep_quiet) -> None:
    """Make sure that nobody listens on the address.

    Args:
        host: The address to listen on.
        port: The port to listen on.
        patience: Seconds to wait for a listener of an earlier run to end.
        say: Takes word of the wait, once.

    Raises:
        PortTaken: if somebody listens there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    deadline = time.monotonic() + patience
    waits = False
    while True:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as reason:
                if time.monotonic() >= deadline:
                    raise PortTaken(f"{host}:{port} cannot be used: {reason.strerror}.") from None
            else:
                return
        if not waits:
            say(f"waiting for {host}:{port}, which a web server of an earlier run may still hold")
        waits = True
        time.sleep(0.2)


@contextmanager
def run_servers(*, home: Home, database: bool = True, broker: bool = True) -> Iterator[list[Child]]:
    """Run the embedded servers until the block ends.

    Call it in the main thread: the servers end when the thread that started them ends.
    """
    servers: list[Child] = []
    try:
        if database:
            servers.append(start_postgres(home=home))
        if broker:
            servers.append(start_valkey(home=home))
        yield servers
    finally:
        for server in reversed(servers):
            server.stop()


@dataclass
class Keeper:
    """Watch one child, and start it again when it ends by itself."""

    child: Child
    pause: float = 1.0
    started: float = 0.0
    due: float | None = None


@dataclass
class Supervisor:
    """Start children in order, restart those that end, stop them in the opposite order."""

    say: Callable[[str], None]
    keepers: list[Keeper] = field(default_factory=list)
    stopping: bool = False

    def listen_for_stop(self) -> None:
        """Take the first signal to stop as a request; a second one changes nothing."""
        for number in STOP_SIGNALS:
            is_under_nohup = number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN
            if not is_under_nohup:
                signal.signal(number, self._request_stop)

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.stopping = True

    def adopt(self, child: Child) -> None:
        """Watch a child that runs already."""
        self.keepers.append(Keeper(child=child, started=time.monotonic()))

    def start(self, child: Child) -> None:
        """Start a child and watch it."""
        child.start()
        self.adopt(child)

    def wait_until(self, *, ready: Callable[[], bool], patience: float) -> bool:
        """Watch the children until `ready` answers true; False when the patience ended first.

        Raises:
            Interrupted: if somebody asked for the end meanwhile.
        """
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if self.stopping:
                raise Interrupted
            if ready():
                return True
            self.tend()
            time.sleep(0.1)
        return False

    def watch(self) -> None:
        """Tend the children until somebody asks for the end."""
        while not self.stopping:
            self.tend()
            time.sleep(0.2)

    def tend(self) -> None:
        """Start again what ended, each time after a longer pause."""
        now = time.monotonic()
        for keeper in self.keepers:
            if keeper.child.is_running():
                if now - keeper.started > STEADY_AFTER:
                    keeper.pause = 1.0
            elif keeper.due is None:
                keeper.due = now + keeper.pause
                self.say(
                    f"{keeper.child.name} ended by itself; starting it again"
                    f" in {keeper.pause:.0f} s (see {keeper.child.log})"
                )
                keeper.pause = min(2 * keeper.pause, LONGEST_PAUSE)
            elif now >= keeper.due:
                try:
                    keeper.child.start()
                except StillHeld:
                    keeper.due = now + 0.5
                else:
                    keeper.due, keeper.started = None, now

    def stop(self) -> None:
        """Stop the children, the last one first."""
        for keeper in reversed(self.keepers):
            keeper.child.stop()
        self.keepers.clear()
