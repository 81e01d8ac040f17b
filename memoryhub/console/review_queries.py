"""Read one review item with everything that its page shows, in the viewer's rights."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memoryhub.access.callers import Caller
from memoryhub.access.queries import ScopeAccess, ScopeNotFound, access_scope_by_id, name_principals
from memoryhub.console.memory_queries import ClaimRow, list_claims, list_notes, list_withdrawn
from memoryhub.console.queue_queries import REVIEW
from memoryhub.lib.db import fetch_all
from memoryhub.memory.loading import load_candidate, load_state
from memoryhub.memory.queries import (
    VIEW,
    DecisionRecord,
    MemoryRecord,
    PartRecord,
    access_memory,
    list_decisions,
    list_parts,
)
from memoryhub.memory.records import CandidateRecord, MemoryState
from memoryhub.types.enums import Availability, ReviewKind, ReviewState
from memoryhub.usecases.align import list_possible_subjects


@dataclass(frozen=True, slots=True)
class Item:
    """One review item, open or decided."""

    id: str
    kind: str
    state: str
    scope_id: str
    memory_id: str | None
    candidate_id: str
    reason: str
    opened_at: datetime
    lease_holder_id: str | None
    lease_holder: str | None
    lease_expires_at: datetime | None
    decided_at: datetime | None
    decided_by: str | None
    outcome: str

    @property
    def is_open(self) -> bool:
        """Tell whether it still waits."""
        return self.state == ReviewState.OPEN


@dataclass(frozen=True, slots=True)
class Case:
    """An item with its candidate, its memory and everything that was claimed and decided."""

    item: Item
    scope: ScopeAccess
    candidate: CandidateRecord
    subject: str
    author: str
    proposer: str
    state: MemoryState
    head: MemoryRecord | None
    parts: tuple[PartRecord, ...]
    claims: tuple[ClaimRow, ...]
    decisions: tuple[DecisionRecord, ...]
    notes: dict[str, str]
    withdrawn: frozenset[str]
    possible_subjects: tuple[str, ...] = ()

    @property
    def is_locked(self) -> bool:
        """Tell whether an erasure covers it: then nothing of it is shown or decided."""
        return self.state.barrier is not None

    @property
    def is_evidence_gone(self) -> bool:
        """Tell whether nothing of what the proposed claim rests on can be used any more."""
        held = [claim.availability for claim in self.claims if claim.candidate_id == self.candidate.id]
        return any(held) and Availability.AVAILABLE not in held

    @property
    def received_at(self) -> datetime | None:
        """Return when the proposed claim was received."""
        found = (claim.received_at for claim in self.claims if claim.candidate_id == self.candidate.id)
        return next(found, self.candidate.created_at)


def access_item(*, caller: Caller, item_id: str) -> tuple[Item, ScopeAccess]:
    """Return an item that the caller may look at, and its scope.

    Raises:
        ScopeNotFound: unknown, or in a scope the caller may not know of.
        ScopeForbidden: a conflict needs `review_memory` on its scope, a confirmation `view_memory`.
    """
    rows = fetch_all(
        sql="""
            SELECT item.id::text, item.kind, item.state, item.scope_id::text, item.memory_id::text,
                item.candidate_id::text, item.reason, item.opened_at, item.lease_holder_id::text,
                coalesce(nullif(holder.display_name, ''), holder.username), item.lease_expires_at, item.decided_at,
                coalesce(nullif(decider.display_name, ''), decider.username), item.outcome
            FROM review_items item
            LEFT JOIN principals holder ON holder.id = item.lease_holder_id
            LEFT JOIN principals decider ON decider.id = item.decided_by_id
            WHERE item.tenant_id = %s AND item.id = %s
        """,
        params=[caller.tenant_id, item_id],
    )
    if not rows or rows[0][1] == ReviewKind.REREVIEW:  # what is looked at again is decided on the memory's page
        raise ScopeNotFound
    item = Item(*rows[0])
    right = VIEW if item.kind == ReviewKind.CONFIRMATION else REVIEW
    return item, access_scope_by_id(caller=caller, right=right, scope_id=item.scope_id)


def load_case(*, caller: Caller, item: Item, scope: ScopeAccess, now: datetime) -> Case:
    """Read the whole case of an item.

    Raises:
        ScopeNotFound: its candidate is gone.
    """
    tenant_id = caller.tenant_id
    candidate = load_candidate(tenant_id=tenant_id, candidate_id=item.candidate_id)
    if candidate is None:
        raise ScopeNotFound
    state = load_state(
        tenant_id=tenant_id,
        candidate=candidate,
        principal_id=caller.principal_id,
        epoch=candidate.deletion_epoch,
        now=now,
        right=VIEW if item.kind == ReviewKind.CONFIRMATION else REVIEW,
        whole=True,
    )
    memory_id = state.memory_id
    names = name_principals(tenant_id=tenant_id, ids={candidate.author_id, candidate.proposer_id})
    subject = fetch_all(
        sql="SELECT label FROM subjects WHERE tenant_id = %s AND id = %s", params=[tenant_id, candidate.subject_id]
    )
    claims = list_claims(tenant_id=tenant_id, memory_id=memory_id, candidate_id=candidate.id)
    return Case(
        item=item,
        scope=scope,
        candidate=candidate,
        subject=subject[0][0],
        author=names.get(candidate.author_id, ""),
        proposer=names.get(candidate.proposer_id, ""),
        state=state,
        head=access_memory(caller=caller, memory_id=memory_id) if memory_id else None,
        parts=tuple(list_parts(tenant_id=tenant_id, memory_id=memory_id)) if memory_id else (),
        claims=tuple(claims),
        decisions=tuple(list_decisions(tenant_id=tenant_id, memory_id=memory_id)) if memory_id else (),
        notes=list_notes(tenant_id=tenant_id, memory_id=memory_id) if memory_id else {},
        withdrawn=list_withdrawn(tenant_id=tenant_id, memory_id=memory_id) if memory_id else frozenset(),
        possible_subjects=tuple(list_possible_subjects(caller=caller, candidate=candidate))
        if candidate.subject_unclear
        else (),
    )
