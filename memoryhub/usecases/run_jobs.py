"""Run jobs: claim what is due, do each piece in its own transaction, and say how it ended."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import structlog

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import StoreFailure, naming_errors
from memoryhub.memory.loading import load_candidate
from memoryhub.outbox.operations import (
    Claimed,
    Job,
    claim_jobs,
    count_attempt,
    fail_job,
    finish_job,
    load_job,
    release_jobs,
)
from memoryhub.policy.merge import MergePolicy
from memoryhub.usecases.consolidate import settle_candidate
from memoryhub.usecases.extract import Asking, ask_model, extract_event, keep_answer, propose_answer
from memoryhub.usecases.shift import Shift, find_last_turn, keep_leases

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

# Few at a time, so that a slow one does not hold up the others.
BATCH = 10
# How many attempts of a job ask a model that does not answer; the last one proposes the words themselves.
MOST_QUESTIONS = 3

log = structlog.get_logger(__name__)


def run_due_jobs(*, now: datetime, limit: int = BATCH, shift: Shift | None = None) -> Counter[str]:
    """Claim up to `limit` due jobs and do them; returns how many ended in which state.

    With a shift each job has the time at which it begins, the leases of the batch are renewed while it takes long,
    and what was not begun when the shift ends goes back into the queue (`released`).

    Raises:
        StoreFailure: the database could not be asked; claimed jobs are due again after their lease.
    """
    shift = shift or Shift(now=lambda: now, keeps_leases=False)
    with naming_errors():
        claimed = claim_jobs(limit=limit, now=now, after=shift.after)
    shift.after = find_last_turn(claims=claimed, after=shift.after)
    ended: Counter[str] = Counter()
    with keep_leases(claims=claimed, shift=shift):
        for number, one in enumerate(claimed):
            if not shift.goes_on():
                ended["released"] += _release(claims=claimed[number:], now=shift.now())
                break
            ended[run_job(claimed=one, now=shift.now())] += 1
    return ended


def _release(*, claims: Sequence[Claimed], now: datetime) -> int:
    by_tenant: dict[str, list[Claimed]] = defaultdict(list)
    for one in claims:
        by_tenant[one.tenant_id].append(one)
    released = 0
    for tenant_id, mine in by_tenant.items():
        with naming_errors(), tenant_context(tenant_id):
            released += release_jobs(tenant_id=tenant_id, claims=mine, now=now)
    return released


def run_job(*, claimed: Claimed, now: datetime) -> str:
    """Do one claimed job, once: its work and its end are one transaction.

    A model is asked between two of them, while none is open; who took the job over meanwhile is left to end it.
    """
    job: Job | None = None
    if claimed.is_again:
        with naming_errors(), tenant_context(claimed.tenant_id):
            count_attempt(tenant_id=claimed.tenant_id, job_id=claimed.id)
    try:
        with naming_errors(), tenant_context(claimed.tenant_id):
            job = load_job(tenant_id=claimed.tenant_id, job_id=claimed.id)
            if job is None:
                return "gone"
            done = _do(tenant_id=claimed.tenant_id, job=job, now=now)
            if not isinstance(done, Asking):
                state, note = done
                finish_job(tenant_id=claimed.tenant_id, job_id=job.id, now=now, state=state, note=note)
                return state
        return _ask(tenant_id=claimed.tenant_id, job=job, asking=done, now=now)
    except StoreFailure:
        raise
    except Exception as error:
        if job is None:
            raise
        log.warning("job failed", job=job.id, kind=job.kind, error=type(error).__name__)
        with naming_errors(), tenant_context(claimed.tenant_id):
            return fail_job(tenant_id=claimed.tenant_id, job=job, error=type(error).__name__, now=now)


def _ask(*, tenant_id: str, job: Job, asking: Asking, now: datetime) -> str:
    asked = ask_model(asking=asking)
    with naming_errors(), tenant_context(tenant_id):
        keep_answer(tenant_id=tenant_id, asking=asking, asked=asked, now=now)
    with naming_errors(), tenant_context(tenant_id):
        held = load_job(tenant_id=tenant_id, job_id=job.id)
        if held is None or held.attempts != job.attempts:
            return "gone"
        extracted = propose_answer(
            tenant_id=tenant_id,
            event_id=job.target_id,
            extractor_version=job.extractor_version,
            asking=asking,
            asked=asked,
            retries=job.attempts < MOST_QUESTIONS,
            now=now,
        )
        finish_job(tenant_id=tenant_id, job_id=job.id, now=now, note=extracted.note)
    return "succeeded"


def _do(*, tenant_id: str, job: Job, now: datetime) -> tuple[str, str] | Asking:
    if job.kind == "extract":
        extracted = extract_event(
            tenant_id=tenant_id, event_id=job.target_id, extractor_version=job.extractor_version, now=now
        )
        return extracted if isinstance(extracted, Asking) else ("succeeded", extracted.note)
    candidate = load_candidate(tenant_id=tenant_id, candidate_id=job.target_id)
    if candidate is None or not candidate.is_undecided:
        return "succeeded", "was_decided"
    if candidate.deletion_epoch != job.deletion_epoch:
        return "cancelled", "epoch_moved"
    result = settle_candidate(tenant_id=tenant_id, candidate=candidate, now=now, policy=MergePolicy(), requeues=True)
    return ("cancelled", "epoch_moved") if result.outcome == "requeued" else ("succeeded", "")
