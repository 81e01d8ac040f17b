"""What tests of reflections do: say what lower memories amount to, tell everybody, and look at what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.types.enums import MemoryType
from memoryhub.usecases.ingest import EventInput
from memoryhub.usecases.propose import CandidateInput, EvidenceInput
from memoryhub.usecases.quoting import MemoryInput
from memoryhub.usecases.relay import relay_outbox
from memoryhub.usecases.review import Resolution, Resolved, Verb, resolve_review
from memoryhub.usecases.write_memory import Written, write_memory
from tests.cast import EARLY, Cast

SCOPE = ("project", "platform")


def reflect(
    cast: Cast,
    *lowers: tuple[str, int],
    value: Any = "quick",
    key: str = "release.habit",
    scope: tuple[str, str] = SCOPE,
    event_id: str | None = None,
    **more: Any,
) -> Written:
    """Say what lower memories, each given by id and version, amount to."""
    event_id = event_id or str(new_id())
    return write_memory(
        caller=cast.caller,
        event=EventInput(
            event_id=event_id, scope=scope, source_type="statement", occurred_at=EARLY, payload={"text": str(value)}
        ),
        proposal=CandidateInput(
            scope=scope,
            subject="product:django",
            fact_key=key,
            content=f"it is {value}",
            value=value,
            evidence=(*(MemoryInput(*lower) for lower in lowers), EvidenceInput(event_id)),
            **{"memory_type": MemoryType.REFLECTIVE, **more},
        ),
        now=clock.now(),
    )


def relay() -> None:
    """Tell everybody of everything, until nothing is left."""
    while relay_outbox(now=clock.now()):
        pass


def ask(cast: Cast, sql: str, *params: object) -> list[tuple[Any, ...]]:
    """Return the rows of a query inside the tenant."""
    with tenant_context(cast.tenant_id, read_only=True):
        return fetch_all(sql=sql, params=list(params))


@dataclass(frozen=True)
class Seen:
    """Hold what the tables say of one memory now."""

    version: int
    confidence: float
    states: list[str]
    reasons: list[str]


def look(cast: Cast, memory_id: str | None) -> Seen:
    """Return version, belief, the states of the parts that are held, and the reasons of all decisions in order."""
    head = ask(cast, "SELECT version, confidence FROM memory_heads WHERE id = %s", memory_id)[0]
    parts = ask(
        cast,
        "SELECT state FROM memory_versions WHERE memory_id = %s AND recorded_to IS NULL ORDER BY valid_from",
        memory_id,
    )
    decisions = ask(
        cast,
        "SELECT reason FROM merge_decisions WHERE memory_id = %s"
        " ORDER BY resulting_version, expected_version, recorded_at, id",
        memory_id,
    )
    return Seen(head[0], head[1], [row[0] for row in parts], [row[0] for row in decisions])


def list_items(cast: Cast, memory_id: str | None) -> list[tuple[str, str, str]]:
    """Return (state, reason, outcome) of every rereview of a memory."""
    return [
        (row[0], row[1], row[2])
        for row in ask(
            cast,
            "SELECT state, reason, outcome FROM review_items WHERE object_id = %s AND kind = 'rereview' ORDER BY id",
            memory_id,
        )
    ]


def look_again(cast: Cast, memory_id: str | None, verb: Verb, **more: Any) -> Resolved:
    """Let Rita decide the open rereview of a memory, under the version that stands."""
    item_id, version = ask(
        cast,
        "SELECT item.id::text, head.version FROM review_items item JOIN memory_heads head ON head.id = item.object_id"
        " WHERE item.object_id = %s AND item.state = 'open'",
        memory_id,
    )[0]
    resolution = Resolution(
        item_id=item_id, verb=verb, expected_version=more.pop("version", version), reason="not_supported", **more
    )
    return resolve_review(caller=cast.person(cast.rita), resolution=resolution, now=clock.now())
