"""Processes that are killed with signal 9: forked from the warm test process, each with connections of its own.

A piece of work runs in a child as a web or worker process would run it. The child is killed by its own hand at a
named point, or from outside after a while. What it answered before it died comes back through a pipe, as an answer
that a client has read.
"""

from __future__ import annotations

import importlib
import os
import pickle
import select
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn

from django.db import connections

from memoryhub.lib import clock

PATIENCE = 60.0
_LOAD = 65536


@dataclass(frozen=True, slots=True)
class Point:
    """Name a place in the code: before or after a call of `name` as `module` knows it."""

    module: str
    name: str
    is_after: bool = False

    def __str__(self) -> str:
        """Say it in words."""
        return f"{'after' if self.is_after else 'before'} {self.name}"


@dataclass(frozen=True, slots=True)
class Ended:
    """Hold how a child ended: the answer that got out, and whether it was killed."""

    answer: Any
    was_killed: bool


def run_in_child(
    work: Callable[[], Any], *, point: Point | None = None, within: float | None = None, later: timedelta = timedelta(0)
) -> Ended:
    """Do a piece of work in a child; kill it at a point, or after `within` seconds, or let it end.

    `later` sets the child's clock forward, so that leases of those who were killed before have run out.
    """
    connections.close_all()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _be_the_child(work, point, later, writing)
    os.close(writing)
    if within is not None:
        time.sleep(within)
        os.kill(pid, signal.SIGKILL)
    said = _read_all(reading, pid)
    _, status = os.waitpid(pid, 0)
    was_killed = os.WIFSIGNALED(status)
    answer = pickle.loads(said) if said else None  # noqa: S301  our own child's words
    assert was_killed or not isinstance(answer, _Failure), answer
    return Ended(answer, was_killed)


@dataclass(frozen=True, slots=True)
class _Failure:
    text: str


def _be_the_child(work: Callable[[], Any], point: Point | None, later: timedelta, writing: int) -> NoReturn:
    try:
        real_now = clock.now
        clock.now = lambda: real_now() + later
        if point is not None:
            _lay_mine(point)
        said = work()
    except BaseException:  # noqa: BLE001  whatever it is, the parent is to hear of it
        said = _Failure(traceback.format_exc())
    os.write(writing, pickle.dumps(said))
    os._exit(0)


def _lay_mine(point: Point) -> None:
    module = importlib.import_module(point.module)
    inner = getattr(module, point.name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not point.is_after:
            os.kill(os.getpid(), signal.SIGKILL)
        inner(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(module, point.name, call)


def _read_all(reading: int, pid: int) -> bytes:
    said = b""
    deadline = time.monotonic() + PATIENCE
    try:
        while True:
            ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                os.kill(pid, signal.SIGKILL)
                raise AssertionError("a child neither ended nor came to its point")
            piece = os.read(reading, _LOAD)
            if not piece:
                return said
            said += piece
    finally:
        os.close(reading)
