"""Start and stop processes that never outlive the process that started them."""

import ctypes
import fcntl
import multiprocessing
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from memoryhub.embedded.paths import Account

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class AccountOptions(TypedDict, total=False):
    """Name the account of a new process, in the words of `subprocess`."""

    user: int
    group: int
    extra_groups: list[str | int]


class StillHeld(Exception):
    """Report that a process of an earlier run has not ended yet."""


@dataclass
class Child:
    """Describe one process and hold it while it runs.

    `lock` names a file that the process and all its descendants hold locked until the last of
    them has ended, so that a successor never meets a predecessor on the same data.
    `death_signal` reaches the process when the thread that started it ends, however it ends.
    """

    name: str
    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    account: Account | None = None
    log: Path | None = None
    lock: Path | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals = signal.SIGKILL
    patience: float = 20.0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process in a group of its own, away from the terminal's signals.

        Raises:
            StillHeld: if a process of an earlier run still holds the lock.
        """
        lock = None if self.lock is None else take_lock(path=self.lock)
        log = None if self.log is None else _open_log(self.log)
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own programs, no shell
                self.argv,
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=None if log is None else subprocess.STDOUT,
                pass_fds=() if lock is None else (lock,),
                process_group=0,
                preexec_fn=bind_to_parent(self.death_signal),  # noqa: PLW1509 - no thread runs yet
                **account_options(self.account),
            )
        finally:
            for descriptor in (lock, log):
                if descriptor is not None:
                    os.close(descriptor)

    def is_running(self) -> bool:
        """Tell whether the process runs."""
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        """Ask the process to end, and end it when it takes longer than its patience."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(self.stop_signal)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=self.patience)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def read_log_tail(self) -> str:
        """Return the last lines that the process wrote."""
        if self.log is None or not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])


def bind_to_parent(death_signal: signal.Signals) -> Callable[[], None]:
    """Return a function that ties a new process to the one that starts it."""
    parent = os.getpid()

    def bind() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != parent:  # it ended before the tie was made
            os._exit(1)

    return bind


def bind_worker_to_parent() -> None:
    """Tie a worker, started by a server's own `multiprocessing`, to that server."""
    _libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        os._exit(1)


def account_options(account: Account | None) -> AccountOptions:
    """Return the options that make a new process run as `account`."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def keep_quiet(text: str, /) -> None:
    """Say nothing: for callers whom nobody watches."""
    del text


def take_lock(*, path: Path) -> int:
    """Return a descriptor that holds a process's lock until it is closed.

    Raises:
        StillHeld: if a process of an earlier run holds it.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise StillHeld(f"{path} is held by a process of an earlier run.") from None
    return descriptor


def _open_log(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
