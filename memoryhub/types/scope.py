"""Scopes: whose memory it is, and which of two owners is the wider one. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from memoryhub.types.enums import ScopeKind

_WIDTH = {ScopeKind.USER: 0, ScopeKind.PROJECT: 1, ScopeKind.ORGANIZATION: 2}


@dataclass(frozen=True, slots=True)
class ScopeKey:
    """Name one scope within a tenant; a memory belongs to exactly one."""

    kind: ScopeKind
    key: str

    def as_text(self) -> str:
        """Return `kind:key`."""
        return f"{self.kind}:{self.key}"


def is_wider(*, kind: ScopeKind, than: ScopeKind) -> bool:
    """Tell whether more people share the first kind of scope than the second."""
    return _WIDTH[kind] > _WIDTH[than]
