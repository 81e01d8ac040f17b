"""Verify what was sealed: the chain, the roots, and every row against the digest it had when it was sealed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from memoryhub.kernel.leaves import SCHEMES, Form, Leaf, Words, digest_row, digest_words
from memoryhub.kernel.sealing import list_seals
from memoryhub.kernel.seals import Finding, digest_seal, find_root
from memoryhub.lib.db import fetch_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryhub.kernel.seals import Seal
    from memoryhub.kernel.witness import Witness

ROWS_AT_ONCE = 2_000
SEALS_AT_ONCE = 50
# Longer than any transaction, and than any clock of ours is wrong.
LONGEST_DELAY = timedelta(days=1)
# How long a seal may go without its witness: a crash between the two is made good by the next sealing.
LONGEST_SILENCE = timedelta(hours=1)

Inspect = Callable[[Leaf, Mapping[str, Any]], Iterable[Finding]]


@dataclass(slots=True)
class Chain:
    """Hold what the chain said while it was read: where each seal begins, and what follows from the newest one."""

    starts: list[int] = field(default_factory=list)
    schemes: list[int] = field(default_factory=list)
    newest_before: list[datetime | None] = field(default_factory=list)
    digests: dict[int, tuple[str, datetime]] = field(default_factory=dict)
    horizons: dict[int, int] = field(default_factory=dict)
    horizon: int = 0
    newest_at: datetime | None = None
    entries: int = 0
    rows: int = 0
    pending: int = 0

    def find(self, position: int) -> int:
        """Return the place of the seal that covers a position; -1 if none does."""
        return bisect_right(self.starts, position) - 1


def check_chain(*, tenant_id: str, chain: Chain, since: int = 0) -> Iterator[Finding]:
    """Yield where the chain of seals is broken; `chain` is filled on the way.

    Seals up to the number `since` are taken as they are.
    """
    last: Seal | None = None
    while True:
        seals = list_seals(tenant_id=tenant_id, after=last.number if last else 0, limit=SEALS_AT_ONCE)
        if not seals:
            break
        for seal in seals:
            if seal.number > since:
                yield from _check_seal(tenant_id, seal, last)
            chain.starts.append(seal.first_position)
            chain.schemes.append(seal.scheme)
            chain.newest_before.append(last.newest_at if last else None)
            chain.digests[seal.number] = (seal.digest, seal.sealed_at)
            chain.horizons[seal.number] = seal.horizon
            last = seal
    chain.horizon = last.horizon if last else 0
    ceiling = fetch_all(sql="SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint", params=[])[0][0]
    if chain.horizon > ceiling:
        chain.horizon = 0  # a server that counts anew: until it has sealed once, its rows look old and are not
    chain.newest_at = last.newest_at if last else None
    chain.entries = last.next_position - 1 if last else 0
    stray = fetch_all(
        sql="SELECT id::text, position FROM ledger_entries WHERE tenant_id = %s AND (position < 1 OR position > %s)",
        params=[tenant_id, chain.entries],
    )
    for row_id, position in stray:
        yield Finding("entry_without_seal", "ledger_entries", row_id, f"no seal covers position {position}")


def _check_seal(tenant_id: str, seal: Seal, last: Seal | None) -> Iterator[Finding]:
    def wrong(kind: str, what: str) -> Finding:
        return Finding(kind, "ledger_seals", str(seal.number), what)

    if seal.number != (last.number if last else 0) + 1:
        yield wrong("seal_missing", "a seal before it is missing")
    elif seal.previous != (last.digest if last else ""):
        yield wrong("chain_broken", "it does not name the digest of the seal before it")
    if seal.digest != digest_seal(tenant_id=tenant_id, seal=seal):
        yield wrong("seal_changed", "its digest is not that of what it says")
    if seal.first_position != (last.next_position if last else 1):
        yield wrong("positions_broken", "its first position does not follow the last one before it")
    if last is not None and seal.newest_at < last.newest_at:
        yield wrong("seal_changed", "its newest instant lies before that of an earlier seal")
    if seal.scheme not in SCHEMES:
        yield wrong("scheme_unknown", f"this release does not know scheme {seal.scheme}")
    yield from _check_root(tenant_id, seal, wrong)


def _check_root(tenant_id: str, seal: Seal, wrong: Callable[[str, str], Finding]) -> Iterator[Finding]:
    rows = fetch_all(
        sql="""
            SELECT position, digest FROM ledger_entries
            WHERE tenant_id = %s AND position >= %s AND position < %s ORDER BY position
        """,
        params=[tenant_id, seal.first_position, seal.next_position],
    )
    if [position for position, _ in rows] != list(range(seal.first_position, seal.next_position)):
        yield wrong("positions_broken", f"it covers {seal.entries} positions, and {len(rows)} are there")
    try:
        root = find_root(digests=[digest for _, digest in rows])
    except ValueError:
        root = ""
    if root != seal.root:
        yield wrong("root_differs", "the entries do not lead to its root")


def check_rows(*, tenant_id: str, chain: Chain, inspect: Inspect, begins: int = 0) -> Iterator[Finding]:
    """Yield every row that is not what was sealed, is missing, or was never sealed though it says it is old.

    Reads `ROWS_AT_ONCE` rows at a time. `inspect` is shown each row with its words. `begins` leaves out what lower
    transactions wrote.
    """
    tables = {leaf.table for leaves in SCHEMES.values() for leaf in leaves}
    for table in sorted(tables):
        by_scheme = {scheme: leaf for scheme, leaves in SCHEMES.items() for leaf in leaves if leaf.table == table}
        yield from _check_table(tenant_id, chain, by_scheme, inspect, begins)
        if begins == 0:
            yield from _list_missing(tenant_id, table)
    unknown = fetch_all(
        sql="SELECT id::text, table_name FROM ledger_entries WHERE tenant_id = %s AND NOT table_name = ANY (%s)",
        params=[tenant_id, sorted(tables)],
    )
    for row_id, table in unknown:
        yield Finding("entry_changed", "ledger_entries", row_id, f"nothing is sealed of a table {table}")


def _check_table(
    tenant_id: str, chain: Chain, by_scheme: Mapping[int, Leaf], inspect: Inspect, begins: int
) -> Iterator[Finding]:
    newest = by_scheme[max(by_scheme)]
    query = _select_sql(list(by_scheme.values()))
    after = "00000000-0000-0000-0000-000000000000"
    while True:
        rows = _fetch(query, {"tenant": tenant_id, "after": after, "limit": ROWS_AT_ONCE, "begins": begins})
        for row in rows:
            chain.rows += 1
            yield from _check_row(chain, by_scheme, newest, row)
            yield from inspect(newest, row)
        if len(rows) < ROWS_AT_ONCE:
            return
        after = str(rows[-1]["id"])


def _fetch(sql: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = fetch_all(sql=sql, params=params)
    if not rows:
        return []
    names = _NAMES[sql]
    return [dict(zip(names, row, strict=True)) for row in rows]


_NAMES: dict[str, list[str]] = {}


def _select_sql(leaves: Sequence[Leaf]) -> str:
    """Return the statement that reads a page of rows with their words and their entries; JSON comes as its text."""
    columns = {name: form for leaf in leaves for name, form in leaf.all_columns.items()}
    movable = {name for leaf in leaves for name in leaf.movable}
    words = leaves[-1].words
    names = [*columns, *sorted(movable)]
    chosen = [_choose("held", name, columns.get(name, Form.PLAIN)) for name in names]
    join = ""
    if words is not None:
        join = words.write_join_sql()
        names += [*words.columns, *words.beside, "salt", "has_words"]
        chosen += [_choose(words.owner, name, form) for name, form in words.columns.items()]
        chosen += [_choose("beside", name, form) for name, form in words.beside.items()]
        chosen += [f"{words.owner}.salt", f"words.{words.key} IS NOT NULL" if words.table else "true"]
    names += ["sealed_position", "sealed_table", "sealed_digest", "sealed_words"]
    sql = f"""
        SELECT {", ".join(chosen)}, entry.position, entry.table_name, entry.digest, entry.words_digest
        FROM {leaves[-1].table} held
        LEFT JOIN ledger_entries entry ON entry.tenant_id = held.tenant_id AND entry.id = held.id
        {join}
        WHERE held.tenant_id = %(tenant)s AND held.id > %(after)s AND held.written_in >= %(begins)s
        ORDER BY held.id LIMIT %(limit)s
    """  # noqa: S608  tables and columns of our own list
    _NAMES[sql] = names
    return sql


def _choose(owner: str, name: str, form: Form) -> str:
    return f'{owner}."{name}"::text' if form is Form.JSON else f'{owner}."{name}"'


def _check_row(chain: Chain, by_scheme: Mapping[int, Leaf], newest: Leaf, row: Mapping[str, Any]) -> Iterator[Finding]:
    def wrong(kind: str, what: str) -> Finding:
        return Finding(kind, newest.table, str(row["id"]), what)

    instant = row[newest.instant] if newest.instant else None
    if row["sealed_position"] is None:
        if row["written_in"] < chain.horizon:
            yield wrong("not_sealed", "it says it was written before the last seal, and is in none")
        else:
            chain.pending += 1
        if instant is not None and chain.newest_at is not None and instant < chain.newest_at - LONGEST_DELAY:
            yield wrong("back_dated", "it is newer than the last seal, and its own time is long before it")
        return
    place = chain.find(row["sealed_position"])
    leaf = by_scheme.get(chain.schemes[place]) if place >= 0 else None
    if row["sealed_table"] != newest.table or leaf is None:
        yield wrong("entry_changed", f"its entry is one of {row['sealed_table']}")
        return
    if leaf.words is not None:
        yield from _check_words(wrong, leaf.words, row)
    if row["sealed_digest"] != digest_row(leaf=leaf, row=row, words_digest=row["sealed_words"]):
        yield wrong("row_changed", "it is not what was sealed")
    before = chain.newest_before[place]
    if instant is not None and before is not None and instant < before - LONGEST_DELAY:
        yield wrong("back_dated", "it was sealed after rows whose time is much later than its own")


def _check_words(wrong: Callable[[str, str], Finding], words: Words, row: Mapping[str, Any]) -> Iterator[Finding]:
    present = digest_words(words=words, row=row, salt=row["salt"])
    sealed = row["sealed_words"]
    if present and not sealed:
        yield wrong("words_came_back", "it has words, and had none when it was sealed")
    elif present and present != sealed:
        yield wrong("words_changed", "its words are not those that were sealed")
    elif sealed and not row["has_words"]:
        yield wrong("words_missing", "it had words when it was sealed, and their row is gone")


def _list_missing(tenant_id: str, table: str) -> Iterator[Finding]:
    rows = fetch_all(
        sql=f"""
            SELECT entry.id::text, entry.position FROM ledger_entries entry
            WHERE entry.tenant_id = %(tenant)s AND entry.table_name = %(table)s AND NOT EXISTS (
                SELECT FROM {table} held WHERE held.tenant_id = entry.tenant_id AND held.id = entry.id)
        """,  # noqa: S608  a table of our own list
        params={"tenant": tenant_id, "table": table},
    )
    for row_id, position in rows:
        yield Finding("row_missing", table, row_id, f"it was sealed at position {position}, and is not there")


def check_witness(*, witness: Witness, chain: Chain, now: datetime) -> Iterator[Finding]:
    """Yield where the chain is not the one that the witness saw: an older database was restored, or it was forked.

    The witness is read before the chain: every seal it knows was committed by then.
    """

    def wrong(kind: str, number: int, what: str) -> Finding:
        return Finding(kind, "witness", str(number), what)

    if witness.lines is None or not (witness.lines or witness.unreadable):
        if chain.digests:
            yield wrong("witness_missing", 0, f"there is no witness at {witness.path}")
        return
    for place in witness.unreadable:
        yield wrong("witness_unreadable", place, f"line {place} of {witness.path} cannot be read")
    newest = max(chain.digests, default=0)
    seen: set[int] = set()
    for line in witness.lines:
        seen.add(line.number)
        if line.number > newest:
            yield wrong("chain_shorter", line.number, "the witness knows a later seal: an older database was restored")
        elif chain.digests.get(line.number, ("", now))[0] != line.digest:
            yield wrong("chain_forked", line.number, "the witness knows another seal of this number")
    for number, (_, sealed_at) in chain.digests.items():
        if number not in seen and (number < max(seen, default=0) or sealed_at < now - LONGEST_SILENCE):
            yield wrong("witness_behind", number, "the witness was never told of this seal")
