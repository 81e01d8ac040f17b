"""Read what a decision is made from: one candidate, and the state of the memory it is about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memoryhub.lib.db import fetch_json, fetch_records
from memoryhub.memory.records import AfterRecall, CandidateRecord, Cited, MemoryState, StoredConflict, StoredPart
from memoryhub.policy.reflection import count_bases
from memoryhub.policy.wording import shows_result
from memoryhub.types.basis import Basis, LowerBelief
from memoryhub.types.claims import Author, Claim, Echo, Part, Ruling, SourceIdentity
from memoryhub.types.decision import PredicateFacts
from memoryhub.types.enums import Cardinality, Stance, Trust
from memoryhub.types.temporal import Period

_PROPOSE = "propose_memory"


def parse_source(text: str) -> SourceIdentity:
    """Return the source identity that `kind:key:statement` names."""
    kind, key, statement = text.split(":")
    return SourceIdentity(kind, key, int(statement))


def read_instant(text: str | None) -> datetime | None:
    """Return an instant as PostgreSQL's JSON writes it."""
    return None if text is None else datetime.fromisoformat(text)


def source_of(candidate: CandidateRecord) -> SourceIdentity:
    """Return the source identity a candidate's claim is counted by."""
    return SourceIdentity(candidate.source_kind, candidate.source_id or candidate.source_event_id, candidate.statement)


def load_state(
    *,
    tenant_id: str,
    candidate: CandidateRecord,
    principal_id: str,
    epoch: int,
    now: datetime,
    right: str = _PROPOSE,
    whole: bool = False,
) -> MemoryState:
    """Read the state of the memory a candidate is about, in one round trip.

    With `whole` every claim is read, else only the tail where that is enough.
    """
    request = {
        "tenant": tenant_id,
        "scope": candidate.scope_id,
        "subject": candidate.subject_id,
        "memory_type": candidate.memory_type,
        "fact_key": candidate.fact_key,
        "conditions_digest": candidate.conditions_digest,
        "value_digest": candidate.value_digest,
        "valid_from": candidate.valid_from.isoformat(),
        "source_kind": candidate.source_kind,
        "source_id": candidate.source_id or candidate.source_event_id,
        "statement": candidate.statement,
        "sources": candidate.sources,
        "epoch": epoch,
        "principal": principal_id,
        "right": right,
        "now": now.isoformat(),
        "whole": whole,
    }
    if candidate.after_recall is not None:
        request["session"] = candidate.after_recall.session_key
        request["received_at"] = candidate.after_recall.received_at.isoformat()
    if candidate.memory_id is not None:
        request["memory"] = candidate.memory_id
    return read_state(fetch_json(sql="SELECT load_memory_state_v1(%s::jsonb)", params=[json.dumps(request)]))


def load_state_of_memory(*, tenant_id: str, memory_id: str, now: datetime, as_derived: bool = False) -> MemoryState:
    """Read the whole state of one memory, every claim and ruling.

    With `as_derived` only the claims that its head was last derived from, without those that came after and added
    nothing.

    Answers with version 0 if there is no such memory.
    """
    request = {
        "tenant": tenant_id,
        "memory": memory_id,
        "epoch": 0,
        "sources": [],
        "principal": memory_id,
        "right": "",
        "now": now.isoformat(),
        "whole": True,
        "as_derived": as_derived,
    }
    found = fetch_json(
        sql="""
            SELECT load_memory_state_v1(%(request)s::jsonb || jsonb_build_object('scope', (
                SELECT scope_id FROM memory_heads WHERE tenant_id = %(tenant)s AND id = %(memory)s)))
        """,
        params={"request": json.dumps(request), "tenant": tenant_id, "memory": memory_id},
    )
    return read_state(found)


def read_state(found: dict[str, Any]) -> MemoryState:
    """Return the state as `load_memory_state_v1` tells it."""
    head = found.get("head")
    predicate = _read_predicate(found.get("predicate"))
    if head is None:
        return MemoryState(
            memory_id=None,
            version=0,
            epoch=found["epoch"],
            may=found["may_propose"],
            barrier=found["barrier"],
            predicate=predicate,
        )
    laid: dict[str, list[dict[str, Any]]] = {}
    for row in found["bases"] or ():
        laid.setdefault(row["candidate"], []).append(row)
    claims = [(_read_claim(row, laid.get(row["candidate"], ())), row["candidate"]) for row in found["claims"]]
    parts = tuple(_read_part(row) for row in found["parts"])
    conflict = found["conflict"]
    return MemoryState(
        memory_id=head["id"],
        version=head["version"],
        epoch=found["epoch"],
        may=found["may_propose"],
        barrier=found["barrier"],
        predicate=predicate,
        parts=parts,
        claims=tuple(claim for claim, _ in claims),
        candidates={claim.source: candidate for claim, candidate in claims},
        rulings=tuple(_read_ruling(row) for row in found["rulings"]),
        echo=read_echo(found.get("echo")),
        start=parts[-1].part if found["tail_from"] is not None else None,
        conflict=None
        if conflict is None
        else StoredConflict(
            id=conflict["id"],
            standing=conflict["standing"],
            members={member["source"]: member["candidate"] for member in conflict["members"]},
        ),
        memory_type=head["memory_type"],
        bases={
            claim.source: tuple(map(_read_basis, laid[candidate])) for claim, candidate in claims if candidate in laid
        },
    )


def read_echo(found: dict[str, Any] | None) -> Echo | None:
    """Return what a claim repeats, as a state or a decision's facts tell it."""
    if found is None:
        return None
    return Echo(frozenset(found["roots"]), found["weight"], datetime.fromisoformat(found["observed_at"]))


def _read_predicate(row: dict[str, Any] | None) -> PredicateFacts:
    if row is None:
        return PredicateFacts()
    return PredicateFacts(
        cardinality=Cardinality(row["cardinality"]),
        sensitive=row["sensitive"],
        requires_confirmation=row["requires_confirmation"],
        authority_group=row["authority_group"],
        yields_only_to_validation=row["yields_only_to_validation"],
    )


def _read_period(row: dict[str, Any]) -> Period:
    end = row["valid_to"]
    return Period(datetime.fromisoformat(row["valid_from"]), None if end is None else datetime.fromisoformat(end))


def _read_author(row: dict[str, Any]) -> Author:
    return Author(row["author"], row["author_rank"], frozenset(row["author_groups"]))


def _read_basis(row: dict[str, Any]) -> Basis:
    return Basis(
        lower=row["lower"],
        version=row["version"],
        value_digest=row["value_digest"],
        belief=LowerBelief(
            weight=row["weight"],
            observed_at=datetime.fromisoformat(row["observed_at"]),
            roots=frozenset(row["roots"]),
            principals=frozenset(row["principals"]),
            trust=Trust(row["trust"]),
            lineages=row["lineages"],
        ),
        carries=row["carries"],
        share=row["share"],
    )


def _read_claim(row: dict[str, Any], bases: Sequence[dict[str, Any]] = ()) -> Claim:
    """Return a claim; weight and roots of one that rests on memories are those of what it rests on now."""
    carrying = [basis for basis in bases if basis["carries"]]
    if carrying:
        roots = {root for basis in carrying for root in basis["roots"]}
        lineages = count_bases(bases=map(_read_basis, carrying))
        row = {**row, "weight": carrying[0]["claim_weight"], "roots": roots, "lineages": lineages}
    return Claim(
        source=SourceIdentity(row["kind"], row["source"], row["statement"]),
        value_digest=row["value_digest"],
        valid=_read_period(row),
        author=_read_author(row),
        roots=frozenset(row["roots"]),
        weight=row["weight"],
        observed_at=datetime.fromisoformat(row["observed_at"]),
        source_seq=row["source_seq"],
        order_digest=row["order_digest"],
        stance=Stance(row["stance"]),
        effective=row["effective"],
        validated=row["validated"],
        trust=Trust(row["trust"]),
        lineages=row.get("lineages", 1),
    )


def _read_part(row: dict[str, Any]) -> StoredPart:
    opener = parse_source(row["opener"])
    return StoredPart(
        row_id=row["id"],
        candidate_id=row["candidate"],
        part=Part(
            value_digest=row["value_digest"],
            valid=_read_period(row),
            opener=opener,
            author=_read_author(row),
            since=datetime.fromisoformat(row["since"]),
            replaced_digest=row["replaced_digest"],
            validated=row["validated"],
            supporters=(opener,),
        ),
        state=row["state"],
    )


def _read_ruling(row: dict[str, Any]) -> Ruling:
    return Ruling(
        key=row["key"],
        settles=frozenset(parse_source(source) for source in row["settles"]),
        winner=None if row["winner"] is None else parse_source(row["winner"]),
        effective_from=read_instant(row["effective_from"]),
        sequence=row["sequence"],
        keeps_conflict=row["keeps_conflict"],
    )


_CANDIDATE = """
    SELECT candidate.id::text, candidate.kind, candidate.scope_id::text, scope.kind AS scope_kind,
        candidate.subject_id::text, subject.is_unclear AS subject_unclear, candidate.memory_type, candidate.fact_key,
        candidate.conditions,
        candidate.conditions_digest, candidate.content, candidate.value, candidate.value_digest,
        candidate.content_hash, candidate.epistemic_status, candidate.confidence, candidate.stance,
        candidate.valid_from, candidate.valid_to, candidate.effective, candidate.occurred_at, candidate.extractor,
        candidate.extractor_version, candidate.deletion_epoch, candidate.source_event_id::text,
        candidate.statement, candidate.proposer_id::text, candidate.author_id::text, candidate.author_rank,
        candidate.author_groups, candidate.trust, event.source_seq, event.event_key_digest AS order_digest, link.roots,
        link.evidence <> '{}' AS has_evidence, link.evidence AS evidence_ids, candidate.created_at,
        candidate.task_key, candidate.policy_version, candidate.rule_digest, candidate.status,
        candidate.memory_id::text, event.session_key, event.root::text AS session_root,
        event.ingested_at AS received_at, event.derived_from_run IS NOT NULL AS is_after_recall,
        subject.label AS subject_label, link.quotes, link.shown, candidate.source_kind,
        coalesce(candidate.source_id, candidate.source_event_id)::text AS source_id, link.cites,
        link.evidence <> '{}' AND link.is_of_memories AS rests, (
            SELECT jsonb_agg(jsonb_build_object('lower', basis.lower_id, 'version', basis.lower_version,
                'value_digest', basis.value_digest, 'weight', basis.weight, 'observed_at', basis.observed_at,
                'roots', basis.roots, 'principals', basis.principals, 'trust', basis.trust,
                'lineages', basis.lineages, 'carries', basis.carries, 'share', basis.share) ORDER BY basis.lower_id)
            FROM memory_bases basis WHERE basis.tenant_id = candidate.tenant_id
              AND basis.candidate_id = candidate.id AND basis.sequence = 1) AS bases
    FROM memory_candidates candidate
    JOIN scopes scope ON scope.tenant_id = candidate.tenant_id AND scope.id = candidate.scope_id
    JOIN subjects subject ON subject.tenant_id = candidate.tenant_id AND subject.id = candidate.subject_id
    JOIN source_events event ON event.tenant_id = candidate.tenant_id AND event.id = candidate.source_event_id
    CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(DISTINCT held.evidence_id::text), '{}') AS evidence,
               coalesce(array_agg(DISTINCT root.root::text) FILTER (WHERE root.root IS NOT NULL), '{}') AS roots,
               ARRAY(SELECT body.quote FROM candidate_evidence read
                     JOIN evidence item ON item.tenant_id = read.tenant_id AND item.id = read.evidence_id
                     JOIN evidence_bodies body ON body.evidence_id = item.id
                     WHERE read.tenant_id = candidate.tenant_id AND read.candidate_id = candidate.id
                       AND body.quote IS NOT NULL ORDER BY item.observed_at, item.id) AS quotes,
               ARRAY(SELECT jsonb_build_object('kind', item.kind, 'source_type', origin.source_type,
                         'has_reference', origin.content_ref <> '', 'fields', CASE jsonb_typeof(told.payload)
                             WHEN 'object' THEN ARRAY(
                                 SELECT field.key FROM jsonb_each(told.payload) field
                                 WHERE field.value NOT IN ('null', '""', '[]', '{}')) END)
                     FROM candidate_evidence read
                     JOIN evidence item ON item.tenant_id = read.tenant_id AND item.id = read.evidence_id
                     LEFT JOIN source_events origin ON origin.tenant_id = item.tenant_id AND origin.id = item.event_id
                     LEFT JOIN source_event_bodies told ON told.event_id = origin.id
                     WHERE read.tenant_id = candidate.tenant_id AND read.candidate_id = candidate.id) AS shown,
               bool_and(point.kind = 'memory') AS is_of_memories,
               coalesce(array_agg(DISTINCT point.source_id || ' ' || substr(point.position, 2))
                        FILTER (WHERE point.kind = 'memory'), '{}') AS cites
        FROM candidate_evidence held
        JOIN evidence point ON point.tenant_id = held.tenant_id AND point.id = held.evidence_id
        LEFT JOIN evidence_roots root ON root.tenant_id = held.tenant_id AND root.evidence_id = held.evidence_id
        WHERE held.tenant_id = candidate.tenant_id AND held.candidate_id = candidate.id
    ) link
    WHERE candidate.tenant_id = %s AND candidate.id = %s
"""


def load_candidate(*, tenant_id: str, candidate_id: str) -> CandidateRecord | None:
    """Read one candidate with what its event and evidence add, or None."""
    rows = fetch_records(sql=_CANDIDATE, params=[tenant_id, candidate_id])
    if not rows:
        return None
    row = rows[0]
    row["trust"] = Trust(row["trust"])
    for name in ("author_groups", "roots", "evidence_ids", "quotes"):
        row[name] = tuple(row[name])
    named = [cited.split(" ") for cited in row["cites"]]
    row["cites"] = tuple(Cited(memory_id, int(version)) for memory_id, version in named)
    row["bases"] = tuple(map(_read_basis, row["bases"] or ()))
    row["result_shown"] = any(
        shows_result(**(json.loads(one) if isinstance(one, str) else one)) for one in row.pop("shown")
    )
    after = AfterRecall(row.pop("session_key"), row.pop("session_root"), row.pop("received_at"))
    row["after_recall"] = after if row.pop("is_after_recall") else None
    return CandidateRecord(**row)


def load_claimed(*, tenant_id: str, candidate_id: str) -> CandidateRecord:
    """Read the candidate that a claim came from.

    Raises:
        LookupError: there is none, which the foreign key of the claim prevents.
    """
    candidate = load_candidate(tenant_id=tenant_id, candidate_id=candidate_id)
    if candidate is None:
        message = "a claim has the candidate it came from"
        raise LookupError(message)
    return candidate
