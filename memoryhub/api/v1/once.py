"""Once: let a POST carry `Idempotency-Key`, and give the same answer when it comes again."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from memoryhub.access.callers import Caller
from memoryhub.api.v1.base import ApiView, answer_problem, render
from memoryhub.api.v1.limits import KEY_CHARACTERS
from memoryhub.api.v1.problems import Code, Problem
from memoryhub.lib.hashing import sha256_hex
from memoryhub.policy.screening import redact_forbidden
from memoryhub.usecases.answer_once import Given, begin_answer, finish_answer, release_answer
from memoryhub.usecases.ingest import list_own_patterns

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
_KEPT_HEADERS = ("Location",)
_NOT_KEPT = 500  # answers from here on tell of the moment, not of the call


def once(act: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a POST: with a key its answer is kept, and replayed with its first status."""

    @wraps(act)
    def post(view: ApiView, request: Request, **path: str) -> Any:
        key = request.headers.get(HEADER)
        if key is None:
            return act(view, request, **path)
        return _answer_under_key(act, view, request, _read_key(key), path)

    return post


def _read_key(key: str) -> str:
    if not 1 <= len(key) <= KEY_CHARACTERS or not (key.isascii() and key.isprintable()):
        raise Problem(Code.MALFORMED_KEY)
    return key


def _answer_under_key(act: Callable[..., Any], view: ApiView, request: Request, key: str, path: dict[str, str]) -> Any:
    _ = view.body  # it is read before a key is taken
    call = f"{request.method} {request.path} {sha256_hex(view.raw_body)}"
    caller = view.caller
    begun = begin_answer(caller=caller, key=key, request=call, now=view.now)
    if isinstance(begun, Given):
        return _replay(begun)
    try:
        answer = _act(act, view, request, path)
    except Exception:
        release_answer(caller=caller, begun=begun)
        raise
    if answer.status_code >= _NOT_KEPT:
        release_answer(caller=caller, begun=begun)
        return answer
    finish_answer(caller=caller, begun=begun, status=answer.status_code, answer=_keep(caller, answer))
    return answer


def _act(act: Callable[..., Any], view: ApiView, request: Request, path: dict[str, str]) -> HttpResponse:
    try:
        return render(act(view, request, **path))
    except Exception as error:
        refusal = answer_problem(error, {})
        if refusal is None:
            raise
        return render(refusal)


def _keep(caller: Caller, answer: HttpResponse) -> str:
    """Return the answer as it is kept: without a secret that an id or a message repeats, should there be one."""
    headers = {name: answer.headers[name] for name in _KEPT_HEADERS if name in answer.headers}
    body = answer.content.decode()
    told, redactions = redact_forbidden(
        payload={"headers": headers, "body": json.loads(body)}, own=list_own_patterns(caller=caller)
    )
    if redactions:
        headers, body = told["headers"], json.dumps(told["body"], ensure_ascii=False)
    return json.dumps({"type": answer.headers["Content-Type"], "headers": headers, "body": body}, ensure_ascii=False)


def _replay(given: Given) -> HttpResponse:
    kept: dict[str, Any] = json.loads(given.answer)
    return HttpResponse(
        kept["body"].encode(),
        status=given.status,
        content_type=kept["type"],
        headers={**kept["headers"], REPLAYED: "true"},
    )
