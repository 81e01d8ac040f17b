"""Status: which transition a table of states allows. The tables stand beside their enums. Pure."""

from __future__ import annotations

from collections.abc import Mapping


class ForbiddenTransition(ValueError):
    """Say that no transition leads from the one state to the other."""


def may_change(*, table: Mapping[str, frozenset[str]], old: str, new: str) -> bool:
    """Tell whether the table leads from the old state to the new one."""
    return new in table.get(old, frozenset())


def check_transition(*, table: Mapping[str, frozenset[str]], old: str, new: str) -> None:
    """Refuse a transition that the table does not hold.

    Raises:
        ForbiddenTransition: the table does not lead from `old` to `new`.
    """
    if not may_change(table=table, old=old, new=new):
        raise ForbiddenTransition(f"{old} does not become {new}")


def list_ends(*, table: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the states that nothing leads out of."""
    return frozenset(state for state, following in table.items() if not following)
