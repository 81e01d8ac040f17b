"""Keep the sample's sign-ins and tokens: generated once for an installation, in a file only its owner can read."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from pathlib import Path

_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_GROUPS, _LENGTH = 4, 4


def load_keys(*, file: Path, people: Iterable[str], machines: Iterable[str]) -> dict[str, str]:
    """Return a password for each person and a token for each machine, the same ones at each call."""
    known: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    fresh = {name: _make_password() for name in people} | {name: _make_token() for name in machines}
    if not fresh.keys() <= known.keys():
        known = fresh | known
        draft = file.with_suffix(".draft")
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(known, indent=2), encoding="utf-8")
        draft.rename(file)
    return known


def _make_password() -> str:
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH)) for _ in range(_GROUPS))


def _make_token() -> str:
    return f"mh_{secrets.token_urlsafe(32)}"
