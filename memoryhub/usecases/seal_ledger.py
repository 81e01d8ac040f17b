"""Seal: put what was committed under a seal, and tell the witness outside the database once that is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from django.conf import settings

from memoryhub.access.models import Tenant
from memoryhub.access.tenancy import tenant_context
from memoryhub.kernel import sealing
from memoryhub.kernel.witness import (
    WitnessFailure,
    WitnessLine,
    append_witness,
    name_witness,
    read_newest,
)
from memoryhub.lib.db import naming_errors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from memoryhub.kernel.seals import Seal

log = structlog.get_logger(__name__)


def seal_ledger(
    *, tenant_id: str, now: datetime, waits: bool = False, witnesses: Sequence[Path] | None = None
) -> list[Seal]:
    """Seal everything that can be sealed of one tenant, a transaction a seal; returns the new seals.

    Each seal is told to every witness after its commit; a witness that missed some, or is new, gets all it lacks.
    `witnesses` are folders; without it those of the settings.

    Raises:
        WitnessFailure: a witness could not be written; the seals stand, and the next call tells it.
        StoreFailure: the database could not be asked.
    """
    made: list[Seal] = []
    while True:
        with naming_errors(), tenant_context(tenant_id):
            seal = sealing.seal_ledger(tenant_id=tenant_id, now=now, waits=waits)
        if seal is None:
            break
        made.append(seal)
    for folder in settings.WITNESSES if witnesses is None else witnesses:
        _tell_witness(tenant_id=tenant_id, path=name_witness(folder=folder, tenant_id=tenant_id), made=made)
    return made


def _tell_witness(*, tenant_id: str, path: Path, made: Sequence[Seal]) -> None:
    """Append what the witness lacks, and what was made now, even where it knows another seal of that number."""
    known = read_newest(path=path, tenant_id=tenant_id)
    if known is not None and made and known.number == made[0].number - 1:
        lacking = list(made)
    else:
        with naming_errors(), tenant_context(tenant_id, read_only=True):
            lacking = sealing.list_seals(tenant_id=tenant_id, after=known.number if known else 0)
    numbers = {seal.number for seal in lacking}
    lines = [
        WitnessLine(seal.number, seal.digest, seal.sealed_at)
        for seal in (*lacking, *(seal for seal in made if seal.number not in numbers))
    ]
    if lines:
        append_witness(path=path, tenant_id=tenant_id, lines=lines)


def seal_all(*, now: datetime) -> int:
    """Seal the ledgers of all tenants; returns how many seals were made. One that fails holds up no other.

    Raises:
        StoreFailure: the database could not be asked.
    """
    with naming_errors():
        tenants = [str(pk) for pk in Tenant.objects.order_by("id").values_list("id", flat=True)]
    made = 0
    for tenant_id in tenants:
        try:
            made += len(seal_ledger(tenant_id=tenant_id, now=now))
        except WitnessFailure as error:
            log.exception("a witness could not be written", tenant=tenant_id, error=str(error))
    return made
