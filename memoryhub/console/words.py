"""The console's words for codes, instants and ages, in the reader's language."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation import gettext_lazy as _

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

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
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


def format_second(*, moment: datetime | None) -> str:
    """Write an instant in UTC to the second, without naming the zone; None is an open end."""
    if moment is None:
        return gettext("open")
    there = moment.astimezone(UTC)
    between = " " if is_chinese() else ", "
    return f"{format_day(moment=there)}{between}{there:%H:%M:%S}"


def format_clock(*, moment: datetime) -> str:
    """Write the hour and minute of an instant in UTC."""
    return f"{moment.astimezone(UTC):%H:%M} UTC"


def format_age(*, age: timedelta) -> str:
    """Write how long ago something was: 12 min, 1 h 35 min, 3 d 04 h, 24 d."""
    if age < _HOUR:
        minutes = max(int(age.total_seconds()) // 60, 0)
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


def format_items(*, count: int) -> str:
    """Write how many items of evidence there are."""
    return ngettext("%(count)s item", "%(count)s items", count) % {"count": count}


def label_ticks(*, moments: Sequence[datetime]) -> list[str]:
    """Write the ticks of an axis as short as still keeps them apart."""
    there = [moment.astimezone(UTC) for moment in moments]
    one_year = len({moment.year for moment in there}) <= 1
    one_day = len({moment.date() for moment in there}) <= 1
    days = [format_day(moment=moment, with_year=not one_year) for moment in there]
    for clock in ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f"):
        if not one_day and len(set(days)) == len(days):
            return days
        times = [f"{moment:{clock}}" for moment in there]
        times = [text[:-3] if clock.endswith("%f") else text for text in times]
        labels = times if one_day else [f"{day} {time}" for day, time in zip(days, times, strict=True)]
        if len(set(labels)) == len(labels) or clock.endswith("%f"):
            return labels if len(there) > 1 else days
    return days
