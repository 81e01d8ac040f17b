"""T10: both clocks answer right. Random pairs of instants against a dict that keeps everything."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.db import fetch_all
from memoryhub.memory.queries import find_part
from memoryhub.types.enums import RevocationTarget
from memoryhub.types.temporal import AsOf
from memoryhub.usecases.rederive import check_memories
from memoryhub.usecases.revoke import revoke
from tests.conftest import ConnectAs
from tests.integration.histories import HOUR, SCOPE, History, replay_ledger
from tests.promises import PromiseReport

SEED = 30112026
MOMENT = timedelta(microseconds=1)
NEVER = datetime.fromisoformat("2020-01-01T00:00:00+00:00")
Question = tuple[str, AsOf]


def draw_questions(history: History, *, count: int) -> list[Question]:
    """Draw memories and pairs of instants; most lie exactly on, just before or just after a boundary."""
    draw = history.random
    with tenant_context(history.tenant_id, read_only=True):
        rows = fetch_all(
            sql="SELECT memory_id::text, valid_from, valid_to, recorded_from, recorded_to FROM memory_versions"
            " WHERE tenant_id = %s ORDER BY memory_id, version, part",
            params=[history.tenant_id],
        )
    bounds: dict[str, tuple[list[datetime], list[datetime]]] = {}
    for memory_id, *instants in rows:
        valid, recorded = bounds.setdefault(memory_id, ([], []))
        valid += [instant for instant in instants[:2] if instant is not None]
        recorded += [instant for instant in instants[2:] if instant is not None]

    def near(instants: list[datetime]) -> datetime:
        if draw.random() < 0.2:
            return draw.choice([NEVER, history.now + timedelta(days=400)])
        at = draw.choice(instants)
        aside = timedelta(hours=draw.randrange(-999, 999))
        return at + draw.choice([timedelta(0), timedelta(0), MOMENT, -MOMENT, aside])

    memories = sorted(bounds)
    questions = []
    for _ in range(count):
        memory_id = draw.choice(memories)
        valid, recorded = bounds[memory_id]
        questions.append((memory_id, AsOf(near(valid), near(recorded))))
    return questions


def ask_tables(history: History, questions: list[Question]) -> list[str | None]:
    """Return the digest of what the tables answer; None when nothing, or absence, was held."""
    digest = history.caller.digest
    answers: list[str | None] = []
    with tenant_context(history.tenant_id, read_only=True):
        for memory_id, as_of in questions:
            part = find_part(tenant_id=history.tenant_id, memory_id=memory_id, as_of=as_of)
            held: Any = None if part is None else part.value
            answers.append(None if held is None else digest(f"value {canonical_json(held)}"))
    return answers


def ask_oracle(history: History, questions: list[Question]) -> list[str | None]:
    """Return what the dict answers that was fed by the replayed record."""
    oracle = replay_ledger(tenant_id=history.tenant_id).oracle
    return [oracle.answer(memory_id, as_of) for memory_id, as_of in questions]


def count_differences(one: list[str | None], other: list[str | None]) -> int:
    return sum(mine != yours for mine, yours in zip(one, other, strict=True))


@pytest.mark.promise("T10")
def test_both_clocks_answer_as_the_dict_does(
    at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    """Ask; write more and ask again; revoke one subject and ask again."""
    history = History(seed=SEED)
    pairs = at_scale(10_000, 50_000)
    history.grow(at_scale(250, 1_500))
    first = draw_questions(history, count=pairs // 2)
    answers = ask_tables(history, first)
    assert count_differences(answers, ask_oracle(history, first)) == 0
    assert {None} < set(answers), "some is held and some is not"
    promise_report(count=len(first), what="pairs of instants")

    then = history.now
    history.now += HOUR  # its clock runs backwards at times, but not by that much
    history.grow(at_scale(100, 500))
    settled = [number for number, (_, as_of) in enumerate(first) if as_of.recorded_at < then]
    again = ask_tables(history, [first[number] for number in settled])
    assert count_differences(again, [answers[number] for number in settled]) == 0
    second = draw_questions(history, count=pairs // 2)
    assert count_differences(ask_tables(history, second), ask_oracle(history, second)) == 0
    promise_report(count=len(settled) + len(second), what="pairs after more writes")

    before = ask_tables(history, second)
    revoked = revoke_subject(history)
    after = ask_tables(history, second)
    expected = [None if memory in revoked else answer for (memory, _), answer in zip(second, before, strict=True)]
    assert count_differences(after, expected) == 0
    assert count_differences(before, expected) > 0, "something was revoked"
    assert list(check_memories(tenant_id=history.tenant_id)) == []
    promise_report(count=len(second), what="pairs after a revocation")


def revoke_subject(history: History) -> set[str]:
    """Revoke one of the two subjects; returns its memories."""
    with tenant_context(history.tenant_id, read_only=True):
        subject_id = fetch_all(sql="SELECT id::text FROM subjects WHERE label = 'product:p0'", params=[])[0][0]
        rows = fetch_all(sql="SELECT id::text FROM memory_heads WHERE subject_id = %s", params=[subject_id])
    revoke(
        caller=history.cast.person(history.cast.erin),
        scope=SCOPE,
        target=RevocationTarget.SUBJECT,
        target_id=subject_id,
        reason="user_request",
        now=history.now,
    )
    return {row[0] for row in rows}


@pytest.mark.promise("T10")
def test_what_rests_on_another_source_stays_after_a_revocation(promise_report: PromiseReport) -> None:
    """Revoke one event after the other: what is left equals its claims, and no answer brings a hidden value back."""
    history = History(seed=SEED + 1, cycles=2)
    history.grow(120)
    questions = draw_questions(history, count=400)
    with tenant_context(history.tenant_id, read_only=True):
        events = [
            row[0]
            for row in fetch_all(
                sql="SELECT DISTINCT source_id::text FROM memory_evidence WHERE tenant_id = %s ORDER BY 1",
                params=[history.tenant_id],
            )
        ]
    for event_id in history.random.sample(events, 25):
        before = ask_tables(history, questions)
        revoke(
            caller=history.cast.person(history.cast.erin),
            scope=SCOPE,
            target=RevocationTarget.EVENT,
            target_id=event_id,
            reason="user_request",
            now=history.now,
        )
        after = ask_tables(history, questions)
        live = list_live_values(history)
        then = [number for number, (_, as_of) in enumerate(questions) if as_of.recorded_at < history.now]
        for number in then:
            assert after[number] in (None, before[number]), "an answer about the past became another one"
        for number, (memory_id, _) in enumerate(questions):
            assert after[number] is None or (memory_id, after[number]) in live, "a value without a claim is told"
        assert list(check_memories(tenant_id=history.tenant_id)) == []
        history.now += HOUR
        history.grow(2)
        assert list(check_memories(tenant_id=history.tenant_id)) == []
    promise_report(count=25 * len(questions), what="pairs after revocations of single events")


def list_live_values(history: History) -> set[tuple[str, str]]:
    with tenant_context(history.tenant_id, read_only=True):
        rows = fetch_all(
            sql="SELECT memory_id::text, value_digest FROM memory_evidence WHERE tenant_id = %s"
            " AND withdrawn_by IS NULL AND value_digest IS NOT NULL",
            params=[history.tenant_id],
        )
    return {(memory_id, digest) for memory_id, digest in rows}


@pytest.mark.promise("T10")
def test_a_wrong_period_is_seen(connect_as: ConnectAs, promise_report: PromiseReport) -> None:
    """Shift the recorded beginning of every part by a moment: the dict answers something else."""
    history = History(seed=SEED + 2)
    history.grow(80)
    questions = draw_questions(history, count=1_000)
    with connect_as("owner") as owner:
        owner.execute("ALTER TABLE memory_versions DISABLE TRIGGER USER")
        owner.execute(
            "UPDATE memory_versions SET recorded_from = recorded_from + interval '1 microsecond'"
            " WHERE tenant_id = %s AND (recorded_to IS NULL OR recorded_to > recorded_from + interval '1 second')",
            [history.tenant_id],
        )
        owner.execute("ALTER TABLE memory_versions ENABLE TRIGGER USER")
    wrong = count_differences(ask_tables(history, questions), ask_oracle(history, questions))
    assert wrong > 0
    promise_report(count=wrong, what="differences in the twin with shifted periods")
