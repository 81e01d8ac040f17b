"""Read the catalogue of fact keys: what the tenant declared of which keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memoryhub.lib.db import fetch_records
from memoryhub.types.fact_keys import fold_fact_key
from memoryhub.types.normalising import read_normalisers

if TYPE_CHECKING:
    from memoryhub.access.callers import Caller

_COLUMNS = """fact_key, fold, name, cardinality, value_schema, normaliser, sensitive, requires_confirmation,
    authority_group, yields_only_to_validation"""


class PredicateNotFound(Exception):
    """Say that nothing is declared of a key."""


@dataclass(frozen=True, slots=True)
class PredicateRecord:
    """Hold what is declared of one fact key, or of every key of a pattern; `authority_group` is a role."""

    fact_key: str
    fold: str
    name: str
    cardinality: str
    value_schema: Any
    normalisers: tuple[str, ...]
    sensitive: bool
    requires_confirmation: bool
    authority_group: str
    yields_only_to_validation: bool


def _read(row: dict[str, Any], caller: Caller) -> PredicateRecord:
    normalisers = read_normalisers(text=row.pop("normaliser"))
    role = row.pop("authority_group").removeprefix(f"{caller.tenant_slug}/")
    return PredicateRecord(**row, normalisers=normalisers, authority_group=role)


def list_predicates(*, caller: Caller, after: str, limit: int) -> list[PredicateRecord]:
    """Return declared keys in the order of their folded form, from behind `after` on."""
    rows = fetch_records(
        sql=f"""
            SELECT {_COLUMNS} FROM predicates
            WHERE tenant_id = %s AND fold COLLATE "C" > %s ORDER BY fold COLLATE "C" LIMIT %s
        """,  # noqa: S608  names of columns
        params=[caller.tenant_id, after, limit],
    )
    return [_read(row, caller) for row in rows]


def find_predicate(*, caller: Caller, text: str) -> PredicateRecord:
    """Return what is declared of a key in any spelling: of the key itself, or of the most specific pattern.

    Raises:
        BadFactKey: the text is no key. PredicateNotFound: nothing is declared of it.
    """
    rows = fetch_records(
        sql=f"SELECT {_COLUMNS} FROM find_predicate_v1(%s, %s)",  # noqa: S608  names of columns
        params=[caller.tenant_id, fold_fact_key(text=text)],
    )
    if not rows:
        raise PredicateNotFound
    return _read(rows[0], caller)
