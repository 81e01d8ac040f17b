"""Open the tenant's transaction around pages that only read, templates included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryhub.access.tenancy import tenant_context

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

_OWN_CONTEXT = ("/api/", "/static/", "/healthz", "/readyz")


class TenantContextMiddleware:
    """Read pages inside `tenant_context`, read-only; the admin may write; other requests open their own.

    Calls of the API authenticate by token and open theirs in the view.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        """Keep the rest of the chain."""
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request, inside the tenant of whoever is signed in."""
        if request.path.startswith(_OWN_CONTEXT):
            return self.get_response(request)
        tenant_id = getattr(request.user, "tenant_id", None)
        is_admin = request.path.startswith("/admin/")
        if tenant_id is None or not (is_admin or request.method in ("GET", "HEAD")):
            return self.get_response(request)
        with tenant_context(tenant_id, read_only=not is_admin):
            return self.get_response(request)
