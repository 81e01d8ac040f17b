"""Offer the stock Django admin for break-glass work: everything can be read, a principal can be shut out."""

from typing import TYPE_CHECKING

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db import models
from django.http import HttpRequest

from memoryhub.access.models import Principal

if TYPE_CHECKING:
    Base = admin.ModelAdmin[models.Model]
else:
    Base = admin.ModelAdmin

# What an added "s" would misspell.
PLURALS = {
    "access policy": "access policies",
    "candidate evidence": "candidate evidence",
    "evidence": "evidence",
    "evidence body": "evidence bodies",
    "ledger entry": "ledger entries",
    "memory basis": "memory bases",
    "memory evidence": "memory evidence",
    "source event body": "source event bodies",
    "subject alias": "subject aliases",
}


class ReadOnlyAdmin(Base):
    """Show a table's rows without secrets; change, add and delete nothing."""

    exclude = ("password", "secret_digest", "digest_salt", "salt")

    def has_add_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Refuse: rows are written by use cases."""
        del request, obj
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Refuse: rows are changed by use cases."""
        del request, obj
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Refuse: rows are erased by use cases."""
        del request, obj
        return False


class PrincipalAdmin(ReadOnlyAdmin):
    """Let somebody with access to the admin shut a principal out, and nothing else."""

    list_display = ("username", "kind", "tenant", "is_active")
    list_filter = ("kind", "is_active")
    search_fields = ("username",)
    fields = ("username", "kind", "tenant", "is_staff", "is_superuser", "last_login", "is_active")
    readonly_fields = fields[:-1]

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Allow it to superusers."""
        del obj
        return bool(request.user.is_active and request.user.is_superuser)


admin.site.site_header = admin.site.site_title = "memoryhub"
admin.site.index_title = "Break-glass administration"
admin.site.register(Principal, PrincipalAdmin)
admin.site.unregister(Group)
admin.site.register(Group, ReadOnlyAdmin)
for table in apps.get_app_config("memoryhub").get_models():
    plural = PLURALS.get(str(table._meta.verbose_name))  # noqa: SLF001 - Django's own name for what a model says of itself
    table._meta.verbose_name_plural = plural or table._meta.verbose_name_plural  # noqa: SLF001
    if table is not Principal:
        admin.site.register(table, ReadOnlyAdmin)
