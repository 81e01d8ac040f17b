"""Declare: read, compare and take over a tenant's entity ontology; everything is checked first, and all of it is taken.

What is declared changes how later claims are read, so a change that would put what is held in question is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memoryhub.access.models import EntityType, Subject, SubjectAlias, SubjectMention, Tenant
from memoryhub.access.operations import record_audit
from memoryhub.access.queries import access_tenant
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.db import fetch_all, fetch_records, naming_errors
from memoryhub.lib.ids import new_id
from memoryhub.memory.models import Predicate
from memoryhub.types.fact_keys import ANY, BadFactKey, choose_pattern, fold_fact_key, fold_pattern
from memoryhub.types.normalising import normalise_value, read_normalisers
from memoryhub.types.ontology import (
    EntityTypeEntry,
    Ontology,
    OntologyFault,
    OntologyRefused,
    PredicateEntry,
    SubjectEntry,
    compare_ontologies,
    order_ontology,
)
from memoryhub.usecases.align import ValueRefused, check_schema, digest_mention, digest_subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from memoryhub.access.callers import Caller
    from memoryhub.types.ontology import OntologyChange

RIGHT = "administer_tenant"
_PAGE = 2000


@dataclass(frozen=True, slots=True)
class Declared:
    """Hold what an import changed, or would change."""

    changes: tuple[OntologyChange, ...]
    is_done: bool


def read_declared(*, caller: Caller) -> Ontology:
    """Return everything the tenant declared; subjects that only came up in a claim are not among it.

    Raises:
        TenantForbidden: the right `administer_tenant` is missing; the names of people may be among the subjects.
        StoreFailure: the database could not be asked.
    """
    with naming_errors(), tenant_context(caller.tenant_id, read_only=True):
        access_tenant(caller=caller, right=RIGHT)
        return _load(caller)


def declare_ontology(*, caller: Caller, wanted: Ontology, now: datetime, is_trial: bool = False) -> Declared:
    """Take an ontology over: add what is new, change what differs, leave what it does not name. Done twice, once.

    With `is_trial` nothing is written. Rows written: entity types, subjects, aliases, mentions, predicates, and one
    audit event if anything changed.

    Raises:
        TenantForbidden: the right `administer_tenant` is missing.
        OntologyRefused: it contradicts what is held; every fault is named, and nothing was changed.
        StoreFailure: the database could not be asked; nothing was changed.
    """
    with naming_errors(), tenant_context(caller.tenant_id, read_only=is_trial):
        access_tenant(caller=caller, right=RIGHT)
        if not is_trial:
            _hold_writers(caller)
        held = _load(caller)
        wanted = order_ontology(ontology=wanted)
        changes = compare_ontologies(held=held, wanted=wanted)
        faults = [
            *_check_subjects(caller, held, wanted),
            *_check_predicates(caller, held, wanted, {change.key for change in changes if change.kind == "predicate"}),
        ]
        if faults:
            raise OntologyRefused(faults)
        if not is_trial and changes:
            _write(caller, wanted, now)
            record_audit(
                caller=caller,
                action="ontology.declared",
                object_ids={"changes": len(changes)},
                outcome="changed",
                now=now,
            )
    return Declared(changes=changes, is_done=not is_trial)


def _hold_writers(caller: Caller) -> None:
    """Take every scope's guard, in order: what is checked against the memories that are held stays so until the end.

    One import at a time: the first lock is the tenant's own.
    """
    fetch_all(
        sql="SELECT pg_advisory_xact_lock(hashtextextended('ontology ' || %s, 0))::text", params=[caller.tenant_id]
    )
    fetch_all(
        sql="""
            SELECT pg_advisory_xact_lock(hashtextextended(id::text, 0))::text
            FROM (SELECT id FROM scopes WHERE tenant_id = %s ORDER BY id::text) scope
        """,
        params=[caller.tenant_id],
    )


def _load(caller: Caller) -> Ontology:
    slug = caller.tenant_slug
    rows = fetch_records(
        sql="""
            SELECT held.label,
                ARRAY(SELECT label FROM subject_aliases WHERE tenant_id = held.tenant_id AND subject_id = held.id
                      AND label <> '') AS aliases,
                ARRAY(SELECT label FROM subject_mentions WHERE tenant_id = held.tenant_id AND subject_id = held.id
                      AND label <> '') AS mentions
            FROM subjects held
            WHERE held.tenant_id = %s AND held.label <> '' AND NOT held.is_unclear AND (held.is_declared
                OR EXISTS (SELECT FROM subject_aliases WHERE tenant_id = held.tenant_id AND subject_id = held.id)
                OR EXISTS (SELECT FROM subject_mentions WHERE tenant_id = held.tenant_id AND subject_id = held.id))
        """,
        params=[caller.tenant_id],
    )
    return order_ontology(
        ontology=Ontology(
            entity_types=tuple(
                EntityTypeEntry(name=entity.name, description=entity.description)
                for entity in EntityType.objects.filter(tenant_id=caller.tenant_id)
            ),
            subjects=tuple(
                SubjectEntry(key=row["label"], aliases=tuple(row["aliases"]), mentions=tuple(row["mentions"]))
                for row in rows
            ),
            predicates=tuple(
                _describe(predicate, slug) for predicate in Predicate.objects.filter(tenant_id=caller.tenant_id)
            ),
        )
    )


def _describe(predicate: Predicate, slug: str) -> PredicateEntry:
    return PredicateEntry(
        fact_key=predicate.fact_key,
        name=predicate.name,
        cardinality=str(predicate.cardinality),
        value_schema=predicate.value_schema,
        normalisers=read_normalisers(text=predicate.normaliser),
        sensitive=predicate.sensitive,
        requires_confirmation=predicate.requires_confirmation,
        authority_group=predicate.authority_group.removeprefix(f"{slug}/"),
        yields_only_to_validation=predicate.yields_only_to_validation,
    )


def _check_subjects(caller: Caller, held: Ontology, wanted: Ontology) -> Iterator[OntologyFault]:
    """Find subjects of undeclared types, and keys that already mean somebody else."""
    types = {entry.name for entry in (*held.entity_types, *wanted.entity_types)}
    digests = {
        digest_subject(caller=caller, key=key): key for entry in wanted.subjects for key in (entry.key, *entry.aliases)
    }
    params = {"tenant": caller.tenant_id, "digests": list(digests)}
    subjects = {
        digests[row[0]]
        for row in fetch_all(
            sql="SELECT key_digest FROM subjects WHERE tenant_id = %(tenant)s AND key_digest = ANY (%(digests)s)",
            params=params,
        )
    }
    owners = {
        digests[row[0]]: str(row[1])
        for row in fetch_all(
            sql="""
                SELECT alias.key_digest, held.key_digest FROM subject_aliases alias
                JOIN subjects held ON held.tenant_id = alias.tenant_id AND held.id = alias.subject_id
                WHERE alias.tenant_id = %(tenant)s AND alias.key_digest = ANY (%(digests)s)
            """,
            params=params,
        )
    }
    for place, entry in enumerate(wanted.subjects):
        at = f"/subjects/{place}"
        for key in (entry.key, *entry.aliases):
            if key.partition(":")[0] not in types:
                yield OntologyFault(at, "undeclared_entity_type", f"the type of {key} is not declared")
        if entry.key in owners:
            yield OntologyFault(at, "subject_is_an_alias", f"{entry.key} is an alias of another subject already")
        own = digest_subject(caller=caller, key=entry.key)
        for alias in entry.aliases:
            if alias in subjects:
                detail = f"{alias} is a subject of its own, and two subjects are never made one"
                yield OntologyFault(at, "alias_is_a_subject", detail)
            elif owners.get(alias, own) != own:
                detail = f"{alias} is an alias of another subject; what two are called is a mention"
                yield OntologyFault(at, "alias_is_taken", detail)


def _check_predicates(caller: Caller, held: Ontology, wanted: Ontology, changed: set[str]) -> Iterator[OntologyFault]:
    """Find declarations that would put memories in question, which were made under what was declared before."""
    before = {fold_pattern(text=entry.fact_key): entry for entry in held.predicates}
    after = {**before, **{fold_pattern(text=entry.fact_key): entry for entry in wanted.predicates}}
    places = {fold_pattern(text=entry.fact_key): place for place, entry in enumerate(wanted.predicates)}
    for fold, place in places.items():
        known = before.get(fold)
        if known is not None and known.fact_key != after[fold].fact_key:
            detail = f"it is declared as {known.fact_key}; spell it so"
            yield OntologyFault(f"/predicates/{place}/fact_key", "declared_in_another_spelling", detail)
    if not changed:
        return
    rows = fetch_all(
        sql="SELECT fact_key, count(*) FROM memory_heads WHERE tenant_id = %s GROUP BY 1 ORDER BY 1",
        params=[caller.tenant_id],
    )
    for stored, count in rows:
        try:
            fold = fold_fact_key(text=stored)
        except BadFactKey:
            continue  # a key of before the rule of spelling: no declaration reaches it
        chosen = choose_pattern(key=fold, patterns=after)
        if chosen is None or chosen not in places or after[chosen].fact_key not in changed:
            continue
        earlier = choose_pattern(key=fold, patterns=before)
        at = f"/predicates/{places[chosen]}"
        yield from _check_key(
            caller,
            at,
            stored=stored,
            count=count,
            old=before[earlier] if earlier is not None else PredicateEntry(fact_key=stored),
            new=after[chosen],
        )


def _check_key(
    caller: Caller, at: str, *, stored: str, count: int, old: PredicateEntry, new: PredicateEntry
) -> Iterator[OntologyFault]:
    """Compare one key's memories with what would hold of them."""
    told = f"{count} memories have the key {stored}"
    if ANY not in new.fact_key and new.fact_key != stored:
        yield OntologyFault(f"{at}/fact_key", "key_has_another_spelling", f"{told}; declare it in that spelling")
    if old.cardinality != new.cardinality:
        detail = f"{told}, which were told apart as `{old.cardinality}`; declare another key, or erase them first"
        yield OntologyFault(f"{at}/cardinality", "cardinality_has_memories", detail)
    checks_schema = new.value_schema is not None and (old.value_schema, old.normalisers) != (
        new.value_schema,
        new.normalisers,
    )
    if not checks_schema and old.normalisers == new.normalisers:
        return
    failing = respelt = 0
    for value in _list_values(caller, stored):
        normal = normalise_value(value=value, names=new.normalisers)
        if old.normalisers != new.normalisers and canonical_json(normal) != canonical_json(value):
            respelt += 1
        if checks_schema and _fails(normal, new.value_schema):
            failing += 1
    if failing:
        detail = f"{failing} values held under {stored} fail it; widen it, or have those values corrected first"
        yield OntologyFault(f"{at}/value_schema", "held_values_fail", detail)
    if respelt:
        detail = f"{respelt} values held under {stored} would be spelt otherwise; have them corrected first"
        yield OntologyFault(f"{at}/normalisers", "held_values_differ", detail)


def _fails(value: Any, schema: Any) -> bool:
    try:
        check_schema(value=value, schema=schema)
    except ValueRefused:
        return True
    return False


def _list_values(caller: Caller, fact_key: str) -> Iterator[Any]:
    """Yield the values that are held now under a key, page by page; absence and what was revoked is none."""
    last = "00000000-0000-0000-0000-000000000000"
    while True:
        rows = fetch_records(
            sql="""
                SELECT version.id::text, version.value FROM memory_versions version
                JOIN memory_heads head ON head.tenant_id = version.tenant_id AND head.id = version.memory_id
                WHERE version.tenant_id = %s AND head.fact_key = %s AND version.recorded_to IS NULL
                  AND version.value_digest IS NOT NULL AND version.state IN ('active', 'needs_review')
                  AND version.id > %s
                ORDER BY version.id LIMIT %s
            """,
            params=[caller.tenant_id, fact_key, last, _PAGE],
        )
        yield from (row["value"] for row in rows)
        if len(rows) < _PAGE:
            return
        last = rows[-1]["id"]


def _write(caller: Caller, wanted: Ontology, now: datetime) -> None:
    tenant = Tenant.objects.get(pk=caller.tenant_id)
    for entry in wanted.entity_types:
        EntityType.objects.update_or_create(tenant=tenant, name=entry.name, defaults={"description": entry.description})
    types = {entity.name: entity for entity in EntityType.objects.filter(tenant=tenant)}
    for subject in wanted.subjects:
        _write_subject(caller, tenant, types, subject, now)
    held = {predicate.fold: predicate for predicate in Predicate.objects.filter(tenant=tenant)}
    for predicate in wanted.predicates:
        values = _as_columns(predicate, slug=caller.tenant_slug)
        known = held.get(fold_pattern(text=predicate.fact_key))
        if known is None:
            Predicate.objects.create(id=new_id(), tenant=tenant, fact_key=predicate.fact_key, **values)
        else:
            Predicate.objects.filter(pk=known.pk).update(**values)


def _write_subject(
    caller: Caller, tenant: Tenant, types: Mapping[str, EntityType], entry: SubjectEntry, now: datetime
) -> None:
    subject, is_new = Subject.objects.get_or_create(
        tenant=tenant,
        key_digest=digest_subject(caller=caller, key=entry.key),
        defaults={
            "entity_type": types[entry.key.partition(":")[0]],
            "label": entry.key,
            "is_declared": True,
            "created_at": now,
        },
    )
    if not is_new and not subject.is_declared:
        Subject.objects.filter(pk=subject.pk).update(is_declared=True)
    for alias in entry.aliases:
        SubjectAlias.objects.get_or_create(
            tenant=tenant,
            key_digest=digest_subject(caller=caller, key=alias),
            defaults={"subject": subject, "label": alias},
        )
    for mention in entry.mentions:
        SubjectMention.objects.get_or_create(
            tenant=tenant,
            subject=subject,
            mention_digest=digest_mention(caller=caller, words=mention),
            defaults={"label": mention},
        )


def _as_columns(entry: PredicateEntry, *, slug: str) -> dict[str, Any]:
    role = entry.authority_group
    return {
        "name": entry.name,
        "cardinality": entry.cardinality,
        "value_schema": entry.value_schema,
        "normaliser": ",".join(entry.normalisers),
        "sensitive": entry.sensitive,
        "requires_confirmation": entry.requires_confirmation,
        "authority_group": f"{slug}/{role}" if role else "",
        "yields_only_to_validation": entry.yields_only_to_validation,
    }
