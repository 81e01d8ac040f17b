"""Events come in once, singly or in batches, and say where they stand."""

from __future__ import annotations

import pytest

from memoryhub.access.operations import issue_token
from memoryhub.access.tenancy import tenant_context
from memoryhub.kernel.models import SourceEvent
from memoryhub.lib import clock
from memoryhub.lib.ids import new_id
from memoryhub.outbox.models import ProcessingJob
from tests.api.client import PROJECT, Api, a_candidate, an_event, work
from tests.cast import Cast


def count_events(cast: Cast) -> int:
    with tenant_context(cast.tenant_id, read_only=True):
        return SourceEvent.objects.filter(tenant_id=cast.tenant_id).count()


def test_an_event_is_accepted_and_says_where_to_look(api: Api) -> None:
    event = an_event()
    told = api.post("events", event)
    assert told.status == 202
    assert told.json["status"] == "accepted_for_processing"
    assert told.json["event_id"] == event["event_id"]
    assert told.headers["Location"] == told.json["status_url"]
    assert told.headers["Cache-Control"] == "no-store"
    status = api.get(told.json["status_url"].removeprefix("/api/v1/"))
    assert status.status == 200
    assert status.json["id"] == told.json["id"]
    assert status.json["state"] in ("queued", "running", "succeeded")


def test_the_same_event_again_is_the_same_answer(api: Api, cast: Cast) -> None:
    event = an_event()
    first, second = api.post("events", event), api.post("events", event)
    assert (first.status, first.raw) == (second.status, second.raw)
    assert count_events(cast) == 1


def test_the_same_id_with_other_words_is_refused(api: Api) -> None:
    event = an_event()
    api.post("events", event)
    told = api.post("events", {**event, "payload": {"text": "something else"}})
    assert (told.status, told.code) == (409, "event_id_reused")


def test_a_stated_preference_becomes_a_candidate_of_its_event(api: Api, cast: Cast) -> None:
    event = an_event(
        scope={"kind": "user", "key": cast.alice.username},
        source_type="message",
        actor=cast.alice.username,
        payload={"text": "From now on, always answer me in English."},
    )
    assert api.post("events", event).status == 202
    queued = api.get(f"events/{event['event_id']}/status")
    assert (queued.status, queued.json["state"]) == (200, "queued")
    work()
    told = api.get(f"events/{event['event_id']}/status")
    assert told.json["state"] == "succeeded"
    assert [candidate["action"] for candidate in told.json["candidates"]] == ["ADD"]


def test_a_batch_has_one_result_an_event(api: Api, cast: Cast) -> None:
    good, known = an_event(), an_event()
    api.post("events", known)
    told = api.post(
        "events",
        {
            "events": [
                good,
                known,
                {**known, "payload": "other"},
                an_event(scope={"kind": "project", "key": "elsewhere"}),
                an_event(actor="nobody-of-that-name"),
                an_event(occurred_at="2022-08-03T00:00:00"),
                an_event(colour="red"),
                7,
                good,
            ]
        },
    )
    assert told.status == 202
    results = told.json["results"]
    assert [result["status"] for result in results] == [202, 202, 409, 404, 422, 400, 422, 422, 202]
    codes = [result["problem"] and result["problem"]["code"] for result in results]
    assert codes == [
        None,
        None,
        "event_id_reused",
        "not_found",
        "actor_not_found",
        "naive_time",
        "unknown_field",
        "invalid_input",
        None,
    ]
    assert results[5]["problem"]["errors"][0]["pointer"] == "/events/5/occurred_at"
    assert results[6]["problem"]["errors"][0]["pointer"] == "/events/6/colour"
    assert results[0]["accepted"]["id"] == results[8]["accepted"]["id"]
    assert (told.json["accepted"], told.json["refused"]) == (3, 6)
    assert count_events(cast) == 2


def test_a_thousand_events_are_one_batch_and_one_more_is_too_many(api: Api, cast: Cast) -> None:
    told = api.post("events", {"events": [an_event() for _ in range(1000)]})
    assert (told.status, told.json["accepted"]) == (202, 1000)
    assert count_events(cast) == 1000
    more = api.post("events", {"events": [an_event() for _ in range(1001)]})
    assert (more.status, more.code, more.json["limit"]) == (413, "too_large", 1000)
    assert count_events(cast) == 1000


@pytest.mark.parametrize("event_id", ["a/b", "mail 4711", "喜欢", "100%", "a?b#c", "..a", "%2F"])
def test_an_event_id_survives_its_address(api: Api, event_id: str) -> None:
    told = api.post("events", an_event(event_id=event_id))
    assert told.status == 202
    status = api.get(told.json["status_url"].removeprefix("/api/v1/"))
    assert (status.status, status.json["event_id"]) == (200, event_id)


def test_only_a_token_that_may_relay_speaks_for_a_user(cast: Cast) -> None:
    secret = issue_token(principal=cast.agent, name="no relay", actions=["ingest_event"], now=clock.now())
    told = Api(secret).post("events", an_event(actor=cast.alice.username))
    assert (told.status, told.code, told.json["right"]) == (403, "forbidden", "relay_user")


def test_a_token_may_be_narrower_than_its_principal(cast: Cast) -> None:
    secret = issue_token(principal=cast.agent, name="narrow", actions=["ingest_event"], now=clock.now())
    event = an_event()
    assert Api(secret).post("events", event).status == 202
    told = Api(secret).post("candidates", a_candidate(event["event_id"]))
    assert (told.status, told.code, told.json["right"]) == (403, "forbidden", "propose_memory")


def test_the_sender_may_poll_its_event_and_nobody_else_without_the_right(cast: Cast) -> None:
    sender = Api(issue_token(principal=cast.agent, name="sender", actions=["ingest_event"], now=clock.now()))
    other = Api(issue_token(principal=cast.bot, name="other", actions=["ingest_event"], now=clock.now()))
    event = an_event()
    sender.post("events", event)
    assert sender.get(f"events/{event['event_id']}/status").status == 200
    assert other.get(f"events/{event['event_id']}/status").code == "forbidden"


def test_an_unknown_event_is_not_there(api: Api) -> None:
    assert api.get(f"events/{new_id()}/status").code == "not_found"


def test_text_comes_back_byte_equal(api: Api) -> None:
    words = "  ends in blanks \r\n\t喜欢 é é \u2028 🙂  "
    event = an_event(payload={"text": words})
    api.post("events", event)
    proposed = api.post(
        "candidates", a_candidate(event["event_id"], content=words, value=words, conditions={" k ": words})
    )
    told = api.get(f"candidates/{proposed.json['candidate_id']}").json
    assert (told["content"], told["value"], told["conditions"]) == (words, words, {" k ": words})
    work()
    evidence = api.get(f"memories/{api.get('candidates/' + proposed.json['candidate_id']).json['memory_id']}/evidence")
    assert evidence.json["lineages"][0]["items"][0]["quote"] == words
    assert evidence.json["lineages"][0]["items"][0]["digest_matches"] is True


def test_an_event_of_another_scope_is_no_evidence_here(api: Api, cast: Cast) -> None:
    event = an_event(scope={"kind": "user", "key": cast.alice.username})
    api.post("events", event)
    told = api.post("candidates", a_candidate(event["event_id"], scope=PROJECT))
    assert (told.status, told.code) == (422, "evidence_not_found")


def test_a_dead_job_reads_as_failed_with_its_reason(api: Api, cast: Cast) -> None:
    event = an_event(
        scope={"kind": "user", "key": cast.alice.username},
        source_type="message",
        actor=cast.alice.username,
        payload={"text": "From now on, always answer me in English."},
    )
    api.post("events", event)
    with tenant_context(cast.tenant_id):
        jobs = ProcessingJob.objects.filter(tenant_id=cast.tenant_id)
        assert jobs.update(state="running") == 1
        jobs.update(state="dead", last_error="ExtractionFailed")
    told = api.get(f"events/{event['event_id']}/status").json
    assert (told["state"], told["failure"], told["candidates"]) == ("failed", "ExtractionFailed", [])


def test_a_discarded_job_reads_as_given_up_with_its_reason(api: Api, cast: Cast) -> None:
    """Also while it retries the event is only `queued`: what is not over is never told as failed."""
    event = an_event(
        scope={"kind": "user", "key": cast.alice.username},
        source_type="message",
        actor=cast.alice.username,
        payload={"text": "From now on, always answer me in English."},
    )
    api.post("events", event)
    seen = []
    with tenant_context(cast.tenant_id):
        jobs = ProcessingJob.objects.filter(tenant_id=cast.tenant_id)
    for changes in (
        {"state": "running"},
        {"state": "retrying", "last_error": "LookupError"},
        {"state": "running"},
        {"state": "dead"},
        {"state": "discarded", "reason": "cannot_succeed"},
    ):
        with tenant_context(cast.tenant_id):
            assert jobs.update(**changes) == 1
        told = api.get(f"events/{event['event_id']}/status").json
        seen.append((told["state"], told["failure"]))
    assert seen == [
        ("running", ""),
        ("queued", ""),
        ("running", ""),
        ("failed", "LookupError"),
        ("discarded", "cannot_succeed"),
    ]
