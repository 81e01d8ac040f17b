"""Why a decision was not recorded: what happened, by whom, what was kept."""

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memoryhub.console import words
from memoryhub.console.history import name_choice
from memoryhub.console.review_page import compare_three, find_decision_to
from memoryhub.console.review_queries import Case
from memoryhub.console.shapes import Refusal
from memoryhub.types.entity import BadSubjectKey, UndeclaredEntityType
from memoryhub.usecases.review import (
    DateRefused,
    DecidedByOther,
    ErasureStarted,
    EvidenceGone,
    ItemStale,
    NoteMissing,
    NotTheOwner,
    OwnClaim,
    ReasonMissing,
    SubjectMissing,
    Verb,
    VerbNotPossible,
)

# What the reviewer can put right at the verb itself.
UNDONE = {
    ReasonMissing: _("Choose a reason."),
    NoteMissing: _("Write a note: this reason says nothing without one."),
    DateRefused: _("It would end before it begins."),
    SubjectMissing: _("Choose whom it is about."),
    BadSubjectKey: _("A subject is written type:name."),
    UndeclaredEntityType: _("This type of subject is not declared."),
    OwnClaim: _("Nobody rules on their own claim."),
    NotTheOwner: _("Only the owner of this scope confirms it."),
    VerbNotPossible: _("This is not possible here."),
}
# What came too late: the page shows the case as it stands now.
LATE = (DecidedByOther, ItemStale, EvidenceGone, ErasureStarted)


def explain_refusal(*, case: Case, late: Exception | None, next_url: str) -> Refusal | None:
    """Explain a decision that came too late, or an item that can no longer be decided; None if it can."""
    if case.is_locked or isinstance(late, ErasureStarted):
        return _refuse_locked(next_url)
    if isinstance(late, DecidedByOther) or not case.item.is_open:
        return _refuse_decided(case, next_url, is_late=late is not None)
    if isinstance(late, ItemStale):
        return _refuse_stale(case, late.expected)
    return _refuse_evidence_gone() if isinstance(late, EvidenceGone) else None


def _refuse_decided(case: Case, next_url: str, *, is_late: bool) -> Refusal:
    """Say who decided it and how; somebody who only opens the page was refused nothing."""
    item = case.item
    outcomes = {
        Verb.ACCEPT: gettext("accepted"),
        Verb.KEEP_CONFLICT: gettext("the conflict was kept"),
        Verb.REJECT: gettext("rejected"),
    }
    outcome = outcomes.get(Verb(item.outcome)) if item.outcome in set(Verb) else words.explain_reason(code=item.outcome)
    when = words.format_clock(moment=item.decided_at) if item.decided_at else ""
    heading = gettext("%(name)s decided this at %(time)s")
    text = gettext("The item is closed: %(outcome)s. Below is what stands now.")
    if is_late:
        heading = gettext("Not recorded: %(name)s decided this at %(time)s")
        text = gettext("The item is closed: %(outcome)s. Below is what stands now; your note is kept.")
    return Refusal(
        status=409,
        code="decided_by_other" if is_late else "",
        heading=heading % {"name": item.decided_by or gettext("the policy"), "time": when},
        text=text % {"outcome": outcome},
        detail=gettext("found version %(version)s") % {"version": case.state.version} if is_late else "",
        next_url=next_url,
    )


def _refuse_stale(case: Case, expected: int) -> Refusal:
    current = case.state.version
    made = find_decision_to(case=case, version=current)
    places = {"current": current, "expected": expected}
    text = gettext("Nothing of yours was written. Your note is kept below.")
    if made is not None:
        text = (
            gettext("%(name)s recorded %(action)s at %(time)s.")
            % {
                "name": made.decider_name or made.author_name,
                "action": name_choice(decision=made),
                "time": words.format_clock(moment=made.recorded_at),
            }
            + f" {text}"
        )
    return Refusal(
        status=409,
        code="stale_version",
        heading=gettext("Not recorded: version %(current)s came while you were reading version %(expected)s") % places,
        text=text,
        detail=gettext("expected version %(expected)s, found %(current)s") % places,
        fields=compare_three(case=case, expected=expected),
    )


def _refuse_evidence_gone() -> Refusal:
    return Refusal(
        status=410,
        code="evidence_gone",
        heading=gettext("Not recorded: the evidence can no longer be used"),
        text=gettext("Nothing is left that the claim rests on. It can only be rejected; your note is kept."),
        detail="",
    )


def _refuse_locked(next_url: str) -> Refusal:
    return Refusal(
        status=423,
        code="erasure_started",
        heading=gettext("Locked: an erasure covers this item"),
        text=gettext(
            "Nothing of it can be decided or read here. It closes by itself when the erasure ends; no note was stored."
        ),
        detail="",
        is_locked=True,
        next_url=next_url,
    )
