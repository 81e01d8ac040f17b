"""The documentation of the agents' API, drawn on the server from the committed OpenAPI file."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from memoryhub.console.frame import Viewer, render_screen, screen

_METHODS: Final = ("get", "post", "patch", "put", "delete")
_SCHEMA: Final = Path(settings.BASE_DIR) / "docs" / "openapi.yaml"
_PREFIX: Final = "/api/v1"


@dataclass(frozen=True, slots=True)
class Named:
    """One parameter or field."""

    name: str
    type: str
    text: str
    required: bool
    fields: "tuple[Named, ...]" = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """One status an operation answers with."""

    status: str
    text: str
    fields: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One call."""

    anchor: str
    method: str
    path: str
    short_path: str
    summary: str
    text: str
    parameters: tuple[Named, ...]
    body: tuple[Named, ...]
    example: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class OperationGroup:
    """The calls about one thing."""

    name: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Api:
    """The whole documentation."""

    title: str
    version: str
    openapi: str
    groups: tuple[OperationGroup, ...]


@screen
def show_api(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Show every call of the API with its parameters, bodies and answers."""
    base_url = request.build_absolute_uri(f"{_PREFIX}/")
    return render_screen(
        request=request,
        viewer=viewer,
        template="console/api.html",
        here="api",
        context={"api": read_api(), "base_url": base_url},
    )


@screen
def download_schema(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Hand out the OpenAPI file as it is committed."""
    del request, viewer
    return HttpResponse(
        _SCHEMA.read_bytes(),
        content_type="application/yaml",
        headers={"Content-Disposition": 'attachment; filename="openapi.yaml"'},
    )


@cache
def read_api() -> Api:
    """Read the committed OpenAPI file once."""
    return describe_api(schema=yaml.safe_load(_SCHEMA.read_text(encoding="utf-8")))


def describe_api(*, schema: Mapping[str, Any]) -> Api:
    """Turn an OpenAPI document into what the page shows, grouped by the first part of each path."""
    groups: dict[str, list[Operation]] = {}
    for path, item in schema["paths"].items():
        for method in _METHODS:
            if method in item:
                short = path.removeprefix(_PREFIX)
                name = short.strip("/").split("/")[0]
                groups.setdefault(name, []).append(_describe_operation(schema, method, path, item[method]))
    return Api(
        title=schema["info"]["title"],
        version=schema["info"]["version"],
        openapi=schema["openapi"],
        groups=tuple(OperationGroup(name=name, operations=tuple(held)) for name, held in groups.items()),
    )


def _describe_operation(schema: Mapping[str, Any], method: str, path: str, held: Mapping[str, Any]) -> Operation:
    description = held.get("description", "")
    first, _, rest = description.partition("\n")
    summary = held.get("summary") or first
    return Operation(
        anchor=held["operationId"],
        method=method,
        path=path,
        short_path=path.removeprefix(_PREFIX),
        summary=summary,
        text=(rest if summary == first else description).strip(),
        parameters=tuple(
            Named(
                name=parameter["name"],
                type=_name_type(schema, parameter.get("schema", {})),
                text=parameter.get("description", ""),
                required=parameter.get("required", False),
            )
            for parameter in held.get("parameters", ())
        ),
        body=_describe_content(schema, held.get("requestBody", {})),
        example=_find_example(schema, held.get("requestBody", {})),
        answers=tuple(
            Answer(status=status, text=answer.get("description", ""), fields=_describe_content(schema, answer))
            for status, answer in held["responses"].items()
        ),
    )


def _describe_content(schema: Mapping[str, Any], holder: Mapping[str, Any]) -> tuple[Named, ...]:
    for content in holder.get("content", {}).values():
        return _describe_fields(schema, content.get("schema", {}))
    return ()


def _describe_fields(
    schema: Mapping[str, Any], held: Mapping[str, Any], *, is_nested: bool = False
) -> tuple[Named, ...]:
    """List the fields of an object with their own fields; of several shapes that may come, those of all."""
    resolved = _resolve(schema, held)
    variants: Iterable[Mapping[str, Any]] = (
        resolved.get("oneOf") or resolved.get("anyOf") or resolved.get("allOf") or (resolved,)
    )
    found: dict[str, Named] = {}
    for variant in variants:
        shape = _resolve(schema, variant)
        if shape.get("type") == "array":
            shape = _resolve(schema, shape.get("items", {}))
        for name, field in shape.get("properties", {}).items():
            found.setdefault(
                name,
                Named(
                    name=name,
                    type=_name_type(schema, field),
                    text=field.get("description", "") or _find_target(schema, field).get("description", ""),
                    required=name in shape.get("required", ()),
                    fields=_describe_fields(schema, _find_target(schema, field), is_nested=True)
                    if not is_nested
                    else (),
                ),
            )
    return tuple(found.values())


def _find_target(schema: Mapping[str, Any], held: Mapping[str, Any]) -> Mapping[str, Any]:
    """Find what a field is made of: behind a reference, a list, or the one shape beside `null`."""
    if held.get("type") == "array":
        return _find_target(schema, held.get("items", {}))
    for joined in ("anyOf", "oneOf", "allOf"):
        shapes = [shape for shape in held.get(joined, ()) if shape.get("type") != "null"]
        if len(shapes) == 1:
            return _find_target(schema, shapes[0])
    return _find_target(schema, _resolve(schema, held)) if "$ref" in held else held


def _find_example(schema: Mapping[str, Any], holder: Mapping[str, Any]) -> str:
    """Write the first example that a body's shape, or one of the shapes it may have, comes with."""
    for content in holder.get("content", {}).values():
        resolved = _resolve(schema, content.get("schema", {}))
        for shape in (resolved, *resolved.get("oneOf", ()), *resolved.get("anyOf", ())):
            for example in _resolve(schema, shape).get("examples", ()):
                return json.dumps(example, indent=2, ensure_ascii=False)
    return ""


def _resolve(schema: Mapping[str, Any], held: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = held.get("$ref")
    if not reference:
        return held
    found: Any = schema
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return dict(found)


def _name_type(schema: Mapping[str, Any], held: Mapping[str, Any]) -> str:
    """Name a type in a word or two: text, the values of an enumeration, a list of something."""
    if "$ref" in held:
        shape = _resolve(schema, held)
        return _name_type(schema, shape) if "enum" in shape else str(held["$ref"].rsplit("/", 1)[-1])
    if "enum" in held:
        return " | ".join(str(value) for value in held["enum"])
    for joined in ("anyOf", "oneOf", "allOf"):
        if joined in held:
            return " | ".join(dict.fromkeys(_name_type(schema, one) for one in held[joined]))
    name = held.get("type", "any")
    if name == "array":
        return f"{_name_type(schema, held.get('items', {}))}[]"
    return f"{name} ({held['format']})" if "format" in held else str(name)
