"""Print governed commits a second against the same rows written by the raw commit function, in one run.

RAW is psycopg's prepared call of `commit_decision_v1` with the rows already made: event, body, evidence, quote,
root, candidate, head, decision, claim, version, outbox. GOVERNED is the library call `write_memory` in the same
process: it authorises, redacts, makes those rows, reads the state, decides by policy, and commits them through the
same function. Runs alternate; medians of five are printed and written to `bench/results/`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
os.environ.setdefault("MEMORYHUB_HOME", str(Path(__file__).parent.parent / "var" / "bench"))

import django

django.setup()

import psycopg  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, connections  # noqa: E402

from memoryhub.access.callers import Caller  # noqa: E402
from memoryhub.embedded.supervisor import claim_home, run_servers  # noqa: E402
from memoryhub.lib import clock, db  # noqa: E402
from memoryhub.lib.ids import new_id  # noqa: E402
from memoryhub.memory import operations  # noqa: E402
from memoryhub.usecases.ingest import EventInput  # noqa: E402
from memoryhub.usecases.propose import CandidateInput, EvidenceInput  # noqa: E402
from memoryhub.usecases.write_memory import write_memory  # noqa: E402
from tests.cast import EARLY, Cast, make_cast  # noqa: E402

RESULTS = Path(__file__).parent / "results"
GOAL = 0.80
FIRST_STEP = 0.50
SCOPE = ("project", "platform")


def write_one(caller: Caller, name: str) -> None:
    """Write one new memory the governed way."""
    write_memory(
        caller=caller,
        event=EventInput(
            event_id=name, scope=SCOPE, source_type="commit", occurred_at=EARLY, payload={"text": f"{name} is on"}
        ),
        proposal=CandidateInput(
            scope=SCOPE,
            subject="product:django",
            fact_key=f"bench.{name}",
            content=f"{name} is on",
            value="on",
            evidence=(EvidenceInput(name),),
        ),
        now=clock.now(),
    )


def capture_payload(cast: Cast) -> str:
    """Return the rows of one governed write as the commit function takes them."""
    taken: list[str] = []
    fetch = db.fetch_json

    def listen(*, sql: str, params: Any) -> Any:
        taken.append(params[0])
        return fetch(sql=sql, params=params)

    with mock.patch.object(operations, "fetch_json", listen):
        write_one(cast.caller, f"template{new_id().hex}")
    return taken[0]


def make_payloads(template: str, count: int) -> list[str]:
    """Return as many payloads with rows of their own."""
    told = json.loads(template)
    ids = {
        told["memory"]["id"],
        told["decision"]["id"],
        told["decision"]["outbox_id"],
        told["candidate_id"],
        told["claim"]["id"],
        told["event"]["id"],
        *(part["id"] for part in told["parts"]),
        *(item["id"] for item in told["evidence"]),
    }
    names = [told["memory"]["fact_key"], told["event"]["event_key_digest"], told["event"]["event_key"]]
    keys = [item["evidence_key"] for item in told["evidence"]]
    payloads = []
    for _ in range(count):
        text = template
        for old in ids:
            text = text.replace(old, str(new_id()))
        fresh = new_id().hex
        text = text.replace(names[0], f"bench.{fresh}").replace(names[1], fresh * 2).replace(names[2], fresh)
        for key in keys:
            text = text.replace(key, f"ev_{new_id().hex}")
        payloads.append(text)
    return payloads


def race(writers: int, work: Callable[[int, threading.Barrier], None]) -> float:
    """Run the writers together; return the seconds from the common start to the last end."""
    start = threading.Barrier(writers + 1)
    threads = [threading.Thread(target=work, args=(number, start)) for number in range(writers)]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def run_raw(cast: Cast, template: str, *, writers: int, each: int) -> float:
    """Return raw commits a second."""
    payloads = [make_payloads(template, each) for _ in range(writers)]
    where = connections["default"].settings_dict

    def work(number: int, start: threading.Barrier) -> None:
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
            start.wait()
            for payload in payloads[number]:
                row = raw.execute("SELECT commit_decision_v1(%s::jsonb)", [payload]).fetchone()
                if row is None or row[0]["outcome"] != "committed":
                    message = f"a raw commit was refused: {row}"
                    raise RuntimeError(message)

    return writers * each / race(writers, work)


def run_governed(cast: Cast, *, writers: int, each: int) -> float:
    """Return governed commits a second, by the library call in this process."""

    def work(_number: int, start: threading.Barrier) -> None:
        caller = cast.caller
        connection.ensure_connection()
        start.wait()
        for _ in range(each):
            write_one(caller, new_id().hex)
        connection.close()

    return writers * each / race(writers, work)


def measure(cast: Cast, *, each: int, runs: int) -> dict[str, dict[str, float]]:
    """Alternate raw and governed runs with one and with eight writers; return medians."""
    template = capture_payload(cast)
    found: dict[str, dict[str, float]] = {}
    for writers in (1, 8):
        raw, governed = [], []
        run_raw(cast, template, writers=writers, each=each // 4)
        run_governed(cast, writers=writers, each=each // 4)
        for _ in range(runs):
            raw.append(run_raw(cast, template, writers=writers, each=each))
            governed.append(run_governed(cast, writers=writers, each=each))
        middle = {"raw": statistics.median(raw), "governed": statistics.median(governed)}
        found[f"{writers} writers" if writers > 1 else "1 writer"] = {
            **middle,
            "ratio": middle["governed"] / middle["raw"],
        }
    return found


def main() -> int:
    """Serve a database of its own, measure, print, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=400, help="commits a writer and run")
    parser.add_argument("--runs", type=int, default=5, help="alternating runs; medians are printed")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if not settings.EXTERNAL_DATABASE:
            stack.enter_context(claim_home(home=settings.HOME, address="bench"))
            stack.enter_context(run_servers(home=settings.HOME, broker=False))
        call_command("migrate", verbosity=0)
        found = measure(make_cast(), each=options.each, runs=options.runs)
        connections.close_all()
    for name, figures in found.items():
        print(
            f"{name:>9}: raw {figures['raw']:7.0f}/s   governed {figures['governed']:7.0f}/s   "
            f"ratio {figures['ratio']:.2f}"
        )
    ratio = found["8 writers"]["ratio"]
    print(f"governed commit ÷ raw, 8 writers: {ratio:.2f} (first step {FIRST_STEP:.2f}, goal {GOAL:.2f})")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "governed_commit.json").write_text(json.dumps(found, indent=2) + "\n")
    return 0 if ratio >= FIRST_STEP else 1


if __name__ == "__main__":
    sys.exit(main())
