"""The entity ontology of a tenant as a file: entity types, subjects with aliases, predicates. Pure.

The file is JSON; `FILE_SCHEMA` says its shape and `docs/reference/ontology.schema.json` is a copy of it. Writing what
was read gives the same bytes. What a file does not name is left as it is: nothing is ever undeclared by omission.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry
from referencing.exceptions import NoSuchResource, Unresolvable
from referencing.jsonschema import DRAFT202012

from memoryhub.types.entity import BadSubjectKey, fold_mention, is_type_name, parse_subject_key, spell_subject
from memoryhub.types.enums import Cardinality
from memoryhub.types.fact_keys import LONGEST, BadFactKey, fold_pattern
from memoryhub.types.normalising import NORMALISERS

FORMAT = "memoryhub.ontology/1"
_LONGEST_LABEL = 200
_DEEPEST = 40
_SAMPLES: tuple[Any, ...] = ("", 0, 0.5, True, [], {})


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityTypeEntry:
    """Hold one kind of entity."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectEntry:
    """Hold one declared subject.

    An alias is another key, `type:name`, that means this subject and no other. A mention is what people call it; two
    subjects may be called the same.
    """

    key: str
    aliases: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateEntry:
    """Hold what is declared of one fact key, or of every key of a pattern."""

    fact_key: str
    name: str = ""
    cardinality: str = str(Cardinality.ONE)
    value_schema: Any = None
    normalisers: tuple[str, ...] = ()
    sensitive: bool = False
    requires_confirmation: bool = False
    authority_group: str = ""
    yields_only_to_validation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ontology:
    """Hold everything that a tenant declared, each list in the order of its keys."""

    entity_types: tuple[EntityTypeEntry, ...] = ()
    subjects: tuple[SubjectEntry, ...] = ()
    predicates: tuple[PredicateEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class OntologyFault:
    """Hold one fault: where it is (a JSON pointer, or line and column), what it is called, what to do."""

    place: str
    code: str
    detail: str


class OntologyRefused(ValueError):
    """Say everything that is wrong with an ontology; nothing of it was taken."""

    def __init__(self, faults: Iterable[OntologyFault]) -> None:
        """Keep the faults in their order."""
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{fault.place}: {fault.code}: {fault.detail}" for fault in self.faults))


def _list_of(item: Mapping[str, Any], about: str) -> dict[str, Any]:
    return {"type": "array", "items": item, "description": about}


def _text(about: str, *, longest: int = _LONGEST_LABEL, shortest: int = 0) -> dict[str, Any]:
    bounds = {"maxLength": longest} | ({"minLength": shortest} if shortest else {})
    return {"type": "string", **bounds, "description": about}


def _entry(about: str, *, required: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": about,
        "required": [required],
        "additionalProperties": False,
        "properties": {**properties},
    }


FILE_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "The entity ontology of a tenant",
    "type": "object",
    "required": ["format"],
    "additionalProperties": False,
    "properties": {
        "format": {"const": FORMAT},
        "entity_types": _list_of(
            _entry(
                "A kind of entity; a subject of another kind is refused.",
                required="name",
                properties={
                    "name": {
                        "type": "string",
                        "pattern": "^[a-z][a-z0-9_]{0,39}$",
                        "description": "Small letters, digits and _.",
                    },
                    "description": _text("What belongs to it."),
                },
            ),
            "What memories may be about.",
        ),
        "subjects": _list_of(
            _entry(
                "One entity that is known by more than one name.",
                required="key",
                properties={
                    "key": _text("`type:name`.", longest=241, shortest=3),
                    "aliases": _list_of(
                        _text("`type:name`.", longest=241, shortest=3),
                        "Other keys that mean this subject for certain, and no other.",
                    ),
                    "mentions": _list_of(
                        _text("A name without a type.", shortest=1),
                        "What it is called. Where two subjects are called the same, a person is asked.",
                    ),
                },
            ),
            "Subjects with their other names.",
        ),
        "predicates": _list_of(
            _entry(
                "What holds of one fact key, or of all keys of a pattern.",
                required="fact_key",
                properties={
                    "fact_key": _text(
                        "Segments with dots between; `*` stands for any one segment. The most specific pattern counts.",
                        longest=LONGEST,
                        shortest=1,
                    ),
                    "name": _text("What people call it."),
                    "cardinality": {
                        "enum": [str(member) for member in Cardinality],
                        "default": str(Cardinality.ONE),
                        "description": "`one`: a second value competes with the first. `many`: each value is a memory.",
                    },
                    "value_schema": {
                        "type": ["object", "boolean", "null"],
                        "default": None,
                        "description": "JSON Schema (2020-12) of the normalised value; null: any value.",
                    },
                    "normalisers": _list_of(
                        {"enum": list(NORMALISERS)},
                        "Applied in this order to the value, before its digest and its schema.",
                    ),
                    "sensitive": {"type": "boolean", "default": False, "description": "A person confirms each value."},
                    "requires_confirmation": {
                        "type": "boolean",
                        "default": False,
                        "description": "A person confirms each value, though it is not sensitive.",
                    },
                    "authority_group": _text("The role whose members may supersede each other's claims.", longest=80),
                    "yields_only_to_validation": {
                        "type": "boolean",
                        "default": False,
                        "description": "A validated value is superseded only by a validated one.",
                    },
                },
            ),
            "The catalogue of fact keys.",
        ),
    },
}


def read_ontology(*, text: str) -> Ontology:
    """Return the ontology that a file holds.

    Raises:
        OntologyRefused: it is no such file; every fault is named. What the store knows is not looked at here.
    """
    try:
        found = json.loads(text, object_pairs_hook=_read_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise OntologyRefused([OntologyFault(place, "malformed_file", f"this is no JSON: {error.msg}")]) from None
    except (ValueError, RecursionError) as error:
        detail = str(error) or "it nests too deep"
        raise OntologyRefused([OntologyFault("the file", "malformed_file", detail)]) from None
    faults = _check_texts(found)
    faults = faults or [
        OntologyFault(_point(error.absolute_path), "bad_shape", error.message)
        for error in sorted(
            Draft202012Validator(FILE_SCHEMA).iter_errors(found), key=lambda error: str(error.json_path)
        )
    ]
    if faults:
        raise OntologyRefused(faults)
    for entry in found.get("subjects", ()):
        entry["key"] = spell_subject(text=entry["key"])
        entry["aliases"] = [spell_subject(text=alias) for alias in entry.get("aliases", ())]
    return order_ontology(
        ontology=Ontology(
            entity_types=tuple(EntityTypeEntry(**entry) for entry in found.get("entity_types", ())),
            subjects=tuple(
                SubjectEntry(
                    key=entry["key"],
                    aliases=tuple(entry.get("aliases", ())),
                    mentions=tuple(entry.get("mentions", ())),
                )
                for entry in found.get("subjects", ())
            ),
            predicates=tuple(
                PredicateEntry(**{**entry, "normalisers": tuple(entry.get("normalisers", ()))})
                for entry in found.get("predicates", ())
            ),
        ),
        faults=_list_faults(found),
    )


def order_ontology(*, ontology: Ontology, faults: Sequence[OntologyFault] = ()) -> Ontology:
    """Return the ontology with each list in the order of its keys.

    Raises:
        OntologyRefused: faults were found.
    """
    if faults:
        raise OntologyRefused(faults)
    return Ontology(
        entity_types=tuple(sorted(ontology.entity_types, key=lambda entry: entry.name)),
        subjects=tuple(
            sorted(
                (
                    SubjectEntry(
                        key=entry.key,
                        aliases=tuple(sorted(set(entry.aliases))),
                        mentions=tuple(sorted(set(entry.mentions))),
                    )
                    for entry in ontology.subjects
                ),
                key=lambda entry: entry.key,
            )
        ),
        predicates=tuple(sorted(ontology.predicates, key=lambda entry: entry.fact_key)),
    )


def write_ontology(*, ontology: Ontology) -> str:
    """Return the text of the file; equal ontologies have equal bytes."""
    ordered = order_ontology(ontology=ontology)
    document = {
        "format": FORMAT,
        **{
            name: [{field.name: _sort(getattr(entry, field.name)) for field in fields(entry)} for entry in entries]
            for name, entries in (
                ("entity_types", ordered.entity_types),
                ("subjects", ordered.subjects),
                ("predicates", ordered.predicates),
            )
        },
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _sort(value: Any) -> Any:
    """Return a JSON value with its names in order: a store keeps the order of names in a schema as it likes."""
    if isinstance(value, dict):
        return {name: _sort(value[name]) for name in sorted(value)}
    return [_sort(item) for item in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True)
class OntologyChange:
    """Hold one difference that an import makes: `added` or `changed`, of what, and for a change which fields."""

    verb: str
    kind: str
    key: str
    fields: tuple[tuple[str, Any, Any], ...] = ()

    def as_text(self) -> str:
        """Return the difference as one line."""
        told = ", ".join(f"{name}: {_say(before)} → {_say(after)}" for name, before, after in self.fields)
        return f"{self.verb} {self.kind} {self.key}" + (f" ({told})" if told else "")


def _say(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def compare_ontologies(*, held: Ontology, wanted: Ontology) -> tuple[OntologyChange, ...]:
    """Return what an import changes. Aliases and mentions are only ever added, and only what is named is changed."""
    changes: list[OntologyChange] = []
    types = {entry.name: entry for entry in held.entity_types}
    for entry in wanted.entity_types:
        changes += _compare("entity type", entry.name, types.get(entry.name), entry)
    subjects = {entry.key: entry for entry in held.subjects}
    for subject in wanted.subjects:
        before = subjects.get(subject.key)
        if before is None:
            changes.append(OntologyChange("added", "subject", subject.key))
            before = SubjectEntry(key=subject.key)
        called = {fold_mention(text=mention) for mention in before.mentions}
        changes += [
            OntologyChange("added", "alias", f"{alias} of {subject.key}")
            for alias in subject.aliases
            if alias not in before.aliases
        ]
        changes += [
            OntologyChange("added", "mention", f"{mention} of {subject.key}")
            for mention in subject.mentions
            if fold_mention(text=mention) not in called
        ]
    predicates = {fold_pattern(text=entry.fact_key): entry for entry in held.predicates}
    for predicate in wanted.predicates:
        known = predicates.get(fold_pattern(text=predicate.fact_key))
        changes += _compare("predicate", predicate.fact_key, known, predicate)
    return tuple(changes)


def _compare(kind: str, key: str, before: Any, after: Any) -> list[OntologyChange]:
    if before is None:
        return [OntologyChange("added", kind, key)]
    differing = tuple(
        (field.name, getattr(before, field.name), getattr(after, field.name))
        for field in fields(after)
        if getattr(before, field.name) != getattr(after, field.name)
    )
    return [OntologyChange("changed", kind, key, differing)] if differing else []


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for place, (name, _) in enumerate(pairs) if name in dict(pairs[:place]))
        message = f"an object names {twice!r} twice"
        raise ValueError(message)
    return found


def _refuse_constant(name: str) -> Any:
    message = f"{name} is not JSON"
    raise ValueError(message)


def _check_texts(found: Any) -> list[OntologyFault]:
    """Return the first place that no store keeps: a NUL, half of a surrogate pair, a nesting without end."""
    ahead: list[tuple[tuple[Any, ...], Any]] = [((), found)]
    while ahead:
        path, item = ahead.pop()
        if len(path) > _DEEPEST:
            return [OntologyFault(_point(path[:_DEEPEST]), "bad_shape", f"it nests deeper than {_DEEPEST}")]
        if isinstance(item, str) and ("\x00" in item or any("\ud800" <= letter <= "\udfff" for letter in item)):
            return [OntologyFault(_point(path), "bad_text", "the text holds what no store keeps")]
        if isinstance(item, dict):
            ahead += [((*path, "(a name)"), name) for name in item]
            ahead += [((*path, name), part) for name, part in item.items()]
        elif isinstance(item, list):
            ahead += [((*path, number), part) for number, part in enumerate(item)]
    return []


def _point(path: Iterable[Any]) -> str:
    """Return a JSON pointer (RFC 6901); the root is an empty one, written as `/`."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path) or "/"


def _list_faults(found: Mapping[str, Any]) -> list[OntologyFault]:
    """Return what the shape alone does not say: names, keys, schemas, and what is declared twice."""
    faults: list[OntologyFault] = []
    _find_repeated(faults, "/entity_types", [entry["name"] for entry in found.get("entity_types", ())])
    faults += [
        OntologyFault(f"/entity_types/{place}/name", "bad_type_name", "a type is written in small letters")
        for place, entry in enumerate(found.get("entity_types", ()))
        if not is_type_name(text=entry["name"])
    ]
    _check_subjects(faults, found.get("subjects", ()))
    _check_predicates(faults, found.get("predicates", ()))
    return faults


def _find_repeated(faults: list[OntologyFault], place: str, keys: Iterable[str]) -> None:
    seen: set[str] = set()
    for number, key in enumerate(keys):
        if key in seen:
            faults.append(OntologyFault(f"{place}/{number}", "declared_twice", f"{key} stands there twice"))
        seen.add(key)


def _check_subjects(faults: list[OntologyFault], entries: Sequence[Mapping[str, Any]]) -> None:
    keys = {entry["key"] for entry in entries}
    _find_repeated(faults, "/subjects", [entry["key"] for entry in entries])
    owners: dict[str, str] = {}
    for number, entry in enumerate(entries):
        place = f"/subjects/{number}"
        for at, key in ((f"{place}/key", entry["key"]), *_place(f"{place}/aliases", entry.get("aliases", ()))):
            try:
                parse_subject_key(text=key, declared=[key.partition(":")[0]])
            except BadSubjectKey as error:
                faults.append(OntologyFault(at, "bad_subject", str(error)))
        for at, alias in _place(f"{place}/aliases", entry.get("aliases", ())):
            if alias in keys:
                detail = f"{alias} is a subject of its own, and two subjects are never made one"
                faults.append(OntologyFault(at, "alias_is_a_subject", detail))
            elif owners.setdefault(alias, entry["key"]) != entry["key"]:
                detail = f"{alias} is an alias of {owners[alias]}; what two are called is a mention"
                faults.append(OntologyFault(at, "alias_is_taken", detail))
        faults += [
            OntologyFault(at, "bad_mention", "a mention is a name, and not blank")
            for at, mention in _place(f"{place}/mentions", entry.get("mentions", ()))
            if not fold_mention(text=mention) or "\x00" in mention
        ]


def _place(pointer: str, items: Iterable[str]) -> Iterable[tuple[str, str]]:
    return [(f"{pointer}/{number}", item) for number, item in enumerate(items)]


def _check_predicates(faults: list[OntologyFault], entries: Sequence[Mapping[str, Any]]) -> None:
    folds: list[str] = []
    for number, entry in enumerate(entries):
        place = f"/predicates/{number}"
        key = entry["fact_key"]
        try:
            folds.append(fold_pattern(text=key))
            if key.casefold() != folds[-1]:
                detail = f"it is declared in its plain spelling: {folds[-1]}"
                faults.append(OntologyFault(f"{place}/fact_key", "bad_fact_key", detail))
        except BadFactKey as error:
            faults.append(OntologyFault(f"{place}/fact_key", "bad_fact_key", str(error)))
            folds.append(f"#{number}")
        schema = entry.get("value_schema")
        if schema is not None:
            faults += _check_schema(f"{place}/value_schema", schema)
        if entry.get("authority_group", "").strip() != entry.get("authority_group", ""):
            faults.append(OntologyFault(f"{place}/authority_group", "bad_shape", "a role has no blanks at its ends"))
    _find_repeated(faults, "/predicates", folds)


def _check_schema(place: str, schema: Any) -> list[OntologyFault]:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return [OntologyFault(place + _point(error.absolute_path).rstrip("/"), "bad_schema", error.message)]
    if any(not reference.startswith("#") for reference in _list_references(schema)):
        return [OntologyFault(place, "bad_schema", "a schema points only into itself")]
    if not _leads_somewhere(schema):
        return [OntologyFault(place, "bad_schema", "a schema points at something that it holds, and not in a circle")]
    return []


def _leads_somewhere(schema: Any) -> bool:
    """Tell whether each reference of a schema is found, and whether looking at a value ends."""
    if isinstance(schema, bool):
        return True
    root = DRAFT202012.create_resource(schema)
    waiting = [(root, Registry().with_resource(root.id() or "", root).resolver_with_root(root))]
    try:
        while waiting:
            resource, resolver = waiting.pop()
            if isinstance(resource.contents, dict):
                for name in ("$ref", "$dynamicRef"):
                    if name in resource.contents:
                        resolver.lookup(resource.contents[name])
            waiting += [(inner, resolver.in_subresource(inner)) for inner in resource.subresources()]
        for value in _SAMPLES:
            list(Draft202012Validator(schema).iter_errors(value))
    except (Unresolvable, NoSuchResource, RecursionError):
        return False
    return True


def _list_references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = [schema[name] for name in ("$ref", "$dynamicRef") if isinstance(schema.get(name), str)]
        return own + [found for part in schema.values() for found in _list_references(part)]
    if isinstance(schema, list):
        return [found for part in schema for found in _list_references(part)]
    return []
