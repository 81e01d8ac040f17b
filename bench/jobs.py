"""Print what the job runner costs beside a raw SKIP LOCKED loop, and how fast an event becomes a memory that is found.

RUNNER is `run_due_jobs` in batches of ten over jobs that have nothing to do: claim, tenant, lock, end, commit. RAW is
psycopg's prepared loop on the same table: claim ten with SKIP LOCKED and a lease, then acknowledge, either each job
by itself, as durable as the runner does it, or all ten at once. PIPELINE sends events and structured candidates in
batches of a hundred while worker processes consolidate and index them; the time runs until the last can be found.
Then the same at half of that rate, for the latency from the candidate to its document.

Runs alternate; medians are printed and written to `bench/results/`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any
from unittest import mock

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connections

from bench.__main__ import RESULTS, SCOPE  # first: it sets Django up
from memoryhub.access.tenancy import tenant_context
from memoryhub.embedded.supervisor import claim_home, run_servers
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.usecases import run_jobs
from memoryhub.usecases.ingest import EventInput, ingest_events
from memoryhub.usecases.propose import CandidateInput, EvidenceInput, propose_candidates
from memoryhub.usecases.relay import relay_outbox
from memoryhub.usecases.run_jobs import run_due_jobs
from memoryhub.usecases.shift import Shift
from tests.cast import EARLY, Cast, make_cast

GOAL = 0.50
GATE = 0.85  # of the goal; what is below fails
GOAL_MEMORIES = 400
BATCH = 10
SENT_AT_ONCE = 100
PATIENCE = 300.0

_FILL = """
    INSERT INTO processing_jobs (id, tenant_id, kind, target_id, scope_id, extractor_version, policy_version,
        deletion_epoch, state, attempts, next_attempt_at, last_error, created_at)
    SELECT uuidv7(), %s, 'bench', uuidv7(), %s, '', '', 0, 'queued', 0, now(), '', now() FROM generate_series(1, %s)
"""
_CLAIM = """
    WITH due AS MATERIALIZED (
        SELECT id FROM processing_jobs
        WHERE tenant_id = %s AND state IN ('queued', 'retrying', 'running') AND next_attempt_at <= now()
        ORDER BY next_attempt_at, id LIMIT %s FOR UPDATE SKIP LOCKED
    )
    UPDATE processing_jobs job SET state = 'running', attempts = attempts + 1,
        lease_expires_at = now() + interval '60 seconds', next_attempt_at = now() + interval '60 seconds'
    FROM due WHERE job.id = due.id RETURNING job.id
"""
_ACKNOWLEDGE = """
    UPDATE processing_jobs SET state = 'succeeded', ended_at = now(), lease_expires_at = NULL
    WHERE tenant_id = %s AND id = ANY (%s) AND state = 'running'
"""


def fill_queue(cast: Cast, count: int) -> None:
    """Queue so many jobs that have nothing to do."""
    with tenant_context(cast.tenant_id):
        fetch_all(sql=_FILL, params=[cast.tenant_id, str(cast.project.pk), count])


@contextlib.contextmanager
def connect_raw(cast: Cast) -> Iterator[psycopg.Connection[Any]]:
    """Open a prepared session of the serving role in the tenant."""
    where = connections["default"].settings_dict
    with psycopg.connect(
        host=where["HOST"],
        port=where["PORT"] or None,
        dbname=where["NAME"],
        user=where["USER"],
        password=where["PASSWORD"],
        autocommit=True,
        prepare_threshold=0,
    ) as raw:
        raw.execute("SELECT set_config('memoryhub.tenant', %s, false)", [cast.tenant_id])
        yield raw


def run_raw(cast: Cast, *, count: int, one_by_one: bool) -> float:
    """Return jobs a second of the raw loop."""
    fill_queue(cast, count)
    done = 0
    with connect_raw(cast) as raw:
        began = time.perf_counter()
        while rows := raw.execute(_CLAIM, [cast.tenant_id, BATCH]).fetchall():
            ids = [row[0] for row in rows]
            for some in [[one] for one in ids] if one_by_one else [ids]:
                raw.execute(_ACKNOWLEDGE, [cast.tenant_id, some])
            done += len(ids)
        took = time.perf_counter() - began
    if done != count:
        message = f"{done} of {count} jobs were done"
        raise RuntimeError(message)
    return count / took


def run_runner(cast: Cast, *, count: int) -> float:
    """Return jobs a second of the product's runner, one worker."""
    fill_queue(cast, count)
    shift, done = Shift(now=clock.now), 0
    with mock.patch.object(run_jobs, "_do", return_value=("succeeded", "")):
        began = time.perf_counter()
        while ended := run_due_jobs(now=clock.now(), limit=BATCH, shift=shift):
            done += ended["succeeded"]
        took = time.perf_counter() - began
    if done != count:
        message = f"{done} of {count} jobs were done"
        raise RuntimeError(message)
    return count / took


def measure_runner(cast: Cast, *, count: int, runs: int) -> dict[str, float]:
    """Alternate the runner and both raw loops; return medians and ratios."""
    figures: dict[str, list[float]] = {"runner": [], "raw, each by itself": [], "raw, ten at once": []}
    run_runner(cast, count=count // 4)
    for _ in range(runs):
        figures["raw, each by itself"].append(run_raw(cast, count=count, one_by_one=True))
        figures["runner"].append(run_runner(cast, count=count))
        figures["raw, ten at once"].append(run_raw(cast, count=count, one_by_one=False))
    found = {name: statistics.median(values) for name, values in figures.items()}
    return {
        **found,
        "ratio": found["runner"] / found["raw, each by itself"],
        "ratio to ten at once": found["runner"] / found["raw, ten at once"],
    }


def send_candidates(cast: Cast, count: int) -> None:
    """Send events and a structured candidate of each, in two batches."""
    names = [new_id().hex for _ in range(count)]
    ingest_events(
        caller=cast.caller,
        events=[
            EventInput(
                event_id=name, scope=SCOPE, source_type="commit", occurred_at=EARLY, payload={"text": f"{name} is on"}
            )
            for name in names
        ],
        now=clock.now(),
    )
    results = propose_candidates(
        caller=cast.caller,
        proposals=[
            CandidateInput(
                scope=SCOPE,
                subject="product:django",
                fact_key=f"bench.n{name}",
                content=f"{name} is on",
                value="on",
                evidence=(EvidenceInput(name),),
            )
            for name in names
        ],
        now=clock.now(),
    )
    for refusal in results:
        if isinstance(refusal, Exception):
            raise refusal


@contextlib.contextmanager
def run_workers(number: int) -> Iterator[None]:
    """Fork processes that do jobs and deliver, until the block ends."""
    connections.close_all()
    children = []
    for _ in range(number):
        child = os.fork()
        if child == 0:
            shift, outbox = Shift(now=clock.now), Shift(now=clock.now)
            while True:
                worked = run_due_jobs(now=clock.now(), shift=shift)
                if not relay_outbox(now=clock.now(), shift=outbox) and not worked:
                    time.sleep(0.005)
        children.append(child)
    try:
        yield
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def count_found(cast: Cast) -> int:
    """Return how many memories can be found."""
    with tenant_context(cast.tenant_id, read_only=True):
        return int(fetch_all(sql="SELECT count(*) FROM search_documents", params=[])[0][0])


def wait_until_found(cast: Cast, count: int) -> None:
    """Wait until so many memories can be found."""
    began = time.monotonic()
    while count_found(cast) < count:
        if time.monotonic() - began > PATIENCE:
            message = "the workers do not come to an end"
            raise RuntimeError(message)
        time.sleep(0.01)


def run_pipeline(*, count: int, workers: int) -> float:
    """Return memories a second from the first event sent to the last memory found."""
    cast = make_cast()
    with run_workers(workers):
        began = time.perf_counter()
        for _ in range(count // SENT_AT_ONCE):
            send_candidates(cast, SENT_AT_ONCE)
        wait_until_found(cast, count)
        return count / (time.perf_counter() - began)


def measure_latency(*, rate: float, seconds: float, workers: int) -> dict[str, float]:
    """Send candidates at a steady rate; return the seconds until they can be found."""
    cast = make_cast()
    at_once = max(1, round(rate / 10))
    sent = 0
    with run_workers(workers):
        began = time.perf_counter()
        while (passed := time.perf_counter() - began) < seconds:
            if sent <= rate * passed:
                send_candidates(cast, at_once)
                sent += at_once
            else:
                time.sleep(0.005)
        wait_until_found(cast, sent)
    with tenant_context(cast.tenant_id, read_only=True):
        rows = fetch_all(
            sql="""
                SELECT extract(epoch FROM found.updated_at - made.created_at)::float8
                FROM search_documents found JOIN memory_candidates made ON made.memory_id = found.memory_id
            """,
            params=[],
        )
    waits = sorted(row[0] for row in rows)
    return {
        "rate": sent / seconds,
        "median": statistics.median(waits),
        "p95": waits[int(len(waits) * 0.95)],
        "worst": waits[-1],
    }


def main() -> int:
    """Serve a database of its own, measure, print, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="jobs, and memories, a run")
    parser.add_argument("--runs", type=int, default=5, help="alternating runs; medians are printed")
    parser.add_argument("--workers", type=int, default=2, help="worker processes of the pipeline")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if not settings.EXTERNAL_DATABASE:
            stack.enter_context(claim_home(home=settings.HOME, address="bench"))
            stack.enter_context(run_servers(home=settings.HOME, broker=False))
        call_command("migrate", verbosity=0)
        while run_due_jobs(now=clock.now()) or relay_outbox(now=clock.now()):
            pass
        load = os.getloadavg()[0]
        found: dict[str, Any] = {
            "load before": load,
            "runner": measure_runner(make_cast(), count=options.count, runs=options.runs),
        }
        rates = [run_pipeline(count=options.count, workers=options.workers) for _ in range(options.runs)]
        found["memories a second"] = statistics.median(rates)
        found["latency"] = measure_latency(
            rate=found["memories a second"] / 2, seconds=max(5.0, options.count / 200), workers=options.workers
        )
        connections.close_all()
    for name, value in found["runner"].items():
        print(f"{name:>22}: {value:9.2f}" + ("" if name.startswith("ratio") else " jobs/s"))
    print(f"job runner ÷ raw loop that acknowledges each job: {found['runner']['ratio']:.2f} (goal {GOAL:.2f})")
    print(f"event in to memory found: {found['memories a second']:.0f} memories/s (goal {GOAL_MEMORIES})")
    latency = found["latency"]
    print(
        f"at {latency['rate']:.0f} a second: median {latency['median']:.2f} s, p95 {latency['p95']:.2f} s (goal 1 s), "
        f"worst {latency['worst']:.2f} s"
    )
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "jobs.json").write_text(json.dumps(found, indent=2) + "\n")
    return 0 if found["runner"]["ratio"] >= GATE * GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
