"""The in-memory ledger: two clocks, versions, and what is not recorded."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from memoryhub.policy.ledger import MemoryLedger
from memoryhub.types.decision import CandidateFacts
from memoryhub.types.enums import MergeAction
from memoryhub.types.temporal import AsOf, Period
from tests.unit.memories import MAINTAINED, POLICY, at, candidate, claim, ruling

KEY = "person:hans/invoice.payment_terms_days"


def ledger() -> MemoryLedger:
    return MemoryLedger(policy=POLICY, predicates={KEY: MAINTAINED})


def instant(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def terms(name: str, since: datetime, days: str) -> CandidateFacts:
    return candidate(claim(name, 0, days, valid=Period(since), observed_at=since))


def test_forty_five_days_and_the_mail_that_came_late() -> None:
    """Hold the case of seed 003 §2.3.3 on both clocks."""
    held = ledger()
    held.propose(key=KEY, candidate=terms("a", instant(2024, 3, 1), "45"), now=instant(2024, 3, 1))
    mail = held.propose(key=KEY, candidate=terms("b", instant(2026, 5, 1), "30"), now=instant(2026, 5, 20))
    assert mail.action is MergeAction.SUPERSEDE

    def answer(valid_at: datetime, recorded_at: datetime) -> str | None:
        part = held.find_part(key=KEY, as_of=AsOf(valid_at, recorded_at))
        return None if part is None else part.value_digest

    early, today = instant(2026, 5, 10), instant(2026, 6, 1)
    assert answer(early, early) == "45"  # what an agent would have been told then
    assert answer(early, today) == "30"  # what held then, as is known today
    assert answer(instant(2025, 1, 1), today) == "45"
    assert answer(instant(2024, 1, 1), today) is None
    assert answer(today, instant(2024, 1, 1)) is None
    assert held.find_part(key="nobody", as_of=AsOf(today, today)) is None


def test_versions_rise_with_each_change_and_only_with_one() -> None:
    held = ledger()
    first = claim("a", 0, "x")
    held.propose(key=KEY, candidate=candidate(first), now=at(1))
    held.propose(key=KEY, candidate=candidate(first), now=at(2))
    assert held.memories[KEY].version == 1
    held.propose(key=KEY, candidate=candidate(claim("b", 3, "x", "bot")), now=at(3))
    held.propose(key=KEY, candidate=candidate(claim("c", 4, "y", effective=False)), now=at(4))
    assert held.memories[KEY].conflict is not None
    held.rule(key=KEY, ruling=ruling(1, "c", "c"), now=at(5))
    memory = held.memories[KEY]
    assert (memory.version, memory.conflict) == (4, None)
    assert [(part.version, part.number) for part in memory.parts] == [(1, 1), (4, 1), (4, 2)]
    assert [part.recorded_to for part in memory.parts] == [at(5), None, None]


def test_recorded_time_rises_when_the_callers_clock_does_not() -> None:
    held = ledger()
    for number, name in enumerate("abc"):
        held.propose(key=KEY, candidate=candidate(claim(name, number, name)), now=at(9))
    recorded = sorted({part.recorded_from for part in held.memories[KEY].parts})
    assert [(one - at(9)).microseconds for one in recorded] == [0, 1, 2]


def test_what_is_refused_or_waits_for_a_person_is_not_recorded() -> None:
    held = ledger()
    refused = held.propose(key=KEY, candidate=candidate(claim("a", 0, "x"), barred=True), now=at(1))
    assert refused.action is MergeAction.REJECT
    asked = candidate(claim("a", 0, "x"), instruction_like=True)
    assert held.propose(key=KEY, candidate=asked, now=at(1)).requires_person
    assert held.memories == {}
    assert held.write_canonical() == "{}"


def test_the_state_is_written_with_and_without_the_recorded_clock() -> None:
    held = ledger()
    held.propose(key=KEY, candidate=candidate(claim("a", 0, "x")), now=at(1))
    held.propose(key=KEY, candidate=candidate(claim("b", 5, "y", effective=False)), now=at(6))
    shown = json.loads(held.write_canonical())[KEY]
    assert shown["version"] == 2
    assert shown["belief"]["modality"] == "disputed"
    assert shown["conflict"]["members"] == ["event:b:0"]
    assert shown["parts"][0]["recorded_from"] == at(1).isoformat()
    bare = json.loads(held.write_canonical(with_recorded=False))[KEY]
    assert set(bare) == {"conflict", "parts"}
    assert set(bare["parts"][0]) == {
        "value_digest",
        "valid_from",
        "valid_to",
        "opener",
        "since",
        "replaced_digest",
    }
