"""The dashboard's delivery card counts what waits and what is dead, and shows it to operators alone."""

from __future__ import annotations

import re

from memoryhub.access.operations import grant_tenant_rights
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.outbox.models import OutboxRow, ProcessingJob
from memoryhub.usecases.relay import relay_outbox
from tests.cast import Cast
from tests.console.conftest import sign_in
from tests.integration.test_job_queue import say_often


def read_numbers(page: str) -> list[int]:
    """Return the numbers of the card: rows to tell, jobs to do, dead letters."""
    card = page.split('aria-labelledby="delivery-h"')[1].split("</section>", maxsplit=1)[0]
    return [int(number) for number in re.findall(r"<b>(\d+)</b>", card)]


def test_the_card_counts_every_state_once(contested: Cast) -> None:
    grant_tenant_rights(tenant=contested.tenant, principal=contested.alice, rights=("operate",))
    alice = sign_in(contested.alice)
    assert read_numbers(alice.get("/").content.decode()) == [3, 0, 0]
    say_often(contested, 6)
    with tenant_context(contested.tenant_id):
        rows = list(OutboxRow.objects.order_by("id").values_list("pk", flat=True))
        OutboxRow.objects.filter(pk=rows[0]).update(state="dead")
        jobs = list(ProcessingJob.objects.order_by("id").values_list("pk", flat=True))
        ProcessingJob.objects.filter(pk__in=jobs[:5]).update(state="running")
        for job, state in zip(jobs[1:5], ("retrying", "succeeded", "dead", "dead"), strict=True):
            ProcessingJob.objects.filter(pk=job).update(state=state)
        ProcessingJob.objects.filter(pk=jobs[4]).update(state="discarded")
    page = alice.get("/").content.decode()
    assert read_numbers(page) == [2, 3, 2], "a discarded job and a dead row wait for nobody"
    assert "a person must look" in page
    while relay_outbox(now=clock.now()):
        pass
    assert read_numbers(alice.get("/").content.decode()) == [0, 3, 2]


def test_others_do_not_see_it(contested: Cast) -> None:
    assert "delivery-h" not in sign_in(contested.bob).get("/").content.decode()
