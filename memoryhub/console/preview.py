"""Say what each verb would lead to, by the same pure functions that the commit decides with."""

from collections.abc import Set as AbstractSet
from datetime import datetime

from django.utils.translation import gettext, ngettext

from memoryhub.console import words
from memoryhub.console.diff import condense_text
from memoryhub.console.review_queries import Case
from memoryhub.memory.loading import parse_source, source_of
from memoryhub.policy.belief import find_standing
from memoryhub.policy.merge import MergePolicy, decide, decide_ruling
from memoryhub.types.claims import Ruling, SourceIdentity, Timeline
from memoryhub.types.decision import Changes, Decision
from memoryhub.types.enums import ReviewKind
from memoryhub.usecases.consolidate import describe_facts


def preview_acceptance(*, case: Case, now: datetime) -> Decision:
    """Decide what accepting the claim would amount to."""
    if case.item.kind == ReviewKind.CONFLICT:
        source = source_of(case.candidate)
        return _preview_ruling(case, now, settles=frozenset({source}), winner=source)
    return decide(
        candidate=describe_facts(candidate=case.candidate, echo=case.state.echo, confirmed=True),
        claims=case.state.claims,
        rulings=case.state.rulings,
        predicate=case.state.predicate,
        policy=MergePolicy(),
        now=now,
    )


def tell_verbs(*, case: Case, acceptance: Decision, now: datetime) -> dict[str, str]:
    """Say in one line for each verb that may be possible here what stands afterwards."""
    accepted = _tell_changes(case, acceptance.changes, now)
    told = {"CONFLICT": accepted, str(acceptance.action): accepted}
    if case.item.kind != ReviewKind.CONFLICT:
        return told | {"REJECT": _tell_changes(case, Changes(), now)}
    source = source_of(case.candidate)
    members = frozenset(map(parse_source, case.state.conflict.members if case.state.conflict else ()))
    rejection = _preview_ruling(case, now, settles=frozenset({source}), winner=None)
    keeping = _preview_ruling(case, now, settles=members | {source}, winner=None, keeps_conflict=True)
    return told | {
        "REJECT": _tell_changes(case, rejection.changes, now),
        "CONFLICT": _tell_changes(case, keeping.changes, now),
    }


def _preview_ruling(
    case: Case,
    now: datetime,
    *,
    settles: frozenset[SourceIdentity],
    winner: SourceIdentity | None,
    keeps_conflict: bool = False,
) -> Decision:
    state = case.state
    return decide_ruling(
        ruling=Ruling(
            key="preview",
            settles=settles,
            winner=winner,
            effective_from=None,
            sequence=1 + max((held.sequence for held in state.rulings), default=0),
            keeps_conflict=keeps_conflict,
        ),
        claims=state.claims,
        rulings=state.rulings,
        predicate=state.predicate,
        policy=MergePolicy(),
        memory_type=case.candidate.memory_type,
        now=now,
    )


def _tell_changes(case: Case, changes: Changes, now: datetime) -> str:
    """Say what stands now once the changes are made, and what becomes of the claims in conflict."""
    before = frozenset(case.state.conflict.members if case.state.conflict else ())
    after: AbstractSet[str] = before
    if changes.conflict is not None:
        after = {member.as_text() for member in changes.conflict.members}
    elif changes.dissolves:
        after = frozenset()
    accepted = before - after - {source.as_text() for source in changes.newly_dismissed}
    told = [_tell_standing(case, changes, now)]
    if accepted:
        told.append(
            ngettext("%(count)s claim accepted", "%(count)s claims accepted", len(accepted)) % {"count": len(accepted)}
        )
    if after:
        told.append(
            ngettext("%(count)s claim in conflict", "%(count)s claims in conflict", len(after)) % {"count": len(after)}
        )
    return gettext(", ").join(told)


def _tell_standing(case: Case, changes: Changes, now: datetime) -> str:
    closed = {part.valid for part in changes.close}
    parts = [stored.part for stored in case.state.parts if stored.part.valid not in closed] + [*changes.write]
    parts.sort(key=lambda part: part.valid.start)
    standing = find_standing(timeline=Timeline(parts=tuple(parts)), instant=now)
    if standing is None:
        return gettext("Afterwards: nothing stands")
    values = {claim.source: claim.value for claim in case.claims}
    value = words.format_value(value=values.get(standing.opener.as_text()) if standing.value_digest else None)
    return gettext("Afterwards: %(value)s stands") % {"value": condense_text(text=value)}
