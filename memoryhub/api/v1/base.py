"""What every view of the API shares: the caller, one reading of the clock, answers and refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, ClassVar, cast

from django.http import HttpResponse
from pydantic import BaseModel
from rest_framework import exceptions
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memoryhub.access.callers import Caller
from memoryhub.access.tenancy import tenant_context
from memoryhub.api.v1.authentication import BearerToken
from memoryhub.api.v1.bodies import StrictJSONParser
from memoryhub.api.v1.problems import MEDIA_TYPE, Code, Problem
from memoryhub.api.v1.refusals import tell_refusal
from memoryhub.api.v1.shapes_out import as_json
from memoryhub.lib import clock
from memoryhub.lib.db import naming_errors


class OnlyJSON(BaseContentNegotiation):
    """Answer JSON, whatever is asked for: there is no other form."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """Return the one parser, if the body says that it is JSON."""
        kind = (request.content_type or "").partition(";")[0].strip().lower()
        return parsers[0] if kind == parsers[0].media_type else None

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> tuple[Any, str]:
        """Return the one renderer."""
        del request, format_suffix
        return renderers[0], renderers[0].media_type


class ApiView(APIView):
    """Authenticate the caller, read the clock once, and tell refusals as problems."""

    authentication_classes = (BearerToken,)
    permission_classes = ()
    parser_classes = (StrictJSONParser,)
    renderer_classes = (JSONRenderer,)
    content_negotiation_class = OnlyJSON
    metadata_class = None
    http_method_names = ["get", "head", "post"]
    now: datetime
    raw_body: bytes = b""
    default_headers: ClassVar[dict[str, str]] = {"Cache-Control": "no-store"}

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Request:
        """Read the clock for the whole request."""
        self.now = clock.now()
        return super().initialize_request(request, *args, **kwargs)

    @property
    def caller(self) -> Caller:
        """Who calls, as the token says."""
        return cast("Caller", self.request.user)

    @property
    def body(self) -> Any:
        """The JSON value that was sent.

        Raises:
            Problem: there is none, or one that cannot be kept.
        """
        value = self.request.data
        if not self.raw_body:
            raise Problem(Code.MALFORMED_BODY, "The body is empty, or came without Content-Length.")
        return value

    @contextmanager
    def reading(self) -> Iterator[Caller]:
        """Read inside the caller's tenant; nothing can be written."""
        with naming_errors(), tenant_context(self.caller.tenant_id, read_only=True):
            yield self.caller

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        """Tell every refusal as a problem document."""
        return answer_problem

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Add what every answer carries."""
        final = super().finalize_response(request, response, *args, **kwargs)
        for name, value in self.default_headers.items():
            final.setdefault(name, value)
        return final


class NotThere(ApiView):
    """Answer for every path that the API does not have."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate first, as everywhere; then there is nothing, whatever the method.

        Raises:
            Problem: `not_found`.
        """
        super().initial(request, *args, **kwargs)
        raise Problem(Code.NOT_FOUND)


def tell(answer: BaseModel, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer as a response."""
    return Response(as_json(answer), status=status, headers=headers)


def answer_problem(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the problem document of a refusal, or None for what is no refusal but a defect."""
    del context
    problem = find_problem(error)
    if problem is None:
        return None
    return Response(problem.as_json(), status=problem.status, headers=problem.headers or None, content_type=MEDIA_TYPE)


def find_problem(error: Exception) -> Problem | None:
    """Return the problem that an exception states."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, exceptions.MethodNotAllowed):
        return Problem(Code.METHOD_NOT_ALLOWED)
    if isinstance(error, exceptions.UnsupportedMediaType):
        return Problem(Code.UNSUPPORTED_MEDIA_TYPE)
    return tell_refusal(error)


def render(response: Any) -> HttpResponse:
    """Return a response whose bytes are made, so that they can be kept."""
    return HttpResponse(
        JSONRenderer().render(response.data),
        status=response.status_code,
        content_type=response.content_type or "application/json",
        headers={name: value for name, value in response.items() if name.lower() != "content-type"},
    )
