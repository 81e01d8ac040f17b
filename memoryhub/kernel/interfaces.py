"""The kernel as one surface: five operations, what they take and give, and what they refuse. Pure.

Two stores keep this contract: the database (`kernel/operations.py`, `kernel/queries.py`) and its twin in memory
(`kernel/twin.py`). The same tests run on both.
Source: Seed 003 §2.2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from memoryhub.kernel.values import Arbitration, DerivationRule, Facet
from memoryhub.types.enums import Availability, EvidenceKind


class RecordReused(Exception):
    """Say that a record of this key says something else."""


class EvidenceReused(Exception):
    """Say that a piece of evidence of this key points at something else."""


class EvidenceUnknown(Exception):
    """Say that there is no record or no piece of evidence of these keys; not that it cannot be read."""

    def __init__(self, *, keys: Iterable[str]) -> None:
        """Keep the keys that nothing is known of."""
        self.keys = tuple(sorted(keys))
        super().__init__(", ".join(self.keys))


class ForeignRoots(Exception):
    """Say that derived evidence claims other roots than those of what it was derived from."""


@dataclass(frozen=True, slots=True)
class Record:
    """Hold something that happened, as it was received.

    `key` is the caller's name for it, `said` what it says: the same key with something else is refused. `scope`,
    `actor` and `sender` are ids. Without a `root` it is its own, or goes back to what its session recalled.
    """

    key: str
    scope: str
    actor: str
    sender: str
    source_type: str
    trust: str
    occurred_at: datetime
    payload: Any
    said: Mapping[str, Any]
    source_seq: int = 0
    session_key: str = ""
    task_key: str = ""
    content_ref: str = ""
    redactions: tuple[Mapping[str, Any], ...] = ()
    retention_class: str = ""
    deletion_epoch: int = 0
    shown_key: str = ""
    root: str | None = None


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """Point at what a claim rests on.

    `source` is the source identity, kind and id, that claims are counted by. Evidence taken from a `record` (an id)
    has that record's root; what was `derived_from` other evidence (keys) has all of theirs, and names no other
    `roots`; any other names its roots, or is its own.
    """

    key: str
    kind: EvidenceKind
    source: tuple[str, str]
    scope: str
    observed_at: datetime
    quote: str | None = None
    record: str | None = None
    span: tuple[int, int] | None = None
    position: str = ""
    derived_from: tuple[str, ...] = ()
    roots: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Appended:
    """Say which record or piece of evidence a key stands for, and whether it was new."""

    id: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """Hold a record as it is held: the envelope for ever, the payload until its body is erased."""

    id: str
    occurred_at: datetime
    root: str
    payload: Any
    is_erased: bool


@dataclass(frozen=True, slots=True)
class StoredEvidence:
    """Hold a piece of evidence as it can be read now; anything but `available` has no quote, and disproves nothing."""

    key: str
    kind: EvidenceKind
    source: tuple[str, str]
    roots: frozenset[str]
    availability: Availability
    quote: str | None


@dataclass(frozen=True, slots=True)
class RulingRequest:
    """Hold what is ruled on pieces of evidence: which are settled, by their keys, and which of them is kept, if any."""

    key: str
    settles: frozenset[str]
    winner: str | None
    decided_by: str
    scope: str
    at: datetime


def own_roots(*, item: EvidenceItem) -> frozenset[str]:
    """Return the roots that evidence has by itself: none if a record, or what it was derived from, gives them."""
    if item.record is not None or item.derived_from:
        return frozenset()
    return item.roots or frozenset({item.source[1]})


class Kernel(Protocol):
    """Keep records and evidence; know no opinion."""

    def append_record(self, *, record: Record, now: datetime) -> Appended:
        """Append a record once; the same key with the same words is the first one.

        Raises:
            RecordReused: the key stands for something else.
        """

    def write_evidence(self, *, item: EvidenceItem, now: datetime) -> Appended:
        """Write a piece of evidence once, with its edges and its roots.

        Raises:
            EvidenceReused: the key points at something else.
            EvidenceUnknown: the record, or what it was derived from, is not there.
            ForeignRoots: it names other roots than those it was derived from.
            CyclicLineage: it would go back to itself.
        """

    def derive(self, *, facets: Iterable[Facet], rule: DerivationRule, as_of: datetime) -> Facet:
        """Return what the facets amount to at an instant: a facet again."""

    def arbitrate(self, *, ruling: RulingRequest) -> Arbitration:
        """Append a ruling as one more piece of evidence, the last of its scope so far.

        Raises:
            EvidenceUnknown: something it settles is not there.
            EvidenceReused: the key stands for another ruling.
        """

    def read_evidence(self, *, keys: Collection[str]) -> dict[str, StoredEvidence]:
        """Return what can be read of these pieces of evidence; what is unknown is not in the answer."""

    def list_rulings(self, *, scope: str) -> list[Arbitration]:
        """Return the rulings of a scope in their order, overturned ones included."""

    def lineage_of(self, *, key: str) -> frozenset[str]:
        """Return the roots that a piece of evidence goes back to.

        Raises:
            EvidenceUnknown: there is none of this key.
        """

    def read_record(self, *, key: str) -> StoredRecord:
        """Return a record by the caller's name for it.

        Raises:
            EvidenceUnknown: there is none of this key.
        """

    def erase_record(self, *, record: str, by: str, at: datetime) -> int:
        """Erase the body of a record and the quotes taken from it; envelope, keys and roots stay.

        Returns how many bodies there were to erase: none the second time.
        """
