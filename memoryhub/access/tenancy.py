"""The tenant of a transaction: without it every query returns nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.db import connection, transaction

if TYPE_CHECKING:
    from uuid import UUID

_SET_TENANT = "SELECT set_config('memoryhub.tenant', %s, true)"
_ONE_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
_SET_TENANT_READ_ONLY = (
    "SELECT set_config('memoryhub.tenant', %s, true), set_config('transaction_read_only', 'on', true)"
)


@contextmanager
def tenant_context(tenant_id: UUID | str, *, read_only: bool = False, one_snapshot: bool = False) -> Iterator[None]:
    """Open one transaction that sees one tenant; nesting two fails by itself.

    With `one_snapshot` all its statements see the same instant: for a check that compares one table with another.

    Raises:
        RuntimeError: a transaction is open already.
    """
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            if one_snapshot:
                cursor.execute(_ONE_SNAPSHOT)
            cursor.execute(_SET_TENANT_READ_ONLY if read_only else _SET_TENANT, [str(tenant_id)])
        yield


def set_tenant(*, tenant_id: UUID | str) -> None:
    """Set the tenant of a transaction that a use case has opened by itself."""
    with connection.cursor() as cursor:
        cursor.execute(_SET_TENANT, [str(tenant_id)])
