"""The list of memories one may see."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from memoryhub.access.queries import list_scopes
from memoryhub.console import words
from memoryhub.console.frame import Viewer, render_screen, screen
from memoryhub.console.lists import make_menu, make_page, read_number, read_word, write_query
from memoryhub.console.memory_queries import (
    PAGE_SIZE,
    MemoryFilter,
    count_memories,
    list_memories,
    list_memory_facets,
)
from memoryhub.console.shapes import ActiveFilter, Empty, Key
from memoryhub.lib import clock
from memoryhub.memory.queries import VIEW


@screen
def show_memories(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Show one page of memories, by subject and key."""
    now = clock.now()
    wanted = MemoryFilter(
        text=read_word(form=request.GET, name="q"),
        scope=read_word(form=request.GET, name="scope"),
        modality=read_word(form=request.GET, name="modality"),
    )
    query = {"q": wanted.text, "scope": wanted.scope, "modality": wanted.modality}
    offset = read_number(form=request.GET, name="from")
    total = count_memories(caller=viewer.caller, wanted=wanted, now=now)
    found = list_memories(caller=viewer.caller, wanted=wanted, now=now, offset=offset)
    labels = {"q": gettext("text"), "scope": gettext("scope"), "modality": gettext("modality")}
    modalities = {code: str(text) for code, text in words.MODALITY.items()}
    return render_screen(
        request=request,
        viewer=viewer,
        template="console/memories.html",
        here="memories",
        context={
            "rows": [
                {
                    "row_id": f"memory-{row.id}",
                    "url": reverse("console:memory", args=[row.id]),
                    "key": Key(
                        subject=row.subject,
                        fact_key=row.fact_key,
                        conditions=row.conditions,
                        scope_kind=row.scope_kind,
                        scope_key=row.scope_key,
                        memory_type=row.memory_type,
                    ),
                    "has_answer": row.has_answer,
                    "value": words.format_value(value=row.value),
                    "modality": row.modality,
                    "confidence": row.confidence,
                    "version": row.version,
                    "independent": row.independent,
                    "valid_from": row.valid_from,
                    "valid_to": row.valid_to,
                }
                for row in found
            ],
            "page": make_page(query=query, offset=offset, shown=len(found), total=total, size=PAGE_SIZE),
            "menus": [
                make_menu(
                    label=label,
                    name=name,
                    query=query,
                    facets=list_memory_facets(caller=viewer.caller, wanted=wanted, now=now, name=name),
                    words=modalities,
                )
                for name, label in (("scope", gettext("Scope")), ("modality", gettext("Modality")))
            ],
            "active": [
                ActiveFilter(
                    label=labels[name],
                    value=modalities.get(value, value),
                    url=write_query(query={**query, name: ""}),
                )
                for name, value in query.items()
                if value
            ],
            "hidden": [(name, query[name]) for name in ("scope", "modality") if query[name]],
            "q": wanted.text,
            "empty": None if found else _explain_empty(viewer, is_filtered=any(query.values())),
        },
    )


def _explain_empty(viewer: Viewer, *, is_filtered: bool) -> Empty:
    if not list_scopes(caller=viewer.caller, right=VIEW):
        return Empty(
            kind="forbidden",
            heading=gettext("You may not see these"),
            text=gettext("Memories are shown to those who hold view_memory on their scope."),
            url=reverse("console:profile"),
            link=gettext("See your rights"),
        )
    if is_filtered:
        return Empty(
            kind="filter",
            heading=gettext("Nothing matches this filter"),
            text=gettext("No memory that you may see has this in its subject, key, conditions or value."),
            url="?",
            link=gettext("Clear all"),
        )
    return Empty(
        kind="done",
        heading=gettext("Nothing is remembered yet"),
        text=gettext("Memories appear here when agents send events and propose what to remember."),
        url=reverse("console:api"),
        link=gettext("How agents do that"),
    )
