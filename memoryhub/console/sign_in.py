"""Sign in and out."""

from django.conf import settings
from django.contrib.auth import views
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import translation

from memoryhub.access.models import Principal


class SignIn(views.LoginView):
    """Ask for name and password, and greet in the language the person chose."""

    template_name = "console/sign_in.html"
    redirect_authenticated_user = True

    def get_success_url(self) -> str:
        """Lead to the page that was asked for; who has no tenant but may administer goes there."""
        user = self.request.user
        if isinstance(user, Principal) and user.tenant_id is None and user.is_staff:
            return reverse("admin:index")
        return super().get_success_url()

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign in and carry the chosen language to the browser."""
        response = super().form_valid(form)
        if isinstance(self.request.user, Principal):
            remember_language(request=self.request, response=response, principal=self.request.user)
        return response


def remember_language(*, request: HttpRequest, response: HttpResponse, principal: Principal) -> None:
    """Keep the language in a cookie, since it is needed before anybody has signed in."""
    chosen = principal.preferences.get("language", "")
    if chosen not in dict(settings.LANGUAGES):
        return
    translation.activate(chosen)
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        chosen,
        max_age=settings.SESSION_COOKIE_AGE * 60,
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )
