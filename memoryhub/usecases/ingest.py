"""Ingest: receive what happened, once, and let extractors look at it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memoryhub.access.callers import RELAY_USER, Actor, Caller, find_actor
from memoryhub.access.models import PrincipalKind
from memoryhub.access.queries import (
    ScopeAccess,
    ScopeForbidden,
    ScopeNotFound,
    authorise,
    find_scope,
    load_own_patterns,
)
from memoryhub.access.tenancy import tenant_context
from memoryhub.extraction import active_extractors
from memoryhub.kernel.interfaces import Record
from memoryhub.kernel.operations import describe_record
from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.db import fetch_all, naming_errors
from memoryhub.policy.merge import MergePolicy
from memoryhub.policy.screening import OwnPattern, compile_own_pattern, redact_forbidden, redact_text
from memoryhub.policy.trigger import EventFacts, list_extractors
from memoryhub.policy.trust import judge_trust

if TYPE_CHECKING:
    from datetime import datetime

MAX_BATCH = 1000


class ActorForbidden(Exception):
    """Say that the token may not speak for another principal."""


class ActorNotFound(Exception):
    """Say that the named actor is no principal of the tenant."""


@dataclass(frozen=True, slots=True)
class EventInput:
    """Hold one event as a caller sends it; whatever the server decides itself is not in here.

    `scope` is (kind, key). `actor` is a principal's user name; None means the caller. `payload` is JSON.
    """

    event_id: str
    scope: tuple[str, str]
    source_type: str
    occurred_at: datetime
    payload: Any
    actor: str | None = None
    session: str = ""
    task: str = ""
    source_seq: int = 0
    content_ref: str = ""


@dataclass(frozen=True, slots=True)
class IngestResult:
    """Hold what became of one event: `accepted`, `replayed`, or the code of its refusal, with its id if it has one."""

    event_id: str
    outcome: str
    id: str | None = None
    detail: str = ""


@dataclass(slots=True)
class Desk:
    """Hold the look-ups of one request, each made once."""

    caller: Caller
    known_scopes: dict[tuple[str, str], ScopeAccess | None] = field(default_factory=dict)
    actors: dict[str, Actor | None] = field(default_factory=dict)

    def keep(
        self, *, name: tuple[str, str], scope: dict[str, Any] | None, username: str | None, actor: dict[str, Any] | None
    ) -> None:
        """Keep a scope and an actor that another look-up brought along; None means there is none."""
        found = None if scope is None else ScopeAccess(**{**scope, "rights": frozenset(scope["rights"])})
        self.known_scopes[name] = found
        if username is not None:
            self.actors[username] = (
                None if actor is None else Actor(actor["id"], actor["rank"], frozenset(actor["groups"]))
            )

    def find_scope(self, *, name: tuple[str, str], right: str) -> ScopeAccess:
        """Return the scope if the caller holds the right there.

        Raises:
            ScopeNotFound: there is none the caller may know of.
            ScopeForbidden: the right is missing.
        """
        if name not in self.known_scopes:
            self.known_scopes[name] = find_scope(caller=self.caller, kind=name[0], key=name[1])
        return authorise(scope=self.known_scopes[name], caller=self.caller, right=right)

    def find_actor(self, *, username: str | None) -> Actor:
        """Return whom the event is by: the caller, or the user it may relay.

        Raises:
            ActorForbidden: the token lacks `relay_user`.
            ActorNotFound: no such principal in the tenant.
        """
        caller = self.caller
        if username is None:
            return Actor(caller.principal_id, caller.rank, caller.groups)
        if caller.actions is None or RELAY_USER not in caller.actions:
            raise ActorForbidden
        if username not in self.actors:
            self.actors[username] = find_actor(caller=caller, username=username)
        actor = self.actors[username]
        if actor is None:
            raise ActorNotFound
        return actor


def ingest_events(*, caller: Caller, events: Sequence[EventInput], now: datetime) -> list[IngestResult]:
    """Receive up to 1,000 events in one transaction; one that is refused does not fail the others.

    Results stand in the order of the events. A repeated event answers `replayed` if it says the same, and
    `event_id_reused` if not. Rows written: envelope, body, and one job for each extractor.

    Raises:
        StoreFailure: the database could not be asked; nothing was accepted.
    """
    with naming_errors(), tenant_context(caller.tenant_id):
        return receive_events(caller=caller, events=events, now=now)


def receive_events(*, caller: Caller, events: Sequence[EventInput], now: datetime) -> list[IngestResult]:
    """Receive events inside an open transaction of the tenant."""
    desk = Desk(caller)
    results: list[IngestResult | None] = [None] * len(events)
    records: dict[str, tuple[int, dict[str, Any]]] = {}
    repeats: list[tuple[int, dict[str, Any]]] = []
    for index, event in enumerate(events):
        try:
            record = describe_event(desk=desk, event=event, now=now)
        except ScopeNotFound:
            results[index] = IngestResult(event.event_id, "scope_not_found")
            continue
        except ScopeForbidden as refusal:
            results[index] = IngestResult(event.event_id, "scope_forbidden", detail=refusal.right)
            continue
        except ActorForbidden:
            results[index] = IngestResult(event.event_id, "actor_forbidden", detail=RELAY_USER)
            continue
        except ActorNotFound:
            results[index] = IngestResult(event.event_id, "actor_not_found")
            continue
        digest = record["event_key_digest"]
        if digest in records:
            repeats.append((index, record))
        else:
            records[digest] = (index, record)
    answers = _append(caller=caller, records=[record for _, record in records.values()], now=now)
    for digest, (index, record) in records.items():
        results[index] = _tell(caller=caller, event=events[index], record=record, answer=answers[digest])
    for index, record in repeats:
        outcome, record_id, content_digest, salt = answers[record["event_key_digest"]]
        answer = ("known" if outcome == "new" else outcome, record_id, content_digest, salt)
        results[index] = _tell(caller=caller, event=events[index], record=record, answer=answer)
    return [result for result in results if result is not None]


def describe_event(*, desk: Desk, event: EventInput, now: datetime, right: str = "ingest_event") -> dict[str, Any]:
    """Return the record of an event: forbidden material is gone before anything is stored.

    `right` is what the caller needs on the scope; a reviewer's own statement comes in with the right to review.

    Raises:
        ScopeNotFound: there is no such scope that the caller may know of.
        ScopeForbidden: the right is missing.
        ActorForbidden: the token may not speak for others.
        ActorNotFound: no such principal.
    """
    caller = desk.caller
    scope = desk.find_scope(name=event.scope, right=right)
    actor = desk.find_actor(username=event.actor)
    own = list_own_patterns(caller=caller)
    payload, redactions = redact_forbidden(payload=event.payload, own=own)
    facts = EventFacts(source_type=event.source_type, has_body=True)
    record = Record(
        key=event.event_id,
        shown_key=redact_text(event.event_id, own=own)[0],
        scope=scope.id,
        actor=actor.id,
        sender=caller.principal_id,
        session_key=digest_session(caller=caller, session=event.session),
        task_key=caller.digest(f"task {event.task}") if event.task else "",
        source_type=event.source_type,
        trust=judge_trust(
            source_type=event.source_type,
            payload=event.payload,
            is_person=is_by_person(caller=caller, event=event),
        ),
        occurred_at=event.occurred_at,
        source_seq=event.source_seq,
        content_ref=redact_text(event.content_ref, own=own)[0],
        redactions=tuple(redaction.as_json() for redaction in redactions),
        retention_class=scope.retention_class,
        deletion_epoch=scope.deletion_epoch,
        payload=payload,
        said=_tell_said(event=event, actor_id=actor.id, payload=payload),
    )
    extractors = list_extractors(event=facts, active=active_extractors(source_type=event.source_type))
    described = describe_record(tenant_id=caller.tenant_id, key=caller.digest_key, record=record, now=now)
    return described | {"extractors": list(extractors)}


def list_own_patterns(*, caller: Caller) -> tuple[OwnPattern, ...]:
    """Return the patterns of the caller's tenant, compiled; a token brought them along, for a person they are read.

    Raises:
        PatternRefused: one that was written past `declare_pattern` cannot be used; nothing is stored unscreened.
    """
    known = load_own_patterns(tenant_id=caller.tenant_id) if caller.actions is None else caller.own_patterns
    return tuple(compile_own_pattern(kind=kind, pattern=pattern) for kind, pattern in known)


def is_by_person(*, caller: Caller, event: EventInput) -> bool:
    """Tell whether a person is the event's actor: the caller is one, or relays one."""
    return event.actor is not None or caller.kind == PrincipalKind.HUMAN


def digest_session(*, caller: Caller, session: str) -> str:
    """Return the digest that a session is known by; empty where none is named."""
    return caller.digest(f"session {session}") if session else ""


def digest_event(*, caller: Caller, event: EventInput, actor_id: str, payload: Any, salt: bytes) -> str:
    """Return the digest of what an event says, by which a repeated one is known."""
    said = _tell_said(event=event, actor_id=actor_id, payload=payload)
    return caller.digest(canonical_json(said), salt=salt)


def _tell_said(*, event: EventInput, actor_id: str, payload: Any) -> dict[str, Any]:
    return {
        "scope": list(event.scope),
        "source_type": event.source_type,
        "occurred_at": event.occurred_at.timestamp(),
        "actor": actor_id,
        "payload": payload,
    }


def _append(
    *, caller: Caller, records: list[dict[str, Any]], now: datetime
) -> dict[str, tuple[str, str, str, str | None]]:
    if not records:
        return {}
    request = {
        "tenant": caller.tenant_id,
        "now": now.isoformat(),
        "policy_version": MergePolicy().version,
        "events": sorted(records, key=lambda record: record["event_key_digest"]),
    }
    rows = fetch_all(
        sql="SELECT event_key_digest, outcome, id::text, content_digest, salt FROM ingest_events_v1(%s::jsonb)",
        params=[json.dumps(request)],
    )
    return {row[0]: (row[1], row[2], row[3], row[4]) for row in rows}


def _tell(
    *, caller: Caller, event: EventInput, record: dict[str, Any], answer: tuple[str, str, str, str | None]
) -> IngestResult:
    outcome, record_id, content_digest, salt = answer
    if outcome == "new":
        return IngestResult(event.event_id, "accepted", id=record_id)
    if outcome == "barred" or salt is None:
        return IngestResult(event.event_id, "source_revoked", id=record_id)
    again = digest_event(
        caller=caller, event=event, actor_id=record["actor"], payload=record["payload"], salt=bytes.fromhex(salt)
    )
    if again == content_digest:
        return IngestResult(event.event_id, "replayed", id=record_id)
    return IngestResult(event.event_id, "event_id_reused", id=record_id)
