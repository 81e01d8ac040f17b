"""The dialogues of VehicleMemBench, read by the rules as they are shipped, held against the hand annotation.

A line of a dialogue is an event: who says it, when, in which words. The predicates are those of the annotation, named
as anyone would name them from their keys, with the type of their values. Nothing is written for a case.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memoryhub.extraction.interfaces import DeclaredPredicate, EventText, ExtractionContext, Proposal
from memoryhub.extraction.rules import RulesExtractor
from memoryhub.types.enums import CandidateKind
from tests.vehicles import Question, Statement, read_questions

HISTORIES = Path(__file__).resolve().parents[2] / "shared/data/vehiclemembench/history"
FILES = range(1, 11)  # of the 50 that the benchmark has
NEAR = timedelta(minutes=5)
_LINE = re.compile(r"\[(?P<at>[0-9-]{10} [0-9:]{5})\] (?P<who>[^:]{1,60}): (?P<text>.+)")


@dataclass(frozen=True, slots=True)
class Line:
    """Hold one line of a dialogue."""

    at: datetime
    who: str
    text: str

    @property
    def speaker(self) -> str:
        """The speaker as a subject."""
        return f"person:{self.who.split()[0].lower()}"


@dataclass(frozen=True, slots=True)
class Found:
    """Hold a proposal with the line it was read from."""

    line: Line
    proposal: Proposal


def read_lines(*, file: int) -> list[Line]:
    """Return the lines of one history."""
    text = (HISTORIES / f"history_{file}.txt").read_text(encoding="utf-8")
    return [
        Line(datetime.strptime(match["at"], "%Y-%m-%d %H:%M").replace(tzinfo=UTC), match["who"], match["text"])
        for match in map(_LINE.fullmatch, text.splitlines())
        if match is not None
    ]


def declare_predicates(questions: Iterable[Question]) -> tuple[DeclaredPredicate, ...]:
    """Return the keys of the annotation, each with names made from its own words and the type of its values."""
    values: defaultdict[str, list[Any]] = defaultdict(list)
    for question in questions:
        for statement in question.statements:
            values[statement.fact_key].append(statement.value)
    labels = {key: _name(key) for key in values}
    uses = Counter(label for known in labels.values() for label in known)
    return tuple(
        DeclaredPredicate(
            fact_key=key,
            labels=tuple(label for label in labels[key] if uses[label] == 1),
            value_schema=_type_of([value for value in values[key] if value is not None]),
        )
        for key in sorted(values)
    )


def _name(key: str) -> tuple[str, ...]:
    """Return the names of a setting: with its device, with the device's last word, and alone if it has two words."""
    _, device, setting = key.split(".") if key.count(".") == 2 else ("", *key.split("."))
    device, setting = device.replace("_", " "), setting.replace("_", " ")
    short = setting.removesuffix(" level").removesuffix(" mode").removesuffix(" position").removesuffix(" enabled")
    names = []
    for words in dict.fromkeys((setting, short)):
        names += [f"{device} {words}", f"{device.split()[-1]} {words}"]
        names += [words] if " " in words else []
    return tuple(dict.fromkeys(names))


def _type_of(values: list[Any]) -> dict[str, Any]:
    if all(isinstance(value, bool) for value in values):
        return {"type": "boolean"}
    if all(isinstance(value, int) for value in values):
        return {"type": "integer"}
    return {"enum": sorted({value for value in values if isinstance(value, str)})}


def read_all(*, files: Iterable[int], predicates: tuple[DeclaredPredicate, ...]) -> Iterator[tuple[int, Found]]:
    """Yield everything the rules propose from the dialogues, by file."""
    context = ExtractionContext(predicates=predicates)
    for file in files:
        for line in read_lines(file=file):
            for proposal in RulesExtractor().extract(as_event(line), context):
                yield file, Found(line, proposal)


def as_event(line: Line) -> EventText:
    """Return a line as an extractor sees it."""
    return EventText(text=line.text, subject=line.speaker, is_first_party=True, occurred_at=line.at)


@dataclass(frozen=True, slots=True)
class Figures:
    """Hold what came out: how much was said, annotated, proposed, and how much of each agrees."""

    lines: int
    statements: int
    proposals: int
    leads: int
    unclear: int
    on_keys: int
    on_keys_right: int
    stated_by_key: int
    likes: int
    stated_by_liking: int
    stated: int

    def as_rows(self) -> list[tuple[str, int]]:
        """Return the figures as the documentation shows them."""
        return [
            ("lines of dialogue", self.lines),
            ("statements annotated", self.statements),
            ("proposals", self.proposals),
            ("of them leads", self.leads),
            ("of them about somebody unclear", self.unclear),
            ("proposals on a declared key", self.on_keys),
            ("of them right: key, value, person and time", self.on_keys_right),
            ("statements found by their key and value", self.stated_by_key),
            ("statements found as a liking that names the value", self.stated_by_liking),
            ("statements found either way", self.stated),
        ]


def measure(*, files: Iterable[int] = FILES) -> Figures:
    """Read all the dialogues and hold what was found against the annotation."""
    files = list(files)
    questions = read_questions()
    found = list(read_all(files=files, predicates=declare_predicates(questions)))
    statements = [
        (question.file, one) for question in questions if question.file in files for one in question.statements
    ]
    keys = {statement.fact_key for question in questions for statement in question.statements}
    on_keys = [(file, one) for file, one in found if one.proposal.fact_key in keys]
    likes = [(file, one) for file, one in found if one.proposal.fact_key == "preference.likes"]
    right = {
        place
        for place, (file, one) in enumerate(on_keys)
        if any(where == file and _agrees(one, statement) for where, statement in statements)
    }
    by_key = {
        n for n, (file, said) in enumerate(statements) if any(f == file and _agrees(one, said) for f, one in on_keys)
    }
    by_liking = {
        n for n, (file, said) in enumerate(statements) if any(f == file and _likes(one, said) for f, one in likes)
    }
    return Figures(
        lines=sum(len(read_lines(file=file)) for file in files),
        statements=len(statements),
        proposals=len(found),
        leads=sum(one.proposal.kind is CandidateKind.LEAD for _, one in found),
        unclear=sum(one.proposal.mention is not None and one.proposal.mention.is_uncertain for _, one in found),
        on_keys=len(on_keys),
        on_keys_right=len(right),
        stated_by_key=len(by_key),
        likes=len(likes),
        stated_by_liking=len(by_liking),
        stated=len(by_key | by_liking),
    )


def _is_near(found: Found, statement: Statement) -> bool:
    people = {statement.subject, statement.author}
    return abs(found.line.at - statement.told) <= NEAR and found.line.speaker in people


def _agrees(found: Found, statement: Statement) -> bool:
    proposal = found.proposal
    return proposal.fact_key == statement.fact_key and proposal.value == statement.value and _is_near(found, statement)


def _likes(found: Found, statement: Statement) -> bool:
    topic = str(found.proposal.conditions.get("topic", ""))
    value = str(statement.value).replace("_", " ").lower()
    return (
        found.proposal.value is True
        and not isinstance(statement.value, bool)
        and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", topic) is not None
        and _is_near(found, statement)
    )
