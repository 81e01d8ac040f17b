"""Verify: hold every row against the seals, the seals against the witness, and what may change against its reasons."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from memoryhub.access.callers import derive_digest_key
from memoryhub.access.models import Tenant
from memoryhub.access.tenancy import set_tenant
from memoryhub.kernel.seals import Finding
from memoryhub.kernel.verifying import Chain, check_chain, check_rows, check_witness
from memoryhub.kernel.witness import name_witness, read_witness
from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.db import fetch_all, naming_errors
from memoryhub.lib.hashing import keyed_digest
from memoryhub.memory.explaining import check_effects
from memoryhub.memory.operations import digest_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from memoryhub.kernel.leaves import Leaf
    from memoryhub.kernel.witness import Witness

_PAGE = 2_000
_MARKER = "[removed: "
_FIRST_ID = "00000000-0000-0000-0000-000000000000"


@dataclass(slots=True)
class Verified:
    """Hold how much was looked at: rows, entries and seals, rows that wait for the next seal, and what was found."""

    seals: int = 0
    entries: int = 0
    rows: int = 0
    pending: int = 0
    findings: list[Finding] = field(default_factory=list)


def verify_ledger(
    *,
    tenant_id: str,
    now: datetime,
    since: int = 0,
    witnesses: Sequence[Path] | None = None,
    say: Callable[[str], None] | None = None,
    limit: int = 1_000,
) -> Verified:
    """Look at the whole ledger of a tenant as it is at one instant; changes nothing.

    With `since` seals up to that number, and the rows of lower transactions than it covers, are taken as they are.
    At most `limit` findings are kept. `say` is told what is looked at.

    Raises:
        StoreFailure: the database could not be asked. WitnessFailure: a witness could not be read.
    """
    folders = settings.WITNESSES if witnesses is None else witnesses
    # The witness first: whatever it knows was committed before the snapshot.
    known = [
        read_witness(path=name_witness(folder=folder, tenant_id=tenant_id), tenant_id=tenant_id) for folder in folders
    ]
    with naming_errors(), transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        set_tenant(tenant_id=tenant_id)
        return verify_now(tenant_id=tenant_id, now=now, witnesses=known, since=since, say=say, limit=limit)


def verify_now(
    *,
    tenant_id: str,
    now: datetime,
    witnesses: Sequence[Witness],
    since: int = 0,
    say: Callable[[str], None] | None = None,
    limit: int = 1_000,
) -> Verified:
    """Verify inside an open transaction of the tenant, against witnesses that were read before it began."""
    chain = Chain()
    verified = Verified()
    found = _find_all(
        tenant_id=tenant_id, now=now, witnesses=witnesses, since=since, chain=chain, say=say or _keep_quiet
    )
    for finding in found:
        verified.findings.append(finding)
        if len(verified.findings) >= limit:
            break
    verified.seals, verified.entries = len(chain.starts), chain.entries
    verified.rows, verified.pending = chain.rows, chain.pending
    return verified


def _keep_quiet(text: str) -> None:
    del text


def _find_all(
    *,
    tenant_id: str,
    now: datetime,
    witnesses: Sequence[Witness],
    since: int,
    chain: Chain,
    say: Callable[[str], None],
) -> Iterator[Finding]:
    say("seals and entries")
    yield from check_chain(tenant_id=tenant_id, chain=chain, since=since)
    say("witnesses")
    for witness in witnesses:
        yield from check_witness(witness=witness, chain=chain, now=now)
    say("rows")
    keys = _Keys(tenant_id)
    begins = chain.horizons.get(since, 0)
    yield from check_rows(tenant_id=tenant_id, chain=chain, inspect=keys.inspect, begins=begins)
    say("decisions")
    yield from _check_inputs(tenant_id, begins)
    yield from keys.check_heads()
    yield from keys.check_documents()
    say("effects")
    yield from check_effects(tenant_id=tenant_id)


class _Keys:
    """Hold words against the digests made of them under the tenant's key, which no SQL can make."""

    def __init__(self, tenant_id: str) -> None:
        salt = Tenant.objects.values_list("digest_salt", flat=True).get(pk=tenant_id)
        # The key of a tenant that left was destroyed; the seals still hold.
        self.key = None if salt is None else derive_digest_key(salt=bytes(salt))
        self.tenant_id = tenant_id
        self.scopes = {
            str(scope_id): [kind, key]
            for scope_id, kind, key in fetch_all(
                sql="SELECT id, kind, key FROM scopes WHERE tenant_id = %s", params=[tenant_id]
            )
        }

    def digest(self, text: str, salt: bytes = b"") -> str:
        """Return the digest of a text under the tenant's key."""
        return keyed_digest(key=self.key or b"", text=text, salt=salt)

    def inspect(self, leaf: Leaf, row: Mapping[str, Any]) -> Iterator[Finding]:
        """Yield what is wrong with the words of a row."""
        look = {
            "source_events": self._look_at_event,
            "evidence": self._look_at_evidence,
            "memory_candidates": self._look_at_candidate,
            "memory_versions": self._look_at_version,
        }.get(leaf.table)
        if look is not None:
            for kind, what in look(row):
                yield Finding(kind, leaf.table, str(row["id"]), what)

    def _look_at_event(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if row["salt"] is None or self.key is None:
            return
        said = {
            "scope": self.scopes.get(str(row["scope_id"])),
            "source_type": row["source_type"],
            "occurred_at": row["occurred_at"].timestamp(),
            "actor": str(row["actor_id"]),
            "payload": None if row["payload"] is None else json.loads(row["payload"]),
        }
        if self.digest(canonical_json(said), bytes(row["salt"])) != row["content_digest"]:
            yield "content_differs", "its body does not have its digest"
        key = row["event_key"]
        # Of an id that held a secret only the marker was kept.
        if _MARKER not in key and self.digest(f"event {key}") != row["event_key_digest"]:
            yield "content_differs", "the caller's id does not have its digest"

    def _look_at_evidence(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if row["salt"] is None or self.key is None:
            return
        if self.digest(row["quote"], bytes(row["salt"])) != row["digest"]:
            yield "content_differs", "its quote does not have its digest"

    def _look_at_candidate(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        is_erased = row["erased_at"] is not None
        yield from self._look_at_statement(row, is_erased=is_erased)
        if not is_erased and self.key is not None:
            yield from self._look_at_conditions(row)

    def _look_at_version(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        yield from self._look_at_statement(row, is_erased=row["state"] == "erased")

    def _look_at_statement(self, row: Mapping[str, Any], *, is_erased: bool) -> Iterator[tuple[str, str]]:
        if is_erased != (row["salt"] is None):
            yield "words_missing", "the salt of its words is gone, and the words are not said to be erased"
        if is_erased:
            if row["content"] or row["value"] not in (None, "null") or row["content_hash"]:
                yield "words_came_back", "it is said to be erased, and has words"
            return
        if self.key is None or row["content_hash"] == "":
            return
        value = None if row["value"] is None else json.loads(row["value"])
        if self.digest(canonical_json({"content": row["content"], "value": value})) != row["content_hash"]:
            yield "content_differs", "its content and value do not have their digest"
        if (None if value is None else self.digest(f"value {canonical_json(value)}")) != row["value_digest"]:
            yield "content_differs", "its value does not have its digest"

    def _look_at_conditions(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        conditions = json.loads(row["conditions"])
        if row["content_hash"] == "" and not conditions:
            return
        digest = self.digest(f"conditions {canonical_json(conditions)}") if conditions else ""
        if digest != row["conditions_digest"]:
            yield "content_differs", "its conditions do not have their digest"

    def check_heads(self) -> Iterator[Finding]:
        """Yield the heads whose conditions do not have their digest."""
        if self.key is None:
            return
        after = _FIRST_ID
        while True:
            rows = fetch_all(
                sql="SELECT id::text, conditions::text, conditions_digest FROM memory_heads"
                " WHERE tenant_id = %s AND id > %s ORDER BY id LIMIT %s",
                params=[self.tenant_id, after, _PAGE],
            )
            for row_id, text, digest in rows:
                conditions = json.loads(text)
                # Conditions that were erased are empty, and their digest stays.
                if conditions and self.digest(f"conditions {canonical_json(conditions)}") != digest:
                    yield Finding("content_differs", "memory_heads", row_id, "its conditions do not have their digest")
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def check_documents(self) -> Iterator[Finding]:
        """Yield the documents that are not those by which their evidence is known."""
        if self.key is None:
            return
        after = _FIRST_ID
        while True:
            rows = fetch_all(
                sql="""
                    SELECT item.id::text, item.source_id::text, held.payload->>'ref', held.payload->>'revision'
                    FROM evidence_documents held
                    JOIN evidence item ON item.tenant_id = held.tenant_id AND item.id = held.evidence_id
                    WHERE held.tenant_id = %s AND held.evidence_id > %s AND held.erased_at IS NULL
                    ORDER BY item.id LIMIT %s
                """,
                params=[self.tenant_id, after, _PAGE],
            )
            for row_id, source_id, ref, revision in rows:
                if str(UUID(hex=self.digest(f"document {canonical_json([ref, revision])}")[:32])) != source_id:
                    yield Finding("content_differs", "evidence_documents", row_id, "it is another document or revision")
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]


def _check_inputs(tenant_id: str, begins: int) -> Iterator[Finding]:
    """Yield the decisions whose facts are not those that they were decided from."""
    after = _FIRST_ID
    while True:
        rows = fetch_all(
            sql="""
                SELECT decision.id::text, decision.facts::text, decision.inputs_digest, decision.candidate_id::text,
                    made.value_digest, decision.policy_version, made.id IS NOT NULL
                FROM merge_decisions decision
                LEFT JOIN memory_candidates made ON made.tenant_id = decision.tenant_id
                    AND made.id = decision.candidate_id
                WHERE decision.tenant_id = %s AND decision.id > %s AND decision.written_in >= %s
                ORDER BY decision.id LIMIT %s
            """,
            params=[tenant_id, after, begins, _PAGE],
        )
        for row_id, text, digest, candidate_id, value_digest, policy_version, is_there in rows:
            facts = json.loads(text)
            expected = (
                digest_inputs(
                    facts=facts, candidate_id=candidate_id, value_digest=value_digest, policy_version=policy_version
                )
                if facts
                else ""
            )
            if digest != expected or not policy_version or (candidate_id is not None and not is_there):
                yield Finding("inputs_differ", "merge_decisions", row_id, "it was not decided from these facts")
        if len(rows) < _PAGE:
            return
        after = rows[-1][0]
