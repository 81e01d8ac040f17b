"""The chain of seals: what a seal says, and how one follows another. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryhub.lib.canonical import canonical_json
from memoryhub.lib.hashing import merkle_root, sha256_hex

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Seal:
    """Hold one seal. `horizon`: every row that a lower transaction wrote is sealed. `scheme`: the list of columns."""

    number: int
    previous: str
    root: str
    first_position: int
    entries: int
    sealed_at: datetime
    newest_at: datetime
    horizon: int
    scheme: int
    digest: str = ""

    @property
    def next_position(self) -> int:
        """The position of the first entry that the next seal will cover."""
        return self.first_position + self.entries


def digest_seal(*, tenant_id: str, seal: Seal) -> str:
    """Return the digest of a seal: over everything it says, the digest of the seal before it included."""
    said = {
        "tenant": tenant_id,
        "number": seal.number,
        "previous": seal.previous,
        "root": seal.root,
        "first_position": seal.first_position,
        "entries": seal.entries,
        "sealed_at": seal.sealed_at.isoformat(),
        "newest_at": seal.newest_at.isoformat(),
        "horizon": seal.horizon,
        "scheme": seal.scheme,
    }
    return sha256_hex(canonical_json(said))


def find_root(*, digests: Sequence[str]) -> str:
    """Return the Merkle root over the digests of the entries in their order."""
    return merkle_root(leaves=digests)


@dataclass(frozen=True, slots=True)
class Finding:
    """Hold one place where the ledger, or a row, is not what was sealed: a code, where, and what is wrong with it."""

    kind: str
    table: str
    row_id: str
    what: str
