"""What every screen shares: who looks, what waits for them, and pages that no cache keeps."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.defaults import page_not_found

from memoryhub.access.callers import Caller, describe_person
from memoryhub.access.models import Principal
from memoryhub.access.queries import ScopeForbidden, ScopeNotFound
from memoryhub.access.tenancy import tenant_context
from memoryhub.console.queue_queries import count_open_items
from memoryhub.lib import clock
from memoryhub.lib.db import StoreFailure
from memoryhub.memory.exceptions import MemoryNotFound
from memoryhub.usecases.review import ItemNotFound

_Arguments = ParamSpec("_Arguments")


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks at a page."""

    principal: Principal
    caller: Caller


_Screen = Callable[Concatenate[HttpRequest, Viewer, _Arguments], HttpResponseBase]
_View = Callable[Concatenate[HttpRequest, _Arguments], HttpResponseBase]


def screen(show: "_Screen[_Arguments]") -> "_View[_Arguments]":
    """Make a view of a screen: signed in, never cached, refusals as pages.

    A page that reads runs inside the tenant's transaction that the middleware opened. A page that writes
    calls a use case, which opens its own, and answers inside a second one.
    """

    @never_cache
    @login_required
    @wraps(show)
    def view(request: HttpRequest, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> HttpResponseBase:
        if not isinstance(request.user, Principal) or request.user.tenant_id is None:
            return render(request, "console/no_tenant.html", status=403)
        viewer = Viewer(principal=request.user, caller=describe_person(principal=request.user))
        try:
            return show(request, viewer, *args, **kwargs)
        except (ScopeNotFound, MemoryNotFound, ItemNotFound):
            return show_missing(request=request, viewer=viewer)
        except ScopeForbidden as refusal:
            return _refuse(
                request,
                viewer,
                403,
                gettext("You may not do this"),
                gettext("It needs the right %(right)s on this scope; an administrator can grant it.")
                % {"right": refusal.right},
            )
        except StoreFailure:
            return _refuse(
                request,
                None,
                503,
                gettext("The database does not answer"),
                gettext("Nothing was recorded. Try again in a moment."),
            )

    return cast("_View[_Arguments]", view)


def read_tenant(*, request: HttpRequest, viewer: Viewer) -> AbstractContextManager[None]:
    """Read inside the viewer's tenant: the middleware did so for a page that only reads, a POST does it here."""
    if request.method in {"GET", "HEAD"}:
        return nullcontext()
    return tenant_context(viewer.caller.tenant_id, read_only=True)


def show_missing(*, request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Answer that there is nothing here, or nothing one may know of: both read the same."""
    return _refuse(
        request, viewer, 404, gettext("Nothing here"), gettext("It does not exist, or you may not know of it.")
    )


def show_no_page(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an address that is none; who is signed in keeps the navigation."""
    user = request.user
    if request.method == "GET" and isinstance(user, Principal) and user.tenant_id is not None:
        return show_missing(request=request, viewer=Viewer(principal=user, caller=describe_person(principal=user)))
    return page_not_found(request, exception)


def render_screen(
    *,
    request: HttpRequest,
    viewer: Viewer,
    template: str,
    here: str,
    context: Mapping[str, Any],
    status: int = 200,
) -> HttpResponse:
    """Render a page in the frame, with the counts of what is open."""
    counts = count_open_items(caller=viewer.caller, now=clock.now())
    return render(request, template, {**context, "here": here, "counts": counts}, status=status)


def _refuse(request: HttpRequest, viewer: Viewer | None, status: int, heading: str, text: str) -> HttpResponse:
    context = {"status": status, "heading": heading, "text": text}
    template = "console/error.html"
    if viewer is None:
        return render(request, template, context, status=status)
    with read_tenant(request=request, viewer=viewer):
        return render_screen(request=request, viewer=viewer, template=template, here="", context=context, status=status)
