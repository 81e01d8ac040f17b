"""Speak to the API as an agent does: JSON over HTTP with a bearer token."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.db import connections
from django.test import Client

from memoryhub.lib import clock
from memoryhub.lib.ids import new_id
from memoryhub.usecases.relay import relay_outbox
from memoryhub.usecases.run_jobs import run_due_jobs
from tests.cast import Cast

EARLY = "2022-08-03T00:00:00Z"
PROJECT = {"kind": "project", "key": "platform"}


@dataclass(frozen=True, slots=True)
class Told:
    """Hold one answer: status, headers, the bytes and the JSON they are."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def code(self) -> str:
        assert self.headers["Content-Type"] == "application/problem+json", self.raw
        problem = self.json
        assert problem["status"] == self.status
        assert set(problem) >= {"type", "title", "status", "detail", "code", "errors"}
        return str(problem["code"])


class Api:
    """Call as one token; without a secret as nobody."""

    def __init__(self, secret: str | None) -> None:
        self.secret = secret

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Told:
        """Send a body as JSON, or bytes as they are."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        named = {"HTTP_" + name.upper(): value for name, value in headers.items() if name != "content_type"}
        if self.secret is not None:
            named.setdefault("HTTP_AUTHORIZATION", f"Bearer {self.secret}")
        response: Any = Client(raise_request_exception=False).generic(
            method,
            f"/api/v1/{path}",
            data=content,
            content_type=headers.get("content_type", "application/json"),
            **named,  # type: ignore[arg-type]  # headers, which the stubs do not know
        )
        return Told(response.status_code, dict(response.items()), response.content)

    def get(self, path: str, **headers: str) -> Told:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Told:
        return self.send("POST", path, body, **headers)


def api_of(cast: Cast) -> Api:
    return Api(cast.secret)


def an_event(**more: Any) -> dict[str, Any]:
    return {
        "event_id": str(new_id()),
        "scope": PROJECT,
        "source_type": "commit",
        "occurred_at": EARLY,
        "payload": {"text": "Django 4.1 is at 4.1.1 now."},
        **more,
    }


def a_memory(**more: Any) -> dict[str, Any]:
    return {
        "event_id": str(new_id()),
        "scope": PROJECT,
        "source_type": "commit",
        "subject": "product:django",
        "fact_key": "release.latest",
        "conditions": {"cycle": "4.1"},
        "value": "4.1.1",
        "content": "The latest release of Django 4.1 is 4.1.1.",
        "occurred_at": EARLY,
        **more,
    }


def a_candidate(event_id: str, **more: Any) -> dict[str, Any]:
    return {
        "scope": PROJECT,
        "subject": "product:django",
        "fact_key": "release.latest",
        "conditions": {"cycle": "4.1"},
        "value": "4.1.1",
        "content": "The latest release of Django 4.1 is 4.1.1.",
        "evidence": [{"event_id": event_id}],
        **more,
    }


def work() -> None:
    """Do everything that is due, as the workers would."""
    while run_due_jobs(now=clock.now()):
        pass
    while relay_outbox(now=clock.now()):
        pass


def close_connections() -> None:
    """Give the connections of a test's own thread back."""
    connections.close_all()
