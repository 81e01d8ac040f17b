"""Digests: plain, keyed and salted, and the Merkle root over a list of them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence

SALT_BYTES = 16
_LEAF = b"\x00"
_NODE = b"\x01"


def sha256_hex(content: bytes | str, /) -> str:
    """Return the SHA-256 of bytes, or of the UTF-8 form of a text, in hex."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def new_salt() -> bytes:
    """Return a fresh random salt; it goes where the text goes, and is erased with it."""
    return secrets.token_bytes(SALT_BYTES)


def keyed_digest(*, key: bytes, text: str, salt: bytes = b"") -> str:
    """Return the HMAC-SHA256 of salt and text in hex; nobody without key and salt can guess the text.

    The salt's length goes first, so that no part of a salt can be taken for text.
    """
    return hmac.digest(key, len(salt).to_bytes(4, "big") + salt + text.encode(), "sha256").hex()


def merkle_root(*, leaves: Sequence[str]) -> str:
    """Return the root over hex digests in their order; the root of nothing is the digest of nothing.

    Source: RFC 6962 §2.1. Leaves and nodes are hashed apart, so that no node passes for a leaf.
    """
    if not leaves:
        return hashlib.sha256().hexdigest()
    level = [hashlib.sha256(_LEAF + bytes.fromhex(leaf)).digest() for leaf in leaves]
    while len(level) > 1:
        paired = [
            hashlib.sha256(_NODE + level[index] + level[index + 1]).digest() for index in range(0, len(level) - 1, 2)
        ]
        level = paired + level[len(paired) * 2 :]
    return level[0].hex()
