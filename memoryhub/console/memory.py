"""One memory on two clocks, and the list of all one may see."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from memoryhub.console import words
from memoryhub.console.again import find_again
from memoryhub.console.frame import Viewer, render_screen, screen
from memoryhub.console.grid import READABLE, Cross, Part, draw_grid, find_answer, find_hues, find_origins
from memoryhub.console.history import make_steps
from memoryhub.console.lineages import group_claims
from memoryhub.console.memory_queries import ClaimRow, find_open_item, list_claims, list_notes, list_withdrawn
from memoryhub.console.queue_queries import list_reviewable_scopes
from memoryhub.console.shapes import GridRow, Key
from memoryhub.lib import clock
from memoryhub.memory.lowers import list_links
from memoryhub.memory.queries import MemoryRecord, PartRecord, access_memory, list_decisions, list_parts
from memoryhub.types.enums import ReviewKind
from memoryhub.usecases.reopen_conflict import NoOpenConflict, reopen_conflict


@screen
def show_memory(request: HttpRequest, viewer: Viewer, memory_id: UUID) -> HttpResponse:
    """Show a memory: what holds now, the grid with a cross-hair, evidence, timeline."""
    now = clock.now()
    tenant_id = viewer.caller.tenant_id
    head = access_memory(caller=viewer.caller, memory_id=str(memory_id))
    held = list_parts(tenant_id=tenant_id, memory_id=head.id)[::-1]
    parts = make_parts(held=held)
    hues = find_hues(parts=parts)
    claims = list_claims(tenant_id=tenant_id, memory_id=head.id)
    cross, problem = read_cross(request=request, now=now)
    current = find_answer(parts=parts, cross=Cross(valid_at=now, recorded_at=now))
    current_row = next((row for row in held if current and is_same(row=row, part=current)), None)
    return render_screen(
        request=request,
        viewer=viewer,
        template="console/memory.html",
        here="memories",
        context={
            "key": make_key(head=head),
            "subject_url": f"{reverse('console:memories')}?q={head.subject}",
            **_offer_review(viewer, head),
            "again": find_again(viewer=viewer, head=head),
            "links": list_links(caller=viewer.caller, memory_id=head.id),
            "current": current,
            "epistemic": current_row.epistemic_status if current_row else "",
            "head": head,
            "items": len(claims),
            "retention": current_row.retention_class if current_row else "",
            "history": make_steps(
                decisions=list_decisions(tenant_id=tenant_id, memory_id=head.id),
                parts=held,
                hues=hues_by_version(parts=parts),
                notes=list_notes(tenant_id=tenant_id, memory_id=head.id),
                withdrawn=list_withdrawn(tenant_id=tenant_id, memory_id=head.id),
            ),
            "cross_form": {"valid_at": _echo(request, "valid_at"), "recorded_at": _echo(request, "recorded_at")},
            "cross_error": problem,
            "grid": draw_grid(parts=parts, now=now, cross=cross) if parts else "",
            "answer": tell_answer(parts=parts, cross=cross, now=now),
            "rows": _make_rows(parts, hues, cross),
            "lineages": group_claims(claims=claims, hue_of=colours_of(held=held, hues=hues), caller=viewer.caller),
        },
    )


@screen
@require_POST
def reopen(request: HttpRequest, viewer: Viewer, memory_id: UUID) -> HttpResponse:
    """Put a conflict that was kept back into the queue, and open it."""
    try:
        item_id = reopen_conflict(caller=viewer.caller, memory_id=str(memory_id), now=clock.now())
    except NoOpenConflict:
        messages.error(request, gettext("Nothing is in conflict here any more."))
        return redirect("console:memory", memory_id)
    return redirect("console:review", ReviewKind.CONFLICT, item_id)


def _offer_review(viewer: Viewer, head: MemoryRecord) -> dict[str, str]:
    """Say where the viewer may decide what is open here, and where they may reopen what was left open."""
    item = find_open_item(tenant_id=viewer.caller.tenant_id, memory_id=head.id)
    kind = item[0] if item else ReviewKind.CONFLICT
    may_decide = head.scope_id in list_reviewable_scopes(caller=viewer.caller, kind=kind)
    return {
        "review_url": reverse("console:review", args=item) if item and may_decide else "",
        "review_kind": kind,
        "reopen_url": reverse("console:reopen", args=[head.id])
        if may_decide and not item and head.has_open_conflict
        else "",
    }


def make_key(*, head: MemoryRecord) -> Key:
    """Name a memory."""
    return Key(
        subject=head.subject,
        fact_key=head.fact_key,
        conditions=head.conditions,
        scope_kind=head.scope_kind,
        scope_key=head.scope_key,
        memory_type=head.memory_type,
    )


def make_parts(*, held: Sequence[PartRecord]) -> list[Part]:
    """Make the shapes of the grid."""
    return [
        Part(
            version=row.version,
            part=row.part,
            value=words.format_value(value=row.value) if row.state in READABLE else "",
            valid_from=row.valid_from,
            valid_to=row.valid_to,
            recorded_from=row.recorded_from,
            recorded_to=row.recorded_to,
            state=row.state,
        )
        for row in held
    ]


def is_same(*, row: PartRecord, part: Part) -> bool:
    """Tell whether a row is what a shape was made from."""
    return (row.version, row.part) == (part.version, part.part)


def hues_by_version(*, parts: Sequence[Part]) -> dict[int, str]:
    """Map each version that made a claim to its hue."""
    hues = find_hues(parts=parts)
    return {version: hues[key] for key, version in find_origins(parts=parts).items()}


def colours_of(*, held: Sequence[PartRecord], hues: dict[tuple[int, int], str]) -> Callable[[ClaimRow], str]:
    """Give a claim the hue of the part it speaks for: the one that says the same over its beginning."""

    def hue_of(claim: ClaimRow) -> str:
        same = [row for row in held if words.is_same_value(one=row.value, other=claim.value)]
        over = [row for row in same if row.valid_from <= claim.valid_from and _ends_after(row, claim.valid_from)]
        return next((hues[row.version, row.part] for row in over or same), "ce")

    return hue_of


def _ends_after(row: PartRecord, moment: datetime) -> bool:
    return row.valid_to is None or row.valid_to > moment


def read_cross(*, request: HttpRequest, now: datetime) -> tuple[Cross | None, str]:
    """Read the cross-hair from the address: an instant left out is now; one that cannot be read is named."""
    given = {name: request.GET.get(name, "").strip() for name in ("valid_at", "recorded_at")}
    if not any(given.values()):
        return None, ""
    instants = {}
    for name, text in given.items():
        try:
            instants[name] = read_instant(text=text) if text else now
        except ValueError:
            return None, gettext("“%(text)s” is no instant; write 2022-09-20 or 2022-09-20 14:30.") % {"text": text}
    return Cross(valid_at=instants["valid_at"], recorded_at=instants["recorded_at"]), ""


def read_instant(*, text: str) -> datetime:
    """Read an instant; without an offset it is UTC.

    Raises:
        ValueError: the text is no instant.
    """
    instant = datetime.fromisoformat(text)
    try:
        return instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)
    except OverflowError as error:
        raise ValueError(text) from error


def tell_answer(*, parts: Sequence[Part], cross: Cross | None, now: datetime) -> str:
    """Say in one sentence what the system would have answered at the cross-hair."""
    if cross is None:
        return gettext("Set two instants to see what the system would have answered then.")
    answer = find_answer(parts=parts, cross=cross)
    places = {
        "recorded": words.format_moment(moment=min(cross.recorded_at, now), zone=False),
        "valid": words.format_moment(moment=cross.valid_at, zone=False),
    }
    if answer is None:
        return gettext("On %(recorded)s the system would have had no answer for %(valid)s.") % places
    return gettext(
        "On %(recorded)s the system would have answered %(value)s for %(valid)s, from version %(version)s."
    ) % {
        **places,
        "value": answer.value,
        "version": answer.version,
    }


def _make_rows(parts: Sequence[Part], hues: dict[tuple[int, int], str], cross: Cross | None) -> list[GridRow]:
    answer = find_answer(parts=parts, cross=cross) if cross else None
    return [
        GridRow(
            part=part,
            hue=hues[part.version, part.part],
            at_cross=_place(part, answer, cross),
            is_hit=part is answer,
        )
        for part in parts
    ]


def _place(part: Part, answer: Part | None, cross: Cross | None) -> str:
    """Say where a part stands to the cross-hair."""
    if cross is None:
        return ""
    if part is answer:
        return gettext("the answer at this point")
    if part.recorded_from > cross.recorded_at:
        return gettext("recorded later")
    if part.recorded_to is not None and part.recorded_to <= cross.recorded_at:
        return gettext("held before")
    return gettext("valid at another time")


def _echo(request: HttpRequest, name: str) -> Any:
    return request.GET.get(name, "")
