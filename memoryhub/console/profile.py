"""The profile: theme, language, keys, and what one may do where."""

from dataclasses import dataclass
from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memoryhub.access.models import Principal
from memoryhub.access.queries import list_scopes
from memoryhub.console.frame import Viewer, render_screen, screen
from memoryhub.console.sign_in import remember_language


@dataclass(frozen=True, slots=True)
class Group:
    """One choice of the profile, with the option that holds now."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]
    chosen: str


_CHOICES: Final[dict[str, tuple[Promise, tuple[tuple[str, Promise | str], ...]]]] = {
    "theme": (_("Theme"), (("system", _("As the system")), ("light", _("Light")), ("dark", _("Dark")))),
    "language": (_("Language"), (("en", "English"), ("zh-hans", "中文"))),
    "keys": (_("Keyboard keys"), (("on", _("On")), ("off", _("Off")))),
}


@screen
def show_profile(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Show the profile, or keep what was chosen and show it again."""
    if request.method == "POST":
        return _keep_choices(request, viewer.principal)
    held = {"theme": "system", "language": request.LANGUAGE_CODE, "keys": "on"} | viewer.principal.preferences
    groups = [
        Group(
            name=name,
            label=str(label),
            options=tuple((value, str(text)) for value, text in options),
            chosen=held[name],
        )
        for name, (label, options) in _CHOICES.items()
    ]
    rights = [
        {"scope_kind": scope.kind, "scope_key": scope.key, "names": sorted(scope.rights)}
        for scope in list_scopes(caller=viewer.caller)
    ]
    return render_screen(
        request=request,
        viewer=viewer,
        template="console/profile.html",
        here="profile",
        context={"groups": groups, "rights": rights},
    )


def _keep_choices(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Keep the choices that exist and leave out the rest."""
    chosen = {
        name: request.POST[name]
        for name, (_label, options) in _CHOICES.items()
        if request.POST.get(name) in dict(options)
    }
    principal.preferences = principal.preferences | chosen
    principal.save(update_fields=["preferences"])
    response = redirect("console:profile")
    remember_language(request=request, response=response, principal=principal)
    messages.success(request, gettext("Kept."))
    return response
