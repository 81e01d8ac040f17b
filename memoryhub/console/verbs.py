"""The six verbs of a review, judged for one item: each with its conditions, in one fixed order. Pure.

What accepting would do is not guessed: the same pure decision that the commit makes is made here as a
preview, and the verb that names its outcome is the one that is possible.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from django.utils.translation import gettext

from memoryhub.console import words
from memoryhub.console.diff import condense_text
from memoryhub.console.shapes import Condition, Verb
from memoryhub.types.enums import MergeAction

HOTKEYS: Final[dict[str, str]] = {
    "SUPERSEDE": "s",
    "ADD": "a",
    "ATTACH_EVIDENCE": "e",
    "NO_OP": "n",
    "CONFLICT": "c",
    "REJECT": "r",
}
ACCEPTING: Final = frozenset({MergeAction.SUPERSEDE, MergeAction.ADD, MergeAction.ATTACH_EVIDENCE})


@dataclass(frozen=True, slots=True)
class VerbFacts:
    """What the verbs are judged from.

    `outcome` is the action that accepting the claim would amount to, `outcome_reason` why; `proposed` and
    `standing` are the values in words, `standing` None where nothing stands.
    """

    outcome: str
    outcome_reason: str
    is_conflict: bool
    has_open_conflict: bool
    version: int
    proposed: str
    standing: str | None
    standing_from: datetime | None
    valid_from: datetime
    is_effective: bool
    is_own_claim: bool
    is_own_proposal: bool
    is_evidence_gone: bool
    may_decide: bool
    is_subject_unclear: bool = False


def judge_verbs(*, facts: VerbFacts) -> tuple[Verb, ...]:
    """Judge the six verbs; none is hidden, and one that is not possible names what fails."""
    judged = {
        "SUPERSEDE": _judge_supersede(facts),
        "ADD": _judge_add(facts),
        "ATTACH_EVIDENCE": _judge_attach(facts),
        "NO_OP": _judge_no_op(facts),
        "CONFLICT": _judge_conflict(facts),
        "REJECT": _judge_reject(),
    }
    if facts.is_evidence_gone:
        gone = _fail(gettext("Evidence that can still be used: none is left"))
        judged = {action: (said, held if action == "REJECT" else (gone,)) for action, (said, held) in judged.items()}
    person = _judge_person(facts)
    is_barred = not _may_hold(person)
    return tuple(
        Verb(
            action=action,
            hotkey=HOTKEYS[action],
            sentence=sentence,
            conditions=(*conditions, *(person if is_barred or _may_hold(conditions) else ())),
            needs=_find_need(conditions, action),
        )
        for action, (sentence, conditions) in judged.items()
    )


_Judged = tuple[str, tuple[Condition, ...]]


def _hold(text: str) -> Condition:
    return Condition(state="holds", text=text)


def _fail(text: str) -> Condition:
    return Condition(state="fails", text=text)


def _may_hold(conditions: tuple[Condition, ...]) -> bool:
    return all(condition.state != "fails" for condition in conditions)


def _find_need(conditions: tuple[Condition, ...], action: str) -> Literal["", "date", "reason", "subject"]:
    if not any(condition.state == "yours" for condition in conditions):
        return ""
    if action == "ADD":
        return "subject"
    return "reason" if action == "REJECT" else "date"


def _judge_person(facts: VerbFacts) -> tuple[Condition, ...]:
    """Nobody rules on their own claim; a confirmation comes from the owner and never from the proposer."""
    if not facts.may_decide:
        missing = gettext("You hold review_memory here") if facts.is_conflict else gettext("You own this scope")
        return (_fail(missing),)
    if facts.is_conflict and facts.is_own_claim:
        return (_fail(gettext("You stated or proposed it: somebody else decides this one")),)
    if not facts.is_conflict and facts.is_own_proposal:
        return (_fail(gettext("You proposed it: somebody else confirms this one")),)
    return (_hold(gettext("You did not propose it")),)


def _judge_supersede(facts: VerbFacts) -> _Judged:
    places = {"new": condense_text(text=facts.proposed), "old": condense_text(text=facts.standing or "")}
    if facts.standing is None or facts.standing == facts.proposed:
        sentence = gettext("Let a claim take the place of what stands.")
        return sentence, (_fail(gettext("Nothing else stands that it could replace")),)
    since = words.format_moment(moment=facts.valid_from)
    if facts.outcome == MergeAction.SUPERSEDE:
        sentence = gettext("%(new)s takes the place of %(old)s.") % places
        effective = (
            _hold(gettext("Effective from %(date)s, as stated") % {"date": since})
            if facts.is_effective
            else Condition(state="yours", text=gettext("A date from which it holds: none was stated"))
        )
        return sentence, (_hold(gettext("Another claim, same key and conditions")), effective)
    sentence = gettext("%(new)s would take the place of %(old)s.") % places
    explained = words.explain_reason(code=facts.outcome_reason)
    return sentence, (
        _hold(gettext("Another claim, same key and conditions")),
        _fail(gettext("Accepting it would be %(action)s: %(reason)s") % {"action": facts.outcome, "reason": explained}),
    )


def _judge_add(facts: VerbFacts) -> _Judged:
    if facts.is_subject_unclear:
        sentence = gettext("%(new)s is remembered of whom you name; what is held there decides how.")
        return sentence % {"new": condense_text(text=facts.proposed)}, (
            Condition(state="yours", text=gettext("Whom it is about: the source leaves it open")),
        )
    if facts.outcome == MergeAction.ADD:
        sentence = gettext("%(new)s is remembered.") % {"new": condense_text(text=facts.proposed)}
        return sentence, (_hold(gettext("A period that nothing covers yet")),)
    sentence = gettext("Open a period that nothing covers yet.")
    if facts.standing_from is None:
        return sentence, (_fail(gettext("It opens no free period")),)
    covers = gettext("No free period: v%(version)s covers %(date)s on") % {
        "version": facts.version,
        "date": words.format_moment(moment=facts.standing_from),
    }
    return sentence, (_fail(covers),)


def _judge_attach(facts: VerbFacts) -> _Judged:
    if facts.outcome == MergeAction.ATTACH_EVIDENCE:
        sentence = gettext("Count its evidence for %(new)s. What stands stays.") % {
            "new": condense_text(text=facts.proposed)
        }
        return sentence, (
            _hold(gettext("It moves nothing that stands")),
            _hold(gettext("A lineage that is not counted yet")),
        )
    sentence = gettext("Count one more lineage for what stands.")
    if facts.standing is None:
        return sentence, (_fail(gettext("Nothing stands that it could support")),)
    if facts.standing != facts.proposed:
        return sentence, (_fail(gettext("It says something else than v%(version)s") % {"version": facts.version}),)
    return sentence, (_fail(words.explain_reason(code=facts.outcome_reason)),)


def _judge_no_op(facts: VerbFacts) -> _Judged:
    sentence = gettext("Record that nothing new was said.")
    if facts.outcome == MergeAction.NO_OP:
        return sentence, (_hold(words.explain_reason(code=facts.outcome_reason)),)
    return sentence, (
        _fail(gettext("Something new was said: accepting it would be %(action)s") % {"action": facts.outcome}),
    )


def _judge_conflict(facts: VerbFacts) -> _Judged:
    sentence = gettext("Keep both. Agents are told “disputed” with both claims.")
    if facts.has_open_conflict or facts.outcome == MergeAction.CONFLICT:
        return sentence, (_hold(gettext("Source, conditions and time do not settle it")),)
    return sentence, (_fail(gettext("No other claim clashes with it")),)


def _judge_reject() -> _Judged:
    sentence = gettext("The candidate ends; the record stays.")
    return sentence, (Condition(state="yours", text=gettext("A reason code")),)
