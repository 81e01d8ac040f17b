"""Prune work: delete the rows of what ended long ago, in bounded batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryhub.lib.db import naming_errors
from memoryhub.outbox.operations import delete_ended

if TYPE_CHECKING:
    from datetime import datetime

BATCH = 5000


@dataclass(frozen=True, slots=True)
class Pruned:
    """Hold how many rows one batch deleted."""

    jobs: int
    rows: int


def prune_work(*, before: datetime, limit: int = BATCH) -> Pruned:
    """Delete one batch of jobs and delivered outbox rows that ended before an instant, of all tenants.

    Each batch commits by itself, so that it can be stopped and taken up again. What is dead or was discarded stays.

    Raises:
        StoreFailure: the database could not be asked; this batch deleted nothing.
    """
    with naming_errors():
        return Pruned(*delete_ended(before=before, limit=limit))
