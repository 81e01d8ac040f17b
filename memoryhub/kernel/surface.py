"""L0 as one surface: the contract, the store in the database, and its twin in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from memoryhub.kernel import derivation, operations, queries
from memoryhub.kernel.interfaces import (
    Appended,
    EvidenceItem,
    EvidenceReused,
    EvidenceUnknown,
    ForeignRoots,
    Kernel,
    Record,
    RecordReused,
    RulingRequest,
    StoredEvidence,
    StoredRecord,
)
from memoryhub.kernel.lineage import CyclicLineage
from memoryhub.kernel.twin import KernelTwin
from memoryhub.kernel.values import Arbitration, DerivationRule, Facet

__all__ = [
    "Appended",
    "Arbitration",
    "CyclicLineage",
    "DerivationRule",
    "EvidenceItem",
    "EvidenceReused",
    "EvidenceUnknown",
    "Facet",
    "ForeignRoots",
    "Kernel",
    "KernelTwin",
    "Record",
    "RecordReused",
    "RulingRequest",
    "StoredEvidence",
    "StoredKernel",
    "StoredRecord",
]


@dataclass(frozen=True, slots=True)
class StoredKernel:
    """Keep records and evidence of one tenant in the database, inside a transaction that somebody else opened.

    `digest_key` is the tenant's.
    """

    tenant_id: str
    digest_key: bytes

    def append_record(self, *, record: Record, now: datetime) -> Appended:
        """Append a record once."""
        return operations.append_record(tenant_id=self.tenant_id, key=self.digest_key, record=record, now=now)

    def write_evidence(self, *, item: EvidenceItem, now: datetime) -> Appended:
        """Write a piece of evidence once."""
        return operations.write_evidence(tenant_id=self.tenant_id, key=self.digest_key, item=item, now=now)

    def derive(self, *, facets: Iterable[Facet], rule: DerivationRule, as_of: datetime) -> Facet:
        """Return what the facets amount to."""
        return derivation.derive(facets=facets, rule=rule, as_of=as_of)

    def arbitrate(self, *, ruling: RulingRequest) -> Arbitration:
        """Append a ruling as one more piece of evidence."""
        return operations.record_ruling(tenant_id=self.tenant_id, key=self.digest_key, ruling=ruling)

    def read_evidence(self, *, keys: Collection[str]) -> dict[str, StoredEvidence]:
        """Return what can be read of these pieces."""
        return queries.read_evidence(tenant_id=self.tenant_id, keys=keys)

    def list_rulings(self, *, scope: str) -> list[Arbitration]:
        """Return the rulings of a scope in their order."""
        return queries.list_rulings(tenant_id=self.tenant_id, scope=scope)

    def lineage_of(self, *, key: str) -> frozenset[str]:
        """Return the roots of a piece."""
        return queries.lineage_of(tenant_id=self.tenant_id, evidence_key=key)

    def read_record(self, *, key: str) -> StoredRecord:
        """Return a record."""
        return queries.read_record(tenant_id=self.tenant_id, key=self.digest_key, record_key=key)

    def erase_record(self, *, record: str, by: str, at: datetime) -> int:
        """Erase the body of a record and the quotes taken from it."""
        return operations.erase_record(tenant_id=self.tenant_id, record_id=record, by=by, at=at)
