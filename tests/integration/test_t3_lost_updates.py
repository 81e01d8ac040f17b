"""T3: no update is lost. Many writers on few keys; the history is one chain, and every loser is told."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from threading import Barrier

import pytest
from django.db import DatabaseError, connection

from memoryhub.access.callers import Caller
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.memory.exceptions import StaleHead
from memoryhub.usecases import consolidate
from memoryhub.usecases.ingest import EventInput
from memoryhub.usecases.propose import CandidateInput, EvidenceInput
from memoryhub.usecases.write_memory import write_memory
from tests.cast import EARLY, Cast, make_cast
from tests.conftest import ConnectAs
from tests.integration.twins import COMPARE, functions_without
from tests.ledger import assert_ledger_is_clean
from tests.promises import PromiseReport

CLIENTS = 8
KEYS = 4
ROUND = 100  # attempts on the same keys; then come others, so that no history grows without bounds
SCOPE = ("project", "platform")


@dataclass(frozen=True)
class Told:
    """Hold what a client was told of one attempt: `committed`, `stale_head`, or the class of another error."""

    outcome: str
    candidate_id: str = ""
    memory_id: str = ""
    version: int = 0


def attempt_write(caller: Caller, number: int) -> Told:
    """Write one value to one of the few keys."""
    event_id, words = f"attempt {number}", f"the latest release is {number}"
    try:
        written = write_memory(
            caller=caller,
            event=EventInput(
                event_id=event_id,
                scope=SCOPE,
                source_type="commit",
                occurred_at=EARLY + timedelta(seconds=number),
                payload={"text": words},
            ),
            proposal=CandidateInput(
                scope=SCOPE,
                subject="product:django",
                fact_key="release.latest",
                content=words,
                value=number,
                conditions={"cycle": f"{number // ROUND}.{number % KEYS}"},
                evidence=(EvidenceInput(event_id),),
            ),
            now=clock.now(),
        )
    except StaleHead:
        return Told("stale_head")
    except DatabaseError as error:
        return Told(type(error).__name__)
    result = written.result
    return Told("committed", result.candidate_id, str(result.memory_id), result.version or 0)


def race(cast: Cast, *, attempts: int, search_path: str = "public") -> list[Told]:
    """Let the clients make so many attempts in all, each with a connection of its own."""
    caller = cast.caller
    attempt_write(caller, -KEYS * ROUND)  # the subject is known before they start
    start = Barrier(CLIENTS)

    def run_client(client: int) -> list[Told]:
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SET search_path TO {search_path}")
            start.wait()
            return [attempt_write(caller, number) for number in range(client, attempts, CLIENTS)]
        finally:
            connection.close()

    with ThreadPoolExecutor(CLIENTS) as pool:
        return [told for client in pool.map(run_client, range(CLIENTS)) for told in client]


HISTORY = """
    SELECT decision.memory_id::text, decision.candidate_id::text, decision.expected_version,
        decision.resulting_version, head.version
    FROM merge_decisions decision JOIN memory_heads head ON head.id = decision.memory_id
    WHERE decision.tenant_id = %s AND decision.action NOT IN ('NO_OP', 'REJECT')
    ORDER BY 1, decision.resulting_version
"""


def find_faults(cast: Cast, told: list[Told]) -> list[str]:
    """Return what is wrong with a history, given what the clients were told."""
    with tenant_context(cast.tenant_id, read_only=True):
        rows = fetch_all(sql=HISTORY, params=[cast.tenant_id])
        candidates = fetch_all(sql="SELECT count(*) FROM memory_candidates WHERE status <> 'rejected'", params=[])
        keys = fetch_all(sql="SELECT count(*), count(DISTINCT conditions_digest) FROM memory_heads", params=[])
    chains = defaultdict(list)
    for memory_id, _, expected, resulting, newest in rows:
        chains[memory_id].append((expected, resulting, newest))
    kept = Counter((memory_id, candidate_id, resulting) for memory_id, candidate_id, _, resulting, _ in rows)
    acknowledged = Counter((one.memory_id, one.candidate_id, one.version) for one in told if one.outcome == "committed")
    faults = []
    for memory_id, chain in chains.items():
        gapless = [(version - 1, version, len(chain)) for version in range(1, len(chain) + 1)]
        if chain != gapless:
            faults.append(f"{memory_id} is no chain")
    faults += [f"{one} was acknowledged and is not in the history" for one in acknowledged if kept[one] != 1]
    if len(kept) != len(acknowledged) + 1 or candidates[0][0] != len(kept):
        faults.append("the history holds what nobody was told of")
    if keys[0][0] != keys[0][1]:
        faults.append("a key has two heads")
    faults += [f"a loser was told {one.outcome}" for one in told if one.outcome not in ("committed", "stale_head")]
    return faults


@pytest.mark.promise("T3")
def test_no_update_is_lost_and_every_loser_is_told(
    monkeypatch: pytest.MonkeyPatch, at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    """Let each attempt compare and set once, without a second try."""
    monkeypatch.setattr(consolidate, "MAX_ATTEMPTS", 1)
    cast = make_cast()
    attempts = at_scale(10_000, 1_000_000)
    told = race(cast, attempts=attempts)
    outcomes = Counter(one.outcome for one in told)
    assert find_faults(cast, told) == []
    assert outcomes.total() == attempts
    assert min(outcomes["committed"], outcomes["stale_head"]) > attempts // 100, f"no race: {outcomes}"
    assert_ledger_is_clean(cast.tenant_id)
    promise_report(count=attempts, what="compare-and-set attempts")
    promise_report(count=outcomes["stale_head"], what="losers told")


@pytest.mark.promise("T3")
def test_a_loser_that_decides_again_gets_through(
    at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    """Let the use case try again as it does in production: nobody is left behind."""
    cast = make_cast()
    writes = at_scale(800, 20_000)
    told = race(cast, attempts=writes)
    assert find_faults(cast, told) == []
    assert Counter(one.outcome for one in told) == {"committed": writes}
    assert_ledger_is_clean(cast.tenant_id)
    promise_report(count=writes, what="writes with retry")


@pytest.mark.promise("T3")
def test_without_the_compare_the_losers_are_not_told(
    connect_as: ConnectAs, monkeypatch: pytest.MonkeyPatch, promise_report: PromiseReport
) -> None:
    """Take the compare out of the commit: constraints still hold the history, but the promise is broken."""
    monkeypatch.setattr(consolidate, "MAX_ATTEMPTS", 1)
    cast = make_cast()
    files = [("memory", "commit_decision_v1")]
    twin = partial(functions_without, connect_as=connect_as, schema="without_compare", files=files, patterns=COMPARE)
    with twin() as path:
        told = race(cast, attempts=400, search_path=path)
    outcomes = Counter(one.outcome for one in told)
    assert outcomes["committed"] > 0, "the twin is to work but for the compare"
    untold = outcomes.total() - outcomes["committed"] - outcomes["stale_head"]
    assert untold > 0
    assert find_faults(cast, told) != []
    promise_report(count=untold, what="losers not told in the twin without the compare")
