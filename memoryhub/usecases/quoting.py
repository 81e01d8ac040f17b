"""Quote: turn the documents and lower memories that a proposal points at into evidence, within the rights on each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memoryhub.access.queries import ScopeForbidden, ScopeNotFound
from memoryhub.kernel.interfaces import EvidenceItem
from memoryhub.kernel.operations import describe_evidence
from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.db import fetch_all, name_constraint
from memoryhub.memory.exceptions import MemoryNotFound
from memoryhub.memory.lowers import find_value_at, load_lower
from memoryhub.memory.queries import access_memory
from memoryhub.memory.records import Cited
from memoryhub.policy.reflection import find_fall
from memoryhub.policy.screening import OwnPattern, redact_text
from memoryhub.types.enums import EvidenceKind, MemoryType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from memoryhub.access.callers import Caller
    from memoryhub.memory.lowers import Lower


class EvidenceNotHeld(Exception):
    """Say that a lower memory does not hold as it is cited."""

    def __init__(self, *, memory_id: str, reason: str) -> None:
        """Keep the lower memory and the reason code."""
        super().__init__(f"{memory_id}: {reason}")
        self.memory_id = memory_id
        self.reason = reason


class EvidenceRefused(Exception):
    """Say that a memory of this type cannot rest on this evidence."""


class EvidenceCycle(Exception):
    """Say that a memory would rest on itself, through however many others."""


name_constraint(name="memory_bases_have_no_cycle", exception=EvidenceCycle)
name_constraint(name="memory_bases_lead_to_another", exception=EvidenceCycle)


@dataclass(frozen=True, slots=True)
class DocumentInput:
    """Point into a document at a revision; `quote` are its words there, `position` says where."""

    ref: str
    revision: str
    quote: str | None = None
    position: str = ""


@dataclass(frozen=True, slots=True)
class MemoryInput:
    """Point at a lower memory at a version."""

    memory_id: str
    version: int


@dataclass(frozen=True, slots=True)
class Pointers:
    """Hold what a proposal points at beside events.

    `rests` tells that the claim rests on lower memories alone: then an event only carries the words, and is neither
    evidence nor a root. `document` is the one that the claim is counted by, if one comes before every event.
    """

    documents: tuple[DocumentInput, ...] = ()
    memories: tuple[MemoryInput, ...] = ()
    rests: bool = False
    document: DocumentInput | None = None


def sort_pointers(*, pointers: Sequence[object], memory_type: str) -> Pointers:
    """Return what a proposal points at beside events, and what that makes of its claim.

    A reflective memory rests on lower memories alone; so does any other that names nothing else.

    Raises:
        EvidenceRefused: a reflective memory names no lower memory, or anything else but the event that says it.
    """
    documents = tuple(pointer for pointer in pointers if isinstance(pointer, DocumentInput))
    memories = tuple(dict.fromkeys(pointer for pointer in pointers if isinstance(pointer, MemoryInput)))
    events = len([pointer for pointer in pointers if not isinstance(pointer, DocumentInput | MemoryInput)])
    is_reflective = memory_type == MemoryType.REFLECTIVE
    if is_reflective and (not memories or documents or events > 1):
        raise EvidenceRefused("a reflective memory rests on lower memories, at least one, and on nothing else")
    first = next((pointer for pointer in pointers if not isinstance(pointer, MemoryInput)), None)
    return Pointers(
        documents=documents,
        memories=memories,
        rests=bool(memories) and (is_reflective or not (events or documents)),
        document=first if isinstance(first, DocumentInput) else None,
    )


def redact_document(*, pointer: DocumentInput, own: Sequence[OwnPattern] = ()) -> DocumentInput:
    """Return a pointer into a document without forbidden material."""
    return replace(
        pointer,
        ref=redact_text(pointer.ref, own=own)[0],
        revision=redact_text(pointer.revision, own=own)[0],
        quote=None if pointer.quote is None else redact_text(pointer.quote, own=own)[0],
        position=redact_text(pointer.position, own=own)[0],
    )


def identify_document(*, caller: Caller, pointer: DocumentInput) -> str:
    """Return the id that a revision of a document has in this tenant, whoever brings it."""
    digest = caller.digest(f"document {canonical_json([pointer.ref, pointer.revision])}")
    return str(UUID(hex=digest[:32]))


def find_lowers(*, caller: Caller, pointers: Iterable[MemoryInput]) -> list[Lower]:
    """Return the lower memories that are pointed at, in their order.

    Raises:
        MemoryNotFound: one is unknown, or the caller may not read it, or it never had that version.
        EvidenceNotHeld: one says something else by now, or is disputed, under review or taken back.
    """
    return [_find_lower(caller=caller, pointer=pointer) for pointer in pointers]


def _find_lower(*, caller: Caller, pointer: MemoryInput) -> Lower:
    try:
        held = access_memory(caller=caller, memory_id=pointer.memory_id)
    except (ScopeForbidden, ScopeNotFound):
        raise MemoryNotFound from None
    is_known, value_digest = find_value_at(tenant_id=caller.tenant_id, memory_id=held.id, version=pointer.version)
    lower = load_lower(tenant_id=caller.tenant_id, memory_id=held.id)
    if not is_known or lower is None:
        raise MemoryNotFound
    reason = find_fall(value_digest=value_digest, lower=lower.facts)
    if reason:
        raise EvidenceNotHeld(memory_id=held.id, reason=reason)
    return lower


def list_roots(*, tenant_id: str, evidence: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    """Return every root that pieces of evidence go back to, those of what they were derived from included."""
    pieces = list(evidence)
    named = {root for item in pieces for root in item["roots"]}
    parents = [parent for item in pieces for parent in item.get("derived_from", ())]
    if not parents:
        return tuple(sorted(named))
    rows = fetch_all(
        sql="SELECT DISTINCT root::text FROM evidence_roots WHERE tenant_id = %s AND evidence_id = ANY (%s::uuid[])",
        params=[tenant_id, parents],
    )
    return tuple(sorted(named.union(row[0] for row in rows)))


def quote_document(*, caller: Caller, scope_id: str, observed_at: datetime, pointer: DocumentInput) -> dict[str, Any]:
    """Return a document at a revision as evidence: the same revision is one source, whoever brings it."""
    key = identify_document(caller=caller, pointer=pointer)
    words = pointer.quote or ""
    described = _describe(
        caller, EvidenceKind.DOCUMENT, ("document", key), scope=scope_id, words=words, observed_at=observed_at
    )
    return described | {
        "quote": pointer.quote,
        "document": {"ref": pointer.ref, "revision": pointer.revision, "position": pointer.position},
        "roots": [key],
    }


def quote_memory(*, caller: Caller, lower: Lower) -> dict[str, Any]:
    """Return a lower memory as evidence, derived from its own: its words stay in their scope, and are not copied."""
    facts = lower.facts
    said = canonical_json([facts.memory, facts.version])
    described = _describe(
        caller,
        EvidenceKind.MEMORY,
        ("memory", facts.memory),
        scope=lower.scope_id,
        words=said,
        observed_at=facts.belief.observed_at,
    )
    return described | {
        "position": f"v{facts.version}",
        "roots": [] if lower.evidence_ids else sorted(facts.belief.roots),
        "derived_from": list(lower.evidence_ids),
    }


def cite_lowers(*, lowers: Iterable[Lower]) -> tuple[Cited, ...]:
    """Return lower memories as a candidate names them: at the version that stands."""
    return tuple(Cited(memory_id=lower.facts.memory, version=lower.facts.version) for lower in lowers)


def _describe(
    caller: Caller, kind: EvidenceKind, source: tuple[str, str], *, scope: str, words: str, observed_at: datetime
) -> dict[str, Any]:
    item = EvidenceItem(key="", kind=kind, source=source, scope=scope, observed_at=observed_at)
    return describe_evidence(key=caller.digest_key, item=item, words=words)
