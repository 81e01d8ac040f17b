"""Belief: what the evidence for the standing part amounts to at an instant. Pure.

Maps claims to the kernel's facets, and what the kernel derives to a modality (ADR 0005).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from memoryhub.kernel.derivation import derive
from memoryhub.kernel.lineage import group_roots
from memoryhub.kernel.values import DerivationRule, Facet
from memoryhub.types.claims import Claim, Part, SourceIdentity, Timeline
from memoryhub.types.cognitive import get_decay
from memoryhub.types.decision import Belief
from memoryhub.types.enums import Stance
from memoryhub.types.modality import Thresholds, read_modality


@dataclass(frozen=True, slots=True)
class BeliefRule:
    """Hold the parameters belief is derived with."""

    memory_type: str
    caps: Mapping[str, float]
    thresholds: Thresholds


def find_standing(*, timeline: Timeline, instant: datetime) -> Part | None:
    """Return the part that stands at an instant, else the newest one, else None."""
    for part in reversed(timeline.parts):
        if part.valid.holds_at(instant):
            return part
    return timeline.parts[-1] if timeline.parts else None


def derive_belief(*, timeline: Timeline, claims: Iterable[Claim], rule: BeliefRule, now: datetime) -> Belief:
    """Return the belief in the part that stands at `now`, or in the newest part.

    `claims` are those the timeline was folded from. Supporters speak for it; what contradicts it within its
    period, and the members of an open conflict that say something else, speak against it. Where nothing
    stands, the dismissed claims are all the support there was.
    """
    by_source = {claim.source: claim for claim in claims}
    part = find_standing(timeline=timeline, instant=now)
    if part is None:
        facets = [_to_facet(by_source[s], superseded=True) for s in timeline.dismissed]
    else:
        facets = [_to_facet(by_source[s]) for s in part.supporters if s in by_source]
        facets += [_to_facet(claim, opposes=True) for claim in _find_against(part, timeline, by_source)]
    found = derive(
        facets=facets,
        rule=DerivationRule(
            key="belief",
            caps=rule.caps,
            retention=get_decay(memory_type=rule.memory_type).retain,
        ),
        as_of=now,
    )
    has_support = len(facets) > found.superseded_count
    return Belief(
        modality=read_modality(
            confidence=found.weight,
            support=found.support,
            opposition=found.opposition,
            has_open_conflict=timeline.conflict is not None,
            all_support_superseded=bool(facets) and not has_support,
            thresholds=rule.thresholds,
        ),
        confidence=found.weight,
        support=found.support,
        opposition=found.opposition,
        independent_evidence_count=found.independent_count,
        derived_at=now,
    )


def _find_against(part: Part, timeline: Timeline, by_source: dict[SourceIdentity, Claim]) -> list[Claim]:
    against = []
    for source in timeline.opposing:
        claim = by_source[source]
        if claim.stance is Stance.CONTRADICTS and claim.valid.overlaps(part.valid):
            against.append(claim)
    if timeline.conflict is not None:
        for source in timeline.conflict.members:
            claim = by_source[source]
            if claim.value_digest != part.value_digest:
                against.append(claim)
    return against


def list_roots(*, claim: Claim) -> frozenset[str]:
    """Return the roots of a claim; one that names none is its own root."""
    return claim.roots or frozenset({claim.source.as_text()})


def _to_facet(claim: Claim, *, opposes: bool = False, superseded: bool = False) -> Facet:
    return Facet(
        key=claim.source.as_text(),
        weight=claim.weight,
        observed_at=claim.observed_at,
        roots=list_roots(claim=claim),
        principals=frozenset({claim.author.principal}),
        opposes=opposes,
        superseded=superseded,
        trust=str(claim.trust),
        independent_count=claim.lineages,
    )


def count_supporting_lineages(*, part: Part, claims: Mapping[SourceIdentity, Claim]) -> int:
    """Return how many independent lineages support a part."""
    known = [claims[source] for source in part.supporters if source in claims]
    groups = group_roots(pieces=[list_roots(claim=claim) for claim in known])
    return sum(max(known[place].lineages for place in group) for group in groups)
