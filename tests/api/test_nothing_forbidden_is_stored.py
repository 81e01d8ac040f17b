"""A secret is in no table afterwards, whichever way a caller, a reviewer or an operator brought it."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass, field
from typing import Any

import pytest

from memoryhub.access.operations import grant_tenant_rights
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.outbox.models import ProcessingJob
from memoryhub.types.enums import RevocationTarget
from memoryhub.usecases.dead_letters import discard_dead_letters
from memoryhub.usecases.declare_pattern import declare_pattern
from memoryhub.usecases.review import Resolution, Verb, resolve_review
from memoryhub.usecases.revoke import revoke
from tests.api.client import EARLY, PROJECT, Api, a_candidate, a_memory, an_event, work
from tests.cast import Cast
from tests.conftest import ConnectAs
from tests.tables import find_in_tables, read_everything

OWN = r"\bKD-\d{4}-\d{4}\b"


@dataclass
class Canaries:
    """Make secrets that are easy to find again, and remember each with the way it was brought."""

    sent: dict[str, str] = field(default_factory=dict)
    dice: random.Random = field(default_factory=lambda: random.Random(20261130))  # noqa: S311  can be repeated

    def key(self, way: str) -> str:
        made = "sk_live_" + "".join(self.dice.choices(string.ascii_letters + string.digits, k=26))
        self.sent[made] = way
        return made

    def number(self, way: str) -> str:
        """Return what only the tenant's own pattern knows."""
        made = f"KD-{self.dice.randrange(1000, 9999)}-{self.dice.randrange(1000, 9999)}"
        self.sent[made] = f"{way}, own pattern"
        return made

    def both(self, way: str) -> str:
        return f"{self.key(way)} {self.number(way)}"


@pytest.fixture
def canaries(cast: Cast) -> Canaries:
    grant_tenant_rights(tenant=cast.tenant, principal=cast.alice, rights=("administer_tenant", "operate"))
    declare_pattern(caller=cast.person(cast.alice), kind="customer_number", pattern=OWN, now=clock.now())
    return Canaries()


def bring_events(cast: Cast, api: Api, canaries: Canaries) -> None:
    payload = {
        "text": f"The key is {canaries.both('text')}.",
        "nested": [{"note": canaries.both("nested")}],
        f"name {canaries.both('name of a field')}": 1,
        "env": [{"name": "DB_PASSWORD", "value": canaries.key("named by a field beside it")}],
        "again": "unchanged",
    }
    said = an_event(event_id=f"id {canaries.both('event id')}", payload=payload, task=canaries.both("task"))
    said |= {"session": canaries.both("session"), "content_ref": f"log {canaries.both('reference')}"}
    assert api.post("events", said).status == 202
    assert api.post("events", {"events": [said, an_event(payload=canaries.both("bare text"))]}).status == 202
    spoken = an_event(
        source_type="message",
        scope={"kind": "user", "key": cast.alice.username},
        actor=cast.alice.username,
        payload={"role": "user", "text": f"From now on, always use the key {canaries.both('extracted')} in English."},
    )
    assert api.post("events", spoken, idempotency_key="once-1").status == 202


def bring_claims(api: Api, canaries: Canaries) -> None:
    event = an_event(payload={"text": f"It is {canaries.both('quote')}, as agreed."})
    api.post("events", event)
    document = {
        "ref": f"doc {canaries.both('document')}",
        "revision": canaries.both("revision"),
        "quote": f"It says {canaries.both('quote of a document')}.",
        "position": canaries.both("position"),
    }
    claims: list[dict[str, Any]] = [
        {"content": f"The key is {canaries.both('content')}."},
        {"value": canaries.both("value"), "content": "It is set."},
        {"value": {"deep": [canaries.both("value, deep")]}},
        {"conditions": {canaries.both("name of a condition"): canaries.both("condition")}},
        {"subject": f"product:{canaries.key('subject')}"},
        {"subject": f"product:{canaries.number('subject')}"},
        {"fact_key": f"key.{canaries.key('fact key')}"},
        {"fact_key": "db.password", "value": "opensesame"},
        {"task": canaries.both("task of a candidate")},
        {"evidence": [{"document": document}]},
        {"subject": None, "subject_mention": {"words": canaries.key("mention"), "entity_type": "product"}},
        {"subject": None, "subject_mention": {"words": canaries.number("mention"), "entity_type": "product"}},
    ]
    canaries.sent["opensesame"] = "a value that its key names"
    for number, claim in enumerate(claims):
        told = api.post("candidates", a_candidate(event["event_id"], statement=number, **claim))
        assert told.status in (202, 422), told.raw
        written = {name: value for name, value in claim.items() if name != "evidence"}
        told = api.post("memories", a_memory(event_id=f"claim {number} {canaries.key('id')}", **written))
        assert told.status in (200, 201, 202, 422), told.raw
    text = f"He wrote: {canaries.both('words of the source')}"
    assert api.post("memories", a_memory(text=text), idempotency_key="once-2").status in (200, 201)
    api.post("memories", a_memory(event_id=canaries.both("kept answer")), idempotency_key="once-3")


def bring_questions(api: Api, canaries: Canaries) -> None:
    found = api.post("memories/search", {"query": f"release {canaries.both('query')}", "session": canaries.both("ask")})
    assert found.status == 200
    used = [{"memory_id": item["memory_id"], "reason": canaries.key("reason")} for item in found.json["items"]]
    assert used
    usage = {"injected": used[:1], "adopted": [{**used[0], "reason": canaries.number("reason")}]}
    assert api.post(f"retrievals/{found.json['run_id']}/usage", usage).status == 200


def bring_notes(cast: Cast, api: Api, canaries: Canaries) -> None:
    """Let people write secrets: into a note, into a reason, and where a dead letter is given up."""
    for value, by, day in (("4.2.1", cast.alice, "2022-08-03"), ("4.2.2", cast.bob, "2022-08-04")):
        claim = a_memory(fact_key="release.lts", value=value, actor=by.username, occurred_at=f"{day}T00:00:00Z")
        told = api.post("memories", claim)
        assert told.status in (201, 202), told.raw
    with tenant_context(cast.tenant_id, read_only=True):
        [(item, version)] = fetch_all(
            sql="""
                SELECT item.id::text, item.expected_version FROM review_items item
                JOIN memory_heads head ON head.id = item.memory_id
                WHERE item.kind = 'conflict' AND item.state = 'open' AND head.fact_key = 'release.lts'
            """,
            params=[],
        )
    note = f"see {canaries.both('note')}"
    resolve_review(
        caller=cast.person(cast.rita),
        resolution=Resolution(item_id=item, verb=Verb.REJECT, expected_version=version, reason="other", note=note),
        now=clock.now(),
    )
    revoke(
        caller=cast.person(cast.erin),
        scope=(PROJECT["kind"], PROJECT["key"]),
        target=RevocationTarget.FACT_KEY,
        target_id=None,
        target_key="release.none",
        reason=canaries.key("revocation"),
        now=clock.now(),
    )
    api.post("events", an_event(source_type="message"))
    with tenant_context(cast.tenant_id):
        jobs = ProcessingJob.objects.filter(tenant_id=cast.tenant_id, state="queued")
        assert jobs.update(state="running") >= 1
        ProcessingJob.objects.filter(tenant_id=cast.tenant_id, state="running").update(
            state="dead", last_error="LookupError"
        )
    handled = discard_dead_letters(
        caller=cast.person(cast.alice),
        fingerprint="extract:LookupError",
        reason="cannot_succeed",
        note=f"because of {canaries.both('dead letter')}",
        now=clock.now(),
    )
    assert handled.changed >= 1


def test_no_table_holds_what_must_not_be_stored(
    cast: Cast, api: Api, canaries: Canaries, connect_as: ConnectAs
) -> None:
    bring_events(cast, api, canaries)
    bring_claims(api, canaries)
    work()
    bring_questions(api, canaries)
    bring_notes(cast, api, canaries)
    work()
    tables = read_everything(connect_as, tenant_id=cast.tenant_id)
    stored = {way: places for secret, way in canaries.sent.items() if (places := find_in_tables(tables, secret))}
    assert stored == {}
    assert len(canaries.sent) > 60
    marked = set(find_in_tables(tables, "[removed: "))
    assert marked >= {
        "source_event_bodies",
        "evidence_bodies",
        "evidence_documents",
        "memory_candidates",
        "retrieval_items",
        "review_comments",
        "revocations",
        "idempotency_keys",
        "subjects",
    }
    assert "[removed: customer_number]" in tables["review_comments"]


def test_what_was_taken_out_is_told_without_it(cast: Cast, api: Api, canaries: Canaries) -> None:
    event = an_event(event_id="told-1", payload={"a/b": [f"x {canaries.both('payload')}"]})
    api.post("events", event)
    with tenant_context(cast.tenant_id, read_only=True):
        [(redactions,)] = fetch_all(
            sql="""
                SELECT record.redactions::text FROM source_events record
                JOIN source_event_bodies body ON body.event_id = record.id WHERE body.event_key = 'told-1'
            """,
            params=[],
        )
    assert '"kind": "api_key"' in redactions
    assert '"kind": "customer_number"' in redactions
    assert redactions.count('"pointer": "/a~1b/0"') == 2


def test_a_claim_that_is_nothing_but_a_secret_is_refused(api: Api, canaries: Canaries) -> None:
    told = api.post("memories", a_memory(value=canaries.key("value"), content="The key was changed."))
    assert (told.status, told.json["reason"]) == (422, "forbidden_content")
    told = api.post("memories", a_memory(value="set", content=f"The key was changed. It is {canaries.key('content')}."))
    assert (told.status, told.json["action"]) == (201, "ADD")


def test_the_door_lets_pass_what_is_harmless(api: Api, canaries: Canaries) -> None:
    del canaries
    told = api.post("memories", a_memory(event_id="harmless", occurred_at=EARLY), idempotency_key="once-9")
    again = api.post("memories", a_memory(event_id="harmless", occurred_at=EARLY), idempotency_key="once-9")
    assert (told.status, told.raw) == (again.status, again.raw)
