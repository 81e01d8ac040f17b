"""Candidates: proposed beside their evidence, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from pydantic import Field, RootModel
from rest_framework.request import Request
from rest_framework.response import Response

from memoryhub.api.v1.base import ApiView, tell
from memoryhub.api.v1.batches import is_batch, read_batch
from memoryhub.api.v1.describing import CANDIDATE_ID, describe
from memoryhub.api.v1.once import once
from memoryhub.api.v1.problems import Problem
from memoryhub.api.v1.reading import read_path_id, read_shape
from memoryhub.api.v1.refusals import tell_refusal
from memoryhub.api.v1.shapes_in import CandidateIn, EvidenceIn, Shape
from memoryhub.api.v1.shapes_out import (
    CandidateOut,
    CandidateProposed,
    CandidateResult,
    CandidatesProposed,
    ProblemOut,
    ScopeOut,
)
from memoryhub.api.v1.workers import JOBS, call_workers
from memoryhub.memory.candidate_queries import access_candidate
from memoryhub.types.enums import CandidateStatus, EpistemicStatus
from memoryhub.usecases.propose import CandidateInput, EvidenceInput, Proposed, propose_candidate, propose_candidates
from memoryhub.usecases.quoting import DocumentInput, MemoryInput


class CandidateBatchIn(Shape):
    """Up to 1,000 candidates."""

    candidates: list[CandidateIn] = Field(min_length=1)


class CandidatesBody(RootModel[CandidateIn | CandidateBatchIn]):
    """One candidate, or a batch."""


class CandidatesAnswer(RootModel[CandidateProposed | CandidatesProposed]):
    """What became of one candidate, or of a batch."""


class Candidates(ApiView):
    """Take proposals."""

    @describe(
        name="propose_candidates",
        summary="Propose what to remember",
        text=(
            "One candidate, or a batch of up to 1,000. Each names its evidence: events of its scope, documents at a "
            "revision, or lower memories that you may read. Whether it becomes a memory is decided afterwards. The "
            "same proposal again answers the first."
        ),
        body=CandidatesBody,
        answers={202: CandidatesAnswer},
    )
    @once
    def post(self, request: Request) -> Response:
        """Take one candidate or a batch."""
        del request
        if is_batch(self.body, name="candidates"):
            return self._propose_batch(self.body)
        candidate = read_shape(CandidateIn, self.body)
        proposed = propose_candidate(caller=self.caller, proposal=as_input(candidate), now=self.now)
        call_workers(look=JOBS)
        answer = _tell_proposed(proposed)
        return tell(answer, status=202, headers={"Location": answer.status_url})

    def _propose_batch(self, data: Mapping[str, Any]) -> Response:
        items = read_batch(CandidateIn, data, name="candidates")
        valid = [item for item in items if isinstance(item, CandidateIn)]
        answers = iter(
            propose_candidates(caller=self.caller, proposals=[as_input(item) for item in valid], now=self.now)
        )
        results = [
            _tell_result(item if isinstance(item, Problem) else next(answers), at=f"/candidates/{index}")
            for index, item in enumerate(items)
        ]
        accepted = sum(result.accepted is not None for result in results)
        if accepted:
            call_workers(look=JOBS)
        return tell(CandidatesProposed(accepted=accepted, refused=len(results) - accepted, results=results), status=202)


class Candidate(ApiView):
    """Tell what became of a candidate."""

    @describe(
        name="read_candidate",
        summary="See what became of a candidate",
        text="For its proposer and for whoever may view the scope.",
        parameters=(CANDIDATE_ID,),
        answers={200: CandidateOut},
        problems=(403, 404),
    )
    def get(self, request: Request, candidate_id: str) -> Response:
        """Tell what became of a candidate."""
        del request
        with self.reading() as caller:
            found = access_candidate(caller=caller, candidate_id=read_path_id(candidate_id))
        waits = found.status == CandidateStatus.NEEDS_CONFIRMATION
        return tell(
            CandidateOut(
                candidate_id=found.id,
                status=found.status,
                action=found.action,
                reason=found.reason,
                fact_key=found.fact_key,
                memory_id=found.memory_id,
                decided_at=found.decided_at,
                scope=ScopeOut(kind=found.scope_kind, key=found.scope_key),
                subject=found.subject,
                kind=found.kind,
                memory_type=found.memory_type,
                conditions=found.conditions,
                content=found.content,
                value=found.value,
                epistemic_status=found.epistemic_status,
                confidence=found.confidence,
                stance=found.stance,
                valid_from=found.valid_from,
                valid_to=found.valid_to,
                proposer=found.proposer,
                author=found.author,
                extractor=found.extractor,
                policy_version=found.policy_version,
                created_at=found.created_at,
                question=found.reason if waits else None,
            )
        )


def as_input(candidate: CandidateIn) -> CandidateInput:
    """Return the candidate as the use case takes it."""
    return CandidateInput(
        scope=candidate.scope.as_pair(),
        subject=candidate.subject or "",
        mention=candidate.mention,
        fact_key=candidate.fact_key,
        content=candidate.content,
        value=candidate.claimed_value,
        evidence=tuple(map(as_pointer, candidate.evidence)),
        kind=candidate.kind,
        memory_type=candidate.memory_type,
        conditions=dict(candidate.conditions),
        epistemic_status=EpistemicStatus(candidate.epistemic_status),
        confidence=candidate.confidence,
        stance=candidate.stance,
        valid_from=candidate.valid_from,
        valid_to=candidate.valid_to,
        statement=candidate.statement,
        task=candidate.task,
    )


def as_pointer(item: EvidenceIn, /) -> EvidenceInput | DocumentInput | MemoryInput:
    """Return one item of evidence as the use cases take it."""
    if item.document is not None:
        return DocumentInput(**item.document.model_dump())
    if item.memory is not None:
        return MemoryInput(item.memory.id, item.memory.version)
    return EvidenceInput(item.event_id or "", None if item.span is None else (item.span.start, item.span.end))


def _tell_proposed(proposed: Proposed) -> CandidateProposed:
    return CandidateProposed(
        candidate_id=proposed.candidate_id,
        status=proposed.status,
        status_url=reverse("api:candidate", args=[proposed.candidate_id]),
    )


def _tell_result(result: Proposed | Exception, *, at: str) -> CandidateResult:
    if isinstance(result, Proposed):
        return CandidateResult(status=202, accepted=_tell_proposed(result))
    problem = result if isinstance(result, Problem) else tell_refusal(result, at=at)
    if problem is None:
        raise result
    return CandidateResult(status=problem.status, problem=ProblemOut(**problem.as_json()))
