"""Beat seals every tenant; one whose witness cannot be written holds up no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from memoryhub.celery import app
from memoryhub.kernel.witness import WitnessFailure, name_witness, read_newest
from memoryhub.lib import clock
from memoryhub.tasks.looks import look_at_ledger
from memoryhub.usecases import seal_ledger as sealing
from tests.acts import state_fact
from tests.cast import make_cast


def test_a_look_seals_all_tenants_but_the_one_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    casts = [make_cast() for _ in range(3)]
    ours = {cast.tenant_id for cast in casts}
    for cast in casts:
        state_fact(cast, value="1")
    inner = sealing.seal_ledger

    def seal(*, tenant_id: str, **more: Any) -> list[Any]:
        return inner(tenant_id=tenant_id, waits=True, **more) if tenant_id in ours else []

    monkeypatch.setattr(sealing, "seal_ledger", seal)
    monkeypatch.setattr(settings, "WITNESSES", [tmp_path])
    failing = name_witness(folder=tmp_path, tenant_id=casts[0].tenant_id)
    failing.mkdir()
    look_at_ledger()
    told = {cast.tenant_id: name_witness(folder=tmp_path, tenant_id=cast.tenant_id) for cast in casts[1:]}
    for tenant_id, path in told.items():
        assert read_newest(path=path, tenant_id=tenant_id) is not None
    with pytest.raises(WitnessFailure):
        read_newest(path=failing, tenant_id=casts[0].tenant_id)
    failing.rmdir()
    look_at_ledger()
    known = read_newest(path=failing, tenant_id=casts[0].tenant_id)
    assert known is not None, "what was sealed without a witness is told by the next look"
    assert known.at <= clock.now()


def test_beat_looks_at_the_ledger() -> None:
    tasks = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert "memoryhub.tasks.looks.look_at_ledger" in tasks
    assert tasks <= set(app.tasks)
