"""Review: a person decides an item; the ruling is one more piece of evidence, committed like any decision."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from memoryhub.access.operations import record_audit
from memoryhub.access.queries import ScopeForbidden, access_scope_by_id, name_principals
from memoryhub.access.tenancy import tenant_context
from memoryhub.kernel.interfaces import EvidenceItem
from memoryhub.kernel.operations import describe_evidence
from memoryhub.lib.db import fetch_all, naming_errors
from memoryhub.lib.ids import new_id
from memoryhub.memory.candidate_queries import is_evidence_gone
from memoryhub.memory.loading import load_candidate, load_state, source_of
from memoryhub.memory.lowers import attach_lowers
from memoryhub.memory.operations import Ruled, commit_decision
from memoryhub.policy.merge import MergePolicy, decide, decide_ruling
from memoryhub.policy.screening import redact_text
from memoryhub.types.claims import Ruling, SourceIdentity
from memoryhub.types.decision import Changes, Decision
from memoryhub.types.enums import EvidenceKind, MergeAction, ReviewKind
from memoryhub.usecases.align import Named, name_subject
from memoryhub.usecases.consolidate import describe_facts
from memoryhub.usecases.ingest import list_own_patterns
from memoryhub.usecases.rereview import Judgement, NothingLeft, end_reviewed, keep_reviewed, load_reviewed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from memoryhub.access.callers import Caller
    from memoryhub.memory.records import CandidateRecord, Committed, MemoryState

REVIEW = "review_memory"
REASONS_TO_REJECT = ("not_supported", "outdated", "wrong_subject", "not_useful", "private", "other")
_NEEDS_A_NOTE = "other"
MAX_ATTEMPTS = 20


class Verb(StrEnum):
    """Name what a reviewer can do with an item."""

    ACCEPT = "accept"
    KEEP_CONFLICT = "keep_conflict"
    KEEP = "keep"
    REJECT = "reject"


class ItemNotFound(Exception):
    """Say that there is no such item, or none the reviewer may know of."""


class OwnClaim(Exception):
    """Say that nobody rules on their own claim."""


class NotTheOwner(Exception):
    """Say that a confirmation comes from the scope's owner."""


class ReasonMissing(Exception):
    """Say that this verb needs a reason code from the list."""


class NoteMissing(Exception):
    """Say that this reason says nothing without a note."""


class VerbNotPossible(Exception):
    """Say that the verb does not apply to this item."""


class DateRefused(Exception):
    """Say that the value cannot hold from that date: its period would end before it begins."""


class SubjectMissing(Exception):
    """Say that nobody knows yet whom it is about, and the reviewer named nobody either."""


class DecidedByOther(Exception):
    """Say that a colleague decided the item first."""

    def __init__(self, *, name: str, at: datetime | None, outcome: str, note: str) -> None:
        """Keep who, when and what, and the note the reviewer had written."""
        super().__init__(f"{name} decided this item")
        self.name = name
        self.at = at
        self.outcome = outcome
        self.note = note


class _LowerMoved(Exception):
    """Say that what the memory under review rests on moved while the decision was made."""


class ItemStale(Exception):
    """Say that the memory moved since the reviewer read it."""

    def __init__(self, *, expected: int, current: int, note: str) -> None:
        """Keep both versions, and the note the reviewer had written."""
        super().__init__(f"the memory stands at version {current}, not {expected}")
        self.expected = expected
        self.current = current
        self.note = note


class EvidenceGone(Exception):
    """Say that nothing of what the claim rests on can be used any more; it can still be rejected."""


class ErasureStarted(Exception):
    """Say that an erasure covers this item; no content is shown and no note is kept."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Hold what a reviewer decided.

    `expected_version` is the version the reviewer read. `effective_from` is the instant from which an accepted
    value holds; None means the claim's own. `reason` is needed by `reject`. `subject` is the key, `type:name`, that the
    reviewer names where a mention was unclear, and empty elsewhere.
    """

    item_id: str
    verb: Verb
    expected_version: int
    reason: str = ""
    effective_from: datetime | None = None
    note: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Hold what the ruling led to."""

    item_id: str
    action: str
    outcome: str
    memory_id: str | None
    version: int | None
    decision_id: str | None
    recorded_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Item:
    id: str
    kind: ReviewKind
    state: str
    scope_id: str
    memory_id: str | None
    candidate_id: str
    object_id: str
    decided_by: str | None
    decided_at: datetime | None
    outcome: str


def resolve_review(
    *, caller: Caller, resolution: Resolution, now: datetime, policy: MergePolicy | None = None
) -> Resolved:
    """Decide a review item under the version the reviewer read: all in one transaction, or nothing.

    A lease is advice and never the reason of a refusal. Rows written: ruling and its evidence, decision, what the
    ruling changes, the item, the note, one audit event.

    Raises:
        ItemNotFound, ScopeForbidden: the reviewer may not see or decide it.
        OwnClaim, NotTheOwner, ReasonMissing, NoteMissing, VerbNotPossible, DateRefused: the ruling is not allowed.
        SubjectMissing, BadSubjectKey, UndeclaredEntityType: an unclear mention needs a subject of a declared type.
        DecidedByOther, ItemStale, EvidenceGone, ErasureStarted: it came too late.
        StoreFailure: the database could not be asked; nothing is known.
    """
    with naming_errors(), tenant_context(caller.tenant_id):
        resolution = _redact_words(caller, resolution)
        item = _load_item(caller=caller, item_id=resolution.item_id)
        scope = access_scope_by_id(caller=caller, right="view_memory", scope_id=item.scope_id)
        right = _right_for(item, is_owner=caller.principal_id == scope.owner_id)
        if right not in scope.rights:
            raise ScopeForbidden(right)
        if item.state != "open":
            raise _decided_by_other(caller, item.decided_by, item.decided_at, item.outcome, resolution.note)
        resolved = _resolve(
            caller=caller,
            item=item,
            resolution=resolution,
            owner_id=scope.owner_id,
            right=right,
            now=now,
            policy=policy or MergePolicy(),
        )
        record_audit(
            caller=caller,
            action="review_item.decided",
            object_ids={"item": item.id, "memory": resolved.memory_id, "decision": resolved.decision_id},
            outcome=resolved.outcome,
            reason=resolution.reason,
            now=now,
        )
        return resolved


def _resolve(
    *,
    caller: Caller,
    item: _Item,
    resolution: Resolution,
    owner_id: str | None,
    right: str,
    now: datetime,
    policy: MergePolicy,
) -> Resolved:
    """Decide the item, again for every time that a memory moved which the one under review rests on."""
    for _ in range(MAX_ATTEMPTS):
        with suppress(_LowerMoved):
            if item.kind is ReviewKind.REREVIEW:
                return _resolve_rereview(caller=caller, item=item, resolution=resolution, now=now, policy=policy)
            return _resolve_claim(
                caller=caller,
                item=item,
                resolution=resolution,
                owner_id=owner_id,
                right=right,
                now=now,
                policy=policy,
            )
    raise ItemStale(expected=resolution.expected_version, current=resolution.expected_version, note=resolution.note)


def _resolve_claim(
    *,
    caller: Caller,
    item: _Item,
    resolution: Resolution,
    owner_id: str | None,
    right: str,
    now: datetime,
    policy: MergePolicy,
) -> Resolved:
    """Rule on a claim of a conflict, or confirm or refuse a candidate."""
    candidate = load_candidate(tenant_id=caller.tenant_id, candidate_id=item.candidate_id)
    if candidate is None:
        raise ItemNotFound
    if item.kind is ReviewKind.CONFIRMATION:
        candidate = attach_lowers(tenant_id=caller.tenant_id, candidate=candidate)
    _check_ruling(caller, item, candidate, resolution, owner_id=owner_id)
    state = load_state(
        tenant_id=caller.tenant_id,
        candidate=candidate,
        principal_id=caller.principal_id,
        epoch=candidate.deletion_epoch,
        now=now,
        right=right,
        whole=True,
    )
    if state.barrier is not None:
        raise ErasureStarted
    if item.kind is ReviewKind.CONFLICT and caller.principal_id in _list_parties(state):
        raise OwnClaim
    if resolution.verb is not Verb.REJECT and (
        candidate.falls or is_evidence_gone(tenant_id=caller.tenant_id, candidate_id=candidate.id)
    ):
        raise EvidenceGone
    if state.version != resolution.expected_version:
        raise ItemStale(expected=resolution.expected_version, current=state.version, note=resolution.note)
    named: Named | None = None
    if candidate.subject_unclear and resolution.verb is Verb.ACCEPT:
        named = name_subject(caller=caller, candidate=candidate, subject=resolution.subject, now=now)
        candidate = named.candidate
        state = load_state(
            tenant_id=caller.tenant_id,
            candidate=candidate,
            principal_id=caller.principal_id,
            epoch=candidate.deletion_epoch,
            now=now,
            right=right,
            whole=True,
        )
        if state.barrier is not None:
            raise ErasureStarted
    return _commit(
        caller=caller,
        item=item,
        candidate=candidate,
        state=state,
        resolution=resolution,
        right=right,
        now=now,
        policy=policy,
        named=named,
    )


def _resolve_rereview(
    *, caller: Caller, item: _Item, resolution: Resolution, now: datetime, policy: MergePolicy
) -> Resolved:
    """Keep a memory that lost what it rested on, or let it end."""
    if caller.kind != "human":
        raise ScopeForbidden(REVIEW)
    if resolution.verb not in (Verb.KEEP, Verb.REJECT):
        raise VerbNotPossible
    _check_reason(resolution)
    reviewed = load_reviewed(tenant_id=caller.tenant_id, memory_id=item.object_id, now=now, policy=policy)
    if reviewed is None:
        raise VerbNotPossible
    if caller.principal_id in reviewed.parties:
        raise OwnClaim
    if reviewed.state.version != resolution.expected_version:
        raise ItemStale(expected=resolution.expected_version, current=reviewed.state.version, note=resolution.note)
    judgement = Judgement(
        tenant_id=caller.tenant_id,
        principal_id=caller.principal_id,
        right=REVIEW,
        item_id=item.id,
        outcome=str(resolution.verb),
        reason=resolution.reason,
        note=resolution.note,
    )
    if resolution.verb is Verb.KEEP:
        try:
            decision, committed = keep_reviewed(reviewed=reviewed, judgement=judgement, now=now, policy=policy)
        except NothingLeft:
            raise EvidenceGone from None
    else:
        decision, committed = end_reviewed(
            reviewed=reviewed,
            judgement=judgement,
            now=now,
            policy=policy,
            make_evidence=lambda ruling: _make_evidence(caller, item, reviewed.candidate, ruling, now),
        )
    return _tell_committed(caller, item, resolution, decision, committed)


def _redact_words(caller: Caller, resolution: Resolution) -> Resolution:
    """Return the resolution without forbidden material in what the reviewer wrote."""
    own = list_own_patterns(caller=caller)
    note, subject = (redact_text(text, own=own)[0] for text in (resolution.note, resolution.subject))
    return replace(resolution, note=note, subject=subject)


def _right_for(item: _Item, *, is_owner: bool) -> str:
    """Return the right a decision needs; a confirmation is the owner's, who need be no reviewer."""
    return "view_memory" if is_owner and item.kind is ReviewKind.CONFIRMATION else REVIEW


def _list_parties(state: MemoryState) -> set[str]:
    """Return who stands behind a claim of the open conflict, the standing one included."""
    members = set(state.conflict.members) if state.conflict is not None else set()
    standing = state.conflict.standing if state.conflict is not None else ""
    holders = {stored.part.author.principal for stored in state.parts if stored.part.opener.as_text() == standing}
    return holders | {claim.author.principal for claim in state.claims if claim.source.as_text() in members}


def _load_item(*, caller: Caller, item_id: str) -> _Item:
    rows = fetch_all(
        sql="""
            SELECT id::text, kind, state, scope_id::text, memory_id::text, candidate_id::text, object_id::text,
                decided_by_id::text, decided_at, outcome
            FROM review_items WHERE tenant_id = %s AND id = %s
        """,
        params=[caller.tenant_id, item_id],
    )
    if not rows:
        raise ItemNotFound
    row = rows[0]
    return _Item(row[0], ReviewKind(row[1]), *row[2:])


def _decided_by_other(
    caller: Caller, principal: str | None, at: datetime | None, outcome: str | None, note: str
) -> DecidedByOther:
    names = name_principals(tenant_id=caller.tenant_id, ids=[principal]) if principal else {}
    return DecidedByOther(name=names.get(principal or "", "policy"), at=at, outcome=outcome or "", note=note)


def _check_ruling(
    caller: Caller, item: _Item, candidate: CandidateRecord, resolution: Resolution, *, owner_id: str | None
) -> None:
    if caller.kind != "human":
        raise ScopeForbidden(REVIEW)
    if caller.principal_id in (candidate.proposer_id, candidate.author_id) and not (
        item.kind is ReviewKind.CONFIRMATION
        and caller.principal_id == owner_id
        and caller.principal_id != candidate.proposer_id
    ):
        raise OwnClaim
    if item.kind is ReviewKind.CONFIRMATION and candidate.scope_kind == "user" and caller.principal_id != owner_id:
        raise NotTheOwner
    _check_reason(resolution)
    if resolution.verb is Verb.KEEP:
        raise VerbNotPossible
    if resolution.verb is Verb.KEEP_CONFLICT and item.kind is not ReviewKind.CONFLICT:
        raise VerbNotPossible
    if resolution.verb is Verb.ACCEPT and candidate.subject_unclear != bool(resolution.subject):
        raise SubjectMissing if candidate.subject_unclear else VerbNotPossible
    begins = resolution.effective_from or candidate.valid_from
    if resolution.verb is Verb.ACCEPT and candidate.valid_to is not None and candidate.valid_to <= begins:
        raise DateRefused


def _check_reason(resolution: Resolution) -> None:
    if resolution.verb is Verb.REJECT and resolution.reason not in REASONS_TO_REJECT:
        raise ReasonMissing
    if resolution.verb is Verb.REJECT and resolution.reason == _NEEDS_A_NOTE and not resolution.note.strip():
        raise NoteMissing


def _commit(
    *,
    caller: Caller,
    item: _Item,
    candidate: CandidateRecord,
    state: MemoryState,
    resolution: Resolution,
    right: str,
    now: datetime,
    policy: MergePolicy,
    named: Named | None,
) -> Resolved:
    if item.kind is ReviewKind.CONFLICT:
        ruling = _make_ruling(candidate, state, resolution)
        decision = decide_ruling(
            ruling=ruling,
            claims=state.claims,
            rulings=state.rulings,
            predicate=state.predicate,
            policy=policy,
            memory_type=candidate.memory_type,
            now=now,
        )
        evidence: Mapping[str, Any] | None = _make_evidence(caller, item, candidate, ruling, now)
    else:
        ruling, evidence = None, None
        decision = _decide_confirmation(candidate, state, resolution, policy, now)
    committed = commit_decision(
        tenant_id=caller.tenant_id,
        candidate=candidate,
        state=state,
        decision=decision,
        epoch=state.epoch,
        now=now,
        principal_id=caller.principal_id,
        right=right,
        decider_id=caller.principal_id,
        ruled=Ruled(
            ruling=ruling,
            evidence=evidence,
            item_id=item.id,
            outcome=str(resolution.verb),
            reason=resolution.reason,
            note=resolution.note,
        ),
        new_candidate=None if named is None else named.described,
        replaces="" if named is None else named.replaces,
    )
    return _tell_committed(caller, item, resolution, decision, committed)


def _tell_committed(
    caller: Caller, item: _Item, resolution: Resolution, decision: Decision, committed: Committed
) -> Resolved:
    if committed.outcome == "committed":
        return Resolved(
            item_id=item.id,
            action=str(decision.action),
            outcome=str(resolution.verb),
            memory_id=committed.memory_id,
            version=committed.version,
            decision_id=committed.decision_id,
            recorded_at=committed.recorded_at,
        )
    if committed.outcome == "item_closed":
        raise _decided_by_other(
            caller, committed.decided_by, committed.decided_at, committed.outcome_of, resolution.note
        )
    if committed.outcome == "lower_moved":
        raise _LowerMoved
    if committed.outcome == "stale_head":
        raise ItemStale(expected=resolution.expected_version, current=committed.version or 0, note=resolution.note)
    if committed.outcome in ("barred", "epoch_moved"):
        raise ErasureStarted
    raise ScopeForbidden(REVIEW)


def _make_ruling(candidate: CandidateRecord, state: MemoryState, resolution: Resolution) -> Ruling:
    """Return the ruling on the claim under review; keeping the conflict looks at every member."""
    source = source_of(candidate)
    keeps = resolution.verb is Verb.KEEP_CONFLICT
    members = frozenset(held for held in state.candidates if _is_member(held, state)) if keeps else frozenset()
    return Ruling(
        key=str(new_id()),
        settles=members | {source},
        winner=source if resolution.verb is Verb.ACCEPT else None,
        effective_from=resolution.effective_from if resolution.verb is Verb.ACCEPT else None,
        sequence=1 + max((ruling.sequence for ruling in state.rulings), default=0),
        keeps_conflict=keeps,
    )


def _is_member(source: SourceIdentity, state: MemoryState) -> bool:
    return state.conflict is not None and source.as_text() in state.conflict.members


def _make_evidence(
    caller: Caller, item: _Item, candidate: CandidateRecord, ruling: Ruling, now: datetime
) -> dict[str, Any]:
    """Return the ruling as a piece of evidence; its words, if any, are the note beside the item."""
    evidence = EvidenceItem(
        key="",
        kind=EvidenceKind.RULING,
        source=("ruling", ruling.key),
        scope=candidate.scope_id,
        observed_at=now,
        position=f"review_item:{item.id}",
        roots=frozenset({ruling.key}),
    )
    return describe_evidence(key=caller.digest_key, item=evidence, words=ruling.key)


def _decide_confirmation(
    candidate: CandidateRecord, state: MemoryState, resolution: Resolution, policy: MergePolicy, now: datetime
) -> Decision:
    """Return what a confirmed candidate changes, or its rejection."""
    if resolution.verb is Verb.REJECT:
        return Decision(
            action=MergeAction.REJECT,
            reason=f"rejected_{resolution.reason}",
            requires_person=False,
            changes=Changes(),
            policy_version=policy.version,
        )
    return decide(
        candidate=describe_facts(candidate=candidate, echo=state.echo, confirmed=True),
        claims=state.claims,
        rulings=state.rulings,
        predicate=state.predicate,
        policy=policy,
        now=now,
    )
