"""The one Protocol of extraction: an event in, proposals out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from memoryhub.types.enums import CandidateKind, EpistemicStatus, MemoryType, Stance

if TYPE_CHECKING:
    from datetime import datetime

    from memoryhub.types.entity import Mention


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
    source_type: str = "message"
    source_seq: int = 0


@dataclass(frozen=True, slots=True)
class DeclaredPredicate:
    """Hold what the tenant declared of a fact key that a text may state in words.

    `labels` are the names people use for it, in any language. `value_schema` is JSON Schema, None for a free value.
    """

    fact_key: str
    labels: tuple[str, ...] = ()
    value_schema: dict[str, Any] | None = None
    is_many: bool = False


@dataclass(frozen=True, slots=True)
class ExtractionContext:
    """Hold what an extractor may know beside the event, none of it needed.

    `earlier` are the same speaker's events of the same session, the newest first: a correction may name its value only.
    """

    predicates: tuple[DeclaredPredicate, ...] = ()
    entity_types: frozenset[str] = frozenset()
    earlier: tuple[EventText, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """Hold one proposed memory; `span` is the half-open range of characters it was read from.

    `value` None claims absence. `valid_from` and `valid_to` are set only where the words state them. `corrects` says
    that the speaker takes back what they said before. A `mention` stands where the words have no key for whom they are
    about; `subject` does not count then.
    """

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
    stance: Stance = Stance.SUPPORTS
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    corrects: bool = False
    mention: Mention | None = None
    rule_digest: str = ""


class ExtractionFailed(Exception):
    """Say that the extractor did not work; that is never read as "nothing happened".

    The message is a code without content. `is_passing` tells that another attempt later may succeed.
    """

    def __init__(self, code: str = "extraction_failed", *, is_passing: bool = False) -> None:
        super().__init__(code)
        self.code = code
        self.is_passing = is_passing


class Extractor(Protocol):
    """Turn the words of an event into proposals."""

    version: str

    def extract(self, event: EventText, context: ExtractionContext) -> list[Proposal]:
        """Return what the event proposes, maybe nothing.

        Raises:
            ExtractionFailed: the extractor could not do its work.
        """


@dataclass(frozen=True, slots=True)
class Question:
    """Hold what a model is to be asked about one event: a request body without secrets, and what it costs at most.

    `digest` names the model and everything that is asked of it but the event itself.
    """

    model: str
    digest: str
    body: dict[str, Any]
    tokens: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold what a model answered, as it came, and the tokens it took; `tokens` None where it did not say."""

    text: str
    tokens: int | None


@runtime_checkable
class ModelExtractor(Extractor, Protocol):
    """Turn the words of an event into proposals by asking a model, in three steps of which only one leaves the house.

    So that no transaction is open while it is asked, what it costs can be refused before, and what it answered is
    recorded and read again instead of asked for again.
    """

    event_tokens: int
    daily_tokens: int

    def describe_question(self, event: EventText, context: ExtractionContext) -> Question:
        """Return what is to be asked."""

    def ask(self, question: Question) -> Answer:
        """Ask.

        Raises:
            ExtractionFailed: there is no answer.
        """

    def read_answer(
        self, answer: str, event: EventText, context: ExtractionContext, question: Question
    ) -> tuple[list[Proposal], tuple[str, ...]]:
        """Return the proposals of an answer, and codes of what in it was refused. Pure.

        Raises:
            ExtractionFailed: it cannot be read at all.
        """
