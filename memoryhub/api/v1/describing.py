"""Describe the calls in the OpenAPI document: parameters, bodies, answers and the problems that may come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from pydantic import BaseModel

from memoryhub.api.v1.limits import DEFAULT_PAGE, PAGE
from memoryhub.api.v1.once import HEADER
from memoryhub.api.v1.problems import MEDIA_TYPE, PROBLEMS
from memoryhub.api.v1.shapes_out import ProblemOut

View = TypeVar("View", bound=Callable[..., Any])

KEY = OpenApiParameter(
    HEADER,
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="Binds this call to its answer: sent again with the same body, the first answer comes again.",
)
LIMIT = OpenApiParameter(
    "limit", {"type": "integer", "minimum": 1, "maximum": PAGE, "default": DEFAULT_PAGE}, description="Rows a page."
)
CURSOR = OpenApiParameter("cursor", OpenApiTypes.STR, description="`next_cursor` of the page before.")
VALID_AT = OpenApiParameter("valid_at", OpenApiTypes.DATETIME, description="When it is to be true; now without it.")
RECORDED_AT = OpenApiParameter(
    "recorded_at", OpenApiTypes.DATETIME, description="When it is to have been held; now without it."
)
MEMORY_ID = OpenApiParameter("memory_id", OpenApiTypes.UUID, OpenApiParameter.PATH)
CANDIDATE_ID = OpenApiParameter("candidate_id", OpenApiTypes.UUID, OpenApiParameter.PATH)
RUN_ID = OpenApiParameter("run_id", OpenApiTypes.UUID, OpenApiParameter.PATH)
FACT_KEY = OpenApiParameter("fact_key", OpenApiTypes.STR, OpenApiParameter.PATH, description="In any spelling.")
EVENT_ID = OpenApiParameter("event_id", OpenApiTypes.STR, OpenApiParameter.PATH, description="Your own id of it.")

_SUCCESS = {200: "Done", 201: "Committed", 202: "Accepted"}
_ALWAYS = (401, 503)
_OF_POSTS = (400, 403, 404, 409, 413, 415, 422)


def describe(
    *,
    name: str,
    summary: str,
    answers: Mapping[int, type[BaseModel]],
    text: str = "",
    body: type[BaseModel] | None = None,
    parameters: tuple[OpenApiParameter, ...] = (),
    problems: tuple[int, ...] = (),
) -> Callable[[View], View]:
    """Describe one operation from its shapes."""
    is_post = body is not None
    statuses = {*_ALWAYS, *problems, *(_OF_POSTS if is_post else ())}
    responses: dict[Any, Any] = {
        status: OpenApiResponse(shape, description=_SUCCESS[status]) for status, shape in answers.items()
    }
    responses |= {
        (status, MEDIA_TYPE): OpenApiResponse(ProblemOut, description=_name_codes(status))
        for status in sorted(statuses - set(answers))
    }
    decorate: Callable[[View], View] = extend_schema(
        operation_id=name,
        summary=summary,
        description=text,
        parameters=[*parameters, *([KEY] if is_post else [])],
        request={"application/json": body} if body is not None else None,
        responses=responses,
    )
    return decorate


def _name_codes(status: int) -> str:
    """Return the codes of a status, in the order of the closed list."""
    return ", ".join(f"`{code}`" for code, kind in PROBLEMS.items() if kind.status == status)
