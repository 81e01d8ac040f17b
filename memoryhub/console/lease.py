"""Hold the item that is open, and show colleagues by whom and until when."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from memoryhub.console.frame import Viewer, read_tenant, screen
from memoryhub.console.queue import CASES, make_lease
from memoryhub.console.review_queries import access_item
from memoryhub.lib import clock
from memoryhub.usecases.lease_item import lease_item


@screen
@require_POST
def hold_item(request: HttpRequest, viewer: Viewer, kind: str, item_id: UUID) -> HttpResponse:
    """Lease an item, or take it over, and show who holds it; without scripts the page itself shows that."""
    if kind not in CASES:
        raise Http404
    now = clock.now()
    lease_item(caller=viewer.caller, item_id=str(item_id), now=now, takes_over="takes_over" in request.POST)
    if not request.headers.get("HX-Request"):
        return redirect("console:review", kind, item_id)
    with read_tenant(request=request, viewer=viewer):
        item, _ = access_item(caller=viewer.caller, item_id=str(item_id))
    lease = make_lease(
        holder_id=item.lease_holder_id,
        holder=item.lease_holder,
        until=item.lease_expires_at,
        viewer=viewer,
        now=now,
    )
    context = {"lease": lease if item.is_open else None, "lease_url": reverse("console:lease", args=[kind, item_id])}
    return render(request, "parts/lease_slot.html", context)
