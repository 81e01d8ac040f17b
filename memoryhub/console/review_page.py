"""Put a case into the review page: the claim, its evidence, and the verbs with their conditions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.urls import reverse
from django.utils.translation import gettext

from memoryhub.access.callers import Caller
from memoryhub.console import words
from memoryhub.console.charts import Held, draw_belief, draw_strip
from memoryhub.console.diff import condense_text
from memoryhub.console.grid import find_hues
from memoryhub.console.history import make_steps
from memoryhub.console.lineages import group_claims, tally_side
from memoryhub.console.memory import colours_of, hues_by_version, make_parts
from memoryhub.console.memory_queries import ClaimRow
from memoryhub.console.preview import preview_acceptance, tell_verbs
from memoryhub.console.queue_queries import REVIEW
from memoryhub.console.review_queries import Case
from memoryhub.console.shapes import Field, Key, Lease, Refusal, Review, Tally, ThreeWay, Verb
from memoryhub.console.verbs import VerbFacts, judge_verbs
from memoryhub.memory.queries import DecisionRecord, PartRecord
from memoryhub.policy.merge import MergePolicy
from memoryhub.types.enums import ReviewKind
from memoryhub.usecases.review import REASONS_TO_REJECT

_SHORT: Final = 12
_STRIP_PARTS: Final = 4
_STEPS: Final = 6  # decisions that are shown unfolded


@dataclass(frozen=True, slots=True)
class Draft:
    """What a reviewer had entered when a decision was refused."""

    note: str = ""
    reason: str = ""
    effective_from: str = ""
    subject: str = ""


NOTHING_WRITTEN: Final = Draft()


def make_key(*, case: Case) -> Key:
    """Name the memory a case is about."""
    return Key(
        subject=case.subject,
        fact_key=case.candidate.fact_key,
        conditions=case.candidate.conditions,
        scope_kind=case.scope.kind,
        scope_key=case.scope.key,
        memory_type=case.candidate.memory_type,
    )


def find_standing(*, case: Case) -> PartRecord | None:
    """Return the part that the proposed claim meets: one that says something else, if there is one."""
    held = [part for part in case.parts if part.recorded_to is None]
    begins, ends = case.candidate.valid_from, case.candidate.valid_to
    met = [
        part
        for part in held
        if (part.valid_to is None or part.valid_to > begins) and (ends is None or part.valid_from < ends)
    ]
    met.sort(key=lambda part: (says_same(part=part, case=case), part.valid_from))
    return met[0] if met else next(reversed(held), None)


def says_same(*, part: PartRecord, case: Case) -> bool:
    """Tell whether a part says what is proposed."""
    return words.is_same_value(one=part.value, other=case.candidate.value)


def judge_case(*, case: Case, caller: Caller, now: datetime) -> tuple[Verb, ...]:
    """Judge the six verbs on a case, for one person."""
    candidate, outcome = case.candidate, preview_acceptance(case=case, now=now)
    standing = find_standing(case=case)
    is_conflict = case.item.kind == ReviewKind.CONFLICT
    is_owner = case.scope.owner_id == caller.principal_id
    verbs = judge_verbs(
        facts=VerbFacts(
            outcome=str(outcome.action),
            outcome_reason=outcome.reason,
            is_conflict=is_conflict,
            has_open_conflict=case.state.conflict is not None,
            version=standing.version if standing else case.state.version,
            proposed=words.format_value(value=candidate.value),
            standing=words.format_value(value=standing.value) if standing else None,
            standing_from=standing.valid_from if standing else None,
            valid_from=candidate.valid_from,
            is_effective=candidate.effective,
            is_own_claim=caller.principal_id in {candidate.author_id, candidate.proposer_id},
            is_own_proposal=caller.principal_id == candidate.proposer_id
            or (caller.principal_id == candidate.author_id and not is_owner),
            is_evidence_gone=case.is_evidence_gone,
            may_decide=is_conflict or is_owner or candidate.scope_kind != "user",
            is_subject_unclear=candidate.subject_unclear,
        )
    )
    told = tell_verbs(case=case, acceptance=outcome, now=now)
    return tuple(replace(verb, afterwards=told[verb.action]) if verb.is_possible else verb for verb in verbs)


def make_review(
    *,
    case: Case,
    caller: Caller,
    item_url: str,
    lease: Lease | None,
    now: datetime,
    draft: Draft,
    refusal: Refusal | None,
) -> Review:
    """Make the review page of a case."""
    candidate, standing = case.candidate, find_standing(case=case)
    hues = find_hues(parts=make_parts(held=case.parts))
    hue = hues[standing.version, standing.part] if standing else ""
    fields, equal = _compare_fields(case, standing)
    is_conflict = case.item.kind == ReviewKind.CONFLICT
    title, text = _explain_why(case, standing)
    head = case.head
    lineages = group_claims(
        claims=case.claims,
        hue_of=_colour_claims(case, standing, hues),
        caller=caller,
        is_earlier=lambda claim: _is_earlier(claim, case, standing),
    )
    sides = {words.format_value(value=side.value) for side in (candidate, standing) if side}
    steps = make_steps(
        decisions=case.decisions,
        parts=case.parts,
        hues=hues_by_version(parts=make_parts(held=case.parts)),
        notes=case.notes,
        withdrawn=case.withdrawn,
    )
    return Review(
        item_url=item_url,
        key=make_key(case=case),
        memory_url=reverse("console:memory", args=[head.id]) if head else "",
        modality=head.modality if head else "",
        candidate_status=candidate.status,
        why_title=title,
        why_text=text,
        why_rule=f"{case.item.reason}, {gettext('policy %(version)s') % {'version': candidate.policy_version}}",
        tone="clash" if is_conflict else "wait",
        standing_version=standing.version if standing else None,
        standing_hue=hue,
        fields=fields,
        equal=equal,
        strip=_draw_strip(case, standing, hues, now),
        belief=draw_belief(
            support=head.support, opposition=head.opposition, ratio=MergePolicy().dispute_ratio, hue=hue or "ce"
        )
        if head
        else "",
        tallies=_tally_sides(case, standing, hue),
        lineages=tuple(lineage for lineage in lineages if lineage.value in sides),
        other_lineages=tuple(lineage for lineage in lineages if lineage.value not in sides),
        verbs=judge_case(case=case, caller=caller, now=now) if case.item.is_open else (),
        reasons=tuple((code, str(words.REASON_TO_REJECT[code])) for code in REASONS_TO_REJECT),
        history=steps[:_STEPS],
        earlier=steps[_STEPS:],
        expected_version=case.state.version,
        lease=lease,
        lease_url=reverse("console:lease", args=[case.item.kind, case.item.id]),
        reopen_url=_find_reopening(case),
        note=draft.note,
        reason=draft.reason,
        effective_from=draft.effective_from,
        subject=draft.subject,
        subjects=case.possible_subjects,
        refusal=refusal,
    )


def _find_reopening(case: Case) -> str:
    """Say where a closed item whose conflict is still open can be decided again."""
    head = case.head
    if case.item.is_open or head is None or not head.has_open_conflict or REVIEW not in case.scope.rights:
        return ""
    return reverse("console:reopen", args=[head.id])


def mark_error(*, review: Review, action: str, error: str, is_in_note: bool = False) -> Review:
    """Set an error at the field of one verb, or at the note."""
    if is_in_note:
        return replace(review, note_error=error)
    verbs = tuple(replace(verb, error=error) if verb.action == action else verb for verb in review.verbs)
    return replace(review, verbs=verbs)


def compare_three(*, case: Case, expected: int) -> tuple[ThreeWay, ...]:
    """Compare what was read, what stands now and what was meant, field by field."""
    standing = find_standing(case=case)
    read = _find_part_at(case, expected)
    candidate = case.candidate
    none = ("", "")
    before, after = (
        (words.format_value(value=part.value), _from(part.valid_from)) if part else none for part in (read, standing)
    )
    authors = [part.author_name if part else "" for part in (read, standing)]
    rows = [
        (gettext("value"), "", True, (before[0], after[0]), words.format_value(value=candidate.value)),
        (gettext("valid"), "valid", False, (before[1], after[1]), _from(candidate.valid_from)),
        (gettext("stated by"), "", False, (authors[0], authors[1]), case.author),
        (gettext("version"), "", False, (str(expected), str(case.state.version)), ""),
    ]
    return tuple(
        ThreeWay(
            name=name,
            clock="valid" if clock else "",
            is_value=is_value,
            read=old,
            stands=now,
            draft=draft,
            changed_by=_find_changer(old, now, draft),
        )
        for name, clock, is_value, (old, now), draft in rows
    )


def find_decision_to(*, case: Case, version: int) -> DecisionRecord | None:
    """Return the decision that led to a version."""
    made = (held for held in case.decisions if held.expected_version < held.resulting_version == version)
    return next(made, None)


def _find_part_at(case: Case, version: int) -> PartRecord | None:
    """Return the part that stood where the claim meets it, when the memory was at an earlier version."""
    instants = [held.recorded_at for held in case.decisions if held.resulting_version <= version]
    if not instants:
        return None
    then = max(instants)
    held = [
        replace(part, recorded_to=None)
        for part in case.parts
        if part.recorded_from <= then and (part.recorded_to is None or part.recorded_to > then)
    ]
    return find_standing(case=replace(case, parts=tuple(held)))


def _find_changer(read: str, stands: str, draft: str) -> Any:
    they, you = read != stands, bool(draft) and draft != stands
    if they and you:
        return "both"
    return "they" if they else "you" if you else ""


def _find_rank(case: Case, part: PartRecord) -> int:
    return next((held.part.author.rank for held in case.state.parts if held.row_id == part.id), 0)


def _from(moment: datetime) -> str:
    return gettext("from %(date)s") % {"date": words.format_moment(moment=moment)}


def _compare_fields(case: Case, standing: PartRecord | None) -> tuple[tuple[Field, ...], tuple[tuple[str, str], ...]]:
    """List the fields that differ, the value first, and fold those that are equal."""
    candidate = case.candidate
    old, new = words.format_value(value=standing.value) if standing else "", words.format_value(value=candidate.value)
    is_long = max(len(old), len(new)) > _SHORT
    rank = gettext("rank %(rank)s")
    fields = [
        Field(name=gettext("value"), old=old, new=new, is_value=True, is_long=is_long),
        Field(
            name=gettext("valid"),
            old=_from(standing.valid_from) if standing else "",
            new=_from(candidate.valid_from),
            clock="valid",
            new_note="" if candidate.effective else gettext("not stated: when it was said"),
        ),
        Field(
            name=gettext("recorded"),
            old=words.format_moment(moment=standing.recorded_from) if standing else "",
            new=words.format_moment(moment=case.received_at),
            clock="recorded",
            new_note=gettext("received, not held"),
        ),
        Field(
            name=gettext("stated by"),
            old=standing.author_name if standing else "",
            new=case.author,
            old_note=rank % {"rank": _find_rank(case, standing)} if standing else "",
            new_note=rank % {"rank": candidate.author_rank},
        ),
        Field(
            name=gettext("epistemic"),
            old=standing.epistemic_status if standing else "",
            new=candidate.epistemic_status,
            vocabulary="epistemic",
        ),
        Field(
            name=gettext("words"),
            old=standing.content if standing else "",
            new=candidate.content,
            is_long=True,
        ),
        Field(
            name=gettext("extracted"),
            old="",
            new=_name_extractor(candidate.extractor, candidate.extractor_version),
            new_note=gettext("confidence %(number)s") % {"number": f"{candidate.confidence:.2f}"},
        ),
    ]
    scope = f"{words.SCOPE_KIND[case.scope.kind]} {case.scope.key}"
    equal = [
        (gettext("scope"), scope),
        (gettext("memory type"), candidate.memory_type),
        *((name, words.format_value(value=value)) for name, value in sorted(candidate.conditions.items())),
    ]
    shown = [field for field in fields if field.new and (field.old != field.new or field.clock == "recorded")]
    equal += [(field.name, field.new) for field in fields if field not in shown and not field.vocabulary]
    return tuple(shown), tuple((name, value) for name, value in equal if value)


def _name_extractor(name: str, version: str) -> str:
    """Name an extractor once: the version of our own ones begins with the name."""
    return version if version.startswith(f"{name}/") else f"{name} {version}"


def _is_proposed(claim: ClaimRow, case: Case, standing: PartRecord | None) -> bool:
    """Tell whether a claim speaks for what is proposed: it says the same of the same period."""
    is_same = words.is_same_value(one=claim.value, other=case.candidate.value)
    return is_same and not _is_earlier(claim, case, standing)


def _is_earlier(claim: ClaimRow, case: Case, standing: PartRecord | None) -> bool:
    """Tell whether a claim is about a period that ended before what is decided here."""
    return standing is not None and claim.valid_from < min(standing.valid_from, case.candidate.valid_from)


def _colour_claims(
    case: Case, standing: PartRecord | None, hues: dict[tuple[int, int], str]
) -> Callable[[ClaimRow], str]:
    """Colour the claims: what is proposed is purple, the rest has the hue of the part it speaks for."""
    stood = colours_of(held=case.parts, hues=hues)

    def hue_of(claim: ClaimRow) -> str:
        return "cx" if _is_proposed(claim, case, standing) else stood(claim)

    return hue_of


def _tally_sides(case: Case, standing: PartRecord | None, hue: str) -> tuple[Tally, ...]:
    """Count what speaks for the standing claim and for the proposed one."""
    proposed = tally_side(
        claims=[claim for claim in case.claims if _is_proposed(claim, case, standing)],
        value=words.format_value(value=case.candidate.value),
        hue="cx",
        side="proposed",
    )
    if standing is None or says_same(part=standing, case=case):
        return (proposed,)
    stands = tally_side(
        claims=[
            claim
            for claim in case.claims
            if words.is_same_value(one=claim.value, other=standing.value) and not _is_earlier(claim, case, standing)
        ],
        value=words.format_value(value=standing.value),
        hue=hue,
        side="standing",
    )
    return stands, proposed


def _draw_strip(case: Case, standing: PartRecord | None, hues: dict[tuple[int, int], str], now: datetime) -> Any:
    """Draw the newest parts over the proposed claim; nothing where nothing stands or all is decided."""
    if standing is None or not case.item.is_open:
        return ""
    held = sorted((part for part in case.parts if part.recorded_to is None), key=lambda part: part.valid_from)
    near = [part for part in held if part.valid_to is None or part.valid_to > case.candidate.valid_from]
    before = [part for part in held if part not in near][-1:]
    shown = (before + near)[:_STRIP_PARTS]
    return draw_strip(
        standing=[
            Held(
                value=words.format_value(value=part.value),
                hue=hues[part.version, part.part],
                valid_from=part.valid_from,
                valid_to=part.valid_to,
            )
            for part in shown
        ],
        proposed=Held(
            value=words.format_value(value=case.candidate.value),
            hue="cx",
            valid_from=case.candidate.valid_from,
            valid_to=case.candidate.valid_to,
        ),
        version=case.state.version,
        now=now,
    )


def _explain_why(case: Case, standing: PartRecord | None) -> tuple[str, str]:
    """Say in one sentence with this case's values why it waits for a person."""
    title = words.explain_reason(code=case.item.reason) + gettext(".")
    value = condense_text(text=words.format_value(value=case.candidate.value))
    if case.item.kind != ReviewKind.CONFLICT:
        text = gettext(
            "%(proposer)s wants to remember %(value)s. Until you decide it is used in the current task only."
        )
        return title, text % {"proposer": case.proposer, "value": value}
    if standing is None:
        return title, ""
    gap = case.candidate.valid_from - standing.valid_from
    text = gettext("%(author)s stated %(value)s %(gap)s after %(holder)s set %(standing)s.")
    return title, text % {
        "author": case.author,
        "value": value,
        "gap": words.format_age(age=gap),
        "holder": standing.author_name,
        "standing": condense_text(text=words.format_value(value=standing.value)),
    }
