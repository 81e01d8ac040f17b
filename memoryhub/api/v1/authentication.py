"""Authentication: a bearer token names the caller; nothing else does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication

from memoryhub.access.callers import Caller, authenticate_token
from memoryhub.api.v1.problems import Code, Problem

if TYPE_CHECKING:
    from drf_spectacular.openapi import AutoSchema
    from rest_framework.request import Request

_CHALLENGE = 'Bearer realm="memoryhub"'


class BearerToken(BaseAuthentication):
    """Look the token up on every request, so that a revoked one stops at once."""

    def authenticate(self, request: Request) -> tuple[Any, Any]:
        """Return the caller behind the token.

        Raises:
            Problem: `unauthenticated`.
        """
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise _refuse("Send `Authorization: Bearer …`.", _CHALLENGE)
        context: Any = request.parser_context
        caller: Caller | None = authenticate_token(secret=secret.strip(), now=context["view"].now)
        if caller is None:
            raise _refuse("The token is unknown, expired or revoked.", f'{_CHALLENGE}, error="invalid_token"')
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        """Return what a refusal asks for."""
        del request
        return _CHALLENGE


def _refuse(detail: str, challenge: str) -> Problem:
    return Problem(Code.UNAUTHENTICATED, detail, headers={"WWW-Authenticate": challenge})


class BearerTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describe the token in the OpenAPI document."""

    target_class = BearerToken
    name = "bearer"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """Return the scheme."""
        del auto_schema
        return {"type": "http", "scheme": "bearer", "description": "An agent's token, `mh_…`."}
