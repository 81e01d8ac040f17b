"""The sample's loader: through the API like any agent, and a second time without effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from types import TracebackType
from typing import TypeVar

import httpx
import pytest
from django.core.management import CommandError, call_command
from rich.progress import Progress

from memoryhub.access import operations
from memoryhub.access.callers import describe_person
from memoryhub.access.models import ApiToken, Principal, Scope, Tenant
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.management.sample import facts, loader, provisioning
from memoryhub.review.models import ReviewItem
from memoryhub.types.enums import ReviewKind
from memoryhub.types.ontology import Ontology, read_ontology, write_ontology
from memoryhub.usecases.declare import declare_ontology, read_declared
from memoryhub.usecases.run_jobs import run_due_jobs
from memoryhub.wsgi import application

T = TypeVar("T")
R = TypeVar("R")


class Worker(AbstractContextManager["Worker"]):
    """Stand where the loader waits for the worker: do the jobs, then let it ask."""

    def __init__(self, asking_at_once: int) -> None:
        assert asking_at_once > 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Have nothing to clean up."""

    def map(self, ask: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        while run_due_jobs(now=clock.now()):
            pass
        return map(ask, items)


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve the API in this process, do the jobs here, and send one release cycle instead of all."""

    def open_client(*, url: str, host: str, token: str) -> httpx.Client:
        assert url == "http://127.0.0.1:8000"
        return httpx.Client(
            transport=httpx.WSGITransport(app=application),
            base_url="http://127.0.0.1/api/v1/",
            headers={"Authorization": f"Bearer {token}", "Host": host},
        )

    cycle = [change for change in facts.read_changes() if (change.product, change.cycle) == ("django", "4.1")]
    monkeypatch.setattr(loader, "read_changes", lambda: cycle)
    monkeypatch.setattr(loader, "open_client", open_client)
    monkeypatch.setattr(loader, "ThreadPoolExecutor", Worker)


def read_everything() -> dict[str, object]:
    tenant = Tenant.objects.get(slug=provisioning.TENANT)
    counted: dict[str, object] = {"principals": Principal.objects.filter(tenant=tenant).count()}
    with tenant_context(tenant.pk, read_only=True):
        for table in (
            "source_events",
            "memory_candidates",
            "merge_decisions",
            "memory_versions",
            "scopes",
            "api_tokens",
        ):
            counted[table] = fetch_all(sql=f"SELECT count(*) FROM {table} WHERE tenant_id = %s", params=[tenant.pk])
        counted["heads"] = fetch_all(
            sql="SELECT id, version FROM memory_heads WHERE tenant_id = %s ORDER BY id", params=[tenant.pk]
        )
    return counted


def test_the_sample_fills_both_queues_and_loads_once(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_sample")
    first, told = read_everything(), capsys.readouterr().out
    waiting = provisioning.count_waiting()
    assert waiting == {ReviewKind.CONFLICT: 2, ReviewKind.CONFIRMATION: 4}
    assert "mei" in told
    assert "reviewer" in told

    call_command("load_sample")
    assert read_everything() == first
    assert "new events                         │     0" in capsys.readouterr().out
    assert provisioning.count_waiting() == waiting


def test_what_others_send_meanwhile_is_not_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("load_sample")
    capsys.readouterr()
    send = loader._send_events

    def send_and_be_joined(items: Sequence[loader.Item], clients: dict[str, httpx.Client], progress: Progress) -> None:
        send(items, clients, progress)
        another = {**items[0].event, "event_id": f"another-{new_id()}"}
        assert clients[items[0].sender].post("events", json=another).is_success

    monkeypatch.setattr(loader, "_send_events", send_and_be_joined)
    call_command("load_sample")
    told = capsys.readouterr().out
    assert "new events                         │     0" in told
    assert f"events known from an earlier load  │ {len(loader.list_items()):>5}" in told


def test_a_completed_load_is_not_sent_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("load_sample")
    capsys.readouterr()
    sent: list[str] = []
    open_client = loader.open_client

    def watch(*, url: str, host: str, token: str) -> httpx.Client:
        sent.append(token)
        return open_client(url=url, host=host, token=token)

    monkeypatch.setattr(loader, "open_client", watch)
    call_command("load_sample", unless_loaded=True)
    told = capsys.readouterr().out
    assert sent == []
    assert "mei" in told
    assert "http://127.0.0.1:8000/admin/" in told
    assert "The sample is loaded already." in told

    fewer = facts.read_changes()[:9]
    monkeypatch.setattr(loader, "read_changes", lambda: fewer)
    call_command("load_sample", unless_loaded=True)
    assert sent != []
    assert "joined an open conflict" in " ".join(capsys.readouterr().out.split())


def test_a_revoked_token_stays_revoked(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_sample")
    token = ApiToken.objects.get(principal__username=provisioning.PLANNER, name="sample")
    capsys.readouterr()
    operations.revoke_token(token=token, now=clock.now())
    try:
        call_command("load_sample", unless_loaded=True)
        assert "Token of planner: revoked" in capsys.readouterr().out
    finally:
        ApiToken.objects.filter(pk=token.pk).update(revoked_at=None)


def test_nobody_but_people_may_review_and_guesses_wait_for_their_owner() -> None:
    call_command("load_sample")
    tenant = Tenant.objects.get(slug=provisioning.TENANT)
    with tenant_context(tenant.pk, read_only=True):
        for item in ReviewItem.objects.filter(tenant=tenant, kind=ReviewKind.CONFIRMATION).select_related("scope"):
            assert item.scope.kind == "user"
            assert item.scope.owner is not None
        machines = Principal.objects.filter(tenant=tenant).exclude(kind="human")
        for scope in Scope.objects.filter(tenant=tenant):
            for machine in machines:
                assert not machine.has_perm("memoryhub.review_memory", scope)
    assert {machine.username for machine in machines} == set(provisioning.MACHINES)


def test_a_refusal_is_said_and_ends_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*, url: str, host: str, token: str) -> httpx.Client:
        del token
        answer = httpx.MockTransport(lambda _: httpx.Response(503, text="later"))
        return httpx.Client(transport=answer, base_url=url, headers={"Host": host})

    monkeypatch.setattr(loader, "open_client", refuse)
    with pytest.raises(CommandError, match="POST events was answered 503: later"):
        call_command("load_sample")


def test_the_samples_keys_come_from_its_file_and_a_change_of_them_stays() -> None:
    """Somebody makes a key sensitive: a later start does not take that back."""
    call_command("load_sample")
    tenant = Tenant.objects.get(slug=provisioning.TENANT)
    lead = Principal.objects.select_related("tenant").get(tenant=tenant, username=provisioning.LEAD)
    caller = describe_person(principal=lead)
    wanted = read_ontology(text=(facts.FOLDER / "ontology.json").read_text(encoding="utf-8"))
    held = read_declared(caller=caller)
    assert {entry.fact_key for entry in wanted.predicates} <= {entry.fact_key for entry in held.predicates}
    changed = next(entry for entry in held.predicates if entry.fact_key == "release.lts")
    sensitive = replace(changed, sensitive=not changed.sensitive)
    declare_ontology(caller=caller, wanted=Ontology(predicates=(sensitive,)), now=clock.now())
    call_command("load_sample")
    assert sensitive in read_declared(caller=caller).predicates
    declare_ontology(caller=caller, wanted=Ontology(predicates=(changed,)), now=clock.now())


def test_the_samples_file_is_as_an_export_writes_it() -> None:
    text = (facts.FOLDER / "ontology.json").read_text(encoding="utf-8")
    assert write_ontology(ontology=read_ontology(text=text)) == text
