"""Send the sample through the REST API, as its agents would, and wait until everything is decided."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from urllib.parse import quote

import httpx
from rich.progress import Progress

from memoryhub.management.sample.facts import BOT, Change, Message, read_changes, read_messages
from memoryhub.management.sample.provisioning import PLANNER, PROJECT

BATCH = 500
ASKING_AT_ONCE = 4
PAUSE = 0.2
PATIENCE = 300.0  # seconds for one event
TIMEOUT = 60.0


class LoadFailed(Exception):
    """Say that the sample could not be brought in, and why."""


@dataclass(frozen=True, slots=True)
class Item:
    """Hold one event with the candidate proposed beside it, if any, and who sends them."""

    sender: str
    event: dict[str, Any]
    candidate: dict[str, Any] | None

    @property
    def event_id(self) -> str:
        """The id of the event."""
        return str(self.event["event_id"])


@dataclass(slots=True)
class Report:
    """Count what the load led to: decisions by action, and the events that led to none.

    What needs a person first is not counted here: it waits in a queue.
    """

    sent: int = 0
    silent: int = 0
    actions: Counter[str] = field(default_factory=Counter)


def load_sample(*, url: str, host: str, keys: dict[str, str], progress: Progress) -> Report:
    """Send every item, and wait until each is decided; what was sent before is known and changes nothing.

    `host` is the name under which the server knows itself.

    Raises:
        LoadFailed: the API refused something, or an event is not decided for minutes.
    """
    items = list_items()
    report = Report(sent=len(items))
    with ExitStack() as stack:
        clients = {
            name: stack.enter_context(open_client(url=url, host=host, token=keys[name])) for name in (PLANNER, BOT)
        }
        _send_events(items, clients, progress)
        _propose(items, clients, progress)
        deciding = progress.add_task("decided", total=len(items))
        pool = stack.enter_context(ThreadPoolExecutor(ASKING_AT_ONCE))
        for candidates in pool.map(lambda item: _wait(clients[item.sender], item), items):
            _count(report, candidates)
            progress.advance(deciding)
    return report


def list_items() -> list[Item]:
    """Return everything that the sample sends, in the order of its source."""
    return [*map(describe_change, read_changes()), *map(describe_message, read_messages())]


def digest_load(*, tenant_id: str) -> str:
    """Return the digest of everything the sample sends and of the tenant that it is sent to."""
    sent = [[item.sender, item.event, item.candidate] for item in list_items()]
    return hashlib.sha256(json.dumps([tenant_id, sent], sort_keys=True).encode()).hexdigest()


def open_client(*, url: str, host: str, token: str) -> httpx.Client:
    """Return a client that speaks to the API as the owner of a token, past any proxy of the environment."""
    return httpx.Client(
        base_url=f"{url}/api/v1/",
        headers={"Authorization": f"Bearer {token}", "Host": host},
        timeout=TIMEOUT,
        trust_env=False,
    )


def _send_events(items: Sequence[Item], clients: dict[str, httpx.Client], progress: Progress) -> None:
    sending = progress.add_task("sent", total=len(items))
    for sender, client in clients.items():
        for batch in _cut([item.event for item in items if item.sender == sender]):
            _send(client, "events", batch)
            progress.advance(sending, len(batch))


def _propose(items: Sequence[Item], clients: dict[str, httpx.Client], progress: Progress) -> None:
    """Propose in the order of the source, whoever sends."""
    proposing = progress.add_task("proposed", total=sum(item.candidate is not None for item in items))
    for sender, run in groupby(items, key=lambda item: item.sender):
        for batch in _cut([item.candidate for item in run if item.candidate is not None]):
            _send(clients[sender], "candidates", batch)
            progress.advance(proposing, len(batch))


def describe_change(change: Change) -> Item:
    """Return a change as its sender reports it: the bot its own, the planner what a person did."""
    scope = {"kind": "project", "key": PROJECT}
    by_bot = change.author == BOT
    event = {
        "event_id": change.event_id,
        "scope": scope,
        "source_type": "commit",
        "occurred_at": change.time.isoformat(),
        "source_seq": change.seq,
        "payload": {"text": change.statement},
        **({} if by_bot else {"actor": change.author}),
    }
    candidate = {
        "scope": scope,
        "subject": change.subject,
        "fact_key": change.fact_key,
        "conditions": change.conditions,
        "content": change.statement,
        "value": change.value,
        "evidence": [{"event_id": change.event_id}],
    }
    return Item(sender=BOT if by_bot else PLANNER, event=event, candidate=candidate)


def describe_message(message: Message) -> Item:
    """Return a message of a person as the planner relays it, with what it guesses from it."""
    scope = {"kind": "user", "key": message.author}
    event = {
        "event_id": message.event_id,
        "scope": scope,
        "source_type": "message",
        "occurred_at": message.time.isoformat(),
        "payload": {"role": "user", "text": message.text},
        "actor": message.author,
    }
    candidate = message.infers and {
        "scope": scope,
        "subject": f"person:{message.author}",
        "kind": "preference",
        "epistemic_status": "inferred",
        "evidence": [{"event_id": message.event_id}],
        **message.infers,
    }
    return Item(sender=PLANNER, event=event, candidate=candidate)


def _cut(items: Sequence[dict[str, Any]]) -> Iterator[Sequence[dict[str, Any]]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def _send(client: httpx.Client, name: str, batch: Sequence[dict[str, Any]]) -> None:
    """Send one batch; every item of it must be taken."""
    answer = _ask(client, "POST", name, json={name: batch})
    for result in answer["results"]:
        if result["accepted"] is None:
            raise LoadFailed(f"{name}: {result['problem']}")


def _wait(client: httpx.Client, item: Item) -> list[dict[str, Any]]:
    """Return the candidates of an event once all of them are decided or wait for a person."""
    deadline = time.monotonic() + PATIENCE
    while True:
        status = _ask(client, "GET", f"events/{quote(item.event_id, safe='')}/status")
        if status["state"] == "failed":
            raise LoadFailed(f"{item.event_id}: {status['failure']}")
        candidates: list[dict[str, Any]] = status["candidates"]
        if status["state"] == "succeeded" and all(candidate["action"] for candidate in candidates):
            return candidates
        if time.monotonic() > deadline:
            raise LoadFailed(f"{item.event_id} is still {status['state']}. Does the worker run?")
        time.sleep(PAUSE)


def _count(report: Report, candidates: list[dict[str, Any]]) -> None:
    if not candidates:
        report.silent += 1
    for candidate in candidates:
        if candidate["status"] != "needs_confirmation":
            report.actions[candidate["action"]] += 1


def _ask(client: httpx.Client, method: str, path: str, **more: Any) -> Any:
    try:
        answer = client.request(method, path, **more)
    except httpx.HTTPError as reason:
        raise LoadFailed(f"{client.base_url} does not answer: {reason}") from None
    if not answer.is_success:
        raise LoadFailed(f"{method} {path} was answered {answer.status_code}: {answer.text[:500]}")
    return answer.json()
