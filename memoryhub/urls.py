"""Map addresses to the interfaces."""

from django.urls import path

from memoryhub.health import is_alive, is_ready

urlpatterns = [
    path("healthz", is_alive, name="healthz"),
    path("readyz", is_ready, name="readyz"),
]
