"""What the ledger seals: for each table the columns that never change, and the words that may be erased.

The digest of a row is the SHA-256 of a JSON array of texts. It is made twice, by different hands: by the database when
the row is sealed, for many rows at once, and in Python when the ledger is verified. Pure.

A list is never changed once rows were sealed under it: whoever adds a column to one of these tables adds a scheme.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from memoryhub.lib.hashing import sha256_hex

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT = timedelta(microseconds=1)


class Form(StrEnum):
    """Say how a column becomes a text: the same in SQL and in Python."""

    PLAIN = "plain"
    INSTANT = "instant"
    FLOAT = "float"
    JSON = "json"
    LIST = "list"
    BYTES = "bytes"


# In SQL, of a column called `{}`. An instant is a number of microseconds, so that no time zone is in it, and a float
# its eight bytes, so that nothing is rounded.
_IN_SQL = {
    Form.PLAIN: "{}::text",
    Form.INSTANT: "(extract(epoch FROM {}) * 1000000)::bigint::text",
    Form.FLOAT: "encode(float8send({}), 'hex')",
    Form.JSON: "{}::text",
    Form.LIST: "to_jsonb({})::text",
    Form.BYTES: "encode({}, 'hex')",
}


@dataclass(frozen=True, slots=True)
class Words:
    """Name what of a row can be erased: its columns and its salt, in a table of its own or in the row itself.

    `beside` are columns of one more table with the same key, which are erased together with these.
    """

    columns: Mapping[str, Form]
    salt: Form
    table: str = ""
    key: str = ""
    beside_table: str = ""
    beside: Mapping[str, Form] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        """What the columns' own table is called in the statements that read them."""
        return "words" if self.table else "held"

    def write_join_sql(self) -> str:
        """Return what to join to a row called `held`."""
        named = ((self.table, "words"), (self.beside_table, "beside"))
        return " ".join(
            f"LEFT JOIN {table} {name} ON {name}.tenant_id = held.tenant_id AND {name}.{self.key} = held.id"
            for table, name in named
            if table
        )


@dataclass(frozen=True, slots=True)
class Leaf:
    """Name what is sealed of one table.

    `columns` never change. `movable` may: what explains each of them is checked by itself. `instant` is the column with
    the system's own time, or empty.
    """

    table: str
    columns: Mapping[str, Form]
    instant: str = ""
    movable: frozenset[str] = frozenset()
    words: Words | None = None
    all_columns: Mapping[str, Form] = field(init=False)

    def __post_init__(self) -> None:
        """Put what every such row has in front."""
        common = {"id": Form.PLAIN, "tenant_id": Form.PLAIN, "written_in": Form.PLAIN}
        object.__setattr__(self, "all_columns", {**common, **self.columns})


def _columns(
    plain: str = "", *, instants: str = "", floats: str = "", json: str = "", lists: str = ""
) -> dict[str, Form]:
    forms = (
        (Form.PLAIN, plain),
        (Form.INSTANT, instants),
        (Form.FLOAT, floats),
        (Form.JSON, json),
        (Form.LIST, lists),
    )
    return {name: form for form, names in forms for name in names.split()}


_FIRST: tuple[Leaf, ...] = (
    Leaf(
        "source_events",
        _columns(
            "event_key_digest scope_id actor_id sender_id session_key task_key source_type trust source_seq content_ref"
            " content_digest retention_class deletion_epoch derived_from_run root",
            instants="occurred_at ingested_at",
            json="redactions",
        ),
        instant="ingested_at",
        words=Words(_columns("event_key", json="payload"), Form.BYTES, "source_event_bodies", "event_id"),
    ),
    Leaf(
        "evidence",
        _columns(
            "evidence_key kind source_kind source_id scope_id event_id span_start span_end position digest",
            instants="observed_at recorded_at",
        ),
        instant="recorded_at",
        movable=frozenset({"availability"}),
        words=Words(_columns("quote"), Form.BYTES, "evidence_bodies", "evidence_id"),
    ),
    Leaf("evidence_edges", _columns("child_id parent_id")),
    Leaf("evidence_roots", _columns("evidence_id root")),
    Leaf(
        "memory_candidates",
        _columns(
            "kind scope_id subject_id task_key memory_type fact_key conditions_digest value_digest epistemic_status"
            " stance effective trust extractor extractor_version rule_digest policy_version source_event_id statement"
            " proposer_id author_id author_rank authority",
            instants="valid_from valid_to occurred_at created_at",
            floats="confidence",
            lists="author_groups",
        ),
        instant="created_at",
        movable=frozenset({"status", "reason", "memory_id", "decided_at", "deletion_epoch", "erased_at"}),
        words=Words(_columns("content content_hash", json="value conditions"), Form.PLAIN),
    ),
    Leaf("candidate_evidence", _columns("candidate_id evidence_id")),
    Leaf(
        "merge_decisions",
        _columns(
            "candidate_id source_event_id memory_id scope_id action requires_person reason verb verb_reason"
            " policy_version decider_id expected_version resulting_version deletion_epoch inputs_digest",
            instants="recorded_at",
            json="facts effects",
        ),
        instant="recorded_at",
    ),
    Leaf(
        "memory_versions",
        _columns(
            "memory_id version part schema_version scope_id candidate_id decision_id value_digest is_absent"
            " epistemic_status supersedes author_id author_rank opener replaced_digest independent_evidence_count"
            " validation_method reviewed_by_id retention_class access_policy_id deletion_epoch authority_revision",
            instants="since validated_at occurred_at ingested_at valid_from valid_to recorded_from review_after",
            lists="author_groups",
        ),
        instant="recorded_from",
        movable=frozenset({"recorded_to", "superseded_by", "state"}),
        words=Words(_columns("content content_hash", json="value", lists="source_event_ids evidence_refs"), Form.PLAIN),
    ),
    Leaf(
        "memory_evidence",
        _columns(
            "memory_id source_kind source_id statement candidate_id stance value_digest effective validated author_id"
            " author_rank source_seq order_digest",
            instants="valid_from valid_to observed_at recorded_at",
            floats="weight",
            lists="author_groups roots",
        ),
        instant="recorded_at",
        movable=frozenset({"superseded_at", "superseded_by", "withdrawn_by"}),
    ),
    Leaf(
        "rulings",
        _columns(
            "memory_id evidence_id decision_id winner sequence keeps_conflict decided_by_id",
            instants="effective_from recorded_at",
            lists="settles",
        ),
        instant="recorded_at",
    ),
    Leaf(
        "revocations",
        _columns(
            "scope_id target target_id target_key epoch reason requested_by_id", instants="recorded_at", json="effects"
        ),
        instant="recorded_at",
        movable=frozenset({"mode", "lifted_at", "hits"}),
    ),
    Leaf(
        "audit_events",
        _columns("action principal_id outcome reason request_id", instants="at", json="object_ids"),
        instant="at",
    ),
)
# What a claim rests on, and by which source it is counted.
_SECOND: tuple[Leaf, ...] = (
    *(
        replace(leaf, columns={**leaf.columns, **_columns("source_kind source_id")})
        if leaf.table == "memory_candidates"
        else leaf
        for leaf in _FIRST
    ),
    Leaf(
        "memory_bases",
        _columns(
            "memory_id candidate_id lower_id lower_version sequence carries value_digest trust lineages decision_id",
            instants="observed_at recorded_at",
            floats="share claim_weight weight",
            lists="roots principals",
        ),
        instant="recorded_at",
    ),
)
# Which document, and where in it, goes with the quote.
_THIRD: tuple[Leaf, ...] = tuple(
    replace(leaf, words=replace(leaf.words, beside_table="evidence_documents", beside=_columns(json="payload")))
    if leaf.table == "evidence" and leaf.words is not None
    else leaf
    for leaf in _SECOND
)
SCHEMES: Mapping[int, tuple[Leaf, ...]] = {1: _FIRST, 2: _SECOND, 3: _THIRD}
NEWEST_SCHEME = max(SCHEMES)


def write_digest_sql(leaf: Leaf) -> tuple[str, str, str]:
    """Return the SQL of a row's digest and of its words' digest, of a row called `held`, and what to join for them."""
    texts = _texts_sql(leaf.all_columns, "held")
    words = leaf.words
    if words is None:
        return _digest_sql(leaf.table, texts, "''"), "''", ""
    salt = _IN_SQL[words.salt].format(f"{words.owner}.salt")
    said = [*_texts_sql(words.columns, words.owner), *_texts_sql(words.beside, "beside")]
    of_words = f"CASE WHEN {words.owner}.salt IS NULL THEN '' ELSE {_digest_sql('words', said, salt)} END"
    return _digest_sql(leaf.table, texts, of_words), of_words, words.write_join_sql()


def _texts_sql(columns: Mapping[str, Form], owner: str) -> list[str]:
    return [_IN_SQL[form].format(f'{owner}."{column}"') for column, form in columns.items()]


def _digest_sql(name: str, texts: Sequence[str], last: str) -> str:
    array = ", ".join((f"'{name}'", *texts, last))
    return f"encode(sha256(convert_to(json_build_array({array})::text, 'UTF8')), 'hex')"


def digest_row(*, leaf: Leaf, row: Mapping[str, Any], words_digest: str) -> str:
    """Return the digest of a row as Python reads it; columns of JSON are given as the text that stands in the table."""
    return _digest(leaf.table, leaf.all_columns, row, words_digest)


def digest_words(*, words: Words, row: Mapping[str, Any], salt: Any) -> str:
    """Return the digest of what can be erased; empty when it was erased already, or never was there."""
    text = _write(words.salt, salt)
    return "" if text is None else _digest("words", {**words.columns, **words.beside}, row, text)


def _digest(name: str, columns: Mapping[str, Form], row: Mapping[str, Any], last: str) -> str:
    texts: Sequence[str | None] = [name, *(_write(form, row[column]) for column, form in columns.items()), last]
    return sha256_hex(json.dumps(texts, ensure_ascii=False))


def _write(form: Form, value: Any) -> str | None:
    return None if value is None else _IN_PYTHON[form](value)


def _write_plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_IN_PYTHON: Mapping[Form, Callable[[Any], str]] = {
    Form.PLAIN: _write_plain,
    Form.INSTANT: lambda value: str((value - _EPOCH) // _MOMENT),
    Form.FLOAT: lambda value: struct.pack(">d", value).hex(),
    Form.JSON: str,
    Form.LIST: lambda value: json.dumps([str(item) for item in value], ensure_ascii=False),
    Form.BYTES: lambda value: bytes(value).hex(),
}
