"""Entities: what a memory may be about is declared, never assumed. Pure.

Source: Seed 003 §2.3.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

_TYPE_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_LONGEST_NAME = 200


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
        raise BadSubjectKey("the name of a subject has 1 to 200 characters and no blank at its ends")
    if entity_type not in declared:
        raise UndeclaredEntityType(f"the type {entity_type!r} is not declared")
    return SubjectKey(entity_type=entity_type, name=name)
