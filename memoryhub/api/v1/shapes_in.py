"""Shapes of what comes in. A field that is not named here is refused; text is kept as it was sent."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from memoryhub.api.v1 import limits
from memoryhub.api.v1.problems import Code
from memoryhub.api.v1.reading import Id, Instant, limit_json, limit_text
from memoryhub.types.cognitive import NAME as TYPE_NAME
from memoryhub.types.cognitive import is_cognitive_type
from memoryhub.types.entity import Mention
from memoryhub.types.enums import CandidateKind, MemoryType, Modality, ScopeKind, Stance

_SMALLINT = 2**15 - 1
_INTEGER = 2**31 - 1
_BIGINT = 2**63 - 1


def _keep_printable(text: str) -> str:
    """Refuse control characters in a name: it stands in addresses, logs and lists."""
    if any(ord(character) < ord(" ") or character == "\x7f" for character in text):
        raise PydanticCustomError("control_character", "a name holds no control characters")
    return text


def _keep_reachable(text: str) -> str:
    """Refuse what a client would take out of an address."""
    if text in (".", ".."):
        raise PydanticCustomError("unreachable", "an event id is neither . nor ..")
    return text


def _keep_registered(name: str) -> str:
    """Refuse a memory type that nobody registered: nothing says how it is forgotten."""
    if not is_cognitive_type(name=name):
        raise PydanticCustomError(Code.UNKNOWN_MEMORY_TYPE, "nobody registered this memory type")
    return name


Name = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_keep_printable)]
EventId = Annotated[Name, AfterValidator(_keep_reachable)]
OptionalName = Annotated[str, StringConstraints(max_length=200), AfterValidator(_keep_printable)]
Content = Annotated[str, limit_text(limits.CONTENT_CHARACTERS)]
Payload = Annotated[JsonValue, limit_json(limits.PAYLOAD_BYTES)]
Value = Annotated[JsonValue, limit_json(limits.VALUE_BYTES)]
Conditions = Annotated[dict[str, JsonValue], limit_json(limits.CONDITIONS_BYTES)]
SourceType = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
ReasonCode = Annotated[str, StringConstraints(min_length=1, max_length=64), AfterValidator(_keep_printable)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
MemoryTypeName = Annotated[
    str,
    StringConstraints(pattern=f"^{TYPE_NAME}$"),
    AfterValidator(_keep_registered),
    Field(description="`episodic`, `semantic`, `procedural`, `reflective`, or a type that an application registered."),
]
ClaimedStatus = Literal["explicit", "observed", "inferred"]


class Shape(BaseModel):
    """Hold input; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ScopeIn(Shape):
    """The owner of a memory: its kind and its key."""

    kind: ScopeKind
    key: Name

    def as_pair(self) -> tuple[str, str]:
        """Return (kind, key)."""
        return str(self.kind), self.key


class _Source(Shape):
    """What every event says of itself."""

    event_id: EventId = Field(description="Your own id of the event; the same id with the same content is a replay.")
    scope: ScopeIn
    source_type: SourceType = Field(
        default="statement",
        description="What kind of source it is: message, statement, commit, form, document, tool_result, … "
        "It can lower the trust of the event and never raise it.",
    )
    occurred_at: Instant = Field(description="When it happened.")
    actor: Name | None = Field(
        default=None, description="Whom it is by: a user name; needs `relay_user`. Without it, the caller."
    )
    session: OptionalName = ""
    task: OptionalName = ""
    source_seq: Annotated[int, Field(strict=True, ge=0, le=_BIGINT)] = Field(
        default=0, description="The source's own order of events of one instant."
    )
    content_ref: Annotated[str, StringConstraints(max_length=300), AfterValidator(_keep_printable)] = Field(
        default="", description="Where the content lies outside: a commit, a document at a revision."
    )


class EventIn(_Source):
    """Something that happened."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "event_id": "mail-4711",
                    "scope": {"kind": "project", "key": "platform"},
                    "source_type": "message",
                    "occurred_at": "2026-05-03T09:00:00Z",
                    "payload": {"text": "From May on we pay within 30 days."},
                }
            ]
        }
    )

    payload: Payload = Field(description="What was received, any JSON; the words of an object are its `text`.")


class SpanIn(Shape):
    """A half-open range of characters in the words of an event."""

    start: Annotated[int, Field(strict=True, ge=0, le=_INTEGER)]
    end: Annotated[int, Field(strict=True, ge=1, le=_INTEGER)]


class DocumentIn(Shape):
    """A document at a revision; the same revision is one source, whoever brings it."""

    ref: Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(_keep_printable)] = Field(
        description="Which document: a path, an address, a name."
    )
    revision: Name = Field(description="Which state of it: a commit, a version, a date.")
    quote: Content | None = Field(default=None, description="Its words there.")
    position: OptionalName = Field(default="", description="Where in it: a heading, a page, lines.")


class LowerIn(Shape):
    """A lower memory at a version."""

    id: Id
    version: Annotated[int, Field(strict=True, ge=1, le=_INTEGER)]


class EvidenceIn(Shape):
    """What a claim rests on: an event or a part of its words, a document at a revision, or a lower memory."""

    event_id: EventId | None = None
    span: SpanIn | None = Field(default=None, description="Of an event; without it, all of its words.")
    document: DocumentIn | None = None
    memory: LowerIn | None = None

    @model_validator(mode="after")
    def _point_at_one(self) -> Self:
        """Take one of the three, and a span only of an event."""
        if len([one for one in (self.event_id, self.document, self.memory) if one is not None]) != 1:
            raise PydanticCustomError("one_evidence", "send one of event_id, document and memory")
        if self.span is not None and self.event_id is None:
            raise PydanticCustomError("span_of_event", "a span is of an event")
        return self


class MentionIn(Shape):
    """What the source calls the subject, where it does not name one by its key."""

    words: Name = Field(description="The words, such as `Hans`.")
    entity_type: Annotated[str, StringConstraints(max_length=64), AfterValidator(_keep_printable)] = Field(
        default="", description="The declared type, if it is known; a new subject needs it."
    )
    is_uncertain: bool = Field(
        default=False, strict=True, description="Nobody can tell whom the words mean: a person is asked."
    )


class _Claim(Shape):
    """What is claimed."""

    subject: Annotated[str, StringConstraints(min_length=1, max_length=241)] | None = Field(
        default=None, description="What it is about, `type:name` of a declared type. This or `subject_mention`."
    )
    subject_mention: MentionIn | None = Field(
        default=None,
        description="Whom the source speaks of in its own words. If several are called so, a person is asked.",
    )
    fact_key: Name = Field(
        description="The complete relation, such as `invoice.payment_terms_days`; case and width make no other key."
    )
    content: Content = Field(description="The claim in words.")
    value: Value = Field(
        default=None,
        description="The claimed value. Left out: the content itself. `null`: a claim of absence, which retracts.",
    )
    kind: CandidateKind = CandidateKind.FACT
    memory_type: MemoryTypeName = str(MemoryType.SEMANTIC)
    conditions: Conditions = Field(
        default_factory=dict, description="When it holds; other conditions are another memory."
    )
    confidence: Share = 1.0
    stance: Stance = Stance.SUPPORTS
    valid_from: Instant | None = Field(default=None, description="Since when it is true; else `occurred_at`.")
    valid_to: Instant | None = Field(default=None, description="Until when it is true; open without it.")
    statement: Annotated[int, Field(strict=True, ge=0, le=_SMALLINT)] = Field(
        default=0, description="0, unless one source states several periods of one fact key."
    )

    @model_validator(mode="after")
    def _name_one(self) -> Self:
        """Take a key or a mention, and not both."""
        if (self.subject is None) == (self.subject_mention is None):
            raise PydanticCustomError("one_subject", "send subject, or subject_mention, and not both")
        return self

    @property
    def mention(self) -> Mention | None:
        """The mention as the use cases take it."""
        said = self.subject_mention
        return None if said is None else Mention(said.words, said.entity_type, said.is_uncertain)

    @property
    def claimed_value(self) -> Any:
        """The value, or the content where none was sent."""
        return self.value if "value" in self.model_fields_set else self.content


class CandidateIn(_Claim):
    """A proposed memory beside its evidence."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "scope": {"kind": "project", "key": "platform"},
                    "subject": "product:django",
                    "fact_key": "release.latest",
                    "conditions": {"cycle": "4.1"},
                    "content": "The latest release of Django 4.1 is 4.1.3.",
                    "value": "4.1.3",
                    "evidence": [{"event_id": "mail-4711", "span": {"start": 0, "end": 12}}],
                }
            ]
        }
    )

    scope: ScopeIn
    evidence: list[EvidenceIn] = Field(
        min_length=1,
        max_length=100,
        description="Events of the same scope, documents, lower memories. `reflective` rests on lower memories alone.",
    )
    epistemic_status: ClaimedStatus = Field(
        default="observed", description="Of an agent's own claim, `explicit` becomes `observed`: it is what people say."
    )
    task: OptionalName = ""


class MemoryIn(_Source, _Claim):
    """An explicit write: the event and what it says."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "event_id": "tutorial-1",
                    "scope": {"kind": "project", "key": "platform"},
                    "subject": "customer:hans",
                    "memory_type": "semantic",
                    "fact_key": "invoice.payment_terms_days",
                    "value": 45,
                    "content": "Hans pays within 45 days.",
                    "occurred_at": "2024-03-01T00:00:00Z",
                }
            ]
        }
    )

    text: Content | None = Field(default=None, description="The words of the source; else the content.")
    epistemic_status: ClaimedStatus = Field(
        default="explicit", description="Of an agent's own claim, `explicit` becomes `observed`: it is what people say."
    )
    evidence: list[EvidenceIn] = Field(
        default_factory=list,
        max_length=100,
        description="What it rests on beside its own event. `reflective` rests on lower memories alone.",
    )

    def as_payload(self) -> dict[str, Any]:
        """Return what the event's record holds: the words, and everything that was claimed with them."""
        claim = self.model_dump(mode="json", include={*_Claim.model_fields, "evidence"}, exclude_unset=True)
        return {"text": self.content if self.text is None else self.text, "claim": claim}


class AsOfIn(Shape):
    """Two instants; each is now where it is left out."""

    valid_at: Instant | None = Field(default=None, description="When it is to be true.")
    recorded_at: Instant | None = Field(default=None, description="When it is to have been held.")


class FiltersIn(Shape):
    """Exact filters; a memory that differs is left out and said so."""

    subject: Name | None = None
    fact_key: Name | None = None
    memory_type: MemoryTypeName | None = None
    modality: Modality | None = Field(
        default=None, description="How strongly it is believed. What is refuted or forgotten is in no answer."
    )
    conditions: Conditions = Field(
        default_factory=dict, description="What holds in the task: a memory whose condition says otherwise is left out."
    )


class SearchIn(Shape):
    """A question."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "payment terms hans", "top_k": 5, "filters": {"subject": "customer:hans"}}]
        }
    )

    query: Annotated[str, StringConstraints(min_length=1), limit_text(limits.QUERY_CHARACTERS)]
    scopes: list[ScopeIn] | None = Field(
        default=None, min_length=1, max_length=100, description="Where to look; without it, wherever you may."
    )
    filters: FiltersIn = Field(default_factory=FiltersIn)
    top_k: Annotated[int, Field(strict=True, ge=1, le=limits.TOP_K)] = Field(
        default=10, description="How many at most; `limit` means the same."
    )
    threshold: Share = 0.0
    as_of: AsOfIn = Field(default_factory=AsOfIn)
    session: OptionalName = ""
    read_token: Annotated[str, StringConstraints(max_length=200)] = Field(
        default="", description="Of an earlier write: the answer waits until that write can be found."
    )

    @model_validator(mode="before")
    @classmethod
    def _read_limit(cls, data: Any) -> Any:
        """Take `limit` for `top_k`, but not both."""
        if isinstance(data, dict) and "limit" in data and "top_k" not in data:
            return {("top_k" if name == "limit" else name): value for name, value in data.items()}
        return data


class UsedIn(Shape):
    """One memory and why it was used."""

    memory_id: Id
    reason: ReasonCode


class UsageIn(Shape):
    """What of a run was put before the model, and what was acted on."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "injected": [{"memory_id": "0199f0a0-0000-7000-8000-000000000001", "reason": "asked_for"}],
                    "adopted": [],
                }
            ]
        }
    )

    injected: list[UsedIn] = Field(default_factory=list, max_length=limits.TOP_K)
    adopted: list[UsedIn] = Field(default_factory=list, max_length=limits.TOP_K)


class PageQuery(Shape):
    """Which page of a list."""

    limit: Annotated[int, Field(ge=1, le=limits.PAGE)] = limits.DEFAULT_PAGE
    cursor: str = ""


class AsOfQuery(AsOfIn):
    """Two instants of a query."""
