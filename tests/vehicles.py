"""The hand annotation of VehicleMemBench: what each of its 500 questions states, read by a person.

What the fields mean and how they were decided stands in `tests/data/README.md`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

ANNOTATION = Path(__file__).parent / "data/vehiclemembench.jsonl"
Identity = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Statement:
    """Hold what one person states of one setting; `line` is its line in the gold memory, counted from 0.

    `told` is when it was said, `instant` from when it holds; `valid_from` is set where a correction is dated back.
    """

    line: int
    instant: datetime
    told: datetime
    valid_from: datetime | None
    subject: str | None
    mention: str
    author: str
    fact_key: str
    conditions: dict[str, str]
    value: Any
    kind: str
    resolved: bool | None = None
    implied: bool = False

    @property
    def begins(self) -> datetime:
        """The instant from which the statement says that its value holds."""
        return self.valid_from or self.instant

    @property
    def identity(self) -> Identity:
        """What makes two statements speak of one memory."""
        return (self.subject or self.mention, self.fact_key, json.dumps(self.conditions, sort_keys=True))


@dataclass(frozen=True, slots=True)
class Question:
    """Hold one question: where it stands in the benchmark, and the statements of its gold memory by time."""

    file: int
    index: int
    reasoning_type: str
    statements: tuple[Statement, ...]
    silent: dict[int, str] = field(default_factory=dict)
    answered_by: tuple[int, ...] = ()
    exceptions: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The place of the question, such as `12.0`."""
        return f"{self.file}.{self.index}"


def read_questions() -> list[Question]:
    """Return the annotated questions in the order of the file."""
    return [_read_question(json.loads(line)) for line in ANNOTATION.read_text(encoding="utf-8").splitlines()]


def list_changes(question: Question) -> Iterator[tuple[Statement, Statement]]:
    """Return each statement beside the one before it on the same memory, where the two differ in value."""
    standing: dict[Identity, Statement] = {}
    for statement in question.statements:
        before = standing.get(statement.identity)
        if before is not None and before.value != statement.value:
            yield before, statement
        standing[statement.identity] = statement


def _read_question(row: dict[str, Any]) -> Question:
    return Question(
        file=row["file"],
        index=row["index"],
        reasoning_type=row["reasoning_type"],
        statements=tuple(map(_read_statement, row["statements"])),
        silent={silent["line"]: silent["reason"] for silent in row.get("silent", ())},
        answered_by=tuple(row.get("answered_by", ())),
        exceptions=frozenset(row.get("exceptions", ())),
    )


def _read_statement(row: dict[str, Any]) -> Statement:
    instant = datetime.fromisoformat(row["instant"])
    return Statement(
        line=row["line"],
        instant=instant,
        told=datetime.fromisoformat(row["told"]) if "told" in row else instant,
        valid_from=datetime.fromisoformat(row["valid_from"]) if "valid_from" in row else None,
        subject=row["subject"],
        mention=row.get("mention", ""),
        author=row.get("author", row["subject"]),
        fact_key=row["fact_key"],
        conditions=row["conditions"],
        value=row["value"],
        kind=row["kind"],
        resolved=row.get("resolved"),
        implied=row.get("implied", False),
    )
