"""T5: nothing that was revoked comes back when three actors, drawn at random, take their turns at random."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from memoryhub.lib import clock
from memoryhub.usecases.relay import relay_outbox
from memoryhub.usecases.run_jobs import run_due_jobs
from tests.cast import Cast, make_cast
from tests.integration.sessions import STEPS, Session, take_turns
from tests.integration.test_t4_deletion_race import (
    PAIRS,
    REFUSALS,
    Pair,
    Race,
    memory_came_back,
    paused,
    revoke_subject,
    without_locks,
)
from tests.ledger import assert_ledger_is_clean
from tests.promises import PromiseReport

__all__ = ["paused", "without_locks"]  # fixtures

WRITERS = {name: pair for name, pair in PAIRS.items() if pair.came_back is memory_came_back}
DELETER = "revoke"
SEED = 20261130


def meet(cast: Cast, sessions: list[Session], dice: random.Random) -> tuple[Race, str]:
    """Let three actors of one subject meet in one order; return the meeting and who took part."""
    first = Race(cast)
    names = dice.sample([*sorted(WRITERS), DELETER], k=2)
    acts: list[Callable[[Race], None]] = []
    races = []
    for name in names:
        race = Race(cast, subject=first.subject)
        if name == DELETER:
            acts.append(revoke_subject)
        else:
            pair: Pair = WRITERS[name]
            pair.prepare(race)
            acts.append(pair.write)
        races.append(race)
    acts.append(revoke_subject)
    races.append(first)
    for session, act, race in zip(sessions, acts, races, strict=True):
        session.begin(partial(act, race))
    order = [who for who in range(len(acts)) for _ in range(STEPS)]
    dice.shuffle(order)
    take_turns(order=order, sessions=sessions)
    for session, act in zip(sessions, acts, strict=True):
        assert session.error is None or (act is not revoke_subject and isinstance(session.error, REFUSALS)), (
            session.error
        )
    return first, " and ".join(sorted(names))


def run_meetings(*, meetings: int, search_path: str = "public") -> tuple[list[Race], Counter[str]]:
    """Return the meetings after which something had come back, and who met how often."""
    dice = random.Random(SEED)  # noqa: S311  a draw that can be repeated
    cast = make_cast()
    back, met = [], Counter[str]()
    with (
        Session(search_path=search_path) as one,
        Session(search_path=search_path) as two,
        Session(search_path=search_path) as three,
    ):
        for _ in range(meetings):
            race, names = meet(cast, [one, two, three], dice)
            met[names] += 1
            if memory_came_back(race):
                back.append(race)
            elif search_path == "public" and sum(met.values()) % 20 == 0:
                work()
                assert not memory_came_back(race), "the workers brought it back"
    if search_path == "public":
        assert_ledger_is_clean(cast.tenant_id)
    return back, met


def work() -> None:
    """Do all that is due, as the workers would."""
    while run_due_jobs(now=clock.now()) or relay_outbox(now=clock.now()):
        pass


@pytest.mark.promise("T5")
@pytest.mark.usefixtures("paused")
def test_nothing_comes_back_among_three(at_scale: Callable[[int, int], int], promise_report: PromiseReport) -> None:
    meetings = at_scale(200, 10_000)
    back, met = run_meetings(meetings=meetings)
    assert back == []
    assert len(met) > len(WRITERS), "hardly anybody met"
    promise_report(count=meetings, what="meetings of three without resurrection")


@pytest.mark.promise("T5")
@pytest.mark.usefixtures("paused")
def test_without_the_guard_it_comes_back_among_three(without_locks: str, promise_report: PromiseReport) -> None:
    """Take the guard out: the same draw must then find what came back."""
    back, _ = run_meetings(meetings=60, search_path=without_locks)
    assert len(back) > 0
    promise_report(count=len(back), what="resurrections in the twin without the guard")
