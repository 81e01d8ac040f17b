"""Read L0: records, evidence, rulings and lineage."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime

from memoryhub.kernel.interfaces import EvidenceUnknown, StoredEvidence, StoredRecord
from memoryhub.kernel.operations import digest_key
from memoryhub.kernel.values import Arbitration
from memoryhub.lib.db import fetch_records
from memoryhub.types.enums import Availability, EvidenceKind


def read_record(*, tenant_id: str, key: bytes, record_key: str) -> StoredRecord:
    """Return a record by the caller's name for it; `key` is the tenant's.

    Raises:
        EvidenceUnknown: there is none.
    """
    rows = fetch_records(
        sql="""
            SELECT record.id::text, record.occurred_at, record.root::text, body.payload,
                coalesce(body.erased_at IS NOT NULL, true) AS is_erased
            FROM source_events record LEFT JOIN source_event_bodies body ON body.event_id = record.id
            WHERE record.tenant_id = %s AND record.event_key_digest = %s
        """,
        params=[tenant_id, digest_key(key=key, record_key=record_key)],
    )
    if not rows:
        raise EvidenceUnknown(keys=[record_key])
    return StoredRecord(**rows[0])


def read_evidence(*, tenant_id: str, keys: Collection[str]) -> dict[str, StoredEvidence]:
    """Return what can be read of pieces of evidence, by key; what is unknown is not in the answer.

    Anything but `available` comes without its quote, and disproves nothing. Rights are the caller's business.
    """
    rows = fetch_records(
        sql="""
            SELECT item.evidence_key AS key, item.kind, item.source_kind, item.source_id::text, item.availability,
                CASE WHEN item.availability = 'available' THEN body.quote END AS quote,
                ARRAY(SELECT held.root::text FROM evidence_roots held
                      WHERE held.tenant_id = item.tenant_id AND held.evidence_id = item.id) AS roots
            FROM evidence item LEFT JOIN evidence_bodies body ON body.evidence_id = item.id
            WHERE item.tenant_id = %s AND item.evidence_key = ANY (%s)
        """,
        params=[tenant_id, list(keys)],
    )
    return {
        row["key"]: StoredEvidence(
            key=row["key"],
            kind=EvidenceKind(row["kind"]),
            source=(row["source_kind"], row["source_id"]),
            roots=frozenset(row["roots"]),
            availability=Availability(row["availability"]),
            quote=row["quote"],
        )
        for row in rows
    }


def lineage_of(*, tenant_id: str, evidence_key: str) -> frozenset[str]:
    """Return the roots that a piece of evidence goes back to.

    Raises:
        EvidenceUnknown: there is none of this key.
    """
    found = read_evidence(tenant_id=tenant_id, keys=[evidence_key])
    if evidence_key not in found:
        raise EvidenceUnknown(keys=[evidence_key])
    return found[evidence_key].roots


def list_rulings(*, tenant_id: str, scope: str) -> list[Arbitration]:
    """Return the rulings on evidence of a scope in their order, overturned ones included.

    A person's rulings on the claims of a memory stand in the table of rulings, by source.
    """
    rows = fetch_records(
        sql="""
            SELECT item.evidence_key, item."position", item.observed_at, body.quote
            FROM evidence item JOIN evidence_bodies body ON body.evidence_id = item.id
            WHERE item.tenant_id = %s AND item.source_kind = 'ruling' AND item.scope_id = %s
              AND item."position" LIKE 'ruling %%' AND body.quote IS NOT NULL
            ORDER BY substr(item."position", 8)::bigint
        """,
        params=[tenant_id, scope],
    )
    return [_read_ruling(**row) for row in rows]


def _read_ruling(evidence_key: str, position: str, observed_at: datetime, quote: str) -> Arbitration:
    said = json.loads(quote)
    return Arbitration(
        key=evidence_key,
        settles=frozenset(said["settles"]),
        winner=said["winner"],
        sequence=int(position.removeprefix("ruling ")),
        decided_by=said["decided_by"],
        observed_at=observed_at,
    )
