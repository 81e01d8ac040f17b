"""Nobody reads or writes what is not theirs, and what they may not know of is not there."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memoryhub.access.models import ApiToken
from memoryhub.access.operations import issue_token, revoke_right
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from tests.api.client import Api, a_candidate, a_memory, an_event, work
from tests.cast import AGENT_RIGHTS, Cast

EVERY_CALL = [
    ("GET", "me"),
    ("POST", "events"),
    ("GET", "events/x/status"),
    ("POST", "candidates"),
    ("GET", "candidates/x"),
    ("POST", "memories"),
    ("GET", "memories/x"),
    ("GET", "memories/x/history"),
    ("GET", "memories/x/evidence"),
    ("GET", "memories/x/as-of"),
    ("POST", "memories/search"),
    ("POST", "retrievals/x/usage"),
    ("GET", "nothing/here"),
]


@pytest.mark.parametrize(("method", "path"), EVERY_CALL)
def test_nobody_is_answered_without_a_token(method: str, path: str) -> None:
    for header in (None, "", "Bearer", "Bearer ", "Basic YTpi", "Bearer mh_unknown", "Bearer ÿ", "mh_x"):
        headers = {} if header is None else {"authorization": header}
        told = Api(None).send(method, path, {}, **headers)
        assert (told.status, told.code) == (401, "unauthenticated"), header
        assert told.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_token_stops_at_once(cast: Cast) -> None:
    now = clock.now()
    secret = issue_token(
        principal=cast.agent, name="t", actions=AGENT_RIGHTS, now=now, expires_at=now + timedelta(hours=1)
    )
    assert Api(secret).get("me").status == 200
    ApiToken.objects.filter(name="t", principal=cast.agent).update(revoked_at=now)
    assert Api(secret).get("me").code == "unauthenticated"
    expired = issue_token(principal=cast.agent, name="e", actions=AGENT_RIGHTS, now=now, expires_at=now)
    assert Api(expired).get("me").code == "unauthenticated"


def test_a_right_taken_away_stops_at_once(cast: Cast, api: Api) -> None:
    assert api.post("events", an_event()).status == 202
    with tenant_context(cast.tenant_id):
        revoke_right(scope=cast.project, principal=cast.agent, right="ingest_event")
    told = api.post("events", an_event())
    assert (told.status, told.code, told.json["right"]) == (403, "forbidden", "ingest_event")


@pytest.fixture
def objects(api: Api) -> dict[str, str]:
    event = an_event()
    api.post("events", event)
    candidate = api.post("candidates", a_candidate(event["event_id"], fact_key="release.eol", value="2024"))
    memory = api.post("memories", a_memory())
    work()
    run = api.post("memories/search", {"query": "django release"})
    return {
        "event": event["event_id"],
        "candidate": candidate.json["candidate_id"],
        "memory": memory.json["memory_id"],
        "run": run.json["run_id"],
    }


def paths_of(ids: dict[str, str]) -> list[tuple[str, str, Any]]:
    return [
        ("GET", f"events/{ids['event']}/status", None),
        ("GET", f"candidates/{ids['candidate']}", None),
        ("GET", f"memories/{ids['memory']}", None),
        ("GET", f"memories/{ids['memory']}/history", None),
        ("GET", f"memories/{ids['memory']}/evidence", None),
        ("GET", f"memories/{ids['memory']}/as-of", None),
        ("POST", f"retrievals/{ids['run']}/usage", {"adopted": [{"memory_id": ids["memory"], "reason": "r"}]}),
    ]


def test_what_one_may_not_know_of_reads_as_unknown(
    api: Api, stranger: Api, foreigner: Api, cast: Cast, objects: dict[str, str]
) -> None:
    charlie = Api(issue_token(principal=cast.charlie, name="c", actions=AGENT_RIGHTS, now=clock.now()))
    unknown = dict.fromkeys(objects, str(new_id()))
    for (method, path, body), (_, nowhere, _) in zip(paths_of(objects), paths_of(unknown), strict=True):
        assert api.send(method, path, body).status == 200, path
        expected = api.send(method, nowhere, body)
        assert expected.code == "not_found"
        for who in (stranger, foreigner, charlie):
            told = who.send(method, path, body)
            assert (told.status, told.raw) == (404, expected.raw), path
            assert told.headers["Content-Type"] == expected.headers["Content-Type"]


def test_a_scope_one_may_not_know_of_takes_nothing(
    stranger: Api, foreigner: Api, cast: Cast, objects: dict[str, str]
) -> None:
    personal = {"kind": "user", "key": cast.alice.username}
    for who in (stranger, foreigner):
        calls = [
            ("events", an_event(scope=personal)),
            ("candidates", a_candidate(objects["event"], scope=personal)),
            ("memories", a_memory(scope=personal)),
            ("memories/search", {"query": "x", "scopes": [personal]}),
        ]
        for path, body in calls:
            told = who.post(path, body)
            assert (told.status, told.code) == (404, "not_found"), path


def test_a_foreign_event_is_no_evidence(foreigner: Api, objects: dict[str, str]) -> None:
    told = foreigner.post("candidates", a_candidate(objects["event"]))
    assert (told.status, told.code) == (422, "evidence_not_found")


def test_equal_event_ids_of_two_tenants_do_not_meet(api: Api, foreigner: Api) -> None:
    event = an_event()
    assert api.post("events", event).status == 202
    assert foreigner.post("events", {**event, "payload": "quite different"}).status == 202


def test_too_little_right_on_a_known_scope_is_forbidden(cast: Cast, objects: dict[str, str]) -> None:
    dana = Api(issue_token(principal=cast.dana, name="d", actions=AGENT_RIGHTS, now=clock.now()))
    assert dana.get(f"memories/{objects['memory']}").status == 200
    told = dana.post("memories", a_memory())
    assert (told.status, told.code, told.json["right"]) == (403, "forbidden", "propose_memory")
    blind = Api(issue_token(principal=cast.agent, name="b", actions=["recall_memory"], now=clock.now()))
    for what in ("", "/history", "/evidence", "/as-of"):
        told = blind.get(f"memories/{objects['memory']}{what}")
        assert (told.status, told.code, told.json["right"]) == (403, "forbidden", "view_memory")


def test_me_tells_rights_as_the_token_leaves_them(cast: Cast, api: Api) -> None:
    me = api.get("me").json
    assert me["principal"] == {
        "id": str(cast.agent.pk),
        "kind": "agent",
        "name": "Agent",
        "tenant": cast.tenant.slug,
    }
    assert {(scope["kind"], scope["key"]) for scope in me["scopes"]} == {
        ("project", "platform"),
        ("user", cast.alice.username),
    }
    narrow = Api(issue_token(principal=cast.agent, name="n", actions=["view_memory"], now=clock.now())).get("me").json
    assert [scope["rights"] for scope in narrow["scopes"]] == [["view_memory"], ["view_memory"]]
    assert narrow["token_actions"] == ["view_memory"]


def test_a_stranger_sees_no_scopes(stranger: Api) -> None:
    assert stranger.get("me").json["scopes"] == []


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "", 404, "not_found"),
        ("GET", "nothing/here", 404, "not_found"),
        ("POST", "memories/", 404, "not_found"),
        ("DELETE", "events", 405, "method_not_allowed"),
        ("GET", "events", 405, "method_not_allowed"),
        ("PUT", "memories/x", 405, "method_not_allowed"),
        ("OPTIONS", "me", 405, "method_not_allowed"),
        ("PATCH", "nothing", 404, "not_found"),
    ],
)
def test_every_refusal_is_a_problem_document(shared: Api, method: str, path: str, status: int, code: str) -> None:
    told = shared.send(method, path)
    assert (told.status, told.code) == (status, code)


def test_a_store_that_is_away_is_named(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    from memoryhub.memory import queries

    def fail(**_: Any) -> Any:
        raise OperationalError

    monkeypatch.setattr(queries, "fetch_records", fail)
    monkeypatch.setattr(queries, "fetch_all", fail)
    told = api.get(f"memories/{new_id()}")
    assert (told.status, told.code, told.headers["Retry-After"]) == (503, "store_unavailable", "1")


def test_reads_write_nothing(api: Api, cast: Cast, objects: dict[str, str]) -> None:
    def count() -> Any:
        with tenant_context(cast.tenant_id, read_only=True):
            return fetch_all(sql="SELECT count(*), sum(xmin::text::bigint) FROM memory_heads", params=[])

    before = count()
    for method, path, body in paths_of(objects)[:6]:
        api.send(method, path, body)
    assert count() == before
