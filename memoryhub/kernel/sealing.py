"""Seal the ledger: give what was committed its place in one order, and put a root over it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memoryhub.kernel.leaves import NEWEST_SCHEME, SCHEMES, write_digest_sql
from memoryhub.kernel.seals import Seal, digest_seal, find_root
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memoryhub.kernel.leaves import Leaf

_ENTRIES = 20_000  # how many one seal covers at most: the digests of some 2,000 explicit writes, in memory at once
_LEAVES = SCHEMES[NEWEST_SCHEME]
_LOCK = "hashtextextended('ledger_seals ' || %s, 0)"
# What committed below the lowest transaction that still runs can get no company any more. A number that was not given
# out yet comes from the server the rows were restored from: such rows were committed long ago.
_STATE = """
    SELECT pg_snapshot_xmin(seen)::text::bigint, pg_snapshot_xmax(seen)::text::bigint
    FROM pg_current_snapshot() AS seen
"""
_SEALS = """
    SELECT number, previous, root, first_position, entries, sealed_at, newest_at, horizon, scheme, digest
    FROM ledger_seals WHERE tenant_id = %(tenant)s
"""


@dataclass(frozen=True, slots=True)
class _Place:
    """Hold one row that is to be sealed, and where."""

    table: str
    row_id: str
    written_in: int
    position: int


def _new_rows_sql() -> str:
    """Return the statement that finds what is not in the ledger yet, in the order of transactions."""
    parts = [
        f"""(
            SELECT {number} AS place, held.id, held.written_in FROM {leaf.table} held
            WHERE held.tenant_id = %(tenant)s AND held.written_in >= %(from)s
              AND (held.written_in < %(horizon)s OR held.written_in >= %(ceiling)s)
              AND NOT EXISTS (SELECT FROM ledger_entries known
                              WHERE known.tenant_id = held.tenant_id AND known.id = held.id)
            ORDER BY held.written_in LIMIT %(limit)s
        )"""  # noqa: S608  a table of our own list
        for number, leaf in enumerate(_LEAVES)
    ]
    found = " UNION ALL ".join(parts)
    return f"""
        SELECT place, id::text, written_in FROM ({found}) AS found ORDER BY written_in, place, id LIMIT %(limit)s
    """  # noqa: S608  the same tables


_NEW_ROWS = _new_rows_sql()
_NO_NUMBER = 2**63 - 1


def _foreign_sql() -> str:
    """Return whether the last row of any table that came from another server waits for its seal.

    They are sealed in their order, so that one row of each table tells of all.
    """
    parts = [
        f"""
            SELECT FROM (
                SELECT id FROM {leaf.table} WHERE tenant_id = %(tenant)s AND written_in >= %(ceiling)s
                ORDER BY written_in DESC, id DESC LIMIT 1
            ) AS newest WHERE NOT EXISTS (
                SELECT FROM ledger_entries known WHERE known.tenant_id = %(tenant)s AND known.id = newest.id)
        """  # noqa: S608  a table of our own list
        for leaf in _LEAVES
    ]
    return "SELECT " + " OR ".join(f"EXISTS ({part})" for part in parts)


_FOREIGN = _foreign_sql()


def _enter_sql(leaf: Leaf) -> str:
    digest, words_digest, join = write_digest_sql(leaf)
    instant = f'held."{leaf.instant}"' if leaf.instant else "NULL::timestamptz"
    return f"""
        WITH made AS (
            SELECT held.id, place.position, {digest} AS digest, {words_digest} AS words_digest, {instant} AS instant
            FROM unnest(%(ids)s::uuid[], %(positions)s::bigint[]) AS place (id, position)
            JOIN {leaf.table} held ON held.id = place.id AND held.tenant_id = %(tenant)s
            {join}
        ), entered AS (
            INSERT INTO ledger_entries (id, tenant_id, position, table_name, digest, words_digest)
            SELECT id, %(tenant)s, position, '{leaf.table}', digest, words_digest FROM made
            RETURNING position
        )
        SELECT made.position, made.digest, made.instant FROM made JOIN entered USING (position)
    """  # noqa: S608  a table and columns of our own list


_ENTER = {leaf.table: _enter_sql(leaf) for leaf in _LEAVES}


def seal_ledger(*, tenant_id: str, now: datetime, limit: int = _ENTRIES, waits: bool = False) -> Seal | None:
    """Seal what was committed since the last seal, at most `limit` rows; None when there is nothing, or another seals.

    Inside an open transaction of the tenant. With `waits` another sealer is waited for. Rows written: the entries and
    one seal. What is still open stays for the next one: nothing that commits late is skipped.
    """
    if waits:
        fetch_all(sql=f"SELECT pg_advisory_xact_lock({_LOCK})", params=[tenant_id])
    elif not fetch_all(sql=f"SELECT pg_try_advisory_xact_lock({_LOCK})", params=[tenant_id])[0][0]:
        return None
    horizon, ceiling = fetch_all(sql=_STATE, params=[])[0]
    last = load_last_seal(tenant_id=tenant_id)
    places = _find_new_rows(tenant_id=tenant_id, last=last, horizon=horizon, ceiling=ceiling, limit=limit)
    if not places:
        return None
    digests, newest = _enter(tenant_id=tenant_id, places=places)
    is_cut = len(places) == limit
    seal = Seal(
        number=1 if last is None else last.number + 1,
        previous="" if last is None else last.digest,
        root=find_root(digests=digests),
        first_position=places[0].position,
        entries=len(places),
        sealed_at=now,
        newest_at=max([instant for instant in (newest, last.newest_at if last else None) if instant], default=now),
        horizon=min(horizon, places[-1].written_in) if is_cut else horizon,
        scheme=NEWEST_SCHEME,
    )
    sealed = replace(seal, digest=digest_seal(tenant_id=tenant_id, seal=seal))
    _append_seal(tenant_id=tenant_id, seal=sealed)
    return sealed


def load_last_seal(*, tenant_id: str) -> Seal | None:
    """Return the newest seal of a tenant."""
    rows = fetch_all(sql=f"{_SEALS} ORDER BY number DESC LIMIT 1", params={"tenant": tenant_id})
    return Seal(*rows[0]) if rows else None


def list_seals(*, tenant_id: str, after: int = 0, limit: int | None = None) -> list[Seal]:
    """Return the seals with a number above `after`, in their order."""
    rows = fetch_all(
        sql=f"{_SEALS} AND number > %(after)s ORDER BY number LIMIT %(limit)s",
        params={"tenant": tenant_id, "after": after, "limit": limit},
    )
    return [Seal(*row) for row in rows]


def _find_new_rows(*, tenant_id: str, last: Seal | None, horizon: int, ceiling: int, limit: int) -> list[_Place]:
    # On another server the numbers begin anew, below the last horizon: then everything is looked at once.
    begins = 0 if last is None or last.horizon > ceiling else last.horizon
    # Once they are sealed, nobody goes through all that came from another server again.
    waits = fetch_all(sql=_FOREIGN, params={"tenant": tenant_id, "ceiling": ceiling})[0][0]
    above = ceiling if waits else _NO_NUMBER
    rows = fetch_all(
        sql=_NEW_ROWS,
        params={"tenant": tenant_id, "from": begins, "horizon": horizon, "ceiling": above, "limit": limit},
    )
    first = 1 if last is None else last.next_position
    return [
        _Place(_LEAVES[place].table, row_id, written_in, position)
        for position, (place, row_id, written_in) in enumerate(rows, start=first)
    ]


def _enter(*, tenant_id: str, places: Sequence[_Place]) -> tuple[list[str], datetime | None]:
    """Write the entries; return their digests in the order of positions, and the latest instant among the rows."""
    by_table: dict[str, list[_Place]] = defaultdict(list)
    for place in places:
        by_table[place.table].append(place)
    made: list[tuple[int, str]] = []
    newest: datetime | None = None
    for table, chosen in by_table.items():
        rows = fetch_all(
            sql=_ENTER[table],
            params={
                "tenant": tenant_id,
                "ids": [place.row_id for place in chosen],
                "positions": [place.position for place in chosen],
            },
        )
        made += [(position, digest) for position, digest, _ in rows]
        newest = max((instant for instant in (newest, *(row[2] for row in rows)) if instant is not None), default=None)
    return [digest for _, digest in sorted(made)], newest


def _append_seal(*, tenant_id: str, seal: Seal) -> None:
    fetch_all(
        sql="""
            INSERT INTO ledger_seals (id, tenant_id, number, previous, root, first_position, entries, sealed_at,
                newest_at, horizon, scheme, digest)
            VALUES (%(id)s, %(tenant)s, %(number)s, %(previous)s, %(root)s, %(first)s, %(entries)s, %(sealed)s,
                %(newest)s, %(horizon)s, %(scheme)s, %(digest)s)
        """,
        params={
            "id": new_id(),
            "tenant": tenant_id,
            "number": seal.number,
            "previous": seal.previous,
            "root": seal.root,
            "first": seal.first_position,
            "entries": seal.entries,
            "sealed": seal.sealed_at,
            "newest": seal.newest_at,
            "horizon": seal.horizon,
            "scheme": seal.scheme,
            "digest": seal.digest,
        },
    )
