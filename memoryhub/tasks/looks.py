"""Look for what is due; while there was work, look again. A worker that is told to end begins nothing new."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import structlog
from celery.signals import worker_shutting_down

from memoryhub.celery import app
from memoryhub.lib import clock
from memoryhub.usecases.relay import relay_outbox
from memoryhub.usecases.run_jobs import run_due_jobs
from memoryhub.usecases.seal_ledger import seal_all
from memoryhub.usecases.shift import Shift

if TYPE_CHECKING:
    from celery import Task

EXPIRES = 5.0  # a look that waited longer is dropped: a later one sees the same rows

_is_over = threading.Event()
_jobs = Shift(now=clock.now, goes_on=lambda: not _is_over.is_set())
_outbox = Shift(now=clock.now, goes_on=lambda: not _is_over.is_set())
log = structlog.get_logger(__name__)


@worker_shutting_down.connect
def end_shift(**_: object) -> None:
    """Let running batches finish the piece they are at, and hand back the rest."""
    _is_over.set()


@app.task
def look_at_jobs() -> None:
    """Do one batch of due jobs, and pass on what they changed."""
    if _jobs.goes_on() and run_due_jobs(now=clock.now(), shift=_jobs):
        _look_again(look_at_jobs)
        _look_again(look_at_outbox)


@app.task
def look_at_outbox() -> None:
    """Deliver one batch of the outbox."""
    if _outbox.goes_on() and relay_outbox(now=clock.now(), shift=_outbox):
        _look_again(look_at_outbox)


@app.task
def look_at_ledger() -> None:
    """Seal what was committed since the last seal, and tell the witness."""
    if not _is_over.is_set():
        seal_all(now=clock.now())


def _look_again(look: Task[[], None]) -> None:
    """Ask for another look; a broker that is away costs nothing, since beat asks every second."""
    if _is_over.is_set():
        return
    try:
        look.apply_async(expires=EXPIRES, retry=False)
    except Exception as error:  # noqa: BLE001  whatever the broker's client raises
        log.warning("broker is away", error=type(error).__name__)
