"""Read what memories rest on: lower memories as they stand, what was cited, and what rests above a memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memoryhub.access.queries import list_scopes
from memoryhub.kernel.lineage import CyclicLineage, check_edge
from memoryhub.lib.db import fetch_all, fetch_records
from memoryhub.memory.loading import load_state_of_memory
from memoryhub.policy.admission import LEAD_WEIGHT
from memoryhub.policy.belief import find_standing
from memoryhub.policy.merge import MergePolicy, MergeRuleV1, weigh_reading
from memoryhub.policy.reflection import find_fall, lay_basis, rest_claim
from memoryhub.types.basis import LowerBelief, LowerFacts
from memoryhub.types.enums import CandidateKind, EpistemicStatus, Modality, ScopeKind, Trust
from memoryhub.types.scope import is_wider
from memoryhub.types.timeline import fold_timeline

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memoryhub.access.callers import Caller
    from memoryhub.memory.records import CandidateRecord, MemoryState
    from memoryhub.types.claims import Claim, Part

ITSELF = "evidence_cycle"  # why a candidate does not hold that would rest on itself
VIEW = "view_memory"
_BEST_FIRST = (Trust.FIRST_PARTY, Trust.THIRD_PARTY, Trust.UNTRUSTED)
_NOT_SHOWN = """
    SELECT state FROM memory_versions
    WHERE tenant_id = %s AND memory_id = %s AND state IN ('revoked', 'erased', 'expired')
    ORDER BY recorded_from DESC, id DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Lower:
    """Hold a lower memory as it stands, with its scope and the evidence of the claims that support it."""

    facts: LowerFacts
    scope_id: str
    scope_kind: ScopeKind
    evidence_ids: tuple[str, ...]


_HEAD = """
    SELECT head.version, head.modality, head.confidence, head.has_open_conflict, head.derived_at,
        head.scope_id::text, scope.kind, head.independent_evidence_count
    FROM memory_heads head JOIN scopes scope ON scope.tenant_id = head.tenant_id AND scope.id = head.scope_id
    WHERE head.tenant_id = %s AND head.id = %s
"""


def load_lower(*, tenant_id: str, memory_id: str, policy: MergePolicy | None = None) -> Lower | None:
    """Read a memory as others rest on it, by the belief its head was last derived to; None if there is none.

    What stands is what stood at the instant of that belief: time that passes without a write moves nothing above.
    """
    rows = fetch_all(sql=_HEAD, params=[tenant_id, memory_id])
    if not rows:
        return None
    version, modality, confidence, has_conflict, derived_at, scope_id, scope_kind, lineages = rows[0]
    rules = policy or MergePolicy()
    state = load_state_of_memory(tenant_id=tenant_id, memory_id=memory_id, now=derived_at, as_derived=True)
    timeline = fold_timeline(
        claims=state.claims,
        rulings=state.rulings,
        rule=MergeRuleV1(contest_window=rules.contest_window, predicate=state.predicate),
    )
    part = find_standing(timeline=timeline, instant=derived_at)
    supporters = _list_supporters(state, part)
    facts = LowerFacts(
        memory=memory_id,
        version=version,
        value_digest=None if part is None else part.value_digest,
        state=_find_state(tenant_id, memory_id, state, part),
        modality=Modality(modality),
        has_open_conflict=has_conflict,
        belief=LowerBelief(
            weight=confidence,
            observed_at=derived_at,
            roots=frozenset().union(*(_list_roots(claim) for claim in supporters)),
            principals=frozenset(claim.author.principal for claim in supporters),
            trust=min((claim.trust for claim in supporters), key=_BEST_FIRST.index, default=Trust.UNTRUSTED),
            lineages=lineages,
        ),
    )
    candidates = [state.candidates[claim.source] for claim in supporters]
    return Lower(
        facts=facts,
        scope_id=scope_id,
        scope_kind=ScopeKind(scope_kind),
        evidence_ids=_list_evidence_ids(tenant_id, candidates),
    )


def load_lowers(*, tenant_id: str, memory_ids: Collection[str]) -> dict[str, Lower]:
    """Read memories as others rest on them, by id; those there are."""
    found = {memory_id: load_lower(tenant_id=tenant_id, memory_id=memory_id) for memory_id in sorted(set(memory_ids))}
    return {memory_id: lower for memory_id, lower in found.items() if lower is not None}


def _list_roots(claim: Claim) -> frozenset[str]:
    """Return what a claim goes back to: its source where it names nothing, and nothing where its ground fell."""
    return claim.roots or frozenset({claim.source.key} if claim.lineages else ())


def _list_supporters(state: MemoryState, part: Part | None) -> list[Claim]:
    if part is None:
        return []
    return [claim for claim in state.claims if claim.source in part.supporters]


def _find_state(tenant_id: str, memory_id: str, state: MemoryState, part: Part | None) -> str:
    """Return the state of the part as it is stored, or of what was taken back where nothing stands."""
    if part is not None:
        return next((held.state for held in state.parts if held.part.valid.start == part.valid.start), "")
    rows = fetch_all(sql=_NOT_SHOWN, params=[tenant_id, memory_id])
    return str(rows[0][0]) if rows and not state.claims else ""


def _list_evidence_ids(tenant_id: str, candidate_ids: Sequence[str]) -> tuple[str, ...]:
    rows = fetch_all(
        sql="""
            SELECT DISTINCT evidence_id::text FROM candidate_evidence
            WHERE tenant_id = %s AND candidate_id = ANY (%s::uuid[]) ORDER BY 1
        """,
        params=[tenant_id, list(candidate_ids)],
    )
    return tuple(row[0] for row in rows)


def find_value_at(*, tenant_id: str, memory_id: str, version: int) -> tuple[bool, str | None]:
    """Return whether a memory had a version, and the digest of what stood under it when it was recorded."""
    rows = fetch_all(
        sql="""
            SELECT held.value_digest FROM (
                SELECT max(recorded_at) AS at FROM merge_decisions
                WHERE tenant_id = %(tenant)s AND memory_id = %(memory)s AND resulting_version = %(version)s
                  AND resulting_version > expected_version
            ) made LEFT JOIN LATERAL (
                SELECT value_digest FROM memory_versions
                WHERE tenant_id = %(tenant)s AND memory_id = %(memory)s AND recorded_from <= made.at
                  AND (recorded_to IS NULL OR made.at < recorded_to)
                ORDER BY valid_from <= made.at AND (valid_to IS NULL OR made.at < valid_to) DESC, valid_from DESC
                LIMIT 1
            ) held ON true
            WHERE made.at IS NOT NULL
        """,
        params={"tenant": tenant_id, "memory": memory_id, "version": version},
    )
    return bool(rows), rows[0][0] if rows else None


def attach_lowers(*, tenant_id: str, candidate: CandidateRecord) -> CandidateRecord:
    """Return a candidate with the lower memories it rests on or cites as they stand now.

    `bases` are what its claim would rest on; `falls` says why they do not hold any more.
    """
    if not candidate.cites:
        return candidate
    lowers = load_lowers(tenant_id=tenant_id, memory_ids=[cited.memory_id for cited in candidate.cites])
    share = weigh_reading(epistemic_status=EpistemicStatus(candidate.epistemic_status), confidence=candidate.confidence)
    if candidate.kind == CandidateKind.LEAD:
        share *= LEAD_WEIGHT
    falls = ITSELF if closes_circle(tenant_id=tenant_id, candidate=candidate) else ""
    bases = []
    for cited in candidate.cites:
        lower = lowers.get(cited.memory_id)
        _, value = find_value_at(tenant_id=tenant_id, memory_id=cited.memory_id, version=cited.version)
        falls = falls or ("lower_erased" if lower is None else find_fall(value_digest=value, lower=lower.facts))
        if lower is not None:
            bases.append(lay_basis(lower=lower.facts, carries=candidate.rests, share=share))
    kinds = [lower.scope_kind for lower in lowers.values()]
    return replace(
        candidate,
        bases=tuple(bases),
        falls=falls,
        evidence_scope_kind=min(kinds, key=lambda kind: list(ScopeKind).index(kind), default=None),
        leaves_scope=any(
            lower.scope_id != candidate.scope_id
            and not is_wider(kind=lower.scope_kind, than=ScopeKind(candidate.scope_kind))
            for lower in lowers.values()
        ),
    )


def find_head(*, tenant_id: str, candidate: CandidateRecord) -> str | None:
    """Return the id of the memory that a candidate proposes to, if it is there already."""
    rows = fetch_all(
        sql="""
            SELECT head.id::text FROM memory_heads head
            WHERE head.tenant_id = %(tenant)s AND head.scope_id = %(scope)s AND head.subject_id = %(subject)s
              AND head.memory_type = %(type)s AND head.fact_key = %(key)s AND head.conditions_digest = %(conditions)s
              AND head.value_key IN ('', %(value)s)
        """,
        params={
            "tenant": tenant_id,
            "scope": candidate.scope_id,
            "subject": candidate.subject_id,
            "type": candidate.memory_type,
            "key": candidate.fact_key,
            "conditions": candidate.conditions_digest,
            "value": candidate.value_digest or "",
        },
    )
    return str(rows[0][0]) if rows else None


def find_unlike_bases(*, tenant_id: str, state: MemoryState, policy: MergePolicy) -> list[tuple[str, str]]:
    """Return (stored, derived) wherever what claims rest on is not what lower memories and their beliefs derive to.

    A lower memory is looked at while it stands at the version that is rested on: a later one is followed when it is
    told.
    """
    unlike = []
    for claim in state.claims:
        bases = state.bases.get(claim.source, ())
        rested = rest_claim(claim=claim, bases=bases, policy=policy)
        if rested != claim:
            unlike.append((str((claim.weight, claim.lineages)), str((rested.weight, rested.lineages))))
        for basis in bases:
            lower = load_lower(tenant_id=tenant_id, memory_id=basis.lower, policy=policy)
            stands = lower is not None and lower.facts.version == basis.version and basis.belief.roots
            if stands and lower is not None and lower.facts.belief != basis.belief:
                unlike.append((str(basis.belief), str(lower.facts.belief)))
    return unlike


def closes_circle(*, tenant_id: str, candidate: CandidateRecord) -> bool:
    """Tell whether the memory that a candidate proposes to would rest on itself, through however many others."""
    lower_ids = [cited.memory_id for cited in candidate.cites]
    memory_id = find_head(tenant_id=tenant_id, candidate=candidate) if lower_ids else None
    if memory_id is None:
        return False
    edges = list_below(tenant_id=tenant_id, memory_ids=lower_ids)
    try:
        for lower_id in lower_ids:
            check_edge(item=memory_id, derived_from=lower_id, edges=edges)
    except CyclicLineage:
        return True
    return False


def list_below(*, tenant_id: str, memory_ids: Collection[str]) -> dict[str, set[str]]:
    """Return for each of these memories, and for every one below them, what it ever rested on or cited."""
    rows = fetch_all(
        sql="""
            WITH RECURSIVE below AS (
                SELECT unnest(%(memories)s::uuid[]) AS id
                UNION
                SELECT basis.lower_id FROM memory_bases basis JOIN below ON basis.memory_id = below.id
                WHERE basis.tenant_id = %(tenant)s
            )
            SELECT DISTINCT basis.memory_id::text, basis.lower_id::text
            FROM memory_bases basis JOIN below ON basis.memory_id = below.id WHERE basis.tenant_id = %(tenant)s
        """,
        params={"tenant": tenant_id, "memories": list(memory_ids)},
    )
    edges: dict[str, set[str]] = {}
    for memory_id, lower_id in rows:
        edges.setdefault(memory_id, set()).add(lower_id)
    return edges


@dataclass(frozen=True, slots=True)
class Upper:
    """Name a memory that rests on another one, and its scope."""

    memory_id: str
    scope_id: str


def list_uppers(*, tenant_id: str, memory_id: str) -> list[Upper]:
    """Return the memories that rest on this one now, by id; those that only cite it are left out."""
    rows = fetch_records(
        sql="""
            SELECT DISTINCT head.id::text AS memory_id, head.scope_id::text
            FROM memory_bases basis
            JOIN memory_heads head ON head.tenant_id = basis.tenant_id AND head.id = basis.memory_id
            WHERE basis.tenant_id = %(tenant)s AND basis.lower_id = %(memory)s AND basis.carries
              AND basis.sequence = (SELECT max(newer.sequence) FROM memory_bases newer
                                    WHERE newer.tenant_id = basis.tenant_id
                                      AND newer.candidate_id = basis.candidate_id)
            ORDER BY 1
        """,
        params={"tenant": tenant_id, "memory": memory_id},
    )
    return [Upper(**row) for row in rows]


@dataclass(frozen=True, slots=True)
class RestsOn:
    """Hold one end of a link between two memories, as a reader within their rights may see it.

    `version` is the lower memory's as the claim rests on it. `current_version` and `holds` tell of the lower memory
    as it stands: whether its version is still that one, and whether what it rested on still holds; `fall` says why
    not.
    """

    memory_id: str
    fact_key: str
    subject: str
    memory_type: str
    version: int
    current_version: int
    carries: bool
    holds: bool
    fall: str


@dataclass(frozen=True, slots=True)
class Links:
    """Hold what a memory rests on, and what rests on it."""

    derived_from: tuple[RestsOn, ...] = ()
    derived_into: tuple[RestsOn, ...] = ()


def list_links(*, caller: Caller, memory_id: str) -> Links:
    """Return what a memory rests on and what rests on it, in the scopes whose memories the caller may view."""
    readable = [scope.id for scope in list_scopes(caller=caller, right=VIEW)]
    return Links(
        derived_from=tuple(list_derived_from(tenant_id=caller.tenant_id, memory_id=memory_id, readable=readable)),
        derived_into=tuple(list_derived_into(tenant_id=caller.tenant_id, memory_id=memory_id, readable=readable)),
    )


def list_derived_from(*, tenant_id: str, memory_id: str, readable: Collection[str]) -> list[RestsOn]:
    """Return what the claims of a memory rest on or cite, in the scopes one may read, with what became of it."""
    rows = _list_links(tenant_id, "memory_id", "lower_id", memory_id, readable)
    lowers = load_lowers(tenant_id=tenant_id, memory_ids=[row["id"] for row in rows])
    links = []
    for row in rows:
        facts = lowers[row["id"]].facts
        fall = find_fall(value_digest=row["value_digest"], lower=facts)
        if not row["brings"]:
            fall = fall or "lower_fell_before"
        links.append(_tell_link(row, current=facts.version, fall=fall))
    return links


def list_derived_into(*, tenant_id: str, memory_id: str, readable: Collection[str]) -> list[RestsOn]:
    """Return the memories whose claims rest on this one or cite it, in the scopes one may read."""
    rows = _list_links(tenant_id, "lower_id", "memory_id", memory_id, readable)
    lower = load_lower(tenant_id=tenant_id, memory_id=memory_id) if rows else None
    if lower is None:
        return []
    return [
        _tell_link(
            row,
            current=lower.facts.version,
            fall=find_fall(value_digest=row["value_digest"], lower=lower.facts)
            or ("" if row["brings"] else "lower_fell_before"),
        )
        for row in rows
    ]


def _tell_link(row: dict[str, Any], *, current: int, fall: str) -> RestsOn:
    return RestsOn(
        memory_id=row["id"],
        fact_key=row["fact_key"],
        subject=row["subject"],
        memory_type=row["memory_type"],
        version=row["version"],
        current_version=current,
        carries=row["carries"],
        holds=not fall,
        fall=fall,
    )


def _list_links(
    tenant_id: str, this: str, other: str, memory_id: str, readable: Collection[str]
) -> list[dict[str, Any]]:
    """Return the newest bases of live claims from one end, with the memory at the other."""
    return fetch_records(
        sql=f"""
            SELECT DISTINCT ON (head.id) head.id::text AS id, head.fact_key, subject.label AS subject,
                head.memory_type, basis.lower_version AS version, basis.value_digest, basis.carries,
                basis.roots <> '{{}}' AS brings
            FROM memory_bases basis
            JOIN memory_evidence claim ON claim.tenant_id = basis.tenant_id AND claim.memory_id = basis.memory_id
                AND claim.candidate_id = basis.candidate_id AND claim.withdrawn_by IS NULL
            JOIN memory_heads head ON head.tenant_id = basis.tenant_id AND head.id = basis.{other}
            JOIN subjects subject ON subject.tenant_id = head.tenant_id AND subject.id = head.subject_id
            WHERE basis.tenant_id = %(tenant)s AND basis.{this} = %(memory)s
              AND head.scope_id = ANY (%(readable)s::uuid[])
              AND basis.sequence = (SELECT max(newer.sequence) FROM memory_bases newer
                                    WHERE newer.tenant_id = basis.tenant_id
                                      AND newer.candidate_id = basis.candidate_id)
            ORDER BY head.id, basis.lower_version DESC
        """,  # noqa: S608  constants of this module
        params={"tenant": tenant_id, "memory": memory_id, "readable": list(readable)},
    )


def hold_bases(*, tenant_id: str) -> None:
    """Let nobody else change what memories of the tenant rest on, to the end of the transaction.

    Taken after the guards of scopes and before any head, as `commit_decision_v1` takes it.
    """
    fetch_all(sql="SELECT pg_advisory_xact_lock(hashtextextended('memory_bases ' || %s, 0))", params=[tenant_id])
