"""Me: who calls, what it may do, and how much at a time."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from memoryhub.access.queries import list_scopes
from memoryhub.api.v1.base import ApiView, tell
from memoryhub.api.v1.describing import describe
from memoryhub.api.v1.limits import LIMITS
from memoryhub.api.v1.shapes_out import MeOut, PrincipalOut, ScopeRights


class Me(ApiView):
    """Tell the caller about itself."""

    @describe(
        name="read_me",
        summary="See who you are",
        text="The principal behind the token, its scopes with its rights on each, and the limits of every call.",
        answers={200: MeOut},
    )
    def get(self, request: Request) -> Response:
        """Tell principal, scopes, rights and limits."""
        del request
        with self.reading() as caller:
            scopes = list_scopes(caller=caller)
        return tell(
            MeOut(
                principal=PrincipalOut(
                    id=caller.principal_id, kind=caller.kind, name=caller.name, tenant=caller.tenant_slug
                ),
                token_actions=sorted(caller.actions or ()),
                scopes=[
                    ScopeRights(
                        kind=scope.kind,
                        key=scope.key,
                        name=scope.name,
                        rights=sorted(right for right in scope.rights if caller.may_use(right)),
                    )
                    for scope in scopes
                ],
                limits=dict(LIMITS),
            )
        )
