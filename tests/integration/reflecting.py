"""What tests of reflections do: say what lower memories amount to, tell everybody, and look at what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all, fetch_records
from memoryhub.lib.ids import new_id
from memoryhub.policy.ledger import MemoryLedger
from memoryhub.policy.reflection import FELL, Followed
from memoryhub.types.basis import Basis, LowerBelief
from memoryhub.types.claims import SourceIdentity
from memoryhub.types.decision import Decision
from memoryhub.types.enums import MemoryType, MergeAction, Trust
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


def is_followed(reason: str) -> bool:
    """Tell whether a decision followed a change of a lower memory, or let one stand that had lost what it rested on."""
    return reason.startswith(FELL) or reason == "kept_after_review"


def follow_again(ledger: MemoryLedger, *, tenant_id: str, key: str, decision_id: str, now: datetime) -> Decision:
    """Replay such a decision in a ledger: what was laid is its input, the belief and the versions are derived."""
    with tenant_context(tenant_id, read_only=True):
        action, reason, asks = fetch_all(
            sql="SELECT action, reason, requires_person FROM merge_decisions WHERE id = %s", params=[decision_id]
        )[0]
        laid = fetch_records(
            sql="""
                SELECT claim.source_kind, claim.source_id::text, claim.statement, basis.lower_id::text,
                    basis.lower_version, basis.value_digest, basis.weight, basis.observed_at, basis.roots::text[],
                    basis.principals::text[], basis.trust, basis.lineages, basis.carries, basis.share
                FROM memory_bases basis JOIN memory_evidence claim ON claim.memory_id = basis.memory_id
                    AND claim.candidate_id = basis.candidate_id
                WHERE basis.decision_id = %s ORDER BY basis.lower_id
            """,
            params=[decision_id],
        )
        starts = fetch_all(sql="SELECT valid_from FROM memory_versions WHERE decision_id = %s", params=[decision_id])
    bases: dict[SourceIdentity, list[Basis]] = {}
    for row in laid:
        source = SourceIdentity(row["source_kind"], row["source_id"], row["statement"])
        bases.setdefault(source, []).append(_read_basis(row))
    begun = {row[0] for row in starts}
    parts = tuple(held.part for held in ledger.memories[key].list_current() if held.part.valid.start in begun)
    followed = Followed(
        MergeAction(action), reason, bases, reviews=parts if asks else (), restores=() if asks else parts
    )
    return ledger.follow(key=key, followed=followed, now=now)


def _read_basis(row: dict[str, Any]) -> Basis:
    return Basis(
        lower=row["lower_id"],
        version=row["lower_version"],
        value_digest=row["value_digest"],
        belief=LowerBelief(
            weight=row["weight"],
            observed_at=row["observed_at"],
            roots=frozenset(row["roots"]),
            principals=frozenset(row["principals"]),
            trust=Trust(row["trust"]),
            lineages=row["lineages"],
        ),
        carries=row["carries"],
        share=row["share"],
    )
