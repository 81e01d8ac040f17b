"""The hand annotation of VehicleMemBench agrees with the benchmark, line by line.

The benchmark lies beside the repository; where it is missing a build fails, and elsewhere a run says so.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.vehicles import ANNOTATION, Question, Statement, list_changes, read_questions

DATA = Path(__file__).resolve().parents[3] / "shared/data/vehiclemembench/qa_data"
COUNTS = {
    "preference_conflict": 149,
    "conditional_constraint": 102,
    "coreference_resolution": 97,
    "state_shift": 90,
    "error_correction": 62,
}
FOLLOWED = 461  # settings of the benchmark's answers that are the value of an annotated statement
# Why an answer of the benchmark is no value that the gold memory states.
ANSWER_DIFFERS = {"offset", "derived", "spelling", "answer_not_stated"}
# Why a question holds less than its type says.
LESS = {
    "preference_conflict": {"other_key", "doubtful_subject"},
    "conditional_constraint": {"other_key", "one_condition", "no_condition"},
    "coreference_resolution": set[str](),
    "state_shift": {"other_subject", "other_condition", "one_statement"},
    "error_correction": {"other_subject", "no_correction", "wrong_not_stated", "correction_in_question"},
}
SILENT = {"no_value", "no_setting", "refers_back", "remark", "value_unclear"}
_LINE = re.compile(r"\[(\w+ \d+, \d+)\]")
_TIME = re.compile(r"\b(\d+:\d+ [AP]M)\b")
_CALL = re.compile(r"carcontrol_([A-Za-z]+)_(\w+)\((.*)\)")
_ARGUMENT = re.compile(r'(\w+)=("[^"]*"|[^,]+)')
# Arguments that say where and not what.
_PLACES = {"seat", "side", "zone", "light", "window", "door", "position"}
_OTHER_CALLS = {"navigate_to": "destination", "play_station": "station", "switch": "switch"}

Asked = dict[str, Any]


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    return read_questions()


@pytest.fixture(scope="module")
def asked() -> dict[tuple[int, int], Asked]:
    """Give the benchmark's questions by file and index."""
    if not DATA.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("the benchmark is not here")
    found: dict[tuple[int, int], Asked] = {}
    for file in range(1, 51):
        rows = json.loads((DATA / f"qa_{file}.json").read_text(encoding="utf-8"))["related_to_vehicle_preference"]
        found |= {(file, index): row for index, row in enumerate(rows)}
    return found


def read_day(line: str) -> datetime:
    match = _LINE.match(line)
    assert match, "a line of the gold memory begins with its date"
    return datetime.strptime(match[1], "%B %d, %Y").replace(tzinfo=UTC)


def read_instants(line: str) -> set[datetime]:
    """Return every instant that a line names."""
    day = read_day(line)
    clocks = [datetime.strptime(text, "%I:%M %p") for text in _TIME.findall(line)]  # noqa: DTZ007  a clock has no zone
    return {day.replace(hour=clock.hour, minute=clock.minute) for clock in clocks}


def read_settings(calls: list[str]) -> list[tuple[str, Any]]:
    """Return the fact keys and values that tool calls set; calls that set nothing are left out."""
    settings = []
    for call in calls:
        match = _CALL.fullmatch(call)
        assert match, call
        device = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", match[1]).lower()
        verb = match[2]
        name = verb.removeprefix("set_") if verb.startswith("set_") else _OTHER_CALLS.get(verb)
        if name is None:
            continue
        arguments = {key: json.loads(value) for key, value in _ARGUMENT.findall(match[3]) if key not in _PLACES}
        if name == "station" and "frequency" in arguments:
            arguments.pop("name", None)
        (value,) = arguments.values()
        settings.append((f"vehicle.{device}.{name}", value))
    return settings


def says_the_same(stated: Any, answered: Any) -> bool:
    return type(stated) is type(answered) and str(stated).casefold() == str(answered).casefold()


def test_every_question_is_annotated_once_under_its_type(
    questions: list[Question], asked: dict[tuple[int, int], Asked]
) -> None:
    assert {(q.file, q.index): q.reasoning_type for q in questions} == {
        place: row["reasoning_type"] for place, row in asked.items()
    }
    assert len(questions) == len(asked) == 500
    assert Counter(question.reasoning_type for question in questions) == COUNTS
    assert ANNOTATION.stat().st_size < 300_000


def test_every_line_is_annotated_or_said_to_state_nothing(
    questions: list[Question], asked: dict[tuple[int, int], Asked]
) -> None:
    for question in questions:
        lines = asked[question.file, question.index]["gold_memory"].split("\n")
        stated = {statement.line for statement in question.statements}
        assert stated | set(question.silent) == set(range(len(lines))), question.name
        assert stated.isdisjoint(question.silent), question.name
        assert set(question.silent.values()) <= SILENT, question.name


def test_every_instant_is_one_that_its_line_names(
    questions: list[Question], asked: dict[tuple[int, int], Asked]
) -> None:
    for question in questions:
        lines = asked[question.file, question.index]["gold_memory"].split("\n")
        for statement in question.statements:
            line = lines[statement.line]
            assert statement.told in read_instants(line), question.name
            # What is told together with its change held since the day began: no earlier instant is named.
            assert statement.instant in (statement.told, read_day(line)), question.name
        order = [(statement.instant, statement.told) for statement in question.statements]
        assert order == sorted(order), question.name


def test_every_answer_follows_a_statement_or_the_record_says_why_not(
    questions: list[Question], asked: dict[tuple[int, int], Asked]
) -> None:
    followed = 0
    for question in questions:
        by_key = {question.statements[n].fact_key: question.statements[n].value for n in question.answered_by}
        known = {statement.fact_key for statement in question.statements}
        for fact_key, value in read_settings(asked[question.file, question.index]["new_answer"]):
            if fact_key not in known:
                continue
            if fact_key in by_key:
                assert says_the_same(by_key[fact_key], value), question.name
                followed += 1
            else:
                assert question.exceptions & ANSWER_DIFFERS, question.name
    assert followed == FOLLOWED


def test_nothing_but_plain_facts_is_in_it(questions: list[Question], asked: dict[tuple[int, int], Asked]) -> None:
    """Hold that no sentence of the benchmark is repeated: a value is a setting, a number or the name of a place."""
    for question in questions:
        gold = asked[question.file, question.index]["gold_memory"]
        for statement in question.statements:
            texts = [statement.value, *statement.conditions.values(), statement.mention]
            for text in texts:
                assert not isinstance(text, str) or len(text.split()) <= 9, question.name
                assert not isinstance(text, str) or f"'{text}.'" not in gold, question.name


def test_what_is_missing_for_a_type_is_named(questions: list[Question]) -> None:
    for question in questions:
        named = question.exceptions - ANSWER_DIFFERS
        assert named <= LESS[question.reasoning_type], question.name
        assert bool(named - {"other_key", "doubtful_subject", "wrong_not_stated"}) != holds_its_type(question), (
            question.name
        )


def holds_its_type(question: Question) -> bool:
    """Tell whether the statements show what the type of the question says."""
    statements = question.statements
    match question.reasoning_type:
        case "preference_conflict":
            return len({one.subject for one in statements}) > 1
        case "conditional_constraint":
            return any(one.conditions != other.conditions for one in statements for other in statements)
        case "state_shift":
            return any(change.kind == "shift" for _, change in list_changes(question))
        case "error_correction":
            return any(one.kind == "correction" for one in statements)
        case _:
            return sum(one.resolved is not None for one in statements) == 1


def test_shifts_and_corrections_change_what_was_stated_before(questions: list[Question]) -> None:
    kinds: Counter[str] = Counter()
    for question in questions:
        changed = [change for _, change in list_changes(question)]
        assert all(change.kind != "statement" for change in changed), question.name
        for statement in question.statements:
            kinds[statement.kind] += 1
            if statement.kind != "statement" and not is_first(question, statement):
                assert statement in changed, question.name
            elif statement.kind != "statement":
                assert statement.kind == "correction", question.name
                assert "wrong_not_stated" in question.exceptions, question.name
        for before, change in list_changes(question):
            if change.valid_from is not None:
                assert (change.kind, change.valid_from) == ("correction", before.begins), question.name
    assert kinds == {"statement": 895, "shift": 94, "correction": 53}


def is_first(question: Question, statement: Statement) -> bool:
    earlier = question.statements[: question.statements.index(statement)]
    return all(one.identity != statement.identity for one in earlier)


def test_a_subject_is_missing_only_where_the_reference_stays_open(questions: list[Question]) -> None:
    unclear = 0
    for question in questions:
        for statement in question.statements:
            assert (statement.subject is None) == (statement.resolved is False) == bool(statement.mention)
            assert statement.author.startswith("person:")
            unclear += statement.subject is None
    assert unclear == 2
