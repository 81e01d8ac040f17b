"""Tell Django that the whole product is one app."""

from django.apps import AppConfig


class MemoryhubConfig(AppConfig):
    """Register memoryhub as one app with one linear history of migrations."""

    name = "memoryhub"
    label = "memoryhub"
    verbose_name = "memoryhub"
    default_auto_field = "django.db.models.BigAutoField"
