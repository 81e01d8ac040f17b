"""Model fields and base classes for tables that belong to a tenant."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Cast

from memoryhub.lib.ids import new_id


class TenantForeignKey(models.ForeignKey):  # type: ignore[type-arg]  # Django's is generic in its stubs alone
    """Point at a row of the same tenant.

    Foreign-key checks pass by row-level security, so the constraint in the database is composite,
    (tenant_id, x_id) references (tenant_id, id): `lib.db.tenant_foreign_key_sql` writes it, and a test in
    `tests/architecture` finds a field that has none.
    """

    def __init__(self, to: Any, on_delete: Any = models.PROTECT, **kwargs: Any) -> None:
        """Make a foreign key without Django's own single-column constraint and without its index."""
        kwargs["db_constraint"] = False
        kwargs.setdefault("db_index", False)
        kwargs.setdefault("related_name", "+")
        super().__init__(to, on_delete, **kwargs)

    def deconstruct(self) -> Any:
        """Leave out what `__init__` sets by itself."""
        name, path, args, kwargs = super().deconstruct()
        kwargs.pop("db_constraint", None)
        return name, path, args, kwargs


class TenantModel(models.Model):
    """Carry the tenant and a UUIDv7 id; (tenant, id) is unique in the database, for composite foreign keys."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("memoryhub.Tenant", models.PROTECT, related_name="+", db_index=False)

    class Meta:
        """Make no table."""

        abstract = True


class ThisTransaction(models.Func):
    """The number of the transaction that runs, in PostgreSQL's 64 bits."""

    function = "pg_current_xact_id"
    arity = 0


class LedgerModel(TenantModel):
    """Carry the number of the transaction that wrote the row, by which the sealer finds what is new.

    The database fills it in. Instants and ids cannot take its place: they are made before the commit, which may be
    late.
    """

    written_in = models.BigIntegerField(
        editable=False, db_default=Cast(Cast(ThisTransaction(), models.TextField()), models.BigIntegerField())
    )

    class Meta:
        """Make no table."""

        abstract = True


def enum_check(*, field: str, enum: Any, name: str) -> models.CheckConstraint:
    """Return the CHECK that a column holds one of the values of the enum."""
    return models.CheckConstraint(condition=models.Q(**{f"{field}__in": [str(member) for member in enum]}), name=name)
