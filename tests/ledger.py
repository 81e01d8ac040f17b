"""See that a tenant's ledger is clean: what every run of a promise has to leave behind."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.usecases.rederive import check_memories
from memoryhub.usecases.seal_ledger import seal_ledger
from memoryhub.usecases.verify_ledger import verify_ledger

PATIENCE = 30.0


def assert_ledger_is_clean(tenant_id: str, *, witnesses: list[Path] | None = None, is_quiet: bool = True) -> int:
    """Seal everything, verify it and derive every memory again: no finding and no difference; returns the entries.

    Without `witnesses` a fresh one is told of every seal. `is_quiet` says that nobody writes in this tenant any more,
    so that in the end every row is sealed; another test's transaction may hold the horizon back for a while.
    """
    with tempfile.TemporaryDirectory() as folder:
        told = witnesses or [Path(folder)]
        give_up = time.monotonic() + PATIENCE
        while True:
            seal_ledger(tenant_id=tenant_id, now=clock.now(), waits=True, witnesses=told)
            verified = verify_ledger(tenant_id=tenant_id, now=clock.now(), witnesses=told)
            assert verified.findings == []
            if not verified.pending or not is_quiet:
                break
            assert time.monotonic() < give_up, f"{verified.pending} rows are never sealed"
            time.sleep(0.05)
    assert list(check_memories(tenant_id=tenant_id)) == []
    with tenant_context(tenant_id, read_only=True):
        written = fetch_all(sql="SELECT count(*) FROM source_events WHERE tenant_id = %s", params=[tenant_id])[0][0]
    assert verified.entries >= written, "a ledger that nothing was entered in is not clean but empty"
    return verified.entries
