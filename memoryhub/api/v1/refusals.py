"""Refusals: what a use case says by an exception, as a problem."""

from __future__ import annotations

from memoryhub.access.callers import RELAY_USER
from memoryhub.access.queries import ScopeForbidden, ScopeNotFound
from memoryhub.api.v1.problems import PROBLEMS, Code, Fault, Problem
from memoryhub.lib.db import StoreFailure
from memoryhub.memory.candidate_queries import CandidateNotFound
from memoryhub.memory.exceptions import (
    CandidateProposedMeanwhile,
    DeclaredMeanwhile,
    EventReceivedMeanwhile,
    MemoryNotFound,
    SourceRevoked,
    StaleHead,
)
from memoryhub.types.cognitive import UnknownCognitiveType
from memoryhub.types.entity import BadSubjectKey, MentionUnknown, UndeclaredEntityType
from memoryhub.types.fact_keys import BadFactKey
from memoryhub.usecases.align import ValueRefused
from memoryhub.usecases.answer_once import KeyReused, StillRunning
from memoryhub.usecases.ingest import ActorForbidden, ActorNotFound
from memoryhub.usecases.propose import (
    CandidateReused,
    EvidenceNotFound,
    EvidenceNotQuoted,
    PeriodRefused,
)
from memoryhub.usecases.quoting import EvidenceCycle, EvidenceNotHeld, EvidenceRefused
from memoryhub.usecases.report_usage import NotRetrieved, RunNotFound
from memoryhub.usecases.write_memory import EventIdReused

_CODES: dict[type[Exception], Code] = {
    ScopeNotFound: Code.NOT_FOUND,
    MemoryNotFound: Code.NOT_FOUND,
    CandidateNotFound: Code.NOT_FOUND,
    RunNotFound: Code.NOT_FOUND,
    EventIdReused: Code.EVENT_ID_REUSED,
    CandidateReused: Code.CANDIDATE_REUSED,
    SourceRevoked: Code.SOURCE_REVOKED,
    KeyReused: Code.IDEMPOTENCY_KEY_REUSED,
    StillRunning: Code.IDEMPOTENCY_IN_PROGRESS,
    StaleHead: Code.CONTENDED,
    EventReceivedMeanwhile: Code.CONTENDED,
    CandidateProposedMeanwhile: Code.CONTENDED,
    DeclaredMeanwhile: Code.CONTENDED,
    StoreFailure: Code.STORE_UNAVAILABLE,
}
_PLACES: dict[type[Exception], tuple[Code, str]] = {
    ActorNotFound: (Code.ACTOR_NOT_FOUND, "/actor"),
    EvidenceNotFound: (Code.EVIDENCE_NOT_FOUND, "/evidence"),
    EvidenceNotQuoted: (Code.EVIDENCE_NOT_QUOTED, "/evidence"),
    EvidenceRefused: (Code.EVIDENCE_REFUSED, "/evidence"),
    EvidenceCycle: (Code.EVIDENCE_CYCLE, "/evidence"),
    BadFactKey: (Code.BAD_FACT_KEY, "/fact_key"),
    UnknownCognitiveType: (Code.UNKNOWN_MEMORY_TYPE, "/memory_type"),
    BadSubjectKey: (Code.BAD_SUBJECT, "/subject"),
    UndeclaredEntityType: (Code.UNDECLARED_ENTITY_TYPE, "/subject"),
    MentionUnknown: (Code.UNKNOWN_SUBJECT, "/subject_mention"),
    ValueRefused: (Code.VALUE_REFUSED, "/value"),
    PeriodRefused: (Code.PERIOD_REFUSED, "/valid_to"),
}
_AGAIN = (Code.CONTENDED, Code.STORE_UNAVAILABLE, Code.IDEMPOTENCY_IN_PROGRESS)
_SOON = {"Retry-After": "1"}


def tell_refusal(error: Exception, *, at: str = "") -> Problem | None:
    """Return the problem that an exception of the rooms below states, or None if it states none.

    `at` points to the item of a batch.
    """
    if isinstance(error, ScopeForbidden):
        return Problem(
            Code.FORBIDDEN, f"The right {error.right} is missing on this scope.", more={"right": error.right}
        )
    if isinstance(error, ActorForbidden):
        return Problem(Code.FORBIDDEN, f"The right {RELAY_USER} is missing.", more={"right": RELAY_USER})
    if isinstance(error, EvidenceNotHeld):
        return Problem(
            Code.EVIDENCE_NOT_HELD,
            errors=[Fault(f"{at}/evidence", Code.EVIDENCE_NOT_HELD, error.reason)],
            more={"memory_id": error.memory_id, "reason": error.reason},
        )
    if isinstance(error, NotRetrieved):
        return Problem(Code.NOT_RETRIEVED, more={"memory_ids": error.memory_ids})
    kind = type(error)
    if kind in _PLACES:
        placed, place = _PLACES[kind]
        return Problem(placed, errors=[Fault(at + place, placed, str(error) or PROBLEMS[placed].title)])
    code = _CODES.get(kind)
    return None if code is None else Problem(code, headers=_SOON if code in _AGAIN else None)
