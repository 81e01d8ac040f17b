"""Keep the sample's sign-ins and tokens: generated once for an installation, in a file only its owner can read."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from pathlib import Path

_LOADED = "loaded"
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_GROUPS, _LENGTH = 4, 4


def load_keys(*, file: Path, people: Iterable[str], machines: Iterable[str]) -> dict[str, str]:
    """Return a password for each person and a token for each machine, the same ones at each call."""
    known: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    fresh = {name: _make_password() for name in people} | {name: _make_token() for name in machines}
    if not fresh.keys() <= known.keys():
        known = fresh | known
        _write(file, known)
    return known


def read_loaded(*, file: Path) -> str:
    """Return the digest of the load that was completed last; empty when none was."""
    known: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return known.get(_LOADED, "")


def note_loaded(*, file: Path, digest: str) -> None:
    """Keep the digest of a load that is complete."""
    _write(file, {**json.loads(file.read_text(encoding="utf-8")), _LOADED: digest})


def _write(file: Path, known: dict[str, str]) -> None:
    draft = file.with_suffix(".draft")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(known, indent=2), encoding="utf-8")
    draft.rename(file)


def _make_password() -> str:
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH)) for _ in range(_GROUPS))


def _make_token() -> str:
    return f"mh_{secrets.token_urlsafe(32)}"
