"""Entities: what a memory may be about is declared, never assumed. Pure.

Source: Seed 003 §2.3.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

_TYPE_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_LONGEST_NAME = 200
_BAD_NAME = "the name of a subject has 1 to 200 characters and no blank at its ends"


class BadSubjectKey(ValueError):
    """Say that a text is no `type:name`."""


class UndeclaredEntityType(LookupError):
    """Say that the tenant declared no such type."""


@dataclass(frozen=True, slots=True)
class SubjectKey:
    """Name one entity by its declared type and its name within that type."""

    entity_type: str
    name: str

    def as_text(self) -> str:
        """Return `type:name`."""
        return f"{self.entity_type}:{self.name}"


def parse_subject_key(*, text: str, declared: Collection[str]) -> SubjectKey:
    """Return the entity that `type:name` names; the name may hold further colons.

    Raises:
        BadSubjectKey: there is no type, no name, or a blank at an end of the name.
        UndeclaredEntityType: the type is not among the tenant's declared ones.
    """
    entity_type, colon, name = text.partition(":")
    if not colon or not _TYPE_NAME.fullmatch(entity_type):
        raise BadSubjectKey("a subject is written type:name, with a type in small letters")
    if not name or name != name.strip() or len(name) > _LONGEST_NAME or "\x00" in name:
        raise BadSubjectKey(_BAD_NAME)
    if entity_type not in declared:
        raise UndeclaredEntityType(f"the type {entity_type!r} is not declared")
    return SubjectKey(entity_type=entity_type, name=name)


class MentionUnknown(LookupError):
    """Say that a mention names nobody who is declared, and no type of which somebody new could be."""


def is_type_name(*, text: str) -> bool:
    """Tell whether a text can be the name of an entity type."""
    return _TYPE_NAME.fullmatch(text) is not None


def fold_mention(*, text: str) -> str:
    """Return what all ways to write one mention have in common: case, width and blanks make no other mention."""
    while True:
        folded = " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())
        if folded == text:
            return folded
        text = folded


@dataclass(frozen=True, slots=True)
class Mention:
    """Hold the words that a source has for an entity, where it does not name one by its key.

    `entity_type` is empty where the source does not tell it. `is_uncertain` says that whoever read the words does not
    know whom they mean.
    """

    words: str
    entity_type: str = ""
    is_uncertain: bool = False


class Alignment(StrEnum):
    """Say what a mention leads to: one declared subject, one that is new, or a question to a person."""

    CERTAIN = "certain"
    NEW = "new"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Aligned:
    """Hold whom a mention means: `subjects` is that one key, or those a person chooses from."""

    alignment: Alignment
    subjects: tuple[str, ...]


def align_mention(*, mention: Mention, known: Collection[str], declared: Collection[str]) -> Aligned:
    """Return whom a mention means; nothing is aligned by likeness.

    `known` are the keys, `type:name`, of the subjects that are declared to be called so; those of another type than
    the mention's do not count. `declared` are the tenant's entity types.

    Raises:
        BadSubjectKey: the words could not be the name of a subject.
        UndeclaredEntityType: the mention's type is not declared.
        MentionUnknown: nobody is called so, and the mention tells no type of which a new subject could be.
    """
    name = mention.words.strip()
    if mention.entity_type:
        parse_subject_key(text=f"{mention.entity_type}:{name}", declared=declared)
    elif not name or len(name) > _LONGEST_NAME or "\x00" in name:
        raise BadSubjectKey(_BAD_NAME)
    meant = tuple(sorted(key for key in set(known) if mention.entity_type in ("", key.partition(":")[0])))
    if mention.is_uncertain or len(meant) > 1:
        return Aligned(Alignment.UNCLEAR, meant)
    if meant:
        return Aligned(Alignment.CERTAIN, meant)
    if not mention.entity_type:
        raise MentionUnknown("nobody is called so; name the type, or have the subject declared")
    return Aligned(Alignment.NEW, (f"{mention.entity_type}:{name}",))
