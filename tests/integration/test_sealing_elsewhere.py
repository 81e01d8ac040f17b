"""What another server wrote is sealed by the one it was restored to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memoryhub.access.tenancy import tenant_context
from memoryhub.kernel import sealing
from memoryhub.kernel.leaves import NEWEST_SCHEME, SCHEMES
from memoryhub.kernel.seals import Seal
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from tests.acts import state_fact
from tests.cast import EARLY, Cast, make_cast
from tests.conftest import ConnectAs
from tests.ledger import assert_ledger_is_clean


def test_what_came_from_another_server_is_sealed_in_pieces_and_then_left_alone(
    connect_as: ConnectAs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restored database has transactions with higher numbers than its new server has ever given."""
    cast = make_cast()
    for day in range(3):
        state_fact(cast, value=f"4.1.{day}", by=cast.alice.username, at=EARLY + timedelta(days=day))
    with connect_as("superuser") as superuser:
        superuser.execute("SET LOCAL session_replication_role = replica")
        for leaf in SCHEMES[NEWEST_SCHEME]:
            superuser.execute(
                f"UPDATE {leaf.table} SET written_in = written_in + 1000000000000 WHERE tenant_id = %s".encode(),
                [cast.tenant_id],
            )
        superuser.commit()
    sealed = []
    while seal := seal_few(cast):
        sealed.append(seal.entries)
    assert len(sealed) > 3
    state_fact(cast, value="4.2", by=cast.alice.username, at=EARLY + timedelta(days=9))
    asked: list[Any] = []

    def listen(*, sql: str, params: Any) -> Any:
        asked.append(params)
        return fetch_all(sql=sql, params=params)

    monkeypatch.setattr(sealing, "fetch_all", listen)
    assert_ledger_is_clean(cast.tenant_id)
    looked = [params["ceiling"] for params in asked if isinstance(params, dict) and "from" in params]
    assert looked, "nobody looked for new rows"
    assert set(looked) == {2**63 - 1}


def seal_few(cast: Cast) -> Seal | None:
    """Seal at most seven rows."""
    with tenant_context(cast.tenant_id):
        return sealing.seal_ledger(tenant_id=cast.tenant_id, now=clock.now(), limit=7, waits=True)
