"""Answer a supervisor or load balancer that asks whether this process can serve."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@never_cache
@require_safe
def is_alive(request: HttpRequest) -> HttpResponse:
    """Answer that the process runs."""
    del request
    return HttpResponse("alive\n", content_type="text/plain")


@never_cache
@require_safe
def is_ready(request: HttpRequest) -> HttpResponse:
    """Answer whether the database can be reached."""
    del request
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return HttpResponse("no database\n", status=503, content_type="text/plain")
    return HttpResponse("ready\n", content_type="text/plain")
