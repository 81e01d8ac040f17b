"""Read the sample's lines, and say in a sentence of ours what each of them states."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[3] / "samples"
PRODUCTS = {"django": "Django", "nodejs": "Node.js", "postgresql": "PostgreSQL", "python": "Python"}
FIELDS = {
    "releaseDate": "release date",
    "latest": "latest release",
    "latestReleaseDate": "date of the latest release",
    "lts": "long-term support",
    "eoas": "end of active support",
    "eol": "end of life",
    "eoes": "end of extended support",
}
BOT = "release-bot"


@dataclass(frozen=True, slots=True)
class Change:
    """Hold one change of a lifecycle fact; `value` None means that the fact was removed."""

    seq: int
    product: str
    cycle: str
    field: str
    value: str | bool | None
    time: datetime
    author: str

    @property
    def event_id(self) -> str:
        """The id under which the change is sent; ids sort as the changes do."""
        return f"endoflife-{self.seq:05}"

    @property
    def subject(self) -> str:
        """The entity the fact is about."""
        return f"product:{self.product}"

    @property
    def fact_key(self) -> str:
        """The relation that the change answers."""
        return f"release.{self.field}"

    @property
    def conditions(self) -> dict[str, str]:
        """When the fact holds: for one release cycle."""
        return {"cycle": self.cycle}

    @property
    def statement(self) -> str:
        """The change as a sentence."""
        return f"{PRODUCTS[self.product]} {self.cycle}, {FIELDS[self.field]}: {say_value(self.value)}."


def say_value(value: str | bool | None, /) -> str:
    """Return a value in words."""
    if value is None:
        return "no longer stated"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value


@dataclass(frozen=True, slots=True)
class Message:
    """Hold one message of a person, and the preference that an agent guesses from it, if any."""

    event_id: str
    author: str
    time: datetime
    text: str
    infers: dict[str, Any] | None


def name_maintainer(number: int) -> str:
    """Return the user name of a person who is known only as a number."""
    return f"maintainer-{number:02}"


def read_changes() -> list[Change]:
    """Return the changes in the order of their source."""
    return [
        Change(
            seq=row["seq"],
            product=row["product"],
            cycle=row["cycle"],
            field=row["field"],
            value=row["value"],
            time=datetime.fromisoformat(row["time"]),
            author=BOT if row["who"] == "bot" else name_maintainer(row["who"]),
        )
        for row in _read_lines("endoflife.jsonl")
    ]


def read_messages() -> list[Message]:
    """Return the invented messages in the order of their time."""
    return [
        Message(
            event_id=f"message-{row['id']}",
            author=row["who"],
            time=datetime.fromisoformat(row["time"]),
            text=row["text"],
            infers=row.get("infers"),
        )
        for row in _read_lines("personal.jsonl")
    ]


def _read_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]
