"""Run jobs: claim what is due, do each piece in its own transaction, and say how it ended."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import structlog

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import StoreFailure, naming_errors
from memoryhub.memory.loading import load_candidate
from memoryhub.outbox.operations import Claimed, Job, claim_jobs, count_attempt, fail_job, finish_job, load_job
from memoryhub.policy.merge import MergePolicy
from memoryhub.usecases.consolidate import settle_candidate
from memoryhub.usecases.extract import extract_event

if TYPE_CHECKING:
    from datetime import datetime

# Few at a time, so that a slow one does not hold the others beyond their lease.
BATCH = 10

log = structlog.get_logger(__name__)


def run_due_jobs(*, now: datetime, limit: int = BATCH) -> Counter[str]:
    """Claim up to `limit` due jobs and do them; returns how many ended in which state.

    Raises:
        StoreFailure: the database could not be asked; claimed jobs are due again after their lease.
    """
    with naming_errors():
        claimed = claim_jobs(limit=limit, now=now)
    return Counter(run_job(claimed=one, now=now) for one in claimed)


def run_job(*, claimed: Claimed, now: datetime) -> str:
    """Do one claimed job, once: its work and its end are one transaction."""
    job: Job | None = None
    if claimed.is_again:
        with naming_errors(), tenant_context(claimed.tenant_id):
            count_attempt(tenant_id=claimed.tenant_id, job_id=claimed.id)
    try:
        with naming_errors(), tenant_context(claimed.tenant_id):
            job = load_job(tenant_id=claimed.tenant_id, job_id=claimed.id)
            if job is None:
                return "gone"
            state, note = _do(tenant_id=claimed.tenant_id, job=job, now=now)
            finish_job(tenant_id=claimed.tenant_id, job_id=job.id, now=now, state=state, note=note)
            return state
    except StoreFailure:
        raise
    except Exception as error:
        if job is None:
            raise
        log.warning("job failed", job=job.id, kind=job.kind, error=type(error).__name__)
        with naming_errors(), tenant_context(claimed.tenant_id):
            return fail_job(tenant_id=claimed.tenant_id, job=job, error=type(error).__name__, now=now)


def _do(*, tenant_id: str, job: Job, now: datetime) -> tuple[str, str]:
    if job.kind == "extract":
        extracted = extract_event(
            tenant_id=tenant_id, event_id=job.target_id, extractor_version=job.extractor_version, now=now
        )
        return "succeeded", extracted.note
    candidate = load_candidate(tenant_id=tenant_id, candidate_id=job.target_id)
    if candidate is None or not candidate.is_undecided:
        return "succeeded", "was_decided"
    if candidate.deletion_epoch != job.deletion_epoch:
        return "cancelled", "epoch_moved"
    result = settle_candidate(tenant_id=tenant_id, candidate=candidate, now=now, policy=MergePolicy(), requeues=True)
    return ("cancelled", "epoch_moved") if result.outcome == "requeued" else ("succeeded", "")
