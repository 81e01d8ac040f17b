"""Align: bring what a proposal names to the declared key, to one spelling of its value, and to the subject it means."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from referencing.exceptions import Unresolvable

from memoryhub.access.models import EntityType, Subject
from memoryhub.access.operations import find_or_create_subject
from memoryhub.lib.db import fetch_all, fetch_records
from memoryhub.lib.ids import new_id
from memoryhub.memory.loading import load_candidate
from memoryhub.memory.operations import describe_candidate
from memoryhub.types.cognitive import get_decay
from memoryhub.types.entity import Alignment, align_mention, fold_mention, parse_subject_key, spell_subject
from memoryhub.types.enums import Cardinality
from memoryhub.types.fact_keys import fold_fact_key, name_key
from memoryhub.types.normalising import normalise_value, read_normalisers

if TYPE_CHECKING:
    from datetime import datetime

    from memoryhub.access.callers import Caller
    from memoryhub.memory.records import CandidateRecord
    from memoryhub.types.entity import Aligned, Mention
    from memoryhub.usecases.propose import CandidateInput


MOST_SUBJECTS = 100


class ValueRefused(Exception):
    """Say that the value does not fit what the tenant declared of the fact key."""


@dataclass(frozen=True, slots=True)
class DeclaredKey:
    """Hold a fact key in its stored spelling, and what is declared of its value; nothing is declared of most keys."""

    spelling: str
    cardinality: str | None = None
    schema: Any = None
    normalisers: tuple[str, ...] = ()
    authority_group: str = ""

    def normalise(self, value: Any) -> Any:
        """Return the value in its one spelling."""
        return normalise_value(value=value, names=self.normalisers)

    def check(self, value: Any) -> None:
        """Check a normalised value against cardinality and JSON Schema.

        Raises:
            ValueRefused: it does not fit, or retracts a key of many values without saying which.
        """
        if value is None:
            if self.cardinality == Cardinality.MANY:
                raise ValueRefused("a key of many values is retracted value by value, not as a whole")
        elif self.schema is not None:
            check_schema(value=value, schema=self.schema)


@dataclass(slots=True)
class Catalogue:
    """Hold the keys that one request looked up, each once."""

    caller: Caller
    known: dict[str, DeclaredKey] = field(default_factory=dict)

    def find_key(self, *, text: str) -> DeclaredKey:
        """Return the key that a text names, whatever its spelling.

        Raises:
            BadFactKey: it names none.
        """
        fold = fold_fact_key(text=text)
        if fold not in self.known:
            self.known[fold] = self._load(fold)
        return self.known[fold]

    def _load(self, fold: str) -> DeclaredKey:
        rows = fetch_records(
            sql="""
                SELECT fact_key, cardinality, value_schema, normaliser, authority_group FROM find_predicate_v1(%s, %s)
            """,
            params=[self.caller.tenant_id, fold],
        )
        if not rows:
            return DeclaredKey(spelling=fold)
        row = rows[0]
        return DeclaredKey(
            spelling=name_key(fold=fold, declared=row["fact_key"]).spelling,
            cardinality=row["cardinality"],
            schema=row["value_schema"],
            normalisers=read_normalisers(text=row["normaliser"]),
            authority_group=row["authority_group"],
        )


def check_schema(*, value: Any, schema: Any) -> None:
    """Check a value against the JSON Schema its predicate declares.

    Raises:
        ValueRefused: it does not fit, or the schema cannot be evaluated on it; the message says where, without the
            value.
    """
    from jsonschema import Draft202012Validator

    try:
        error = next(iter(Draft202012Validator(schema).iter_errors(value)), None)
    except (Unresolvable, RecursionError, ArithmeticError, ValueError, re.error) as broken:
        # It points nowhere or in a circle, a pattern of it is none, or the number is beyond all bounds.
        raise ValueRefused(f"the declared schema cannot be evaluated on it: {type(broken).__name__}") from None
    if error is not None:
        raise ValueRefused(f"{error.json_path} fails {error.validator}")


def find_subject(*, caller: Caller, key: str, now: datetime) -> str:
    """Return the id of the subject that `type:name` names, made on its first mention.

    Raises:
        BadSubjectKey, UndeclaredEntityType: it is no `type:name` of a declared type.
    """
    key = spell_subject(text=key)
    found = _find_by_keys(caller=caller, keys=[key])
    if found:
        return found[key][0]
    declared = {entity.name: entity for entity in EntityType.objects.filter(tenant_id=caller.tenant_id)}
    parsed = parse_subject_key(text=key, declared=declared)
    subject = find_or_create_subject(caller=caller, entity_type=declared[parsed.entity_type], key=key, now=now)
    return str(subject.pk)


def find_own_key(*, caller: Caller, key: str) -> str:
    """Return the own key of the subject that a key or an alias names; empty when it names nobody."""
    found = _find_by_keys(caller=caller, keys=[key])
    return found[key][1] if found else ""


def _find_by_keys(*, caller: Caller, keys: list[str]) -> dict[str, tuple[str, str]]:
    """Return id and own key of the subjects that keys name, by their own key or as an alias."""
    digests = {digest_subject(caller=caller, key=key): key for key in keys}
    rows = fetch_all(
        sql="""
            SELECT key_digest, id::text, label FROM subjects
            WHERE tenant_id = %(tenant)s AND key_digest = ANY (%(digests)s)
            UNION ALL
            SELECT alias.key_digest, held.id::text, held.label FROM subject_aliases alias
            JOIN subjects held ON held.tenant_id = alias.tenant_id AND held.id = alias.subject_id
            WHERE alias.tenant_id = %(tenant)s AND alias.key_digest = ANY (%(digests)s)
        """,
        params={"tenant": caller.tenant_id, "digests": list(digests)},
    )
    return {digests[row[0]]: (str(row[1]), str(row[2])) for row in rows}


def digest_subject(*, caller: Caller, key: str) -> str:
    """Return the digest under which a subject's key is kept."""
    return caller.digest(f"subject {spell_subject(text=key)}")


def digest_mention(*, caller: Caller, words: str) -> str:
    """Return the digest under which what a subject is called is kept, whatever its case and width."""
    return caller.digest(f"mention {fold_mention(text=words)}")


def align_subject(*, caller: Caller, mention: Mention) -> Aligned:
    """Return whom a mention means: what is declared decides, and nothing is aligned by likeness.

    Raises:
        BadSubjectKey, UndeclaredEntityType, MentionUnknown: as `types.entity.align_mention`.
    """
    declared = set(EntityType.objects.filter(tenant_id=caller.tenant_id).values_list("name", flat=True))
    rows = fetch_all(
        sql="""
            SELECT held.label FROM subject_mentions said
            JOIN subjects held ON held.tenant_id = said.tenant_id AND held.id = said.subject_id
            WHERE said.tenant_id = %s AND said.mention_digest = %s AND held.label <> '' AND NOT held.is_unclear
        """,
        params=[caller.tenant_id, digest_mention(caller=caller, words=mention.words)],
    )
    known = {str(row[0]) for row in rows}
    if mention.entity_type:
        # A type and a name are a key: whoever has it, or has it as an alias, is meant too.
        keys = [f"{mention.entity_type}:{mention.words.strip()}"]
        known |= {label for _, label in _find_by_keys(caller=caller, keys=keys).values() if label}
    return align_mention(mention=mention, known=known, declared=declared)


def find_mentioned(*, caller: Caller, scope_id: str, mention: Mention, now: datetime) -> tuple[str, bool]:
    """Return the subject that a mention means, and whether that is a question to a person.

    A question stands under a subject of its own, one for each mention of a scope, until a person names the subject.

    Raises:
        BadSubjectKey, UndeclaredEntityType, MentionUnknown: as `align_subject`.
    """
    aligned = align_subject(caller=caller, mention=mention)
    if aligned.alignment is not Alignment.UNCLEAR:
        return find_subject(caller=caller, key=aligned.subjects[0], now=now), False
    subject, _ = Subject.objects.get_or_create(
        tenant_id=caller.tenant_id,
        key_digest=digest_unclear(caller=caller, scope_id=scope_id, mention=mention),
        defaults={
            "entity_type": EntityType.objects.filter(tenant_id=caller.tenant_id, name=mention.entity_type).first(),
            "label": mention.words.strip(),
            "is_unclear": True,
            "created_at": now,
        },
    )
    return str(subject.pk), True


def digest_unclear(*, caller: Caller, scope_id: str, mention: Mention) -> str:
    """Return the digest under which an unclear mention of a scope is kept."""
    return caller.digest(f"unclear {scope_id} {mention.entity_type} {fold_mention(text=mention.words)}")


@dataclass(frozen=True, slots=True)
class AlignedProposal:
    """Hold a proposal with its key and value in their one spelling, and the subject that it means.

    `subject_unclear` says that a person has to name the subject.
    """

    proposal: CandidateInput
    subject_id: str
    subject_unclear: bool = False
    authority_group: str = ""


def align_proposal(*, catalogue: Catalogue, scope_id: str, proposal: CandidateInput, now: datetime) -> AlignedProposal:
    """Return the proposal as it is compared with what is held; the words in `content` stay as they were sent.

    Raises:
        BadFactKey, UnknownCognitiveType, ValueRefused, BadSubjectKey, UndeclaredEntityType, MentionUnknown: as
            `propose_candidate`.
    """
    key = catalogue.find_key(text=proposal.fact_key)
    value = key.normalise(proposal.value)
    key.check(value)
    aligned = align_subject_of(
        caller=catalogue.caller,
        scope_id=scope_id,
        proposal=replace(proposal, fact_key=key.spelling, value=value),
        now=now,
    )
    return replace(aligned, authority_group=key.authority_group)


def align_subject_of(*, caller: Caller, scope_id: str, proposal: CandidateInput, now: datetime) -> AlignedProposal:
    """Return a proposal of known key and value with the subject that it means.

    Raises:
        UnknownCognitiveType, BadSubjectKey, UndeclaredEntityType, MentionUnknown: as `propose_candidate`.
    """
    get_decay(memory_type=proposal.memory_type)
    if proposal.mention is None:
        return AlignedProposal(proposal, find_subject(caller=caller, key=proposal.subject, now=now))
    subject_id, is_unclear = find_mentioned(caller=caller, scope_id=scope_id, mention=proposal.mention, now=now)
    return AlignedProposal(proposal, subject_id, subject_unclear=is_unclear)


@dataclass(frozen=True, slots=True)
class Named:
    """Hold the candidate that says of a named subject what an unclear one said of a mention.

    `described` is what has to be appended, None if it was proposed before; `replaces` is the unclear candidate.
    """

    candidate: CandidateRecord
    described: dict[str, Any] | None
    replaces: str


def name_subject(*, caller: Caller, candidate: CandidateRecord, subject: str, now: datetime) -> Named:
    """Return what an unclear candidate says of the subject that a reviewer names; that of a mention stays as it was.

    Raises:
        BadSubjectKey, UndeclaredEntityType: it is no `type:name` of a declared type.
    """
    subject_id = find_subject(caller=caller, key=subject, now=now)
    known = fetch_all(
        sql="""
            SELECT other.id::text FROM memory_candidates other
            JOIN memory_candidates own ON own.tenant_id = other.tenant_id AND own.id = %(candidate)s
            WHERE other.tenant_id = %(tenant)s AND other.subject_id = %(subject)s
              AND (other.source_event_id, other.extractor, other.extractor_version, other.fact_key,
                   other.conditions_digest, other.statement)
                = (own.source_event_id, own.extractor, own.extractor_version, own.fact_key,
                   own.conditions_digest, own.statement)
        """,
        params={"tenant": caller.tenant_id, "candidate": candidate.id, "subject": subject_id},
    )
    if known:
        held = load_candidate(tenant_id=caller.tenant_id, candidate_id=str(known[0][0]))
        if held is not None:
            return Named(held, None, candidate.id)
    named = replace(
        candidate,
        id=str(new_id()),
        subject_id=subject_id,
        subject_unclear=False,
        subject_label=find_own_key(caller=caller, key=subject),
    )
    return Named(named, describe_candidate(tenant_id=caller.tenant_id, candidate=named), candidate.id)


def list_possible_subjects(*, caller: Caller, candidate: CandidateRecord) -> list[str]:
    """Return the keys a reviewer chooses from: who is called so, who the scope knows, and who would be new."""
    rows = fetch_all(
        sql="""
            SELECT unclear.label, kind.name FROM subjects unclear
            LEFT JOIN entity_types kind ON kind.tenant_id = unclear.tenant_id AND kind.id = unclear.entity_type_id
            WHERE unclear.tenant_id = %s AND unclear.id = %s AND unclear.is_unclear
        """,
        params=[caller.tenant_id, candidate.subject_id],
    )
    if not rows:
        return []
    words, kind = str(rows[0][0]), rows[0][1]
    found = fetch_all(
        sql="""
            SELECT label FROM (
                SELECT held.label, held.entity_type_id, 0 AS place FROM subject_mentions said
                JOIN subjects held ON held.tenant_id = said.tenant_id AND held.id = said.subject_id
                WHERE said.tenant_id = %(tenant)s AND said.mention_digest = %(mention)s
                UNION ALL
                SELECT held.label, held.entity_type_id, 1 FROM subjects held
                WHERE held.tenant_id = %(tenant)s AND EXISTS (
                    SELECT FROM memory_heads head WHERE head.tenant_id = held.tenant_id
                      AND head.scope_id = %(scope)s AND head.subject_id = held.id)
            ) possible
            LEFT JOIN entity_types known ON known.tenant_id = %(tenant)s AND known.id = possible.entity_type_id
            WHERE label <> '' AND (%(kind)s = '' OR known.name = %(kind)s)
            GROUP BY label ORDER BY min(place), label LIMIT %(most)s
        """,
        params={
            "tenant": caller.tenant_id,
            "scope": candidate.scope_id,
            "mention": digest_mention(caller=caller, words=words),
            "kind": kind or "",
            "most": MOST_SUBJECTS,
        },
    )
    declared = (
        [kind]
        if kind
        else EntityType.objects.filter(tenant_id=caller.tenant_id).order_by("name").values_list("name", flat=True)
    )
    known = [str(row[0]) for row in found]
    return known + [key for key in (f"{name}:{words}" for name in declared) if key not in known]
