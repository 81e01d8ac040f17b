"""Workers: told to look once something was accepted. The jobs are rows; a call never waits for the broker.

A thread of the process publishes. Looks that are asked for while it is busy become one, and a broker that is away
holds up the thread alone: beat's look finds the rows.
"""

from __future__ import annotations

import threading

import structlog

from memoryhub.celery import app

JOBS = "memoryhub.tasks.looks.look_at_jobs"
OUTBOX = "memoryhub.tasks.looks.look_at_outbox"
_EXPIRES = 5.0  # a look that waited longer is dropped: a later one sees the same rows
_HOLD_OFF = 1.0  # seconds until the next try, once the broker did not answer

log = structlog.get_logger(__name__)


class _Bell:
    """Hold which looks are asked for, and the thread that publishes them."""

    def __init__(self) -> None:
        self._asked: set[str] = set()
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None

    def ring(self, look: str) -> None:
        """Ask for a look; returns at once."""
        with self._change:
            self._asked.add(look)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._publish_all, name="call workers", daemon=True)
                self._thread.start()
            self._change.notify()

    def _publish_all(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._asked)
                looks, self._asked = sorted(self._asked), set()
            if not publish_looks(looks=looks):
                threading.Event().wait(_HOLD_OFF)


_bell = _Bell()


def call_workers(*, look: str) -> None:
    """Tell the workers to look; never fails and never waits."""
    _bell.ring(look)


def publish_looks(*, looks: list[str]) -> bool:
    """Publish one message a look; returns whether the broker took them."""
    try:
        for look in looks:
            app.send_task(look, expires=_EXPIRES, retry=False, ignore_result=True)
    except Exception as error:  # noqa: BLE001  whatever the broker's client raises: beat's look finds the rows
        log.warning("broker is away", error=type(error).__name__)
        return False
    return True
