"""Real sessions that take one step at a time, in an order of choice.

A session has a thread and a connection of its own, so that a step which waits for a lock holds up nobody else.
Its script is an ordinary call, as a rule a whole use case; it stops where `pause_around` put a pause into it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from types import ModuleType, TracebackType
from typing import Any, Self

import pytest
from django.db import connection

from memoryhub.lib.db import fetch_all

Script = Callable[[], object]
STEPS = 4
PATIENCE = 30.0
_POLL = 0.001
_here = threading.local()


class SessionClosed(Exception):
    """Say that the test ended while a script was paused."""


def pause_once(label: str) -> None:
    """Let the session that runs this end its step here, the first time it comes by."""
    session = getattr(_here, "session", None)
    if session is not None and label not in session.passed:
        session.passed.add(label)
        session.pause()


def pause_around(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, *, before: bool = True, after: bool = False
) -> None:
    """Put a pause before or after what a use case calls by this name."""
    inner = getattr(module, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if before:
            pause_once(f"before {name}")
        answer = inner(*args, **kwargs)
        if after:
            pause_once(f"after {name}")
        return answer

    monkeypatch.setattr(module, name, call)


def list_orders(steps: int = STEPS) -> list[tuple[int, ...]]:
    """Return every order in which two sessions of so many steps can take turns: 70 for four and four."""
    turns = range(2 * steps)
    return [tuple(0 if turn in first else 1 for turn in turns) for first in combinations(turns, steps)]


class Session:
    """Take the steps of a script in a thread with its own connection."""

    def __init__(self, *, search_path: str = "public") -> None:
        """Connect; `search_path` says which functions are called."""
        self.error: Exception | None = None
        self.pid = 0
        self.passed: set[str] = set()
        self._search_path = search_path
        self._changed = threading.Condition()
        self._owed = 0
        self._is_open = True
        self._script: Script | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        """Start the thread."""
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self.pid, timeout=PATIENCE)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Let the thread end and close its connection."""
        with self._changed:
            self._is_open = False
            self._changed.notify_all()
        self._thread.join(timeout=PATIENCE)

    @property
    def is_idle(self) -> bool:
        """Tell whether every step that was asked for is done."""
        return self._owed == 0

    def begin(self, script: Script) -> None:
        """Take up a new script; the last one is over."""
        assert self.is_idle
        assert self._script is None, "the last script is not over"
        self.error = None
        self.passed = set()
        self._script = script

    def pause(self) -> None:
        """End the step here; go on with the next one. Called by the script itself."""
        self._end_step()
        if not self._await_step():
            raise SessionClosed

    def step(self) -> None:
        """Ask for one more step, and do not wait for it."""
        with self._changed:
            self._owed += 1
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Wait a while for the steps that were asked for."""
        with self._changed:
            self._changed.wait_for(lambda: self._owed == 0, timeout=seconds)

    def _work(self) -> None:
        _here.session = self
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SET search_path TO {self._search_path}")
                cursor.execute("SELECT pg_backend_pid()")
                pid = cursor.fetchone()[0]
            with self._changed:
                self.pid = pid
                self._changed.notify_all()
            while self._await_step():
                if self._script is not None:
                    self._run(self._script)
                self._end_step()
        finally:
            connection.close()

    def _run(self, script: Script) -> None:
        try:
            script()
        except Exception as error:  # noqa: BLE001  a refusal is the end of the script; the test looks at it
            self.error = error
        self._script = None

    def _await_step(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._owed or not self._is_open)
            return self._owed > 0

    def _end_step(self) -> None:
        with self._changed:
            self._owed -= 1
            self._changed.notify_all()


def take_turns(*, order: Sequence[int], sessions: Sequence[Session]) -> int:
    """Let sessions step in this order; one that waits for a lock takes its steps as soon as it can.

    Returns how many turns had to wait.
    """
    waited = 0
    for who in order:
        sessions[who].step()
        waited += _settle(sessions)
    for session in sessions:
        session.wait(PATIENCE)
        assert session.is_idle, "a session waits for ever"
    return waited


def _settle(sessions: Sequence[Session]) -> int:
    """Wait until every session has taken its steps or waits for a lock that another one holds."""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        busy = [session for session in sessions if not session.is_idle]
        if not busy:
            return 0
        busy[0].wait(_POLL)
        still = [session for session in busy if not session.is_idle]
        if still and still == [session for session in sessions if not session.is_idle] and _all_wait(still):
            return 1
    raise AssertionError("a step neither ends nor waits for a lock")


def _all_wait(sessions: Sequence[Session]) -> bool:
    rows = fetch_all(
        sql="SELECT count(*) FROM unnest(%s::int[]) AS pid WHERE cardinality(pg_blocking_pids(pid)) > 0",
        params=[[session.pid for session in sessions]],
    )
    return bool(rows[0][0] == len(sessions))
