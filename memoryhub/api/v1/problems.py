"""Problems: every refusal of the API, from one closed list, as an RFC 9457 document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

TYPE = "/docs/reference/problems#"
MEDIA_TYPE = "application/problem+json"


class Code(StrEnum):
    """Name every problem; programs look at this and not at the texts."""

    MALFORMED_BODY = "malformed_body"
    NUL_CHARACTER = "nul_character"
    NAIVE_TIME = "naive_time"
    MALFORMED_TIME = "malformed_time"
    MALFORMED_ID = "malformed_id"
    MALFORMED_CURSOR = "malformed_cursor"
    MALFORMED_KEY = "malformed_key"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    EVENT_ID_REUSED = "event_id_reused"
    CANDIDATE_REUSED = "candidate_reused"
    SOURCE_REVOKED = "source_revoked"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    IDEMPOTENCY_IN_PROGRESS = "idempotency_in_progress"
    TOO_LARGE = "too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    INVALID_INPUT = "invalid_input"
    UNKNOWN_FIELD = "unknown_field"
    ACTOR_NOT_FOUND = "actor_not_found"
    EVIDENCE_NOT_FOUND = "evidence_not_found"
    EVIDENCE_NOT_QUOTED = "evidence_not_quoted"
    EVIDENCE_NOT_HELD = "evidence_not_held"
    EVIDENCE_REFUSED = "evidence_refused"
    EVIDENCE_CYCLE = "evidence_cycle"
    BAD_FACT_KEY = "bad_fact_key"
    UNKNOWN_MEMORY_TYPE = "unknown_memory_type"
    BAD_SUBJECT = "bad_subject"
    UNDECLARED_ENTITY_TYPE = "undeclared_entity_type"
    UNKNOWN_SUBJECT = "unknown_subject"
    VALUE_REFUSED = "value_refused"
    PERIOD_REFUSED = "period_refused"
    NOT_RETRIEVED = "not_retrieved"
    REJECTED = "rejected"
    CONTENDED = "contended"
    NOT_YET_VISIBLE = "not_yet_visible"
    STORE_UNAVAILABLE = "store_unavailable"


@dataclass(frozen=True, slots=True)
class Kind:
    """Hold what is the same for every problem of one code."""

    status: int
    title: str
    when: str
    advice: str


PROBLEMS: Mapping[Code, Kind] = {
    Code.MALFORMED_BODY: Kind(
        400,
        "The body cannot be read",
        "The body is not JSON in UTF-8, names a field twice, nests too deep, or holds NaN, infinity or half of a "
        "surrogate pair.",
        "Correct the encoding and send again.",
    ),
    Code.NUL_CHARACTER: Kind(400, "A text holds U+0000", "A text or a name contains U+0000.", "Take it out."),
    Code.NAIVE_TIME: Kind(400, "A time has no offset", "A time has no offset.", "Send RFC 3339 with an offset or `Z`."),
    Code.MALFORMED_TIME: Kind(
        400,
        "A time cannot be read",
        "A time is not RFC 3339, is no day of the calendar, or is finer than a microsecond.",
        "Send `2026-05-03T09:00:00Z`; in a query write `+` as `%2B`.",
    ),
    Code.MALFORMED_ID: Kind(
        400,
        "An id cannot be read",
        "An id in the body is no UUID. (In a path it is `not_found`.)",
        "Send the id given.",
    ),
    Code.MALFORMED_CURSOR: Kind(
        400, "The cursor cannot be read", "A cursor did not come from an earlier page.", "Begin at the first page."
    ),
    Code.MALFORMED_KEY: Kind(
        400,
        "The idempotency key cannot be read",
        "`Idempotency-Key` is empty, longer than the limit, or holds more than visible ASCII.",
        "Send a UUID or another short name.",
    ),
    Code.UNAUTHENTICATED: Kind(
        401, "Nobody is known", "No token, or one that is unknown, expired or revoked.", "Get a valid token."
    ),
    Code.FORBIDDEN: Kind(
        403,
        "A right is missing",
        "The right is missing on a scope the caller may know of, or the token leaves it out. `right` names it.",
        "Ask for the right.",
    ),
    Code.NOT_FOUND: Kind(
        404,
        "There is no such thing",
        "There is no such object, or the caller may not know of it. Both read the same.",
        "",
    ),
    Code.METHOD_NOT_ALLOWED: Kind(405, "The path has no such method", "The path has no such method.", ""),
    Code.EVENT_ID_REUSED: Kind(
        409,
        "The event id stands for something else",
        "The event id is known with other content.",
        "Choose another id for the other event.",
    ),
    Code.CANDIDATE_REUSED: Kind(
        409,
        "The statement was proposed before",
        "The same statement of the same event was proposed before with another value or content.",
        "Number another statement of the event with `statement`.",
    ),
    Code.SOURCE_REVOKED: Kind(
        409,
        "The source is revoked",
        "The source stands behind a barrier. An envelope without a body and a `REJECT` were recorded.",
        "Do not send it again.",
    ),
    Code.IDEMPOTENCY_KEY_REUSED: Kind(
        409,
        "The key stands for another call",
        "The key was used with another body, path or method.",
        "Choose another key.",
    ),
    Code.IDEMPOTENCY_IN_PROGRESS: Kind(
        409,
        "The first call still runs",
        "The first call with this key is still running.",
        "Wait for `Retry-After`.",
    ),
    Code.TOO_LARGE: Kind(
        413,
        "Too large",
        "More than the stated limit. `limit` is in the answer and in `GET /me`.",
        "Send less; nothing was cut.",
    ),
    Code.UNSUPPORTED_MEDIA_TYPE: Kind(
        415, "The body is not JSON", "The body is not JSON.", "Send `Content-Type: application/json`."
    ),
    Code.INVALID_INPUT: Kind(
        422,
        "The input does not have the stated shape",
        "The body or a parameter does not have the stated shape. `errors[]` says where.",
        "Correct and send again.",
    ),
    Code.UNKNOWN_FIELD: Kind(
        422,
        "A field is not known",
        "The body or the query names a field that this call does not have. `errors[]` says which.",
        "Leave it out, or correct its spelling.",
    ),
    Code.ACTOR_NOT_FOUND: Kind(
        422, "The actor is not known", "The named actor is no principal of the tenant.", "Name a principal."
    ),
    Code.EVIDENCE_NOT_FOUND: Kind(
        422,
        "The evidence is not known",
        "A named event is not in the scope of the candidate, or is another's that you may not read.",
        "Send the event first, to the same scope.",
    ),
    Code.EVIDENCE_NOT_QUOTED: Kind(
        422, "The span lies outside", "A span lies outside the words of its event.", "Count characters from 0."
    ),
    Code.BAD_FACT_KEY: Kind(
        422,
        "The fact key cannot be read",
        "A fact key is not segments of letters, digits, `_` and `-` with dots between, or mixes alphabets whose "
        "letters look alike.",
        "Send `invoice.payment_terms_days`; see [fact keys](fact-keys.md).",
    ),
    Code.UNKNOWN_MEMORY_TYPE: Kind(
        422,
        "The memory type is not known",
        "The memory type is none of the shipped ones, and no application registered it.",
        "Use a registered type, or [register one](../how-to/register-a-memory-type.md).",
    ),
    Code.EVIDENCE_NOT_HELD: Kind(
        409,
        "A lower memory does not hold",
        "A lower memory says something else by now, or is disputed, refuted, under review or taken back. `memory_id` "
        "names it, `reason` says which.",
        "Read it again, and propose what it amounts to now.",
    ),
    Code.EVIDENCE_REFUSED: Kind(
        422,
        "The type cannot rest on this",
        "A `reflective` memory rests on lower memories, at least one, and on nothing else but the event that says it.",
        "Name the lower memories by id and version.",
    ),
    Code.EVIDENCE_CYCLE: Kind(
        422,
        "A memory would rest on itself",
        "A lower memory is the one proposed to, or rests on it through however many others.",
        "Leave it out: what follows from a memory is no evidence for it.",
    ),
    Code.BAD_SUBJECT: Kind(
        422, "The subject cannot be read", "A subject is not `type:name`.", "Send `product:django`."
    ),
    Code.UNDECLARED_ENTITY_TYPE: Kind(
        422,
        "The type of the subject is not declared",
        "The tenant declared no entity type of that name.",
        "Use a declared type, or have it declared.",
    ),
    Code.UNKNOWN_SUBJECT: Kind(
        422,
        "Nobody is known by that name",
        "A mention without a type names nobody whom the tenant declared.",
        "Send the type too, or have the subject declared.",
    ),
    Code.VALUE_REFUSED: Kind(
        422,
        "The value does not fit its fact key",
        "The value fails what the tenant declared of the fact key.",
        "Correct the value.",
    ),
    Code.PERIOD_REFUSED: Kind(
        422, "The period is empty", "The valid period would end before it begins.", "Correct `valid_from`, `valid_to`."
    ),
    Code.NOT_RETRIEVED: Kind(
        422,
        "The run did not give it out",
        "A memory is reported as used that the run did not give out.",
        "Report what the run's items name.",
    ),
    Code.REJECTED: Kind(
        422,
        "The decision was REJECT",
        "The decision was `REJECT`. `reason` is its reason code, `candidate_id` the record.",
        "See [policies](policies.md).",
    ),
    Code.CONTENDED: Kind(
        503,
        "Other writers were faster every time",
        "Other writers changed the memory on each attempt.",
        "Wait for `Retry-After`, send the same again.",
    ),
    Code.NOT_YET_VISIBLE: Kind(
        503,
        "Not yet visible",
        "The search has not caught up with the read token in time.",
        "Wait for `Retry-After`, ask again.",
    ),
    Code.STORE_UNAVAILABLE: Kind(
        503,
        "The store cannot be asked",
        "The database cannot be reached or gave up; whether the call took effect is not known.",
        "Wait for `Retry-After`, send the same again with the same ids.",
    ),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Hold one fault of the input: where it is, what it is called, what is wrong."""

    pointer: str
    code: str
    detail: str


class Problem(Exception):
    """Say why a call is refused."""

    def __init__(
        self,
        code: Code,
        detail: str = "",
        *,
        errors: Sequence[Fault] = (),
        more: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Keep the code and what this one occurrence adds."""
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.errors = tuple(errors)
        self.more = dict(more or {})
        self.headers = dict(headers or {})

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return PROBLEMS[self.code].status

    def as_json(self) -> dict[str, Any]:
        """Return the problem document."""
        kind = PROBLEMS[self.code]
        return {
            "type": f"{TYPE}{self.code}",
            "title": kind.title,
            "status": kind.status,
            "detail": self.detail or kind.when,
            "code": str(self.code),
            "errors": [{"pointer": fault.pointer, "code": fault.code, "detail": fault.detail} for fault in self.errors],
            **self.more,
        }


def describe_problems() -> str:
    """Return the closed list as the table of `docs/reference/problems.md`."""
    lines = ["| code | status | when | what to do |", "| --- | --- | --- | --- |"]
    lines += [f"| `{code}` | {kind.status} | {kind.when} | {kind.advice} |" for code, kind in PROBLEMS.items()]
    return "\n".join(lines) + "\n"
