"""The kernel's twin in memory: a dict as the store, the same contract. Pure.

What replays and tests run on; it shows that nothing above depends on where records are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from memoryhub.kernel.derivation import derive
from memoryhub.kernel.interfaces import (
    Appended,
    EvidenceItem,
    EvidenceReused,
    EvidenceUnknown,
    ForeignRoots,
    Record,
    RecordReused,
    RulingRequest,
    StoredEvidence,
    StoredRecord,
    own_roots,
)
from memoryhub.kernel.lineage import check_edge, find_roots
from memoryhub.kernel.values import Arbitration, DerivationRule, Facet
from memoryhub.lib.canonical import canonical_json
from memoryhub.types.enums import Availability, EvidenceKind


@dataclass(slots=True)
class _Record:
    """Hold one record; `said` is gone with its body."""

    id: str
    said: str | None
    root: str
    record: Record


@dataclass(slots=True)
class _Piece:
    """Hold one piece of evidence."""

    id: str
    item: EvidenceItem
    availability: Availability = Availability.AVAILABLE


@dataclass(slots=True)
class KernelTwin:
    """Keep records and evidence in dicts."""

    records: dict[str, _Record] = field(default_factory=dict)
    pieces: dict[str, _Piece] = field(default_factory=dict)
    edges: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rulings: dict[str, tuple[RulingRequest, Arbitration]] = field(default_factory=dict)

    def append_record(self, *, record: Record, now: datetime) -> Appended:  # noqa: ARG002  nothing here has a clock
        """Append a record once."""
        said = canonical_json(dict(record.said))
        known = self.records.get(record.key)
        if known is not None:
            if known.said not in (None, said):
                raise RecordReused
            return Appended(known.id, is_new=False)
        record_id = f"record {len(self.records)}"
        self.records[record.key] = _Record(record_id, said, record.root or record_id, record)
        return Appended(record_id, is_new=True)

    def write_evidence(self, *, item: EvidenceItem, now: datetime) -> Appended:  # noqa: ARG002
        """Write a piece of evidence once."""
        known = self.pieces.get(item.key)
        if known is not None:
            if not _is_same(known, item):
                raise EvidenceReused
            return Appended(known.id, is_new=False)
        records = {held.id for held in self.records.values()}
        unknown = {key for key in item.derived_from if key not in self.pieces and key != item.key}
        if item.record is not None and item.record not in records:
            unknown.add(item.record)
        if unknown:
            raise EvidenceUnknown(keys=unknown)
        for below in item.derived_from:
            check_edge(item=item.key, derived_from=below, edges=self.edges)
        if item.derived_from and item.roots and item.roots != self._find_roots(item.derived_from):
            raise ForeignRoots
        self.edges[item.key] = item.derived_from
        self.pieces[item.key] = _Piece(f"evidence {len(self.pieces)}", item)
        return Appended(self.pieces[item.key].id, is_new=True)

    def derive(self, *, facets: Iterable[Facet], rule: DerivationRule, as_of: datetime) -> Facet:
        """Return what the facets amount to."""
        return derive(facets=facets, rule=rule, as_of=as_of)

    def arbitrate(self, *, ruling: RulingRequest) -> Arbitration:
        """Append a ruling as one more piece of evidence."""
        if ruling.key in self.rulings:
            held, known = self.rulings[ruling.key]
            if replace(ruling, at=held.at) != held:
                raise EvidenceReused
            return known
        unknown = {key for key in ruling.settles if key not in self.pieces}
        if unknown:
            raise EvidenceUnknown(keys=unknown)
        made = Arbitration(
            key=ruling.key,
            settles=ruling.settles,
            winner=ruling.winner,
            sequence=1 + sum(1 for held, _ in self.rulings.values() if held.scope == ruling.scope),
            decided_by=ruling.decided_by,
            observed_at=ruling.at,
        )
        item = EvidenceItem(
            key=ruling.key,
            kind=EvidenceKind.RULING,
            source=("ruling", ruling.key),
            scope=ruling.scope,
            observed_at=ruling.at,
            roots=frozenset({ruling.key}),
        )
        self.write_evidence(item=item, now=ruling.at)
        self.rulings[ruling.key] = (ruling, made)
        return made

    def read_evidence(self, *, keys: Collection[str]) -> dict[str, StoredEvidence]:
        """Return what can be read of these pieces."""
        return {
            key: StoredEvidence(
                key=key,
                kind=self.pieces[key].item.kind,
                source=self.pieces[key].item.source,
                roots=self.lineage_of(key=key),
                availability=self.pieces[key].availability,
                quote=self.pieces[key].item.quote if self.pieces[key].availability is Availability.AVAILABLE else None,
            )
            for key in keys
            if key in self.pieces
        }

    def list_rulings(self, *, scope: str) -> list[Arbitration]:
        """Return the rulings of a scope in their order."""
        return [made for held, made in self.rulings.values() if held.scope == scope]

    def lineage_of(self, *, key: str) -> frozenset[str]:
        """Return the roots of a piece."""
        if key not in self.pieces:
            raise EvidenceUnknown(keys=[key])
        return self._find_roots([key])

    def read_record(self, *, key: str) -> StoredRecord:
        """Return a record."""
        if key not in self.records:
            raise EvidenceUnknown(keys=[key])
        held = self.records[key]
        return StoredRecord(
            id=held.id,
            occurred_at=held.record.occurred_at,
            root=held.root,
            payload=None if held.said is None else held.record.payload,
            is_erased=held.said is None,
        )

    def erase_record(self, *, record: str, by: str, at: datetime) -> int:  # noqa: ARG002  who and when is audit
        """Erase the body of a record and the quotes taken from it."""
        erased = 0
        for held in self.records.values():
            if held.id == record and held.said is not None:
                held.said = None
                held.record = replace(held.record, payload=None, said={}, shown_key="")
                erased += 1
        for piece in self.pieces.values():
            if piece.item.record == record and piece.availability is not Availability.ERASED:
                erased += piece.item.quote is not None
                piece.item = replace(piece.item, quote=None)
                piece.availability = Availability.ERASED
        return erased

    def _find_roots(self, keys: Iterable[str]) -> frozenset[str]:
        """Return where the edges lead to, as roots: of each end its record's root, its own, or itself."""
        roots_of_records = {held.id: held.root for held in self.records.values()}
        ends = {end for key in keys for end in find_roots(item=key, edges=self.edges)}
        roots: set[str] = set()
        for end in ends:
            item = self.pieces[end].item
            if item.record is not None:
                roots.add(roots_of_records[item.record])
            else:
                roots |= own_roots(item=item)
        return frozenset(roots)


def _is_same(known: _Piece, item: EvidenceItem) -> bool:
    """Tell whether two pieces point at the same; what was erased has no quote left to compare."""
    if known.availability is Availability.ERASED:
        item = replace(item, quote=None)
    return _identify(known.item) == _identify(item)


def _identify(item: EvidenceItem) -> EvidenceItem:
    return replace(item, derived_from=tuple(sorted(set(item.derived_from))), roots=own_roots(item=item))
