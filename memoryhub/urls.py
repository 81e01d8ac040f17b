"""Map addresses to the interfaces."""

from django.contrib import admin
from django.urls import include, path

from memoryhub.health import is_alive, is_ready

handler404 = "memoryhub.console.frame.show_no_page"
urlpatterns = [
    path("healthz", is_alive, name="healthz"),
    path("readyz", is_ready, name="readyz"),
    path("i18n/", include("django.conf.urls.i18n")),
    path("admin/", admin.site.urls),
    path("api/v1/", include("memoryhub.api.v1.urls")),
    path("", include("memoryhub.console.urls")),
]
