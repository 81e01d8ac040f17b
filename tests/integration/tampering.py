"""Plant changes in the tables behind the system's back, as the database's superuser with every trigger asleep.

Each change is planted inside one transaction and taken back to a savepoint; what verifies looks from inside of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction

from memoryhub.access.tenancy import set_tenant
from memoryhub.kernel.leaves import NEWEST_SCHEME, SCHEMES
from memoryhub.kernel.witness import Witness
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.policy.merge import MergePolicy
from memoryhub.usecases.rederive import check_memory
from memoryhub.usecases.verify_ledger import verify_now

LEDGER = tuple(leaf.table for leaf in SCHEMES[NEWEST_SCHEME])
BODIES = {"source_event_bodies": "event_id", "evidence_bodies": "evidence_id", "evidence_documents": "evidence_id"}
OWN = ("ledger_seals", "ledger_entries")
DERIVED = ("memory_heads", "conflict_sets", "conflict_members")
TABLES = (*LEDGER, *BODIES, *OWN, *DERIVED)
# What a change of is not seen, each with the reason.
UNSEEN = {
    ("revocations", "hits"): "a counter: what it counted is recorded elsewhere, if it left a record",
    ("ledger_seals", "id"): "a seal is known by its number",
    ("conflict_members", "id"): "a member is known by its set and its source",
}
# Named by themselves, in tables that are no part of the ledger.
OTHERS = (("scopes", "deletion_epoch"), ("search_documents", "applied_version"), ("search_documents", "scope_id"))
_EDITS = {
    "uuid": "gen_random_uuid()",
    "boolean": "NOT coalesce({0}, false)",
    "smallint": "coalesce({0}, 0) + 1",
    "integer": "coalesce({0}, 0) + 1",
    "bigint": "coalesce({0}, 0) + 1",
    "double precision": "CASE WHEN {0} > 0.5 THEN {0} - 0.001 ELSE coalesce({0}, 0) + 0.001 END",
    "timestamp with time zone": "coalesce({0}, now()) + interval '1 microsecond'",
    "jsonb": "CASE jsonb_typeof({0}) WHEN 'object' THEN {0} || '{{\"planted\": 1}}' WHEN 'array' THEN {0} || '[1]'"
    " ELSE '\"planted\"' END",
    "bytea": "set_byte({0}, 0, mod(get_byte({0}, 0) + 1, 256))",
    "uuid[]": "array_append({0}, gen_random_uuid())",
    "character varying[]": "array_append({0}, 'planted')",
    "text": "coalesce({0}, '') || 'x'",
}
_TEXT = "CASE WHEN coalesce({0}, '') = '' THEN 'x' ELSE chr(97 + mod(ascii({0}) + 1, 26)) || substr({0}, 2) END"


@dataclass(frozen=True)
class Plant:
    """Hold one change: its kind, where it is planted, and how; `apply` tells whether it could be."""

    kind: str
    where: str
    apply: Callable[[], bool]


@dataclass
class Garden:
    """Hold what is planted in: one tenant, its witnesses as they were read, and a source of chance."""

    tenant_id: str
    random: Random
    witnesses: list[Witness]
    types: dict[tuple[str, str], str] = field(default_factory=dict)
    words: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def learn(self) -> None:
        """Read the types of all columns, and the words of those that a CHECK closes."""
        for table, column, kind in run(
            "SELECT relname, attname, format_type(atttypid, NULL) FROM pg_attribute JOIN pg_class ON oid = attrelid"
            " WHERE relname = ANY (%s) AND attnum > 0 AND NOT attisdropped AND relkind = 'r'",
            [[*TABLES, *(table for table, _ in OTHERS)]],
        ):
            self.types[table, column] = kind
        for table, column, definition in run(
            "SELECT conrelid::regclass::text, attname, pg_get_constraintdef(pg_constraint.oid) FROM pg_constraint"
            " JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]"
            " WHERE contype = 'c' AND conname LIKE '%%_is_known'",
            [],
        ):
            words = [piece.split("'")[0] for piece in definition.split("'")[1::2]]
            self.words[table, column] = words

    def columns(self, table: str) -> list[str]:
        """Return the columns of a table whose change has to be seen."""
        return [column for name, column in self.types if name == table and (table, column) not in UNSEEN]

    def draw(self, table: str, condition: str = "true") -> Any:
        """Return the key of a random row of the tenant, or None."""
        key = BODIES.get(table, "id")
        rows = run(f"SELECT {key} FROM {table} WHERE tenant_id = %s AND {condition} ORDER BY {key}", [self.tenant_id])
        return self.random.choice(rows)[0] if rows else None

    def is_seen(self, *, without_witness: bool = False) -> bool:
        """Tell whether the ledger, or the memories derived anew, say that something is wrong."""
        verified = verify_now(
            tenant_id=self.tenant_id,
            now=clock.now(),
            witnesses=[] if without_witness else self.witnesses,
            limit=1,
        )
        if verified.findings:
            return True
        heads = run("SELECT id::text FROM memory_heads WHERE tenant_id = %s ORDER BY id", [self.tenant_id])
        return any(
            check_memory(tenant_id=self.tenant_id, memory_id=memory_id, policy=MergePolicy()) for (memory_id,) in heads
        )


def run(sql: str, params: Any = ()) -> list[tuple[Any, ...]]:
    """Run a statement on the tests' connection."""
    return fetch_all(sql=sql, params=params)


def change(sql: str, params: Any = ()) -> int:
    """Run a statement that changes rows; returns how many, 0 when a constraint refuses it."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql, params)
            return int(cursor.rowcount)
    except DatabaseError:
        return 0


@contextlib.contextmanager
def superuser() -> Iterator[None]:
    """Let the tests' connection be the superuser's, with every trigger asleep; everything is taken back at the end."""
    known = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict.update(USER="postgres", PASSWORD=settings.HOME.secrets.superuser)
    try:
        with transaction.atomic():
            run("SELECT set_config('session_replication_role', 'replica', true)")
            yield
            transaction.set_rollback(True)
    finally:
        connection.close()
        connection.settings_dict.update(USER=known["USER"], PASSWORD=known["PASSWORD"])


@contextlib.contextmanager
def planted(garden: Garden, plant: Plant) -> Iterator[bool]:
    """Plant one change and take it back; gives whether it could be planted."""
    point = transaction.savepoint()
    try:
        set_tenant(tenant_id=garden.tenant_id)
        yield plant.apply()
    finally:
        transaction.savepoint_rollback(point)


def list_edits(garden: Garden) -> list[Plant]:
    """Return one edit of every column of every table."""
    places = [(table, column) for table in TABLES for column in garden.columns(table)]
    return [_edit(garden, table, column) for table, column in (*places, *OTHERS)]


def _edit(garden: Garden, table: str, column: str) -> Plant:
    kind = garden.types[table, column]
    key = BODIES.get(table, "id")

    def apply() -> bool:
        condition = f"{column} IS NOT NULL" if kind in ("bytea", "uuid[]", "character varying[]") else "true"
        for attempt in range(12):
            row = garden.draw(table, condition if attempt % 2 else f'"{column}" IS NOT NULL')
            if row is None:
                continue
            words = garden.words.get((table, column))
            if words:
                held = run(f"SELECT {column} FROM {table} WHERE {key} = %s", [row])[0][0]
                new, params = "%s", [garden.random.choice([word for word in words if word != held]), row]
            else:
                template = _EDITS.get(kind, _TEXT)
                new, params = template.format(f'"{column}"'), [row]
            done = change(
                f'UPDATE {table} SET "{column}" = {new} WHERE {key} = %s AND "{column}" IS DISTINCT FROM {new}',
                [params[0], params[1], params[0]] if words else params,
            )
            if done == 1:
                return True
        return False

    return Plant("edit", f"{table}.{column}", apply)


def list_erasures(garden: Garden) -> list[Plant]:
    """Return words that are made to look as if they had been erased properly."""
    emptied = {
        "source_event_bodies": "payload = NULL, event_key = NULL, salt = NULL, erased_at = now()",
        "evidence_bodies": "quote = NULL, salt = NULL, erased_at = now()",
        "evidence_documents": "payload = NULL, erased_at = now()",
        "memory_candidates": "content = '', value = NULL, conditions = '{}', content_hash = '', salt = NULL,"
        " erased_at = now()",
        "memory_versions": "content = '', value = NULL, content_hash = '', salt = NULL, state = 'erased'",
    }

    def erase(table: str) -> Plant:
        key = BODIES.get(table, "id")
        # What a revocation covers may be erased.
        covered = "(SELECT target_id FROM revocations)"
        condition = {
            "source_event_bodies": f"event_id NOT IN {covered}",
            "memory_candidates": f"source_event_id NOT IN {covered}",
            "memory_versions": "candidate_id NOT IN"
            f" (SELECT id FROM memory_candidates WHERE source_event_id IN {covered})",
        }.get(table, f"{key} NOT IN (SELECT id FROM evidence WHERE source_id IN {covered})")

        def apply() -> bool:
            row = garden.draw(table, condition)
            return change(f"UPDATE {table} SET {emptied[table]} WHERE {key} = %s", [row]) == 1

        return Plant("erase", table, apply)

    return [erase(table) for table in emptied]


def list_deletions(garden: Garden) -> list[Plant]:
    """Return one deletion from every table."""

    def delete(table: str) -> Plant:
        key = BODIES.get(table, "id")
        return Plant(
            "delete",
            table,
            lambda: change(f"DELETE FROM {table} WHERE {key} = %s", [garden.draw(table)]) == 1,
        )

    return [delete(table) for table in TABLES]


def list_swaps(garden: Garden) -> list[Plant]:
    """Return changes of order: two rows take each other's instant, place in the ledger, transaction or number."""
    places = [(leaf.table, leaf.instant) for leaf in SCHEMES[NEWEST_SCHEME] if leaf.instant]
    places += [(table, "written_in") for table in LEDGER]
    places += [
        ("source_events", "source_seq"),
        ("source_events", "occurred_at"),
        ("memory_evidence", "source_seq"),
        ("memory_evidence", "order_digest"),
        ("memory_versions", "recorded_to"),
        ("memory_versions", "valid_from"),
        ("ledger_seals", "sealed_at"),
        ("ledger_seals", "root"),
        ("ledger_entries", "digest"),
    ]

    def swap(table: str, column: str) -> Plant:
        def apply() -> bool:
            for _ in range(12):
                first, second = garden.draw(table), garden.draw(table)
                done = change(
                    f"UPDATE {table} held SET {column} = other.{column} FROM {table} other"
                    " WHERE (held.id, other.id) IN ((%s, %s), (%s, %s))"
                    f" AND held.{column} IS DISTINCT FROM other.{column}",
                    [first, second, second, first],
                )
                if done == 2:
                    return True
            return False

        return Plant("reorder", f"{table}.{column}", apply)

    def swap_positions() -> bool:
        first, second = garden.draw("ledger_entries"), garden.draw("ledger_entries")
        if first == second:
            return False
        rows = dict(run("SELECT id, position FROM ledger_entries WHERE id IN (%s, %s)", [first, second]))
        place = "UPDATE ledger_entries SET position = %s WHERE id = %s"
        for params in ([-1, first], [rows[first], second], [rows[second], first]):
            assert change(place, params) == 1
        return True

    return [*(swap(table, column) for table, column in places), Plant("reorder", "positions", swap_positions)]


def list_replays(garden: Garden) -> list[Plant]:
    """Return copies of rows under a new id: as old as they were, and as if they came just now."""
    # What is unique of a row besides its id becomes something else, or the copy would be refused.
    fresh = {
        "source_events": "event_key_digest",
        "evidence": "evidence_key",
        "memory_candidates": "statement",
        "memory_evidence": "statement",
        "rulings": "sequence",
        "memory_versions": "part",
        "evidence_roots": "root",
        "memory_bases": "sequence",
        "candidate_evidence": "evidence_id",
        "evidence_edges": "parent_id",
        "ledger_entries": "position",
        "ledger_seals": "number",
        "conflict_sets": "state",
        "conflict_members": "source",
        "memory_heads": "fact_key",
    }

    def replay(table: str, *, is_new: bool) -> Plant:
        def apply() -> bool:
            row = garden.draw(table, _OLD.get(table, "true") if is_new else "true")
            if row is None:
                return False
            given = {"id": "gen_random_uuid()"}
            if is_new and table in LEDGER:
                given["written_in"] = "pg_current_xact_id()::text::bigint"
            if table in fresh:
                column = fresh[table]
                kind = garden.types[table, column]
                given[column] = (
                    f"{column} + 1000" if kind in ("smallint", "integer", "bigint") else _EDITS.get(kind, _TEXT)
                ).format(f'"{column}"')
                if column == "state":
                    given[column] = "'dissolved'"
            names = [column for name, column in garden.types if name == table]
            chosen = ", ".join(given.get(name, f'"{name}"') for name in names)
            quoted = ", ".join(f'"{name}"' for name in names)
            if table == "memory_versions":
                change("ALTER TABLE memory_versions DROP CONSTRAINT memory_versions_no_overlap")
            return change(f"INSERT INTO {table} ({quoted}) SELECT {chosen} FROM {table} WHERE id = %s", [row]) == 1

        return Plant("replay" if is_new else "forge", table, apply)

    return [
        *(replay(table, is_new=False) for table in LEDGER),
        *(replay(table, is_new=True) for table in (*_OLD, *OWN, *DERIVED)),
    ]


# Rows of long ago: a copy that says it came just now, and happened then.
_OLD = {
    leaf.table: f"{leaf.instant} < (SELECT max({leaf.instant}) - interval '2 days' FROM {leaf.table}"
    f" newest WHERE newest.tenant_id = {leaf.table}.tenant_id)"
    for leaf in SCHEMES[NEWEST_SCHEME]
    if leaf.instant
}


def list_relabels(garden: Garden) -> list[Plant]:
    """Return changes of whose and about what a row is, to something that is there as well."""
    targets = {
        "scope_id": "scopes",
        "subject_id": "subjects",
        "actor_id": "principals",
        "sender_id": "principals",
        "author_id": "principals",
        "proposer_id": "principals",
        "decider_id": "principals",
        "decided_by_id": "principals",
        "principal_id": "principals",
        "requested_by_id": "principals",
        "memory_id": "memory_heads",
        "candidate_id": "memory_candidates",
        "source_event_id": "source_events",
        "event_id": "source_events",
        "evidence_id": "evidence",
        "decision_id": "merge_decisions",
    }

    def relabel(table: str, column: str) -> Plant:
        def apply() -> bool:
            row, other = garden.draw(table), garden.draw(targets[column])
            return (
                row is not None
                and change(
                    f"UPDATE {table} SET {column} = %s WHERE id = %s AND {column} IS DISTINCT FROM %s",
                    [other, row, other],
                )
                == 1
            )

        return Plant("relabel", f"{table}.{column}", apply)

    def move(table: str) -> Plant:
        other = "(SELECT id FROM tenants WHERE id <> %s ORDER BY id LIMIT 1)"
        return Plant(
            "relabel",
            f"{table}.tenant_id",
            lambda: (
                change(f"UPDATE {table} SET tenant_id = {other} WHERE id = %s", [garden.tenant_id, garden.draw(table)])
                == 1
            ),
        )

    return [
        *(
            relabel(table, column)
            for table in (*LEDGER, *DERIVED)
            for column in garden.columns(table)
            if column in targets
        ),
        *(move(table) for table in (*LEDGER, *DERIVED, *OWN)),
    ]
