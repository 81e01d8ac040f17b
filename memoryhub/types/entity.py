"""Entities: what a memory may be about is declared, never assumed. Pure.

Source: Seed 003 §2.3.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from memoryhub.types.fact_keys import drop_invisible

_TYPE_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_LONGEST_NAME = 200
_BAD_NAME = "the name of a subject has 1 to 200 characters, no blank at its ends and none that controls the text"
_JOINERS = frozenset("\u200c\u200d")  # of Persian words and of emoji: they change what a reader sees


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


def spell_subject(*, text: str) -> str:
    """Return a subject's key as it is compared: what Unicode holds for the same text (NFC) is the same text."""
    return unicodedata.normalize("NFC", text)


def _is_bad_name(name: str) -> bool:
    controls = any(unicodedata.category(one) in ("Cc", "Cf", "Cs") and one not in _JOINERS for one in name)
    return not name or name != name.strip() or len(name) > _LONGEST_NAME or controls


def parse_subject_key(*, text: str, declared: Collection[str]) -> SubjectKey:
    """Return the entity that `type:name` names; the name may hold further colons.

    Raises:
        BadSubjectKey: there is no type, no name, a blank at an end of the name, or a character in it that controls
            the text and is not seen.
        UndeclaredEntityType: the type is not among the tenant's declared ones.
    """
    entity_type, colon, name = text.partition(":")
    if not colon or not _TYPE_NAME.fullmatch(entity_type):
        raise BadSubjectKey("a subject is written type:name, with a type in small letters")
    if _is_bad_name(name):
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
    """Return what all ways to write one mention have in common: case, width, blanks and what nobody sees."""
    while True:
        seen = drop_invisible(text=unicodedata.normalize("NFKC", text))
        folded = " ".join(unicodedata.normalize("NFKC", seen.casefold()).split())
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
    name = spell_subject(text=mention.words.strip())
    if mention.entity_type:
        parse_subject_key(text=f"{mention.entity_type}:{name}", declared=declared)
    elif _is_bad_name(" ".join(name.split())):
        raise BadSubjectKey(_BAD_NAME)
    meant = tuple(sorted(key for key in set(known) if mention.entity_type in ("", key.partition(":")[0])))
    if mention.is_uncertain or len(meant) > 1:
        return Aligned(Alignment.UNCLEAR, meant)
    if meant:
        return Aligned(Alignment.CERTAIN, meant)
    if not mention.entity_type:
        raise MentionUnknown("nobody is called so; name the type, or have the subject declared")
    return Aligned(Alignment.NEW, (f"{mention.entity_type}:{name}",))
