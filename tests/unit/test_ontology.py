"""The ontology as a file: what it refuses, and where; and what an import would change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memoryhub.types.ontology import (
    FILE_SCHEMA,
    FORMAT,
    OntologyRefused,
    compare_ontologies,
    read_ontology,
    write_ontology,
)
from memoryhub.usecases.align import ValueRefused, check_schema

WHOLE: dict[str, Any] = {
    "format": FORMAT,
    "entity_types": [{"name": "person", "description": "人"}, {"name": "customer"}],
    "subjects": [
        {"key": "person:hans", "aliases": ["customer:4711"], "mentions": ["Hans", "汉斯"]},
        {"key": "person:hans-2", "mentions": ["hans"]},
    ],
    "predicates": [
        {
            "fact_key": "invoice.payment_terms_days",
            "name": "Payment terms",
            "value_schema": {"type": "integer", "minimum": 0},
            "normalisers": ["trim", "number"],
            "sensitive": True,
            "authority_group": "accounting",
        },
        {"fact_key": "*.latest", "cardinality": "one"},
        {"fact_key": "preference.general", "cardinality": "many"},
    ],
}


def write(**changes: Any) -> str:
    return json.dumps({**WHOLE, **changes}, ensure_ascii=False)


def refuse(text: str) -> list[tuple[str, str]]:
    with pytest.raises(OntologyRefused) as caught:
        read_ontology(text=text)
    return [(fault.place, fault.code) for fault in caught.value.faults]


def test_what_was_read_is_written_alike() -> None:
    text = write_ontology(ontology=read_ontology(text=write()))
    assert write_ontology(ontology=read_ontology(text=text)) == text
    assert json.loads(text)["predicates"][0]["fact_key"] == "*.latest"
    assert "汉斯" in text


def test_equal_ontologies_have_equal_bytes() -> None:
    turned = {
        name: list(reversed(entries)) if isinstance(entries, list) else entries for name, entries in WHOLE.items()
    }
    turned["predicates"][2] = {
        **turned["predicates"][2],
        "value_schema": {"minimum": 0, "type": "integer"},
    }
    one, other = (read_ontology(text=json.dumps(found)) for found in (WHOLE, turned))
    assert write_ontology(ontology=one) == write_ontology(ontology=other)


def test_the_schema_in_the_docs_is_the_one_that_is_checked() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "ontology.schema.json"
    assert page.read_text(encoding="utf-8") == json.dumps(FILE_SCHEMA, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("line 1, column 1", "malformed_file")]),
        ('{\n  "format": 1,\n}', [("line 3, column 1", "malformed_file")]),
        ('{"format": NaN}', [("the file", "malformed_file")]),
        ('{"format": 1, "format": 1}', [("the file", "malformed_file")]),
        ("[" * 100_000, [("the file", "malformed_file")]),
        ("[]", [("/", "bad_shape")]),
        ('{"format": "memoryhub.ontology/9"}', [("/format", "bad_shape")]),
        (write(predicate=[]), [("/", "bad_shape")]),
        (write(entity_types=[{"name": "Person"}]), [("/entity_types/0/name", "bad_shape")]),
        (write(entity_types=[{"name": "a"}, {"name": "a"}]), [("/entity_types/1", "declared_twice")]),
        (write(subjects=[{"key": "hans"}]), [("/subjects/0/key", "bad_subject")]),
        (
            write(subjects=[{"key": "person:a", "aliases": ["person:b"]}, {"key": "person:b"}]),
            [("/subjects/0/aliases/0", "alias_is_a_subject")],
        ),
        (
            write(
                subjects=[{"key": "person:a", "aliases": ["person:c"]}, {"key": "person:b", "aliases": ["person:c"]}]
            ),
            [("/subjects/1/aliases/0", "alias_is_taken")],
        ),
        (write(subjects=[{"key": "person:a", "mentions": [" "]}]), [("/subjects/0/mentions/0", "bad_mention")]),
        (write(predicates=[{"fact_key": "a b"}]), [("/predicates/0/fact_key", "bad_fact_key")]),
        (write(predicates=[{"fact_key": "*"}]), [("/predicates/0/fact_key", "bad_fact_key")]),
        (write(predicates=[{"fact_key": "ａ.b"}]), [("/predicates/0/fact_key", "bad_fact_key")]),
        (write(predicates=[{"fact_key": "a.b"}, {"fact_key": "A.B"}]), [("/predicates/1", "declared_twice")]),
        (write(predicates=[{"fact_key": "a", "cardinality": "two"}]), [("/predicates/0/cardinality", "bad_shape")]),
        (
            write(predicates=[{"fact_key": "a", "normalisers": ["stem"]}]),
            [("/predicates/0/normalisers/0", "bad_shape")],
        ),
        (
            write(predicates=[{"fact_key": "a", "value_schema": {"properties": {"x": {"type": "no"}}}}]),
            [("/predicates/0/value_schema/properties/x/type", "bad_schema")],
        ),
        (
            write(predicates=[{"fact_key": "a", "value_schema": {"anyOf": [{"$ref": "https://example.org/s"}]}}]),
            [("/predicates/0/value_schema", "bad_schema")],
        ),
        *(
            (
                write(predicates=[{"fact_key": "a", "value_schema": schema}]),
                [("/predicates/0/value_schema", "bad_schema")],
            )
            for schema in (
                {"$ref": "#/$defs/nothing"},
                {"$ref": "#nowhere"},
                {"properties": {"x": {"items": {"$ref": "#/$defs/nothing"}}}},
                {"$ref": "#"},
                {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"},
                {"$id": "https://example.org/s", "$ref": "#/$defs/nothing"},
            )
        ),
        (write(entity_types=[{"name": "a", "description": "\x00"}]), [("/entity_types/0/description", "bad_text")]),
        ('{"format": "\\ud800"}', [("/format", "bad_text")]),
    ],
)
def test_every_fault_has_its_place_and_its_code(text: str, expected: list[tuple[str, str]]) -> None:
    assert refuse(text) == expected


def test_every_fault_is_told_at_once() -> None:
    text = write(entity_types=[{"name": "a"}, {"name": "a"}], predicates=[{"fact_key": ""}, {"fact_key": "a", "x": 1}])
    assert len(refuse(text)) == 2  # the shape comes first: both places of it
    text = write(entity_types=[{"name": "a"}, {"name": "a"}], predicates=[{"fact_key": "a."}, {"fact_key": "-"}])
    assert [code for _, code in refuse(text)] == ["declared_twice", "bad_fact_key", "bad_fact_key"]


def test_a_comparison_says_what_is_new_and_what_differs() -> None:
    held = read_ontology(text=write(subjects=[{"key": "person:hans", "mentions": ["HANS"]}]))
    changed = [{**WHOLE["predicates"][0], "sensitive": False, "name": "Terms"}, {"fact_key": "a.b"}]
    wanted = read_ontology(text=write(predicates=changed))
    assert [change.as_text() for change in compare_ontologies(held=held, wanted=wanted)] == [
        "added alias customer:4711 of person:hans",
        "added mention 汉斯 of person:hans",
        "added subject person:hans-2",
        "added mention hans of person:hans-2",
        "added predicate a.b",
        'changed predicate invoice.payment_terms_days (name: "Payment terms" → "Terms", sensitive: true → false)',
    ]
    assert compare_ontologies(held=wanted, wanted=wanted) == ()


def test_a_schema_that_holds_what_it_points_at_is_taken() -> None:
    schema = {"$defs": {"tree": {"properties": {"next": {"$ref": "#/$defs/tree"}}}}, "$ref": "#/$defs/tree"}
    [entry] = read_ontology(text=write(predicates=[{"fact_key": "a", "value_schema": schema}])).predicates
    assert entry.value_schema == schema


@pytest.mark.parametrize("schema", [{"$ref": "#/$defs/nothing"}, {"$ref": "#"}, {"pattern": "("}, {"multipleOf": 0.5}])
def test_a_schema_that_cannot_be_evaluated_refuses_the_value_and_breaks_nothing(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueRefused):
        check_schema(value="x" if "multipleOf" not in schema else 10**400, schema=schema)
