"""The review page: read a case, decide it, go on to the next; a refusal is a page."""

from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from memoryhub.console.frame import Viewer, read_tenant, render_screen, screen
from memoryhub.console.lists import read_number, read_word, write_query
from memoryhub.console.memory import read_instant
from memoryhub.console.queue import CASES, make_lease, name_queue, read_filter, write_filter
from memoryhub.console.queue_queries import list_item_ids
from memoryhub.console.review_page import NOTHING_WRITTEN, Draft, judge_case, make_review, mark_error
from memoryhub.console.review_queries import Case, access_item, load_case
from memoryhub.console.review_refusals import LATE, UNDONE, explain_refusal
from memoryhub.console.shapes import Page, Refusal
from memoryhub.lib import clock
from memoryhub.types.enums import ReviewKind
from memoryhub.usecases.review import NoteMissing, Resolution, Resolved, Verb, resolve_review


@screen
def show_review(request: HttpRequest, viewer: Viewer, kind: str, item_id: UUID) -> HttpResponse:
    """Show an item, or decide it and open the next one of the same filter."""
    if kind not in CASES:
        raise Http404
    if request.method == "POST":
        return _decide(request, viewer, kind, str(item_id))
    return _show(request, viewer, kind, str(item_id))


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What a reviewer pressed and wrote, and which version it was about."""

    action: str
    draft: Draft
    expected: int

    @classmethod
    def read(cls, request: HttpRequest) -> "_Attempt":
        """Read a posted form."""
        return cls(
            action=read_word(form=request.POST, name="verb"),
            draft=Draft(
                note=read_word(form=request.POST, name="note"),
                reason=read_word(form=request.POST, name="reason"),
                effective_from=read_word(form=request.POST, name="effective_from"),
                subject=read_word(form=request.POST, name="subject"),
            ),
            expected=read_number(form=request.POST, name="expected_version"),
        )


def _show(
    request: HttpRequest,
    viewer: Viewer,
    kind: str,
    item_id: str,
    *,
    attempt: _Attempt | None = None,
    error: str = "",
    is_in_note: bool = False,
    late: Exception | None = None,
) -> HttpResponse:
    """Show an item inside the viewer's tenant: as it is, with an error at a verb, or with a refusal on top."""
    now = clock.now()
    with read_tenant(request=request, viewer=viewer):
        item, scope = access_item(caller=viewer.caller, item_id=item_id)
        case = load_case(caller=viewer.caller, item=item, scope=scope, now=now)
        query = write_query(query=write_filter(wanted=read_filter(request=request, kind=kind))).rstrip("?")
        position = _find_neighbours(request, viewer, kind, item_id, now)
        refusal = explain_refusal(case=case, late=late, next_url=position.next_url)
        context: dict[str, Any] = {
            "queue_url": reverse("console:queue", args=[kind]) + query,
            "queue_title": name_queue(kind=kind),
            "position": position,
            "refusal": refusal,
        }
        if not case.is_locked:
            lease = make_lease(
                holder_id=item.lease_holder_id,
                holder=item.lease_holder,
                until=item.lease_expires_at,
                viewer=viewer,
                now=now,
            )
            review = make_review(
                case=case,
                caller=viewer.caller,
                item_url=reverse("console:review", args=[kind, item_id]) + query,
                lease=lease if item.is_open else None,
                now=now,
                draft=attempt.draft if attempt else NOTHING_WRITTEN,
                refusal=refusal,
            )
            if attempt is not None:
                review = mark_error(review=review, action=attempt.action, error=error, is_in_note=is_in_note)
            context["review"] = review
        return render_screen(
            request=request,
            viewer=viewer,
            template="console/locked.html" if case.is_locked else "console/review.html",
            here=kind,
            context=context,
            status=_choose_status(attempt, refusal, error),
        )


def _choose_status(attempt: _Attempt | None, refusal: Refusal | None, error: str) -> int:
    """Answer a refused decision with its own status; a page that was only opened is a page."""
    if attempt is None:
        return HTTPStatus.OK
    if refusal is not None:
        return refusal.status
    return HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK


def _decide(request: HttpRequest, viewer: Viewer, kind: str, item_id: str) -> HttpResponse:
    """Record one decision under the version that was read, or show why not and keep what was written."""
    now = clock.now()
    attempt = _Attempt.read(request)
    with read_tenant(request=request, viewer=viewer):
        item, scope = access_item(caller=viewer.caller, item_id=item_id)
        case = load_case(caller=viewer.caller, item=item, scope=scope, now=now)
        following = _find_following(request, viewer, kind, item_id, now)
        error = _check_attempt(attempt, case, viewer, now)
    if error:
        return _show(request, viewer, kind, item_id, attempt=attempt, error=error)
    try:
        resolved = resolve_review(
            caller=viewer.caller, resolution=_describe_resolution(attempt, kind, item_id), now=now
        )
    except tuple(UNDONE) as refused:
        error = str(UNDONE[type(refused)])
        is_in_note = isinstance(refused, NoteMissing)
        return _show(request, viewer, kind, item_id, attempt=attempt, error=error, is_in_note=is_in_note)
    except LATE as late:
        return _show(request, viewer, kind, item_id, attempt=attempt, late=late)
    messages.success(request, _tell(resolved, f"{attempt.draft.subject or case.subject} {case.candidate.fact_key}"))
    return redirect(following)


def _check_attempt(attempt: _Attempt, case: Case, viewer: Viewer, now: datetime) -> str:
    """Judge the pressed verb as the page did; an empty text lets it through.

    What moved, closed or lost its evidence meanwhile is left to the use case, whose refusal says what happened.
    """
    is_late = not case.item.is_open or case.is_locked or case.state.version != attempt.expected
    if is_late or (case.is_evidence_gone and attempt.action != "REJECT"):
        return ""
    verbs = {verb.action: verb for verb in judge_case(case=case, caller=viewer.caller, now=now)}
    if attempt.action not in verbs:
        return gettext("Choose one of the six verbs.")
    verb = verbs[attempt.action]
    if not verb.is_possible:
        return ". ".join(condition.text for condition in verb.conditions if condition.state == "fails")
    if verb.needs == "subject" or not attempt.draft.effective_from:
        return _ask_for(verb.needs, attempt.draft)
    try:
        read_instant(text=attempt.draft.effective_from)
    except ValueError:
        return gettext("Write a date as 2022-09-05.")
    return ""


def _ask_for(need: str, draft: Draft) -> str:
    """Say what a verb still needs and was not given."""
    if need == "subject" and not draft.subject:
        return gettext("Choose whom it is about.")
    return gettext("State the date from which it holds.") if need == "date" else ""


def _describe_resolution(attempt: _Attempt, kind: str, item_id: str) -> Resolution:
    """Translate a verb of the page: every one but two accepts the claim as what it amounts to."""
    verb = Verb.ACCEPT
    if attempt.action == "REJECT":
        verb = Verb.REJECT
    elif attempt.action == "CONFLICT" and kind == ReviewKind.CONFLICT:
        verb = Verb.KEEP_CONFLICT
    dated = attempt.draft.effective_from if verb is Verb.ACCEPT else ""
    return Resolution(
        item_id=item_id,
        verb=verb,
        expected_version=attempt.expected,
        reason=attempt.draft.reason if verb is Verb.REJECT else "",
        effective_from=read_instant(text=dated) if dated else None,
        note=attempt.draft.note,
        subject=attempt.draft.subject if verb is Verb.ACCEPT else "",
    )


def _find_following(request: HttpRequest, viewer: Viewer, kind: str, item_id: str, now: datetime) -> str:
    """Find where a decision leads: the next item of the same filter, or the list when none is left."""
    query = write_query(query=write_filter(wanted=read_filter(request=request, kind=kind))).rstrip("?")
    following = _find_neighbours(request, viewer, kind, item_id, now).next_url
    return following or reverse("console:queue", args=[kind]) + query


def _find_neighbours(request: HttpRequest, viewer: Viewer, kind: str, item_id: str, now: datetime) -> Page:
    """Find the neighbours of an item in the list with the same filter; a decided one is followed by the first."""
    wanted = read_filter(request=request, kind=kind)
    ids = list_item_ids(caller=viewer.caller, wanted=wanted, now=now)
    query = write_query(query=write_filter(wanted=wanted)).rstrip("?")

    def address(at: int) -> str:
        return reverse("console:review", args=[kind, ids[at]]) + query if 0 <= at < len(ids) else ""

    if item_id not in ids:
        return Page(first=0, last=0, total=len(ids), next_url=address(0))
    at = ids.index(item_id)
    wraps = address(0) if at else ""
    return Page(
        first=at + 1, last=at + 1, total=len(ids), previous_url=address(at - 1), next_url=address(at + 1) or wraps
    )


def _tell(resolved: Resolved, key: str) -> str:
    if resolved.outcome == Verb.REJECT:
        return gettext("Recorded: REJECT, %(key)s") % {"key": key}
    if resolved.outcome == Verb.KEEP_CONFLICT:
        return gettext("Recorded: CONFLICT kept, %(key)s") % {"key": key}
    return gettext("Recorded: %(action)s, %(key)s, version %(version)s") % {
        "action": resolved.action,
        "key": key,
        "version": resolved.version,
    }
