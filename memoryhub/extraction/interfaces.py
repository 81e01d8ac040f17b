"""The one Protocol of extraction: an event in, proposals out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from memoryhub.types.enums import CandidateKind, EpistemicStatus, MemoryType

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class EventText:
    """Hold what an extractor may look at: the words of one event, who said them, and when it happened.

    The words are data: nothing in them is followed as an instruction. `subject` is `type:name` of the entity
    that stands for the speaker.
    """

    text: str
    subject: str
    is_first_party: bool
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class Proposal:
    """Hold one proposed memory; `span` is the half-open range of characters it was read from."""

    kind: CandidateKind
    memory_type: MemoryType
    subject: str
    fact_key: str
    content: str
    value: Any
    epistemic_status: EpistemicStatus
    confidence: float
    span: tuple[int, int]
    conditions: dict[str, Any] = field(default_factory=dict)


class ExtractionFailed(Exception):
    """Say that the extractor did not work; that is never read as "nothing happened"."""


class Extractor(Protocol):
    """Turn the words of an event into proposals."""

    version: str

    def extract(self, event: EventText) -> list[Proposal]:
        """Return what the event proposes, maybe nothing.

        Raises:
            ExtractionFailed: the extractor could not do its work.
        """
