"""Recall: give an agent what it may use, and write down what was given, what was left out, and why."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from memoryhub.access.queries import ScopeForbidden, ScopeNotFound, list_scopes
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.db import naming_errors
from memoryhub.memory.queries import ConflictingClaim, list_conflicting_claims
from memoryhub.policy.projection import ProjectionPolicy, RecalledFacts, Worth, value_memory
from memoryhub.retrieval.operations import RunItem, record_run
from memoryhub.retrieval.queries import FoundMemory, search_memories
from memoryhub.types.cognitive import is_cognitive_type
from memoryhub.types.enums import Modality, ScopeKind, UsageOutcome, VersionState
from memoryhub.types.fact_keys import BadFactKey
from memoryhub.types.normalising import compose_value
from memoryhub.types.temporal import AsOf
from memoryhub.usecases.align import Catalogue, find_own_key
from memoryhub.usecases.ingest import digest_session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memoryhub.access.callers import Caller
    from memoryhub.access.queries import ScopeAccess

RIGHT = "recall_memory"
MAX_TOP_K = 100
_CONSIDERED = 200


@dataclass(frozen=True, slots=True)
class RecallInput:
    """Hold one question: words, the scopes to look in (all the caller may, when None), filters and two instants.

    `conditions` are what holds in the task at hand: a memory whose condition says otherwise is left out.
    """

    query: str
    scopes: Sequence[tuple[str, str]] | None = None
    top_k: int = 10
    threshold: float = 0.0
    subject: str | None = None
    fact_key: str | None = None
    memory_type: str | None = None
    modality: Modality | None = None
    conditions: dict[str, Any] = field(default_factory=dict)
    as_of: AsOf | None = None
    session: str = ""


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """Hold one memory of the answer; a disputed one brings every claim of its open conflict."""

    memory: FoundMemory
    worth: Worth
    conflict: tuple[ConflictingClaim, ...]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Hold one memory that was considered and left out, with the reason code."""

    memory_id: str
    version: int
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold the answer to a question and the run it is audited under."""

    run_id: str
    as_of: AsOf
    items: tuple[RecalledItem, ...]
    excluded: tuple[Exclusion, ...]
    policy_version: str


def recall_memories(
    *, caller: Caller, question: RecallInput, now: datetime, policy: ProjectionPolicy | None = None
) -> Answer:
    """Answer a question from the memories the caller may recall. Rows written: one run and its items.

    Raises:
        ScopeNotFound, ScopeForbidden: a named scope is unknown, or lacks the right `recall_memory`.
        StoreFailure: the database could not be asked.
    """
    projection = policy or ProjectionPolicy()
    as_of = question.as_of or AsOf(valid_at=now, recorded_at=now)
    with naming_errors(), tenant_context(caller.tenant_id):
        question = _align(caller=caller, question=question)
        scopes = _choose_scopes(caller=caller, names=question.scopes)
        found = search_memories(
            tenant_id=caller.tenant_id,
            scope_ids=[scope.id for scope in scopes],
            text=question.query,
            as_of=as_of,
            limit=_CONSIDERED,
        )
        chosen, excluded = _project(found=found, question=question, policy=projection, as_of=as_of)
        disputed = [memory.memory_id for memory, _ in chosen if memory.has_open_conflict]
        claims = list_conflicting_claims(tenant_id=caller.tenant_id, memory_ids=disputed) if disputed else {}
        run_id = record_run(
            tenant_id=caller.tenant_id,
            principal_id=caller.principal_id,
            scope_epochs={scope.id: scope.deletion_epoch for scope in scopes},
            query_digest=caller.digest(f"query {question.query}"),
            session_key=digest_session(caller=caller, session=question.session),
            valid_at=as_of.valid_at,
            recorded_at=as_of.recorded_at,
            policy_version=projection.version,
            top_k=question.top_k,
            items=_describe_items(chosen, excluded),
            now=now,
        )
    return Answer(
        run_id=run_id,
        as_of=as_of,
        items=tuple(
            RecalledItem(memory=memory, worth=worth, conflict=tuple(claims.get(memory.memory_id, ())))
            for memory, worth in chosen
        ),
        excluded=tuple(excluded),
        policy_version=projection.version,
    )


def _align(*, caller: Caller, question: RecallInput) -> RecallInput:
    """Return the question with key and subject as memories name them; what names nothing stays, and matches nothing."""
    fact_key, subject = question.fact_key, question.subject
    if fact_key is not None:
        with suppress(BadFactKey):
            fact_key = Catalogue(caller).find_key(text=fact_key).spelling
    if subject is not None:
        subject = find_own_key(caller=caller, key=subject) or subject
    conditions = compose_value(value=question.conditions)
    return replace(question, fact_key=fact_key, subject=subject, conditions=conditions)


def _choose_scopes(*, caller: Caller, names: Sequence[tuple[str, str]] | None) -> list[ScopeAccess]:
    known = {(scope.kind, scope.key): scope for scope in list_scopes(caller=caller)}
    if names is None:
        return [scope for scope in known.values() if RIGHT in scope.rights and caller.may_use(RIGHT)]
    chosen = []
    for name in dict.fromkeys(names):
        scope = known.get(name)
        if scope is None:
            raise ScopeNotFound
        if RIGHT not in scope.rights or not caller.may_use(RIGHT):
            raise ScopeForbidden(RIGHT)
        chosen.append(scope)
    return chosen


def _project(
    *, found: list[FoundMemory], question: RecallInput, policy: ProjectionPolicy, as_of: AsOf
) -> tuple[list[tuple[FoundMemory, Worth]], list[Exclusion]]:
    """Return what is shown, best first, and what is left out with its reason."""
    kept: list[tuple[FoundMemory, Worth]] = []
    excluded: list[Exclusion] = []
    for memory in found:
        if not is_cognitive_type(name=memory.memory_type):
            # Whoever registered it is no longer installed: nothing says how it fades.
            excluded.append(Exclusion(memory.memory_id, memory.version, "memory_type_unregistered"))
            continue
        worth = value_memory(
            facts=RecalledFacts(
                relevance=memory.relevance,
                confidence=memory.confidence,
                modality=Modality(memory.modality),
                memory_type=memory.memory_type,
                scope_kind=ScopeKind(memory.scope_kind),
                age=max(as_of.valid_at - memory.occurred_at, as_of.valid_at - as_of.valid_at),
            ),
            policy=policy,
        )
        reason = _find_mismatch(memory, question) or _find_review(memory) or worth.exclusion
        if not reason and worth.value < question.threshold:
            reason = "below_threshold"
        if reason:
            excluded.append(Exclusion(memory.memory_id, memory.version, reason))
        else:
            kept.append((memory, worth))
    kept.sort(key=lambda pair: (*(-part for part in pair[1].rank()), pair[0].memory_id))
    excluded += [Exclusion(memory.memory_id, memory.version, "below_top_k") for memory, _ in kept[question.top_k :]]
    return kept[: question.top_k], excluded


def _find_review(memory: FoundMemory) -> str:
    """Say that a memory is under review: until a person has looked, nobody is given it."""
    return str(VersionState.NEEDS_REVIEW) if memory.state == VersionState.NEEDS_REVIEW else ""


def _find_mismatch(memory: FoundMemory, question: RecallInput) -> str:
    if question.subject is not None and memory.subject != question.subject:
        return "subject_differs"
    if question.fact_key is not None and memory.fact_key != question.fact_key:
        return "fact_key_differs"
    if question.memory_type is not None and memory.memory_type != question.memory_type:
        return "memory_type_differs"
    if question.modality is not None and memory.modality != question.modality:
        return "modality_differs"
    differs = any(
        name in memory.conditions and memory.conditions[name] != value for name, value in question.conditions.items()
    )
    return "condition_differs" if differs else ""


def _describe_items(chosen: list[tuple[FoundMemory, Worth]], excluded: list[Exclusion]) -> list[RunItem]:
    items = [
        RunItem(
            memory_id=memory.memory_id,
            version=memory.version,
            outcome=UsageOutcome.RETRIEVED,
            position=position,
            score=describe_score(worth=worth),
            reason="relevant",
        )
        for position, (memory, worth) in enumerate(chosen, start=1)
    ]
    items += [
        RunItem(
            memory_id=one.memory_id,
            version=one.version,
            outcome=UsageOutcome.EXCLUDED,
            position=0,
            score={},
            reason=one.reason,
        )
        for one in excluded
    ]
    return items


def describe_score(*, worth: Worth) -> dict[str, float]:
    """Return the parts of a memory's value, each in 0..1."""
    return {
        "value": worth.value,
        "relevance": worth.relevance,
        "belief": worth.belief,
        "closeness": worth.closeness,
        "recency": worth.recency,
    }
