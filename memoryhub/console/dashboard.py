"""The dashboard: your turn first, then how the queues and the deliveries stand."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from memoryhub.console.dashboard_queries import (
    count_decisions,
    count_holdings,
    measure_backlog,
    measure_queue,
    read_ledger,
)
from memoryhub.console.frame import Viewer, render_screen, screen
from memoryhub.console.queue import KINDS, make_row, name_queue
from memoryhub.console.queue_queries import QueueFilter, count_open_items, list_items
from memoryhub.console.shapes import Bar
from memoryhub.lib import clock
from memoryhub.types.enums import ReviewKind

_TURN: Final = 8
_BAR_WIDE: Final = 200
# The six verbs never change their order.
VERBS: Final = ("SUPERSEDE", "ADD", "ATTACH_EVIDENCE", "NO_OP", "CONFLICT", "REJECT")
_BAR_CSS: Final = ("g-ink", "g-good", "g-good", "g-q", "g-clash", "g-bad")


@screen
def show_dashboard(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Show what waits for the viewer and how everything stands."""
    now = clock.now()
    turn = _list_turn(viewer, now)
    mine = count_open_items(caller=viewer.caller, now=now)
    ages = {kind: measure_queue(caller=viewer.caller, kind=kind, now=now) for kind in KINDS if kind in mine}
    holdings = count_holdings(caller=viewer.caller, now=now)
    may_operate = viewer.principal.has_perm("memoryhub.operate", viewer.principal.tenant)
    return render_screen(
        request=request,
        viewer=viewer,
        template="console/dashboard.html",
        here="dashboard",
        context={
            "now": now,
            "turn": turn[:_TURN],
            "turn_total": sum(age.open for age in ages.values()),
            "longest": max((age.oldest for age in ages.values()), default=timedelta()),
            "queues": [
                {
                    "name": name_queue(kind=kind),
                    "url": reverse("console:queue", args=[kind]),
                    "open": age.open,
                    "youngest": age.youngest,
                    "median": age.median,
                    "oldest": age.oldest,
                    "decided": age.decided,
                }
                for kind, age in ages.items()
            ],
            "charts": [
                _make_chart(
                    gettext("Decisions by people"), count_decisions(caller=viewer.caller, now=now, by_people=True)
                ),
                _make_chart(
                    gettext("Decisions by policy"), count_decisions(caller=viewer.caller, now=now, by_people=False)
                ),
            ],
            "held": [
                {
                    "count": holdings.memories,
                    "name": ngettext("memory", "memories", holdings.memories),
                    "note": gettext("scopes they stand in: %(count)s") % {"count": holdings.scopes},
                    "url": reverse("console:memories"),
                },
                {
                    "count": holdings.open_conflicts,
                    "name": ngettext("open conflict set", "open conflict sets", holdings.open_conflicts),
                    "note": gettext("agents are told “disputed”"),
                    "url": reverse("console:memories") + "?modality=disputed",
                },
                {
                    "count": holdings.retrievals,
                    "name": ngettext("answer to agents", "answers to agents", holdings.retrievals),
                    "note": gettext("last 7 days, each audited"),
                    "url": "",
                },
            ],
            "backlog": measure_backlog(caller=viewer.caller, now=now) if may_operate else None,
            "ledger": read_ledger(caller=viewer.caller, now=now) if may_operate else None,
        },
    )


@screen
def show_counts(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Answer the live counts of the navigation."""
    counts = count_open_items(caller=viewer.caller, now=clock.now())
    return render(request, "parts/counts.html", {"counts": counts})


def _list_turn(viewer: Viewer, now: datetime) -> list[dict[str, Any]]:
    """List the oldest items of every queue together, oldest first."""
    turn = []
    for kind in KINDS:
        for item in list_items(caller=viewer.caller, wanted=QueueFilter(kind=kind), now=now, offset=0):
            row = make_row(item=item, query={}, viewer=viewer, kind=kind, now=now)
            turn.append({"kind": str(kind), "url": row.url, "key": row.key, "why": row.why, "age": row.age})
    return sorted(turn, key=lambda row: (row["kind"] != ReviewKind.CONFLICT, -row["age"].total_seconds()))


def _make_chart(name: str, counts: Mapping[str, int]) -> dict[str, Any]:
    most = max(counts.values(), default=0)
    bars = [
        Bar(action=action, count=counts.get(action, 0), width=_BAR_WIDE * counts.get(action, 0) // (most or 1), css=css)
        for action, css in zip(VERBS, _BAR_CSS, strict=True)
    ]
    note = gettext("last 7 days, %(count)s") % {"count": sum(counts.values())}
    return {"name": name, "note": note, "bars": bars}
