"""The pages of the API are drawn from the OpenAPI document."""

import json
from typing import Any

from memoryhub.console.api_docs import Named, describe_api
from memoryhub.templatetags.mh import code_spans

SCHEMA: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "t", "version": "v1"},
    "components": {
        "schemas": {
            "Event": {
                "type": "object",
                "examples": [{"id": "a"}],
                "required": ["id"],
                "properties": {
                    "id": {"type": "string", "description": "The caller's own."},
                    "at": {"type": "string", "format": "date-time"},
                    "kind": {"$ref": "#/components/schemas/Kind"},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Part"}},
                    "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                },
            },
            "Kind": {"enum": ["a", "b"]},
            "Part": {"type": "object", "properties": {"n": {"type": "integer"}}},
        }
    },
    "paths": {
        "/api/v1/events": {
            "post": {
                "operationId": "events_create",
                "description": "Take an event.\n\nIt is accepted, not remembered.",
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {
                                "oneOf": [
                                    {"$ref": "#/components/schemas/Event"},
                                    {"type": "array", "items": {"$ref": "#/components/schemas/Part"}},
                                ]
                            }
                        }
                    }
                },
                "responses": {"202": {"description": "Accepted."}},
            }
        },
        "/api/v1/events/{event_id}/status": {
            "get": {
                "operationId": "status",
                "summary": "Where it stands",
                "parameters": [{"name": "event_id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {"200": {"description": ""}},
            }
        },
    },
}


def test_calls_are_grouped_by_what_they_are_about() -> None:
    api = describe_api(schema=SCHEMA)
    assert [(group.name, len(group.operations)) for group in api.groups] == [("events", 2)]
    take, status = api.groups[0].operations
    assert (take.method, take.short_path, take.summary) == ("post", "/events", "Take an event.")
    assert take.text == "It is accepted, not remembered."
    assert status.parameters == (Named(name="event_id", type="string", text="", required=True),)


def test_a_body_lists_the_fields_of_every_shape_it_may_have() -> None:
    body = describe_api(schema=SCHEMA).groups[0].operations[0].body
    assert [(field.name, field.type, field.required) for field in body] == [
        ("id", "string", True),
        ("at", "string (date-time)", False),
        ("kind", "a | b", False),
        ("parts", "Part[]", False),
        ("note", "string | null", False),
        ("n", "integer", False),
    ]


def test_a_field_shows_its_own_fields_and_no_deeper() -> None:
    body = {field.name: field for field in describe_api(schema=SCHEMA).groups[0].operations[0].body}
    assert body["parts"].fields == (Named(name="n", type="integer", text="", required=False),)
    assert body["note"].fields == ()


def test_a_body_comes_with_the_example_of_one_of_its_shapes() -> None:
    take, status = describe_api(schema=SCHEMA).groups[0].operations
    assert json.loads(take.example) == {"id": "a"}
    assert status.example == ""


def test_what_stands_between_backticks_is_code_and_the_rest_is_data() -> None:
    assert code_spans("`a<b` & `c`, <i>") == "<code>a&lt;b</code> &amp; <code>c</code>, &lt;i&gt;"
