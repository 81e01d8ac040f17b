"""The queues of conflicts, of confirmations, and of what has to be looked at again."""

from datetime import datetime

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from memoryhub.console import words
from memoryhub.console.frame import Viewer, render_screen, screen
from memoryhub.console.lists import make_menu, make_page, read_number, read_word, write_query
from memoryhub.console.queue_queries import (
    PAGE_SIZE,
    ItemRow,
    QueueFilter,
    count_open_items,
    list_facets,
    list_item_ids,
    list_items,
    list_reviewable_scopes,
)
from memoryhub.console.shapes import ActiveFilter, Empty, Key, Lease, QueueRow
from memoryhub.lib import clock
from memoryhub.types.enums import ReviewKind

CASES = (ReviewKind.CONFLICT, ReviewKind.CONFIRMATION)  # what is decided on a page of its own
KINDS = (*CASES, ReviewKind.REREVIEW)  # what is looked at again is decided on the memory's page
_NAMES = {
    ReviewKind.CONFLICT: _("Conflicts"),
    ReviewKind.CONFIRMATION: _("Confirmations"),
    ReviewKind.REREVIEW: _("Rereviews"),
}


def name_queue(*, kind: str) -> str:
    """Name a queue."""
    return str(_NAMES[ReviewKind(kind)])


def read_filter(*, request: HttpRequest, kind: str) -> QueueFilter:
    """Read the filter from the address; list, neighbours and the next item all use it."""
    return QueueFilter(
        kind=kind,
        text=read_word(form=request.GET, name="q"),
        scope=read_word(form=request.GET, name="scope"),
        reason=read_word(form=request.GET, name="reason"),
    )


def write_filter(*, wanted: QueueFilter) -> dict[str, str]:
    """Write the filter as it stands in an address."""
    return {"q": wanted.text, "scope": wanted.scope, "reason": wanted.reason}


@screen
def show_queue(request: HttpRequest, viewer: Viewer, kind: str) -> HttpResponse:
    """Show one page of a queue, oldest first."""
    if kind not in KINDS:
        raise Http404
    now = clock.now()
    wanted = read_filter(request=request, kind=kind)
    query = write_filter(wanted=wanted)
    total = len(list_item_ids(caller=viewer.caller, wanted=wanted, now=now))
    offset = read_number(form=request.GET, name="from")
    items = list_items(caller=viewer.caller, wanted=wanted, now=now, offset=offset)
    rows = [make_row(item=item, query=query, viewer=viewer, kind=kind, now=now) for item in items]
    menus = [
        make_menu(
            label=label,
            name=name,
            query=query,
            facets=list_facets(caller=viewer.caller, wanted=wanted, now=now, name=name),
            words={code: str(text) for code, text in words.REASON.items()},
        )
        for name, label in (("scope", gettext("Scope")), ("reason", gettext("Why")))
    ]
    return render_screen(
        request=request,
        viewer=viewer,
        template="console/queue.html",
        here=kind,
        context={
            "title": name_queue(kind=kind),
            "caption": gettext("Open items, oldest first"),
            "sort": gettext("Sort: oldest first"),
            "rows": rows,
            "page": make_page(query=query, offset=offset, shown=len(rows), total=total, size=PAGE_SIZE),
            "menus": menus,
            "active": _list_active(query),
            "hidden": [(name, query[name]) for name in ("scope", "reason") if query[name]],
            "q": wanted.text,
            "empty": None if rows else _explain_empty(viewer, kind, is_filtered=any(query.values()), now=now),
        },
    )


def make_row(*, item: ItemRow, query: dict[str, str], viewer: Viewer, kind: str, now: datetime) -> QueueRow:
    """Put one item into words."""
    url = reverse("console:review", args=[kind, item.id]) + write_query(query=query).rstrip("?")
    if kind == ReviewKind.REREVIEW:
        url = reverse("console:memory", args=[item.memory_id])
    return QueueRow(
        row_id=f"item-{item.id}",
        url=url,
        age=now - item.opened_at,
        key=Key(
            subject=item.subject,
            fact_key=item.fact_key,
            conditions=item.conditions,
            scope_kind=item.scope_kind,
            scope_key=item.scope_key,
            memory_type=item.memory_type,
        ),
        old=words.format_value(value=item.standing) if item.has_standing and kind in CASES else None,
        new=words.format_value(value=item.value),
        support=item.support,
        opposition=item.opposition,
        items=item.sources,
        why=words.explain_reason(code=item.reason),
        rule=item.reason,
        waiting_on=item.waiting_on or (gettext("owner") if kind == ReviewKind.CONFIRMATION else gettext("reviewer")),
        lease=make_lease(
            holder_id=item.lease_holder_id,
            holder=item.lease_holder,
            until=item.lease_expires_at,
            viewer=viewer,
            now=now,
        ),
        is_again=kind == ReviewKind.REREVIEW,
    )


def make_lease(
    *, holder_id: str | None, holder: str | None, until: datetime | None, viewer: Viewer, now: datetime
) -> Lease | None:
    """Say who has an item open; another's lapsed lease says nothing."""
    if holder_id is None or holder is None or until is None:
        return None
    is_mine = holder_id == viewer.caller.principal_id
    if until <= now:
        return Lease(kind="lapsed", holder=holder, until=until) if is_mine else None
    return Lease(kind="mine" if is_mine else "other", holder=holder, until=until)


def _list_active(query: dict[str, str]) -> list[ActiveFilter]:
    labels = {"q": gettext("text"), "scope": gettext("scope"), "reason": gettext("why")}
    return [
        ActiveFilter(
            label=labels[name],
            value=words.explain_reason(code=value),
            url=write_query(query={**query, name: ""}),
        )
        for name, value in query.items()
        if value
    ]


def _explain_empty(viewer: Viewer, kind: str, *, is_filtered: bool, now: datetime) -> Empty:
    """Tell the three kinds of nothing apart: not allowed, filtered away, all decided."""
    if not list_reviewable_scopes(caller=viewer.caller, kind=kind):
        return Empty(
            kind="forbidden",
            heading=gettext("You may not see these"),
            text=gettext("Items are shown to those who hold review_memory on their scope."),
            url=reverse("console:profile"),
            link=gettext("See your rights"),
        )
    counts = count_open_items(caller=viewer.caller, now=now)
    if is_filtered:
        return Empty(
            kind="filter",
            heading=gettext("Nothing matches this filter"),
            text=ngettext(
                "%(count)s item is open; it does not match.",
                "%(count)s items are open; none of them matches.",
                counts[kind],
            )
            % {"count": counts[kind]},
            url="?",
            link=gettext("Clear all"),
        )
    other = next((each for each in KINDS if each != kind and each in counts), kind)
    return Empty(
        kind="done",
        heading=gettext("Everything here is decided"),
        text=gettext("New ones appear by themselves; nobody waits for you here."),
        url=reverse("console:queue", args=[other]) if other != kind else "",
        link=f"{name_queue(kind=other)}, {counts[other]}",
    )
