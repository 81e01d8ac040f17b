"""Dead letters wait for a person, who puts them back or gives them up; nothing goes silently."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any, NoReturn

import pytest
from django.core.management import CommandError, call_command

from memoryhub.access.callers import Caller
from memoryhub.access.operations import grant_tenant_rights
from memoryhub.access.queries import TenantForbidden
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.memory.models import MemoryCandidate
from memoryhub.outbox.models import OutboxRow, ProcessingJob
from memoryhub.usecases import relay, run_jobs
from memoryhub.usecases.dead_letters import (
    Handled,
    NoteTooLong,
    ReasonMissing,
    discard_dead_letters,
    redrive_dead_letters,
    see_dead_letters,
)
from memoryhub.usecases.prune_work import Pruned, prune_work
from memoryhub.usecases.relay import relay_outbox
from tests.acts import state_fact
from tests.cast import Cast, make_cast
from tests.integration.test_job_queue import say_often
from tests.integration.test_jobs import LANGUAGE, ask, list_jobs, say, work

EXTRACT = "extract:LookupError"
CONSOLIDATE = "consolidate:LookupError"
OUTBOX = "outbox:search:LookupError"


def fail(**_: object) -> NoReturn:
    """Fail as something that nobody expected does."""
    message = "words that must not be kept"
    raise LookupError(message)


@pytest.fixture
def cast() -> Cast:
    """A cast in which Alice may operate the tenant."""
    cast = make_cast()
    grant_tenant_rights(tenant=cast.tenant, principal=cast.alice, rights=("operate",))
    return cast


@pytest.fixture
def operator(cast: Cast) -> Caller:
    return cast.person(cast.alice)


def let_jobs_die(cast: Cast, kind: str) -> None:
    """Let the tenant's waiting jobs of a kind use up their last attempt now."""
    with tenant_context(cast.tenant_id):
        waiting = ProcessingJob.objects.filter(kind=kind, state__in=["queued", "retrying"])
        waiting.update(state="running")
        running = ProcessingJob.objects.filter(kind=kind, state="running")
        running.update(state="dead", attempts=8, last_error="LookupError", ended_at=clock.now())


def let_rows_die(cast: Cast) -> None:
    """Let the tenant's waiting rows of the outbox use up their last attempt now."""
    with tenant_context(cast.tenant_id):
        OutboxRow.objects.filter(state="waiting").update(state="dead", attempts=8, last_error="search:LookupError")


def list_audit(cast: Cast) -> list[Any]:
    """Return what was done with dead letters, by whom and why."""
    return ask(
        cast,
        "SELECT action, outcome, reason, principal_id::text, jsonb_array_length(object_ids->'letters')"
        " FROM audit_events WHERE action LIKE 'dead_letter.%%' ORDER BY id",
    )


def test_they_are_seen_by_what_failed(cast: Cast, operator: Caller) -> None:
    say_often(cast, 3)
    let_jobs_die(cast, "extract")
    state_fact(cast, value=1)
    let_rows_die(cast)
    found = see_dead_letters(caller=operator)
    assert [(one.fingerprint, one.count) for one in found] == [(EXTRACT, 3), (OUTBOX, 1)]
    assert found[0].oldest <= found[0].newest
    assert found[1].example_of == ask(cast, "SELECT id::text FROM memory_heads")[0][0]


def test_a_job_that_is_put_back_has_all_its_attempts_and_is_done(cast: Cast, operator: Caller) -> None:
    say(cast, LANGUAGE)
    let_jobs_die(cast, "extract")
    work(cast)
    assert list_jobs(cast) == [("dead", 8, "LookupError")]
    for changed in (1, 0):
        handled = redrive_dead_letters(caller=operator, fingerprint=EXTRACT, reason="cause_fixed", now=clock.now())
        assert handled == Handled(EXTRACT, changed=changed, rejected_candidates=0, left=0)
        assert list_jobs(cast) == [("queued", 0, "LookupError")]
    work(cast)
    assert list_jobs(cast) == [("succeeded", 1, "")]
    assert list_audit(cast) == [("dead_letter.redriven", "redriven", "cause_fixed", operator.principal_id, 1)]


def test_a_row_that_is_put_back_is_delivered(cast: Cast, operator: Caller) -> None:
    state_fact(cast, value=1)
    let_rows_die(cast)
    while relay_outbox(now=clock.now()):
        pass
    assert ask(cast, "SELECT count(*) FROM search_documents") == [(0,)]
    assert redrive_dead_letters(caller=operator, fingerprint=OUTBOX, reason="outage_over", now=clock.now()).changed == 1
    while relay_outbox(now=clock.now()):
        pass
    assert ask(cast, "SELECT state, attempts FROM outbox") == [("delivered", 1)]
    assert ask(cast, "SELECT count(*) FROM search_documents") == [(1,)]


def test_as_many_as_are_asked_for_the_oldest_first(cast: Cast, operator: Caller) -> None:
    say_often(cast, 5)
    let_jobs_die(cast, "extract")
    oldest = [row[0] for row in ask(cast, "SELECT id FROM processing_jobs ORDER BY id LIMIT 2")]
    handled = redrive_dead_letters(caller=operator, fingerprint=EXTRACT, reason="other", limit=2, now=clock.now())
    assert (handled.changed, handled.left) == (2, 3)
    assert [row[0] for row in ask(cast, "SELECT id FROM processing_jobs WHERE state = 'queued' ORDER BY id")] == oldest


def test_a_discarded_job_says_why_and_is_never_done(cast: Cast, operator: Caller) -> None:
    say(cast, LANGUAGE)
    let_jobs_die(cast, "extract")
    handled = discard_dead_letters(
        caller=operator, fingerprint=EXTRACT, reason="cannot_succeed", note="a file of 2 GB", now=clock.now()
    )
    assert handled == Handled(EXTRACT, changed=1, rejected_candidates=0, left=0)
    assert ask(cast, "SELECT state, reason, note FROM processing_jobs") == [
        ("discarded", "cannot_succeed", "a file of 2 GB")
    ]
    assert redrive_dead_letters(caller=operator, fingerprint=EXTRACT, reason="other", now=clock.now()).changed == 0
    work(cast)
    assert list_jobs(cast) == [("discarded", 8, "LookupError")]
    assert list_audit(cast) == [("dead_letter.discarded", "discarded", "cannot_succeed", operator.principal_id, 1)]
    assert "2 GB" not in str(ask(cast, "SELECT object_ids FROM audit_events"))


def test_a_candidate_whose_job_is_discarded_is_rejected_by_a_recorded_decision(
    cast: Cast, operator: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(cast, LANGUAGE)
    monkeypatch.setattr(run_jobs, "settle_candidate", fail)
    work(cast)
    assert [row[0] for row in list_jobs(cast, "consolidate")] == ["retrying"]
    let_jobs_die(cast, "consolidate")
    handled = discard_dead_letters(caller=operator, fingerprint=CONSOLIDATE, reason="not_needed", now=clock.now())
    assert (handled.changed, handled.rejected_candidates) == (1, 1)
    assert ask(cast, "SELECT status, reason, decided_at IS NOT NULL FROM memory_candidates") == [
        ("rejected", "work_discarded", True)
    ]
    assert ask(cast, "SELECT action, reason, decider_id::text, policy_version <> '' FROM merge_decisions") == [
        ("REJECT", "work_discarded", operator.principal_id, True)
    ]


def test_a_candidate_that_somebody_decided_stays_as_it_is(cast: Cast, operator: Caller) -> None:
    say(cast, LANGUAGE)
    work(cast)
    with tenant_context(cast.tenant_id):
        before = list(MemoryCandidate.objects.values_list("status", "reason"))
        [candidate] = MemoryCandidate.objects.all()
        fetch_all(sql="SELECT requeue_candidate_v1(%s, %s, 7, %s)", params=[cast.tenant_id, candidate.pk, clock.now()])
    let_jobs_die(cast, "consolidate")
    handled = discard_dead_letters(caller=operator, fingerprint=CONSOLIDATE, reason="other", now=clock.now())
    assert (handled.changed, handled.rejected_candidates) == (1, 0)
    assert ask(cast, "SELECT status, reason FROM memory_candidates") == before


def test_a_discarded_row_stays_undelivered(cast: Cast, operator: Caller) -> None:
    state_fact(cast, value=1)
    let_rows_die(cast)
    discard_dead_letters(caller=operator, fingerprint=OUTBOX, reason="not_needed", now=clock.now())
    while relay_outbox(now=clock.now()):
        pass
    assert ask(cast, "SELECT state, reason, delivered_at FROM outbox") == [("discarded", "not_needed", None)]


def test_only_who_may_operate_the_tenant(cast: Cast) -> None:
    say(cast, LANGUAGE)
    let_jobs_die(cast, "extract")
    other = make_cast()
    grant_tenant_rights(tenant=other.tenant, principal=other.alice, rights=("operate",))
    for caller in (cast.caller, cast.person(cast.bob), cast.person(cast.rita)):
        with pytest.raises(TenantForbidden):
            see_dead_letters(caller=caller)
        for change in (redrive_dead_letters, discard_dead_letters):
            with pytest.raises(TenantForbidden):
                change(caller=caller, fingerprint=EXTRACT, reason="other", now=clock.now())
    stranger = other.person(other.alice)
    assert see_dead_letters(caller=stranger) == []
    assert discard_dead_letters(caller=stranger, fingerprint=EXTRACT, reason="other", now=clock.now()).changed == 0
    assert list_jobs(cast) == [("dead", 8, "LookupError")]
    assert list_audit(cast) == []


@pytest.mark.parametrize("reason", ["", "because", "not_needed "])
def test_without_a_reason_of_the_list_nothing_is_done(cast: Cast, operator: Caller, reason: str) -> None:
    say(cast, LANGUAGE)
    let_jobs_die(cast, "extract")
    with pytest.raises(ReasonMissing):
        discard_dead_letters(caller=operator, fingerprint=EXTRACT, reason=reason, now=clock.now())
    with pytest.raises(ReasonMissing):
        redrive_dead_letters(caller=operator, fingerprint=EXTRACT, reason="cannot_succeed", now=clock.now())
    with pytest.raises(NoteTooLong):
        discard_dead_letters(caller=operator, fingerprint=EXTRACT, reason="other", note="x" * 201, now=clock.now())
    assert list_jobs(cast) == [("dead", 8, "LookupError")]


def run(*arguments: str, cast: Cast) -> str:
    out = StringIO()
    call_command("dead_letters", *arguments, "--by", cast.alice.username, stdout=out)
    return out.getvalue()


def test_the_command_lists_puts_back_and_discards(cast: Cast) -> None:
    assert run("list", cast=cast) == "no dead letters\n"
    say_often(cast, 3)
    let_jobs_die(cast, "extract")
    assert "3  extract:LookupError" in run("list", cast=cast)
    assert run("redrive", EXTRACT, "--reason", "cause_fixed", "--limit", "1", cast=cast) == "1 put back, 2 left\n"
    assert run("discard", EXTRACT, "--reason", "not_needed", cast=cast) == "2 discarded, 0 left\n"
    assert sorted(row[0] for row in list_jobs(cast)) == ["discarded", "discarded", "queued"]


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (("redrive",), "Say which"),
        (("redrive", EXTRACT), "--reason takes one of: cause_fixed, outage_over, other"),
        (("redrive", "extract:Typo", "--reason", "other"), "no dead letters 'extract:Typo'"),
        (("discard", EXTRACT, "--reason", "other", "--limit", "0"), "--limit"),
        (("discard", EXTRACT, "--reason", "other", "--note", "x" * 201), "too long"),
    ],
)
def test_the_command_says_what_is_wrong(cast: Cast, arguments: tuple[str, ...], refusal: str) -> None:
    with pytest.raises(CommandError, match=refusal):
        run(*arguments, cast=cast)


def test_the_command_needs_a_person_with_the_right(cast: Cast) -> None:
    for name, refusal in ((cast.bob.username, "lacks the right operate"), ("nobody", "no active principal")):
        with pytest.raises(CommandError, match=refusal):
            call_command("dead_letters", "list", "--by", name)


def test_what_is_pruned_is_done_and_old(cast: Cast, operator: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only jobs that ended well and rows that everybody has go, and none that ended a moment ago."""
    monkeypatch.setattr(relay, "CONSUMERS", {"search": relay.CONSUMERS["search"]})
    while relay_outbox(now=clock.now()):
        pass
    say_often(cast, 2)
    work(cast)
    say_often(cast, 3)
    let_jobs_die(cast, "extract")
    discard_dead_letters(caller=operator, fingerprint=EXTRACT, reason="other", limit=1, now=clock.now())
    say_often(cast, 1)
    state_fact(cast, value=1, cycle="a")
    state_fact(cast, value=1, cycle="b")
    relay_outbox(now=clock.now(), limit=1)
    counts = "SELECT state, count(*) FROM {} GROUP BY state ORDER BY state"
    before = ask(cast, counts.format("processing_jobs")), ask(cast, counts.format("outbox"))
    assert before == (
        [("dead", 2), ("discarded", 1), ("queued", 1), ("succeeded", 2)],
        [("delivered", 1), ("waiting", 1)],
    )
    prune_work(before=clock.now() - timedelta(hours=1))
    assert (ask(cast, counts.format("processing_jobs")), ask(cast, counts.format("outbox"))) == before
    later = clock.now() + timedelta(seconds=1)
    assert prune_work(before=later, limit=1).jobs == 1, "a batch is bounded"
    while (pruned := prune_work(before=later, limit=100)) != Pruned(0, 0):
        assert max(pruned.jobs, pruned.rows) <= 100
    assert ask(cast, counts.format("processing_jobs")) == [("dead", 2), ("discarded", 1), ("queued", 1)]
    assert ask(cast, counts.format("outbox")) == [("waiting", 1)]
