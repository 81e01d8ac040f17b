"""The console's words for codes, instants and ages, in the reader's language."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from memoryhub.lib.canonical import canonical_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.utils.functional import _StrPromise

CANDIDATE_STATUS: Final[dict[str, _StrPromise]] = {
    "pending": _("pending"),
    "needs_confirmation": _("needs confirmation"),
    "accepted": _("accepted"),
    "rejected": _("rejected"),
    "superseded": _("superseded"),
}
# Merge actions stay as code in every language, since API and audit use them; these are glosses.
MERGE_ACTION: Final[dict[str, _StrPromise]] = {
    "SUPERSEDE": _("replace"),
    "ADD": _("add"),
    "ATTACH_EVIDENCE": _("attach evidence"),
    "NO_OP": _("no change"),
    "CONFLICT": _("keep the conflict"),
    "REJECT": _("reject"),
}
VERSION_STATE: Final[dict[str, _StrPromise]] = {
    "active": _("active"),
    "superseded": _("superseded"),
    "needs_review": _("needs review"),
    "revoked": _("revoked"),
    "expired": _("expired"),
    "erased": _("erased"),
}
EPISTEMIC_STATUS: Final[dict[str, _StrPromise]] = {
    "explicit": _("explicit"),
    "observed": _("observed"),
    "inferred": _("inferred"),
    "validated": _("validated"),
}
MODALITY: Final[dict[str, _StrPromise]] = {
    "believed": _("believed"),
    "possible": _("possible"),
    "doubted": _("doubted"),
    "disputed": _("disputed"),
    "refuted": _("refuted"),
}
SCOPE_KIND: Final[dict[str, _StrPromise]] = {
    "user": _("user"),
    "project": _("project"),
    "organization": _("organization"),
}
# Why something was decided or waits. The code stands beside the words, since API and audit use it.
REASON: Final[dict[str, _StrPromise]] = {
    "put_back_in_contest_window": _("Put back by another principal"),
    "author_may_not_supersede": _("The author may not replace what stands"),
    "no_effective_time": _("No effective time stated"),
    "yields_only_to_validation": _("What stands yields only to a validation"),
    "joins_open_conflict": _("Joins an open conflict"),
    "instruction_like": _("Reads like an instruction to the agent"),
    "claims_authority": _("Claims that somebody allowed it"),
    "validation_missing": _("No result shows that it worked"),
    "subject_unclear": _("The source leaves open whom it is about"),
    "subject_named": _("A reviewer named the subject"),
    "predicate_requires_confirmation": _("This key is always confirmed by a person"),
    "sensitive_predicate": _("A sensitive key"),
    "inferred_preference": _("A preference that was inferred, not stated"),
    "wider_scope": _("More people would read it than its evidence"),
    "first_claim": _("First claim for this key"),
    "lower_moved": _("A memory it rests on gained or lost support"),
    "lower_unmoved": _("A memory it rests on changed, and brings the same"),
    "lower_superseded": _("A memory it rests on says something else now"),
    "lower_disputed": _("A memory it rests on is disputed"),
    "lower_refuted": _("A memory it rests on is refuted"),
    "lower_revoked": _("A memory it rests on was revoked"),
    "lower_expired": _("A memory it rests on expired"),
    "lower_erased": _("A memory it rests on was erased"),
    "lower_in_review": _("A memory it rests on is under review"),
    "lower_fell_before": _("What it rests on had fallen before"),
    "lower_holds_again": _("What it rests on holds again"),
    "kept_after_review": _("Kept after a review"),
    "evidence_expired": _("Its evidence expired"),
    "evidence_unreachable": _("Its evidence cannot be reached"),
    "evidence_available_again": _("Its evidence can be reached again"),
    "evidence_not_held": _("A memory it names does not hold as it was named"),
    "evidence_cycle": _("It would rest on itself"),
    "fills_free_period": _("Fills a period that nothing covered"),
    "replaces_standing": _("Replaces what stood"),
    "corrects_history": _("Corrects the past"),
    "independent_support": _("Independent support"),
    "evidence_against": _("Evidence against what stands"),
    "narrows": _("Narrows what stands"),
    "same_source": _("The same source again"),
    "lineage_already_counted": _("A lineage that is counted already"),
    "settled_by_ruling": _("Settled by a ruling before"),
    "ruled": _("A ruling"),
    "ruled_against": _("Ruled against"),
    "conflict_kept": _("The conflict was kept"),
    "conflict_settled": _("The conflict was settled"),
    "no_future_value": _("No value for the future"),
    "source_untraceable": _("The source cannot be traced"),
    "evidence_unavailable": _("The evidence is not available"),
    "scope_not_authorised": _("The scope is not authorised"),
    "inference_as_fact": _("A guess put forward as a fact"),
    "forbidden_content": _("Forbidden content"),
    "barred_by_revocation": _("Barred by a revocation"),
    "work_discarded": _("Its work was discarded"),
    "rejected_not_supported": _("Rejected: the evidence does not support it"),
    "rejected_outdated": _("Rejected: it is out of date"),
    "rejected_wrong_subject": _("Rejected: it is about something else"),
    "rejected_not_useful": _("Rejected: nothing will need it again"),
    "rejected_private": _("Rejected: it is private"),
    "rejected_other": _("Rejected for another reason"),
}

REASON_TO_REJECT: Final[dict[str, _StrPromise]] = {
    "not_supported": _("The evidence does not support it"),
    "outdated": _("It is out of date"),
    "wrong_subject": _("It is about something else"),
    "not_useful": _("Nothing will need it again"),
    "private": _("It is private"),
    "other": _("Another reason, with a note"),
}

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CLOCKS: Final = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f")
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_WEEKS_BEFORE_DAYS_ALONE: Final = timedelta(days=10)


def is_chinese() -> bool:
    """Tell whether the reader's language is Chinese."""
    return (get_language() or "").startswith("zh")


def format_day(*, moment: datetime, with_year: bool = True) -> str:
    """Write a day as the reader's language does: 5 Sep 2022, or 2022-09-05."""
    if is_chinese():
        return f"{moment:%Y-%m-%d}" if with_year else f"{moment:%m-%d}"
    day = f"{moment.day} {_MONTHS[moment.month - 1]}"
    return f"{day} {moment.year}" if with_year else day


def format_moment(*, moment: datetime | None, zone: bool = True) -> str:
    """Write an instant in UTC, to the minute; midnight is the day alone, None an open end."""
    if moment is None:
        return gettext("open")
    there = moment.astimezone(UTC)
    day = format_day(moment=there)
    if (there.hour, there.minute, there.second) == (0, 0, 0):
        return day
    between = " " if is_chinese() else ", "
    return f"{day}{between}{there:%H:%M}{' UTC' if zone else ''}"


def format_exact(*, moment: datetime | None) -> str:
    """Write an instant in UTC as exactly as it is held, without naming the zone; None is an open end."""
    if moment is None:
        return gettext("open")
    there = moment.astimezone(UTC)
    between = " " if is_chinese() else ", "
    return f"{format_day(moment=there)}{between}{there:%H:%M:%S.%f}"


def format_clock(*, moment: datetime) -> str:
    """Write the hour and minute of an instant in UTC."""
    return f"{moment.astimezone(UTC):%H:%M} UTC"


def format_age(*, age: timedelta) -> str:
    """Write how long ago something was: 12 min, 1 h 35 min, 3 d 04 h, 24 d."""
    if age < _MINUTE:
        return gettext("under 1 min")
    if age < _HOUR:
        minutes = int(age.total_seconds()) // 60
        return gettext("%(minutes)s min") % {"minutes": minutes}
    if age < _DAY:
        hours, rest = divmod(int(age.total_seconds()), 3600)
        return gettext("%(hours)s h %(minutes)s min") % {"hours": hours, "minutes": f"{rest // 60:02}"}
    if age < _WEEKS_BEFORE_DAYS_ALONE:
        return gettext("%(days)s d %(hours)s h") % {"days": age.days, "hours": f"{age.seconds // 3600:02}"}
    return gettext("%(days)s d") % {"days": age.days}


def format_value(*, value: object) -> str:
    """Write a claim's value: a text as it stands, anything else as JSON, None as an absence."""
    if value is None:
        return gettext("no value (retraction)")
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def is_same_value(*, one: object, other: object) -> bool:
    """Tell whether two values are the same claim."""
    return canonical_json(one) == canonical_json(other)


def explain_reason(*, code: str) -> str:
    """Write a reason code in words; one that is not known stays as it is."""
    return str(REASON.get(code, code))


def label_ticks(*, moments: Sequence[datetime]) -> list[str]:
    """Write the ticks of an axis as short as still keeps them apart."""
    there = [moment.astimezone(UTC) for moment in moments]
    one_year = len({moment.year for moment in there}) <= 1
    one_day = len({moment.date() for moment in there}) <= 1
    days = [format_day(moment=moment, with_year=not one_year) for moment in there]
    for clock in _CLOCKS:
        if not one_day and len(set(days)) == len(days):
            return days
        times = [f"{moment:{clock}}" for moment in there]
        labels = times if one_day else [f"{day} {time}" for day, time in zip(days, times, strict=True)]
        if len(set(labels)) == len(labels) or clock == _CLOCKS[-1]:
            return labels if len(there) > 1 else days
    return days
