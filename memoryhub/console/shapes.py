"""What the console's templates are given: plain values, already authorised and already in words.

A screen reads through queries, fills these, and hands them to its template. No model reaches a template.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from django.utils.safestring import SafeString

from memoryhub.console.grid import READABLE, Part

_ONE_LINE: Final = 28
_SENTENCE: Final = 60


@dataclass(frozen=True, slots=True)
class Key:
    """The identity of a memory, as it is named everywhere."""

    subject: str
    fact_key: str
    conditions: dict[str, object]
    scope_kind: str
    scope_key: str
    memory_type: str


@dataclass(frozen=True, slots=True)
class Lease:
    """Who has an item open; advice, never a lock."""

    kind: Literal["mine", "other", "lapsed"]
    holder: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a filter's menu."""

    label: str
    url: str
    count: int
    is_on: bool


@dataclass(frozen=True, slots=True)
class Menu:
    """One filter of a list, with the entries that exist."""

    label: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class ActiveFilter:
    """A filter that is on, and the address of the list without it."""

    label: str
    value: str
    url: str


@dataclass(frozen=True, slots=True)
class Empty:
    """Why a list is empty: nothing matches, everything is decided, or it may not be seen."""

    kind: Literal["filter", "done", "forbidden"]
    heading: str
    text: str
    url: str
    link: str


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One item that waits for a person."""

    row_id: str
    url: str
    age: timedelta
    key: Key
    old: str | None
    new: str
    support: int
    opposition: int
    items: int
    why: str
    rule: str
    waiting_on: str
    lease: Lease | None
    is_again: bool = False  # nothing is proposed: a memory is looked at again

    @property
    def is_short(self) -> bool:
        """Tell whether both values fit on one line of a list."""
        return len(self.old or "") + len(self.new) <= _ONE_LINE


@dataclass(frozen=True, slots=True)
class Page:
    """Where a slice of a list stands in the whole."""

    first: int
    last: int
    total: int
    previous_url: str = ""
    next_url: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a claim on both sides; equal fields are folded with their names."""

    name: str
    old: str
    new: str
    clock: Literal["", "valid", "recorded"] = ""
    vocabulary: Literal["", "epistemic"] = ""
    is_value: bool = False
    is_long: bool = False
    old_note: str = ""
    new_note: str = ""

    @property
    def is_marked(self) -> bool:
        """Tell whether the difference is marked word by word: in what is claimed, not in who claims it."""
        return self.is_value or self.is_long or self.clock == "valid"


@dataclass(frozen=True, slots=True)
class ThreeWay:
    """One field of a refused decision: what was read, what stands, what was meant."""

    name: str
    read: str
    stands: str
    draft: str
    changed_by: Literal["you", "they", "both", ""]
    clock: Literal["", "valid", "recorded"] = ""
    is_value: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """One item of evidence as it may be shown."""

    icon: str
    title: str
    position: str
    state: Literal["present", "against", "gone", "changed"]
    before: str
    quote: str
    after: str
    author: str
    occurred_at: datetime | None
    received_at: datetime
    note: str = ""
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class Lineage:
    """The items that go back to one root; together they count once."""

    letter: str
    title: str
    value: str
    hue: str
    weight: float | None
    items: tuple[Evidence, ...]
    is_earlier: bool = False

    @property
    def counts(self) -> bool:
        """Tell whether anything of it can still be read and supports a claim."""
        return any(item.state in {"present", "changed"} for item in self.items)


@dataclass(frozen=True, slots=True)
class Tally:
    """How much independent support one side has."""

    value: str
    hue: str
    independent: int
    items: int
    side: Literal["standing", "proposed"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a verb on this item."""

    state: Literal["holds", "fails", "yours"]
    text: str


@dataclass(frozen=True, slots=True)
class Verb:
    """One of the six verbs, judged for this item."""

    action: str
    hotkey: str
    sentence: str
    conditions: tuple[Condition, ...]
    afterwards: str = ""
    needs: Literal["", "date", "reason", "subject"] = ""
    error: str = ""

    @property
    def is_possible(self) -> bool:
        """Tell whether no condition fails."""
        return all(condition.state != "fails" for condition in self.conditions)

    @property
    def holding(self) -> int:
        """Count the conditions that hold."""
        return sum(condition.state == "holds" for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class Step:
    """One decision in the history of a memory."""

    version: int | None
    hue: str
    action: str
    value: str
    old_value: str | None
    at: datetime
    who: str
    policy: str
    reason: str
    note: str = ""
    difference: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was recorded, and what was kept."""

    status: int
    code: str
    heading: str
    text: str
    detail: str
    is_locked: bool = False
    next_url: str = ""
    fields: tuple[ThreeWay, ...] = ()


@dataclass(frozen=True, slots=True)
class GridRow:
    """One part of a version as a row of the table that follows the grid."""

    part: Part
    hue: str
    at_cross: str
    is_hit: bool

    @property
    def is_readable(self) -> bool:
        """Tell whether its value may still be shown."""
        return self.part.state in READABLE


@dataclass(frozen=True, slots=True)
class Bar:
    """One number of a small chart."""

    action: str
    count: int
    width: int
    css: str


@dataclass(frozen=True, slots=True)
class Review:
    """Everything of the review page but the frame."""

    item_url: str
    key: Key
    memory_url: str
    modality: str
    candidate_status: str
    why_title: str
    why_text: str
    why_rule: str
    tone: Literal["clash", "wait"]
    standing_version: int | None
    standing_hue: str
    fields: tuple[Field, ...]
    equal: tuple[tuple[str, str], ...]
    strip: SafeString | str
    belief: SafeString | str
    tallies: tuple[Tally, ...]
    lineages: tuple[Lineage, ...]
    other_lineages: tuple[Lineage, ...]
    verbs: tuple[Verb, ...]
    reasons: tuple[tuple[str, str], ...]
    history: tuple[Step, ...]
    earlier: tuple[Step, ...]
    expected_version: int
    lease: Lease | None
    lease_url: str
    reopen_url: str = ""
    note: str = ""
    note_error: str = ""
    effective_from: str = ""
    reason: str = ""
    subject: str = ""
    subjects: tuple[str, ...] = ()
    refusal: Refusal | None = None

    @property
    def is_prose(self) -> bool:
        """Tell whether the values are sentences, which need the width of two columns."""
        return any(field.is_value and max(len(field.old), len(field.new)) > _SENTENCE for field in self.fields)
