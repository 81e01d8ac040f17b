"""The picture that browsers ask for by themselves."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.views.decorators.http import require_safe


@require_safe
def show_favicon(request: HttpRequest) -> HttpResponse:
    """Lead to the picture that the pages name."""
    del request
    return redirect(static("favicon.svg"))
