"""Write to L0: append records, write evidence, record rulings, erase bodies.

Each is one round trip inside a transaction of the tenant that somebody else has opened. The describing functions give
what the SQL of the hot path takes too, so that a record and a piece of evidence look alike however they come in.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from memoryhub.kernel.interfaces import (
    Appended,
    EvidenceItem,
    EvidenceReused,
    EvidenceUnknown,
    ForeignRoots,
    Record,
    RecordReused,
    RulingRequest,
    own_roots,
)
from memoryhub.kernel.lineage import CyclicLineage
from memoryhub.kernel.values import Arbitration
from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.db import fetch_all, fetch_json, name_constraint
from memoryhub.lib.hashing import keyed_digest, new_salt
from memoryhub.lib.ids import new_id
from memoryhub.types.enums import EvidenceKind

name_constraint(name="evidence_edges_have_no_cycle", exception=CyclicLineage)
name_constraint(name="evidence_roots_follow_the_edges", exception=ForeignRoots)


def digest_key(*, key: bytes, record_key: str) -> str:
    """Return the digest that a record is found by; `key` is the tenant's."""
    return keyed_digest(key=key, text=f"event {record_key}")


def describe_record(*, tenant_id: str, key: bytes, record: Record, now: datetime) -> dict[str, Any]:
    """Return a record as `append_records_v1` takes it, with an id and a salt of its own."""
    salt = new_salt()
    described = {
        "id": str(new_id()),
        "tenant": tenant_id,
        "event_key_digest": digest_key(key=key, record_key=record.key),
        "event_key": record.shown_key or record.key,
        "scope": record.scope,
        "actor": record.actor,
        "sender": record.sender,
        "session_key": record.session_key,
        "task_key": record.task_key,
        "source_type": record.source_type,
        "trust": record.trust,
        "occurred_at": record.occurred_at.isoformat(),
        "source_seq": record.source_seq,
        "ingested_at": now.isoformat(),
        "content_ref": record.content_ref,
        "content_digest": keyed_digest(key=key, text=canonical_json(dict(record.said)), salt=salt),
        "redactions": [dict(redaction) for redaction in record.redactions],
        "retention_class": record.retention_class,
        "deletion_epoch": record.deletion_epoch,
        "payload": record.payload,
        "salt": salt.hex(),
    }
    return described if record.root is None else {**described, "root": record.root}


def append_record(*, tenant_id: str, key: bytes, record: Record, now: datetime) -> Appended:
    """Append a record once, under its scope's guard. Rows written: envelope and body.

    Raises:
        RecordReused: the key stands for something else.
    """
    described = describe_record(tenant_id=tenant_id, key=key, record=record, now=now)
    found = fetch_json(sql="SELECT append_record_once_v1(%s::jsonb)", params=[json.dumps(described)])
    if not found["is_new"] and found["salt"] is not None:
        said = keyed_digest(key=key, text=canonical_json(dict(record.said)), salt=bytes.fromhex(found["salt"]))
        if said != found["content_digest"]:
            raise RecordReused
    return Appended(found["id"], is_new=found["is_new"])


def describe_evidence(*, key: bytes, item: EvidenceItem, words: str = "") -> dict[str, Any]:
    """Return a piece of evidence as `write_evidence_v1` takes it, with an id and a salt of its own.

    One without a key is named after its id. The digest is of the quote, or of the `words` of what has none. What it was
    derived from is given there by ids, and here left to the caller, as is the root of a record.
    """
    salt = new_salt()
    evidence_id = new_id()
    return {
        "id": str(evidence_id),
        "evidence_key": item.key or f"ev_{evidence_id.hex}",
        "kind": str(item.kind),
        "source_kind": item.source[0],
        "source_id": item.source[1],
        "scope": item.scope,
        "event": item.record,
        "span_start": None if item.span is None else item.span[0],
        "span_end": None if item.span is None else item.span[1],
        "position": item.position,
        "digest": keyed_digest(key=key, text=item.quote or words, salt=salt),
        "observed_at": item.observed_at.isoformat(),
        "quote": item.quote,
        "salt": salt.hex(),
        "roots": sorted(item.roots if item.derived_from else own_roots(item=item)),
    }


def write_evidence(*, tenant_id: str, key: bytes, item: EvidenceItem, now: datetime) -> Appended:
    """Write a piece of evidence once. Rows written: evidence, its quote, its edges and its roots.

    Raises:
        EvidenceReused, EvidenceUnknown, ForeignRoots, CyclicLineage: as `Kernel.write_evidence`.
    """
    described = describe_evidence(key=key, item=item) | {"parents": sorted(set(item.derived_from))}
    found = fetch_json(
        sql="SELECT write_evidence_once_v1(%s, %s::jsonb, %s)", params=[tenant_id, json.dumps(described), now]
    )
    _check_known(key, found, described)
    return Appended(found["id"], is_new=found["is_new"])


def _check_known(key: bytes, found: dict[str, Any], described: dict[str, Any]) -> None:
    """Refuse what rests on nothing known, and what a known key does not stand for."""
    if "unknown" in found:
        raise EvidenceUnknown(keys=found["unknown"])
    if found["is_new"]:
        return
    derived = described["event"] is not None or described["parents"]
    wanted = {name: described.get(name) for name in found["stands_for"]} | {
        "roots": [] if derived else described["roots"],
    }
    stands_for = found["stands_for"] | {"roots": sorted(found["stands_for"]["roots"])}
    for said in (wanted, stands_for):
        said["observed_at"] = datetime.fromisoformat(said["observed_at"])
    if found["salt"] is not None:
        quote = keyed_digest(key=key, text=described["quote"] or "", salt=bytes.fromhex(found["salt"]))
        same_words = quote == found["digest"] and found["has_words"] == (described["quote"] is not None)
    else:
        same_words = found["is_erased"] or described["quote"] is None
    if wanted != stands_for or not same_words:
        raise EvidenceReused


def record_ruling(*, tenant_id: str, key: bytes, ruling: RulingRequest) -> Arbitration:
    """Append a ruling as one more piece of evidence. Rows written: evidence with its words and its root.

    Raises:
        EvidenceUnknown, EvidenceReused: as `Kernel.arbitrate`.
    """
    words = {"settles": sorted(ruling.settles), "winner": ruling.winner, "decided_by": ruling.decided_by}
    item = EvidenceItem(
        key=ruling.key,
        kind=EvidenceKind.RULING,
        source=("ruling", ruling.key),
        scope=ruling.scope,
        observed_at=ruling.at,
        quote=canonical_json(words),
    )
    described = describe_evidence(key=key, item=item) | {"parents": [], "settles": sorted(ruling.settles)}
    found = fetch_json(
        sql="SELECT record_ruling_once_v1(%s, %s::jsonb, %s)", params=[tenant_id, json.dumps(described), ruling.at]
    )
    observed_at = ruling.at
    if found.get("stands_for") is not None:
        # Said again it keeps its place and its instant; what it settles is compared by its words.
        held = found["stands_for"]
        described |= {"position": held["position"], "observed_at": held["observed_at"]}
        observed_at = datetime.fromisoformat(held["observed_at"])
    _check_known(key, found, described)
    return Arbitration(
        key=ruling.key,
        settles=ruling.settles,
        winner=ruling.winner,
        sequence=found["place"],
        decided_by=ruling.decided_by,
        observed_at=observed_at,
    )


def erase_record(*, tenant_id: str, record_id: str, by: str, at: datetime) -> int:
    """Erase the body of a record and the quotes taken from it, under the guard; returns how many there were.

    Rows changed: bodies, and the availability of the evidence. Envelope, keys, edges and roots stay.
    """
    rows = fetch_all(sql="SELECT erase_record_v1(%s, %s, %s, %s)", params=[tenant_id, record_id, by, at])
    return int(rows[0][0])
