"""Check rows: where the rows of one memory say something of each other, or of its evidence, that is not so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memoryhub.lib.db import fetch_all, fetch_records
from memoryhub.memory.loading import parse_source
from memoryhub.policy.belief import count_supporting_lineages
from memoryhub.policy.merge import MergeRuleV1
from memoryhub.types.timeline import fold_timeline

if TYPE_CHECKING:
    from memoryhub.memory.records import MemoryState
    from memoryhub.policy.merge import MergePolicy
    from memoryhub.types.claims import Part, SourceIdentity, Timeline


@dataclass(frozen=True, slots=True)
class Difference:
    """Hold one thing that rows say, and what is so."""

    what: str
    stored: object
    derived: object


# A barrier that leaves a memory without any claim raises its version by itself, without a decision.
_VERSION = """
    SELECT head.version, coalesce(max(made.resulting_version), 0)
    FROM memory_heads head
    LEFT JOIN merge_decisions made ON made.tenant_id = head.tenant_id AND made.memory_id = head.id
    WHERE head.tenant_id = %s AND head.id = %s GROUP BY head.version
"""


def check_version(*, tenant_id: str, memory_id: str) -> list[Difference]:
    """Return the difference between the head's version and the newest one that was decided."""
    version, newest = fetch_all(sql=_VERSION, params=[tenant_id, memory_id])[0]
    return [] if version == newest else [Difference("version", version, newest)]


_SUPERSESSION = """
    SELECT part.id::text, coalesce(part.superseded_by, part.supersedes)::text FROM memory_versions part
    WHERE part.tenant_id = %(tenant)s AND part.memory_id = %(memory)s AND (
        part.superseded_by IS NOT NULL AND NOT EXISTS (
            SELECT FROM memory_versions later
            WHERE later.tenant_id = part.tenant_id AND later.memory_id = part.memory_id
              AND later.id = part.superseded_by AND later.supersedes = part.id AND later.version > part.version)
        OR part.supersedes IS NOT NULL AND NOT EXISTS (
            SELECT FROM memory_versions earlier
            WHERE earlier.tenant_id = part.tenant_id AND earlier.memory_id = part.memory_id
              AND earlier.id = part.supersedes AND earlier.superseded_by = part.id
              AND earlier.version < part.version))
    ORDER BY part.id
"""


def check_supersession(*, tenant_id: str, memory_id: str) -> list[Difference]:
    """Return the parts whose predecessor or successor does not name them back, or is not the earlier or later one.

    Versions rise from each part to its successor, so there is no circle.
    """
    rows = fetch_all(sql=_SUPERSESSION, params={"tenant": tenant_id, "memory": memory_id})
    return [Difference("supersession", f"{one} and {other}", "each names the other") for one, other in rows]


# A candidate without any evidence was confirmed by a person; it never lost any.
_WITHOUT_EVIDENCE = """
    SELECT part.id::text FROM memory_versions part
    WHERE part.tenant_id = %(tenant)s AND part.memory_id = %(memory)s AND part.recorded_to IS NULL
      AND part.state = 'active' AND NOT EXISTS (
        SELECT FROM memory_evidence claim
        WHERE claim.tenant_id = part.tenant_id AND claim.memory_id = part.memory_id AND claim.withdrawn_by IS NULL
          AND claim.stance = 'supports' AND claim.value_digest IS NOT DISTINCT FROM part.value_digest
          AND (NOT EXISTS (SELECT FROM candidate_evidence link WHERE link.tenant_id = claim.tenant_id
                           AND link.candidate_id = claim.candidate_id)
               OR EXISTS (SELECT FROM candidate_evidence link
                          JOIN evidence item ON item.tenant_id = link.tenant_id AND item.id = link.evidence_id
                          WHERE link.tenant_id = claim.tenant_id AND link.candidate_id = claim.candidate_id
                            AND item.availability = 'available')))
    ORDER BY part.id
"""


def check_evidence(*, tenant_id: str, memory_id: str) -> list[Difference]:
    """Return the active parts for which no evidence can be used: they ought to be under review."""
    rows = fetch_all(sql=_WITHOUT_EVIDENCE, params={"tenant": tenant_id, "memory": memory_id})
    return [Difference("evidence", f"{row[0]} is active", "needs_review") for row in rows]


def count_open_sets(*, tenant_id: str, memory_id: str) -> int:
    """Return how many conflict sets of a memory are open."""
    rows = fetch_all(
        sql="SELECT count(*) FROM conflict_sets WHERE tenant_id = %s AND memory_id = %s AND state = 'open'",
        params=[tenant_id, memory_id],
    )
    return int(rows[0][0])


_CONFLICT = """
    SELECT held.standing, held.opened_from, held.reason, held.kept_at IS NOT NULL AS kept,
        ARRAY(SELECT member.source::text FROM conflict_members member
              WHERE member.tenant_id = held.tenant_id AND member.conflict_set_id = held.id
                AND NOT member.is_standing AND member.left_at IS NULL) AS members,
        ARRAY(SELECT member.source::text FROM conflict_members member
              WHERE member.tenant_id = held.tenant_id AND member.conflict_set_id = held.id
                AND member.is_standing AND member.left_at IS NULL) AS standing_members
    FROM conflict_sets held WHERE held.tenant_id = %s AND held.memory_id = %s AND held.state = 'open'
"""


def check_conflict(*, tenant_id: str, memory_id: str, has_open_conflict: bool, timeline: Timeline) -> list[Difference]:
    """Return where the open conflict sets of a memory are not the one conflict of its timeline."""
    rows = fetch_records(sql=_CONFLICT, params=[tenant_id, memory_id])
    conflict = timeline.conflict
    found = []
    if has_open_conflict != (conflict is not None):
        found.append(Difference("open conflict", has_open_conflict, conflict is not None))
    if len(rows) != (conflict is not None):
        found.append(Difference("open conflict sets", len(rows), int(conflict is not None)))
    if conflict is None or not rows:
        return found
    members = sorted(source.as_text() for source in conflict.members)
    for row in rows:
        if sorted(row["members"]) != members:
            found.append(Difference("conflict members", sorted(row["members"]), members))
        stored = (row["standing"], row["standing_members"], row["opened_from"], row["reason"], row["kept"])
        standing = conflict.standing.as_text()
        derived = (standing, [standing], conflict.opened_from, conflict.reason, conflict.kept)
        if stored != derived:
            found.append(Difference("conflict set", stored, derived))
    return found


_COUNTED = """
    SELECT part.id::text, part.opener, part.valid_from, part.version, part.independent_evidence_count AS counted
    FROM memory_versions part
    JOIN merge_decisions made ON made.tenant_id = part.tenant_id AND made.id = part.decision_id
    WHERE part.tenant_id = %s AND part.memory_id = %s AND part.recorded_to IS NULL AND made.effects IS NOT NULL
    ORDER BY part.valid_from
"""
# By version and not by time: the clock of a caller may be behind. A claim that added nothing is counted by what came
# after it.
_ENTERED = """
    SELECT claim.source_kind || ':' || claim.source_id || ':' || claim.statement, min(made.expected_version)
    FROM memory_evidence claim
    JOIN merge_decisions made ON made.tenant_id = claim.tenant_id AND made.candidate_id = claim.candidate_id
        AND made.memory_id = claim.memory_id AND NOT made.requires_person
    WHERE claim.tenant_id = %(tenant)s AND claim.memory_id = %(memory)s GROUP BY 1
    UNION ALL
    SELECT ruled.id::text, made.expected_version FROM rulings ruled
    JOIN merge_decisions made ON made.tenant_id = ruled.tenant_id AND made.id = ruled.decision_id
    WHERE ruled.tenant_id = %(tenant)s AND ruled.memory_id = %(memory)s
    UNION ALL
    SELECT 'withdrawn', max(made.resulting_version) FROM merge_decisions made
    WHERE made.tenant_id = %(tenant)s AND made.memory_id = %(memory)s AND (
        made.reason = 'source_revoked' OR EXISTS (
            SELECT FROM memory_evidence claim WHERE claim.tenant_id = made.tenant_id
              AND claim.memory_id = made.memory_id AND claim.withdrawn_by = made.id))
"""


def check_counts(
    *, tenant_id: str, memory_id: str, state: MemoryState, timeline: Timeline, policy: MergePolicy
) -> list[Difference]:
    """Return the held parts whose count of lineages is not that of the claims they were written from.

    A part keeps the count of the version that wrote it; the head tells the present one. Parts from before a claim was
    withdrawn, those of memories that rest on lower ones, and those written before effects were kept, when lineages
    were counted in another way, are told by the head alone.
    """
    if state.bases:
        return []
    rows = fetch_records(sql=_COUNTED, params=[tenant_id, memory_id])
    entered = dict(fetch_all(sql=_ENTERED, params={"tenant": tenant_id, "memory": memory_id}))
    withdrawn = entered.pop("withdrawn") or 0
    now = {(part.valid.start, part.opener): part for part in timeline.parts}
    found = []
    for row in rows:
        place = (row["valid_from"], parse_source(row["opener"]))
        part = now.get(place)
        if part is None or row["version"] < withdrawn:
            continue  # that the part is not derived is told by the parts
        if row["counted"] == _count(part, state, entered, row["version"]):
            continue
        then = _fold_then(state, entered, row["version"], policy).get(place)
        derived = None if then is None else _count(then, state, entered, row["version"])
        if row["counted"] != derived:
            found.append(Difference("lineages of a part", f"{row['id']}: {row['counted']}", derived))
    return found


def _count(part: Part, state: MemoryState, entered: dict[str, int], version: int) -> int:
    """Count the lineages of a part among the claims that had entered when a version was written."""
    claims = {claim.source: claim for claim in state.claims if entered.get(claim.source.as_text(), version) < version}
    return count_supporting_lineages(part=part, claims=claims)


def _fold_then(
    state: MemoryState, entered: dict[str, int], version: int, policy: MergePolicy
) -> dict[tuple[Any, SourceIdentity], Part]:
    """Fold the claims and rulings that had entered when a version was written."""
    timeline = fold_timeline(
        claims=[claim for claim in state.claims if entered.get(claim.source.as_text(), version) < version],
        rulings=[ruling for ruling in state.rulings if entered.get(ruling.key, version) < version],
        rule=MergeRuleV1(contest_window=policy.contest_window, predicate=state.predicate),
    )
    return {(part.valid.start, part.opener): part for part in timeline.parts}
