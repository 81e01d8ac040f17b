"""The transcript fallback: when extraction fails the words themselves are proposed, at low confidence. Pure.

So that "I failed" is never read as "nothing happened" (seed 003, invariant 4).
"""

from __future__ import annotations

from memoryhub.extraction.interfaces import EventText, Proposal
from memoryhub.types.enums import CandidateKind, EpistemicStatus, MemoryType

_LONGEST = 2000


def propose_transcript(*, event: EventText, key: str) -> Proposal:
    """Return the event's own words as a lead under the fact key `transcript.<key>`."""
    words = event.text[:_LONGEST]
    return Proposal(
        kind=CandidateKind.LEAD,
        memory_type=MemoryType.EPISODIC,
        subject=event.subject,
        fact_key=f"transcript.{key}",
        content=words,
        value=words,
        epistemic_status=EpistemicStatus.OBSERVED,
        confidence=0.2,
        span=(0, len(words)),
    )
