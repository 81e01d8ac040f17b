"""Whom a source means: one who is declared, somebody new, or a question to a person. Nothing is merged by likeness."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memoryhub.access.models import Subject
from memoryhub.access.operations import grant_tenant_rights
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.memory.loading import load_candidate
from memoryhub.memory.models import MemoryCandidate, MemoryHead
from memoryhub.types.entity import BadSubjectKey, Mention, MentionUnknown, UndeclaredEntityType
from memoryhub.types.enums import RevocationMode, RevocationTarget
from memoryhub.types.ontology import FORMAT, read_ontology
from memoryhub.usecases.align import list_possible_subjects
from memoryhub.usecases.consolidate import Consolidated
from memoryhub.usecases.declare import declare_ontology
from memoryhub.usecases.ingest import EventInput
from memoryhub.usecases.propose import CandidateInput, EvidenceInput
from memoryhub.usecases.rederive import check_memories
from memoryhub.usecases.review import (
    ErasureStarted,
    ItemStale,
    OwnClaim,
    Resolution,
    Resolved,
    SubjectMissing,
    Verb,
    VerbNotPossible,
    resolve_review,
)
from memoryhub.usecases.revoke import revoke
from memoryhub.usecases.write_memory import Written, write_memory
from tests.acts import state_fact
from tests.cast import EARLY, Cast, make_cast

SCOPE = ("project", "platform")
SUBJECTS = [
    {"key": "person:hans.mueller", "aliases": ["person:hm"], "mentions": ["Hans", "汉斯"]},
    {"key": "person:hans.schmidt", "mentions": ["hans", "Schmidt"]},
]


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    with tenant_context(cast.tenant_id):
        grant_tenant_rights(tenant=cast.tenant, principal=cast.alice, rights=["administer_tenant"])
    wanted = read_ontology(text=json.dumps({"format": FORMAT, "subjects": SUBJECTS}))
    declare_ontology(caller=cast.person(cast.alice), wanted=wanted, now=clock.now())
    return cast


def say(cast: Cast, words: str, *, value: Any = "tea", event_id: str = "", **more: Any) -> Written:
    """Write that whoever is called so likes something."""
    event_id = event_id or str(new_id())
    kind, uncertain = more.pop("entity_type", ""), more.pop("is_uncertain", False)
    return write_memory(
        caller=cast.caller,
        event=EventInput(
            event_id=event_id,
            scope=SCOPE,
            source_type="message",
            occurred_at=EARLY,
            payload={"text": f"{words}: {value}"},
            actor=more.pop("by", None),
        ),
        proposal=CandidateInput(
            scope=SCOPE,
            subject="",
            mention=Mention(words, kind, uncertain),
            fact_key="likes.drink",
            content=f"{words} likes {value}",
            value=value,
            evidence=(EvidenceInput(event_id),),
        ),
        now=clock.now(),
    )


def list_heads(cast: Cast) -> dict[str, int]:
    """Return the version of each subject's memory."""
    with tenant_context(cast.tenant_id, read_only=True):
        rows = fetch_all(
            sql="SELECT subject.label, head.version FROM memory_heads head JOIN subjects subject"
            " ON subject.id = head.subject_id WHERE head.tenant_id = %s",
            params=[cast.tenant_id],
        )
    return {str(row[0]): int(row[1]) for row in rows}


def find_item(cast: Cast, result: Consolidated) -> str:
    with tenant_context(cast.tenant_id, read_only=True):
        [row] = fetch_all(
            sql="SELECT id::text FROM review_items WHERE candidate_id = %s AND state = 'open'",
            params=[result.candidate_id],
        )
    return str(row[0])


def name(cast: Cast, result: Consolidated, subject: str, *, verb: Verb = Verb.ACCEPT, **more: Any) -> Resolved:
    resolution = Resolution(
        item_id=find_item(cast, result), verb=verb, expected_version=more.pop("version", 0), subject=subject, **more
    )
    return resolve_review(caller=cast.person(cast.rita), resolution=resolution, now=clock.now())


def list_options(cast: Cast, result: Consolidated) -> list[str]:
    with tenant_context(cast.tenant_id, read_only=True):
        candidate = load_candidate(tenant_id=cast.tenant_id, candidate_id=result.candidate_id)
        assert candidate is not None
        return list_possible_subjects(caller=cast.person(cast.rita), candidate=candidate)


@pytest.mark.parametrize(
    ("words", "kind", "subject"),
    [
        ("Schmidt", "", "person:hans.schmidt"),
        ("ＳＣＨＭＩＤＴ ", "", "person:hans.schmidt"),
        ("汉斯", "", "person:hans.mueller"),
        ("汉斯", "person", "person:hans.mueller"),
        ("hm", "person", "person:hans.mueller"),
        ("hans.schmidt", "person", "person:hans.schmidt"),
        ("Karl", "person", "person:Karl"),
        ("Schmid", "person", "person:Schmid"),
        ("Schmidt", "product", "product:Schmidt"),
    ],
)
def test_what_is_certain_is_remembered_at_once(cast: Cast, words: str, kind: str, subject: str) -> None:
    """A declared name, a key or an alias is certain. What only looks like one is somebody else."""
    assert say(cast, words, entity_type=kind).result.action == "ADD"
    assert list_heads(cast) == {subject: 1}


def test_the_same_name_for_two_is_a_question(cast: Cast) -> None:
    result = say(cast, "Hans").result
    assert (result.outcome, result.reason, result.status) == ("waits", "subject_unclear", "needs_confirmation")
    assert list_heads(cast) == {}
    options = list_options(cast, result)
    assert options[:2] == ["person:hans.mueller", "person:hans.schmidt"]
    assert {"person:Hans", "product:Hans"} <= set(options)


def test_what_the_reader_is_unsure_of_is_a_question(cast: Cast) -> None:
    state_fact(cast, value="x", subject="person:anna", key="any.key")
    for words, kind in (("Schmidt", ""), ("he", "person"), ("他", "")):
        result = say(cast, words, entity_type=kind, is_uncertain=True).result
        assert result.reason == "subject_unclear"
        options = list_options(cast, result)
        assert "person:anna" in options
        assert f"person:{words}" in options
        assert all(option.startswith("person:") for option in options) == bool(kind)
    assert list_heads(cast) == {"person:anna": 1}


@pytest.mark.parametrize(
    ("words", "kind", "refusal"),
    [
        ("Karl", "", MentionUnknown),
        ("Karl", "planet", UndeclaredEntityType),
        ("", "person", BadSubjectKey),
        (" ", "", BadSubjectKey),
        ("x" * 201, "", BadSubjectKey),
    ],
)
def test_a_mention_that_leads_nowhere_is_refused(cast: Cast, words: str, kind: str, refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        say(cast, words, entity_type=kind)


def test_the_reviewer_names_the_subject(cast: Cast) -> None:
    result = say(cast, "Hans", by=cast.bob.username).result
    resolved = name(cast, result, "person:hans.schmidt")
    assert (resolved.action, resolved.version) == ("ADD", 1)
    assert list_heads(cast) == {"person:hans.schmidt": 1}
    with tenant_context(cast.tenant_id, read_only=True):
        old, new = MemoryCandidate.objects.filter(tenant_id=cast.tenant_id).order_by("id")
        assert (old.status, old.reason) == ("superseded", "subject_named")
        assert Subject.objects.get(pk=old.subject_id).is_unclear
        assert (new.status, new.content) == ("accepted", old.content)
        assert (new.author_id, new.source_event_id) == (cast.bob.pk, old.source_event_id)
    assert list(check_memories(tenant_id=cast.tenant_id)) == []


def test_the_named_subject_may_be_somebody_new(cast: Cast) -> None:
    name(cast, say(cast, "Hans").result, "person:hans.third")
    assert list_heads(cast) == {"person:hans.third": 1}


def test_what_it_says_meets_what_is_held_of_the_named_one(cast: Cast) -> None:
    say(cast, "Schmidt", value="coffee", by=cast.alice.username)
    same = say(cast, "Schmidt", value="tea", by=cast.bob.username).result
    assert same.action == "CONFLICT"
    first = say(cast, "Hans", value="tea", by=cast.carol.username).result
    resolved = name(cast, first, "person:hans.schmidt")
    assert resolved.action == "CONFLICT"
    other = say(cast, "Hans", value="tea", by=cast.carol.username).result
    assert name(cast, other, "person:hm").action == "ADD"
    assert set(list_heads(cast)) == {"person:hans.schmidt", "person:hans.mueller"}


def test_two_events_of_one_mention_are_two_questions(cast: Cast) -> None:
    one, other = say(cast, "Hans").result, say(cast, "HANS", value="wine").result
    name(cast, one, "person:hans.mueller")
    name(cast, other, "person:hans.schmidt")
    assert list_heads(cast) == {"person:hans.mueller": 1, "person:hans.schmidt": 1}


def test_the_same_event_again_tells_what_became_of_it(cast: Cast) -> None:
    first = say(cast, "Hans", event_id="said-once").result
    again = say(cast, "Hans", event_id="said-once")
    assert again.is_replay
    assert (again.result.status, again.result.candidate_id) == ("needs_confirmation", first.candidate_id)
    resolved = name(cast, first, "person:hans.mueller")
    later = say(cast, "Hans", event_id="said-once")
    assert (later.result.status, later.result.memory_id) == ("accepted", resolved.memory_id)


def test_without_a_name_nothing_is_accepted(cast: Cast) -> None:
    result = say(cast, "Hans").result
    for subject, refusal in (("", SubjectMissing), ("hans", BadSubjectKey), ("planet:x", UndeclaredEntityType)):
        with pytest.raises(refusal):
            name(cast, result, subject)
    with pytest.raises(ItemStale):
        name(cast, result, "person:hans.mueller", version=1)
    assert list_heads(cast) == {}
    assert name(cast, result, "", verb=Verb.REJECT, reason="wrong_subject").action == "REJECT"
    with tenant_context(cast.tenant_id, read_only=True):
        assert not MemoryHead.objects.filter(tenant_id=cast.tenant_id).exists()
        assert MemoryCandidate.objects.get(tenant_id=cast.tenant_id).status == "rejected"


def test_a_subject_is_named_only_where_one_is_unclear(cast: Cast) -> None:
    state_fact(cast, value="a", key="undeclared", by=cast.alice.username)
    clash = state_fact(cast, value="b", key="undeclared", by=cast.bob.username).result
    with pytest.raises(VerbNotPossible):
        name(cast, clash, "person:hans.mueller", version=2)


def test_nobody_names_the_subject_of_their_own_claim(cast: Cast) -> None:
    result = say(cast, "Hans", by=cast.rita.username).result
    with pytest.raises(OwnClaim):
        name(cast, result, "person:hans.mueller")


def test_a_barrier_before_the_named_one_holds(cast: Cast) -> None:
    """What may not be learnt about somebody is not learnt by naming them afterwards."""
    result = say(cast, "Hans").result
    with tenant_context(cast.tenant_id, read_only=True):
        hans = Subject.objects.get(tenant_id=cast.tenant_id, label="person:hans.mueller")
    revoke(
        caller=cast.person(cast.erin),
        scope=SCOPE,
        target=RevocationTarget.SUBJECT,
        target_id=str(hans.pk),
        reason="user_request",
        mode=RevocationMode.SUPPRESS,
        now=clock.now(),
    )
    with pytest.raises(ErasureStarted):
        name(cast, result, "person:hans.mueller")
    assert list_heads(cast) == {}
    assert name(cast, result, "person:hans.schmidt").action == "ADD"
