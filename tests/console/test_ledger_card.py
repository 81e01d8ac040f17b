"""The dashboard tells an operator how the ledger stands, and nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from memoryhub.access.operations import grant_tenant_rights
from memoryhub.kernel.witness import WitnessLine, append_witness, name_witness
from memoryhub.lib import clock
from memoryhub.usecases.seal_ledger import seal_ledger
from tests.acts import state_fact
from tests.cast import Cast
from tests.console.conftest import sign_in

TELLS = {
    "agrees": "the witness saw this seal",
    "lags": "the witness is not told of it yet",
    "missing": "there is no witness",
    "differs": "the witness saw another seal: verify the ledger",
}


@pytest.mark.parametrize("said", TELLS)
def test_an_operator_sees_what_the_witness_says(
    said: str, contested: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "WITNESSES", [tmp_path])
    grant_tenant_rights(tenant=contested.tenant, principal=contested.rita, rights=("operate",))
    operator = sign_in(contested.rita)
    assert "Nothing is sealed yet" in operator.get("/").content.decode()
    made = seal_ledger(tenant_id=contested.tenant_id, now=clock.now(), waits=True)
    path = name_witness(folder=tmp_path, tenant_id=contested.tenant_id)
    if said == "missing":
        path.unlink()
    elif said == "lags":
        state_fact(contested, value="5", cycle="5")
        seal_ledger(tenant_id=contested.tenant_id, now=clock.now(), waits=True, witnesses=[tmp_path / "another"])
    elif said == "differs":
        forged = WitnessLine(made[-1].number, "0" * 64, clock.now())
        append_witness(path=path, tenant_id=contested.tenant_id, lines=[forged])
    page = operator.get("/").content.decode()
    assert [name for name, text in TELLS.items() if text in page] == [said]
    assert "<b>Seal " in page


def test_who_does_not_operate_sees_nothing_of_it(contested: Cast) -> None:
    page = sign_in(contested.alice).get("/").content.decode()
    assert "ledger-h" not in page
