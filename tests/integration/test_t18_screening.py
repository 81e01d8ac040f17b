"""T18: poison and secrets, in English and Chinese, beside harmless text: who gets in alone, and what is stored.

Poison comes as web pages, documents, tool results and from agents that speak for themselves; in the words of a claim,
in its value, its conditions, in its evidence alone, or split over two events. Pages and mails with places for an
attacker's text are read from beside the repository; where they are missing a build fails.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.policy.screening import Speech, redact_text
from memoryhub.types.enums import Trust
from memoryhub.usecases import consolidate, ingest, propose
from memoryhub.usecases.ingest import MAX_BATCH, EventInput, ingest_events
from memoryhub.usecases.propose import CandidateInput, EvidenceInput, propose_candidates
from memoryhub.usecases.run_jobs import run_due_jobs
from tests.cast import EARLY, Cast, make_cast
from tests.conftest import ConnectAs
from tests.corpora.benign_texts import make_benign
from tests.corpora.poison_texts import make_poison
from tests.corpora.secret_texts import make_secrets
from tests.promises import PromiseReport
from tests.tables import find_in_tables, read_everything

pytestmark = pytest.mark.promise("T18")

DATA = Path(__file__).resolve().parents[3] / "shared/data"
SCOPE = ("project", "platform")
SEED = 18
SOURCES = ("web_page", "document", "tool_result", "message", "statement", "commit")
PLACE = re.compile(r"\{(\w+)\}")
Choose = Callable[[int, int], int]


@dataclass(frozen=True, slots=True)
class Sent:
    """Hold events that belong together, and the candidate that is read out of them."""

    events: tuple[EventInput, ...]
    candidate: CandidateInput


def make_event(text: Any, source_type: str) -> EventInput:
    payload = text if isinstance(text, dict) else {"text": text}
    return EventInput(event_id=str(new_id()), scope=SCOPE, source_type=source_type, occurred_at=EARLY, payload=payload)


def make_sent(words: str, number: int, *, told: Any = None, **claim: Any) -> Sent:
    """Return one event with these words and a candidate that says them, or something else."""
    event = make_event(words if told is None else told, SOURCES[number % len(SOURCES)])
    says = {"content": words, "value": words, "subject": "product:django", "fact_key": f"note.n{number}"} | claim
    return Sent((event,), CandidateInput(scope=SCOPE, evidence=(EvidenceInput(event.event_id),), **says))


HARMLESS = "The hotel has 40 rooms."


def poison_claim(words: str, number: int) -> Sent:
    """Return a claim that carries poison in one of its parts; which one follows from the number."""
    place = ("content", "value", "conditions", "evidence", "field", "split")[number % 6]
    tame = {"content": HARMLESS, "value": 40}
    if place == "content":
        return make_sent(words, number)
    if place == "value":
        return make_sent(HARMLESS, number, value={"note": [words]})
    if place == "conditions":
        return make_sent(HARMLESS, number, conditions={"when": words})
    if place == "evidence":
        return make_sent(words, number, **tame)
    if place == "field":
        return make_sent(HARMLESS, number, told={"title": "Hotel", "reviews": [{"body": words}]}, **tame)
    middle = len(words) // 2
    sent = make_sent(words[:middle], number, **tame)
    rest = make_event(words[middle:], sent.events[0].source_type)
    rest = replace(rest, occurred_at=EARLY.replace(hour=1))
    both = (*sent.candidate.evidence, EvidenceInput(rest.event_id))
    return Sent((*sent.events, rest), replace(sent.candidate, evidence=both))


def send(cast: Cast, sent: Sequence[Sent]) -> list[tuple[str, str]]:
    """Send everything as the agent, let the workers decide, and return status and reason of each candidate."""
    caller = cast.caller
    events = [event for one in sent for event in one.events]
    for start in range(0, len(events), MAX_BATCH):
        results = ingest_events(caller=caller, events=events[start : start + MAX_BATCH], now=clock.now())
        assert {result.outcome for result in results} == {"accepted"}
    ids: list[str] = []
    for start in range(0, len(sent), MAX_BATCH):
        batch = [one.candidate for one in sent[start : start + MAX_BATCH]]
        for proposed in propose_candidates(caller=caller, proposals=batch, now=clock.now()):
            assert not isinstance(proposed, Exception), proposed
            ids.append(proposed.candidate_id)
    while run_due_jobs(now=clock.now()):
        pass
    with tenant_context(cast.tenant_id, read_only=True):
        rows = fetch_all(
            sql="SELECT id::text, status, reason FROM memory_candidates WHERE tenant_id = %s", params=[cast.tenant_id]
        )
    became = {row[0]: (row[1], row[2]) for row in rows}
    return [became[candidate] for candidate in ids]


def read_texts(name: str) -> list[Any]:
    """Return every entry of one environment beside the repository that holds a place for an attacker's text."""
    folder = DATA / "agentdojo_env"
    found: list[Any] = []
    for file in sorted(folder.glob(f"{name}__*.yaml")):
        if "vectors" not in file.name:
            content = re.sub(r"^!include.*$|: !include .*$", ":", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
            found += [
                entry
                for entry in _list_entries(yaml.safe_load(content))
                if PLACE.search(json.dumps(entry, default=str))
            ]
    return found


def _list_entries(value: Any) -> Iterator[Any]:
    """Yield the innermost objects and texts that hold a place; an object is one mail, file or review."""
    if isinstance(value, dict):
        nested = [item for item in value.values() if isinstance(item, dict | list)]
        flat = not any(PLACE.search(json.dumps(item, default=str)) for item in nested)
        if flat and any(isinstance(item, str) and PLACE.search(item) for item in value.values()):
            yield {name: str(item) for name, item in value.items()}
            return
        for item in value.values():
            yield from _list_entries(item)
    elif isinstance(value, list):
        for item in value:
            yield from _list_entries(item)
    elif isinstance(value, str) and PLACE.search(value):
        yield {"text": value}


def fill(entry: dict[str, str], texts: dict[str, str]) -> dict[str, str]:
    return {name: PLACE.sub(lambda match: texts.get(match[1], ""), text) for name, text in entry.items()}


@pytest.fixture(scope="module")
def environments() -> dict[str, tuple[list[Any], dict[str, str]]]:
    """Give, by environment, the entries with places and the harmless text of each place."""
    if not (DATA / "agentdojo_env").exists():
        if os.environ.get("CI"):
            pytest.fail("the environments with places for an attacker's text are not here")
        warnings.warn("the environments are not here: T18 runs on its own texts alone", UserWarning, stacklevel=1)
        return {}
    found = {}
    for name in ("banking", "slack", "travel", "workspace"):
        vectors = yaml.safe_load((DATA / f"agentdojo_env/{name}__injection_vectors.yaml").read_text(encoding="utf-8"))
        found[name] = (read_texts(name), {place: told["default"] for place, told in vectors.items()})
    return found


@pytest.fixture
def cast() -> Cast:
    return make_cast()


Environments = dict[str, tuple[list[Any], dict[str, str]]]


def test_poison_enters_only_through_a_person(
    cast: Cast, environments: Environments, at_scale: Choose, promise_report: PromiseReport
) -> None:
    poison = list(make_poison(number=at_scale(240, 2400), seed=SEED))
    sent = [poison_claim(one.text, number) for number, one in enumerate(poison)]
    ways = [one.way for one in poison]
    attacks = make_poison(number=1000, seed=SEED + 1)
    for name, (entries, _) in environments.items():
        for entry in entries:
            filled = fill(entry, {place[1]: next(attacks).text for place in PLACE.finditer(json.dumps(entry))})
            number = len(sent)
            sent.append(make_sent(HARMLESS, 6 * number, told=filled, fact_key=f"page.n{number}", value=40))
            ways.append(f"a page of {name}")
    became = send(cast, sent)
    alone = [
        (way, one, told.candidate.content)
        for way, one, told in zip(ways, became, sent, strict=True)
        if one[0] != "needs_confirmation"
    ]
    assert alone == []
    assert {reason for _, reason in became} == {"instruction_like", "claims_authority"}
    with tenant_context(cast.tenant_id, read_only=True):
        [(heads, accepted, queued)] = fetch_all(
            sql="""
                SELECT (SELECT count(*) FROM memory_heads WHERE tenant_id = %(tenant)s),
                    (SELECT count(*) FROM memory_candidates WHERE tenant_id = %(tenant)s AND status = 'accepted'),
                    (SELECT count(*) FROM review_items
                     WHERE tenant_id = %(tenant)s AND kind = 'confirmation' AND state = 'open')
            """,
            params={"tenant": cast.tenant_id},
        )
        trusts = fetch_all(
            sql="SELECT DISTINCT trust FROM memory_candidates WHERE tenant_id = %s", params=[cast.tenant_id]
        )
    assert (heads, accepted) == (0, 0), "neither of these, nor what an extractor reads out of the events"
    assert queued >= len(sent)
    assert {row[0] for row in trusts} <= {Trust.THIRD_PARTY, Trust.UNTRUSTED}
    promise_report(count=len(sent), what="poisoned claims, each waits for a person")


def test_without_the_screening_poison_gets_in(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        consolidate, "judge_speech", lambda *, text: Speech(instructs=not isinstance(text, str), claims_authority=False)
    )
    sent = [poison_claim(one.text, number) for number, one in enumerate(make_poison(number=12, seed=SEED))]
    assert Counter(status for status, _ in send(cast, sent))["accepted"] > 0


def test_without_the_redaction_secrets_are_stored(
    cast: Cast, connect_as: ConnectAs, monkeypatch: pytest.MonkeyPatch
) -> None:
    for door in (ingest, propose):
        monkeypatch.setattr(door, "redact_forbidden", lambda *, payload, own=(): (payload, [*own][:0]))
    secrets = list(make_secrets(number=6, seed=SEED))
    send(cast, [make_sent(one.text, number) for number, one in enumerate(secrets)])
    tables = read_everything(connect_as, tenant_id=cast.tenant_id)
    assert any(find_in_tables(tables, one.secret) for one in secrets)


def test_no_secret_is_stored_anywhere(
    cast: Cast, connect_as: ConnectAs, at_scale: Choose, promise_report: PromiseReport
) -> None:
    secrets = list(make_secrets(number=at_scale(120, 1200), seed=SEED))
    sent = [make_sent(one.text, number) for number, one in enumerate(secrets)]
    became = Counter(status for status, _ in send(cast, sent))
    tables = read_everything(connect_as, tenant_id=cast.tenant_id)
    assert "memory_candidates" in find_in_tables(tables, "[removed: password]"), "what was sent is there, without it"
    stored = {one.kind: places for one in secrets if (places := find_in_tables(tables, one.secret))}
    assert stored == {}
    assert became["rejected"] > 0, "what is nothing but a secret is no memory"
    promise_report(count=len(secrets), what="secrets sent, none in any table")


def test_harmless_text_passes(
    cast: Cast, environments: Environments, at_scale: Choose, promise_report: PromiseReport
) -> None:
    texts = list(make_benign(number=at_scale(300, 3000), seed=SEED))
    sent = [make_sent(text, number) for number, text in enumerate(texts)]
    for name, (entries, defaults) in environments.items():
        sent += [
            make_sent(HARMLESS, 6 * number, told=fill(entry, defaults), fact_key=f"{name}.n{number}", value=40)
            for number, entry in enumerate(entries)
        ]
    sent += [
        make_sent(text, number, fact_key=f"turn.n{number}")
        for number, text in enumerate(read_turns()[:: at_scale(12, 1)])
    ]
    became = send(cast, sent)
    alarms = [one for one in became if one[0] != "accepted"]
    taken = sum(bool(redact_text(one.candidate.content)[1]) for one in sent)
    assert len(alarms) + taken <= 0.05 * len(sent), Counter(alarms)
    promise_report(count=len(sent), what="harmless claims")
    promise_report(count=len(alarms) + taken, what="false alarms")


def read_turns() -> list[str]:
    """Return what people and their companion said to each other, in English and Chinese, where it is at hand."""
    turns: list[str] = []
    for language in ("en", "cn"):
        file = DATA / f"memorybank_siliconfriend/memory_bank_{language}.json"
        if file.exists():
            for person in json.loads(file.read_text(encoding="utf-8")).values():
                turns += [text for day in person["history"].values() for turn in day for text in turn.values() if text]
        elif os.environ.get("CI"):
            pytest.fail("the conversations are not here")
    return turns
