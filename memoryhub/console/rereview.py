"""Look again at a memory that lost what it rested on: on its own page, where everything about it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from memoryhub.console.frame import Viewer, screen
from memoryhub.console.lists import read_number, read_word
from memoryhub.console.review_refusals import UNDONE
from memoryhub.lib import clock
from memoryhub.usecases.review import (
    DecidedByOther,
    ErasureStarted,
    EvidenceGone,
    ItemNotFound,
    ItemStale,
    Resolution,
    Verb,
    resolve_review,
)

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

_LATE: Final[dict[type[Exception], _StrPromise]] = {
    DecidedByOther: _("Somebody else decided this meanwhile. Nothing of yours was recorded."),
    ErasureStarted: _("An erasure covers this memory. Nothing was recorded."),
    EvidenceGone: _("Nothing is left that it could rest on: it can only end."),
    ItemNotFound: _("This memory is no longer under review."),
    ItemStale: _("The memory moved while you were reading. Nothing was recorded; look again."),
}


@screen
@require_POST
def look_again(request: HttpRequest, viewer: Viewer, memory_id: UUID) -> HttpResponse:
    """Keep a memory under review, or let it end; a refusal is told on its page."""
    verb = Verb.KEEP if read_word(form=request.POST, name="verb") == Verb.KEEP else Verb.REJECT
    resolution = Resolution(
        item_id=str(_read_item(request)),
        verb=verb,
        expected_version=read_number(form=request.POST, name="expected_version"),
        reason=read_word(form=request.POST, name="reason") if verb is Verb.REJECT else "",
        note=read_word(form=request.POST, name="note"),
    )
    try:
        resolve_review(caller=viewer.caller, resolution=resolution, now=clock.now())
    except tuple(UNDONE) as refused:
        messages.error(request, str(UNDONE[type(refused)]))
    except tuple(_LATE) as late:
        messages.error(request, str(_LATE[type(late)]))
    else:
        done = gettext("Recorded: it is kept.") if verb is Verb.KEEP else gettext("Recorded: it ended.")
        messages.success(request, done)
    return redirect("console:memory", memory_id)


def _read_item(request: HttpRequest) -> UUID:
    try:
        return UUID(read_word(form=request.POST, name="item"))
    except ValueError:
        return UUID(int=0)
