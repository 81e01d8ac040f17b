"""The table of the merge, row by row, as an agent meets it over the API: the same stories in English and in Chinese.

A story is what was said before, what is said now, and what the agent is told: status, action and reason. Days are
counted from 1 May. Where nobody is named, Alice speaks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoryhub.access.models import Principal
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.ids import new_id
from memoryhub.memory.models import Predicate
from memoryhub.types.enums import Cardinality, RevocationMode, RevocationTarget
from memoryhub.usecases.revoke import revoke
from tests.api.client import PROJECT, Api, Told, work
from tests.cast import Cast

MAY = datetime(2026, 5, 1, 9, tzinfo=UTC)


@dataclass(frozen=True)
class Words:
    """Hold one language: whom it is about, the places they may work at, and how that is said."""

    subject: str
    other: str
    first: str
    second: str
    third: str
    remote: str
    onsite: str

    def put(self, name: str) -> str:
        return str(getattr(self, name))


LANGUAGES = {
    "en": Words(
        "person:hans", "person:mia", "Berlin", "Lisbon", "Oslo", "may work from home", "may not work from home"
    ),
    "zh": Words("person:汉斯", "person:米娅", "柏林", "里斯本", "奥斯陆", "可以在家办公", "不可以在家办公"),
}


@dataclass(frozen=True)
class Said:
    """Hold one statement; `value` is a name of `Words`, or None for a retraction."""

    value: str | None
    day: int = 0
    by: str | None = "alice"
    more: dict[str, Any] = field(default_factory=dict)


def says(value: str | None, *, day: int = 0, by: str | None = "alice", **more: Any) -> Said:
    return Said(value, day, by, more)


@dataclass(frozen=True)
class Story:
    """Hold one row of the table."""

    row: str
    before: tuple[Said, ...]
    now: Said
    told: tuple[int, str, str]
    candidate: str


STORIES = [
    # ADD: a first part, or a part for a period that none covers
    Story("a first claim is added", (), says("first"), (201, "ADD", "first_claim"), "accepted"),
    Story(
        "history is filled in",
        (says("first", day=10),),
        says("second", day=12, valid_from=1, valid_to=5),
        (201, "ADD", "fills_free_period"),
        "accepted",
    ),
    Story(
        "another condition is another memory",
        (says("first", conditions={"season": "summer"}),),
        says("second", day=1, conditions={"season": "winter"}),
        (201, "ADD", "first_claim"),
        "accepted",
    ),
    Story(
        "another subject is another memory",
        (says("first"),),
        says("second", day=1, subject="other"),
        (201, "ADD", "first_claim"),
        "accepted",
    ),
    Story(
        "several true values are several memories",
        (says("first", fact_key="language.spoken"),),
        says("second", day=1, by="bob", fact_key="language.spoken"),
        (201, "ADD", "first_claim"),
        "accepted",
    ),
    # ATTACH_EVIDENCE: support alone, or evidence that brings no rival value
    Story(
        "an independent source supports",
        (says("first"),),
        says("first", day=1, by="bob"),
        (200, "ATTACH_EVIDENCE", "independent_support"),
        "accepted",
    ),
    Story(
        "evidence against it is attached",
        (says("first"),),
        says("first", day=1, by="bob", stance="contradicts"),
        (200, "ATTACH_EVIDENCE", "evidence_against"),
        "accepted",
    ),
    Story(
        "evidence that narrows it is attached",
        (says("first"),),
        says("first", day=1, by="bob", stance="qualifies"),
        (200, "ATTACH_EVIDENCE", "narrows"),
        "accepted",
    ),
    # SUPERSEDE: by who may, with an effective time
    Story(
        "the same person moves on",
        (says("first"),),
        says("second", day=1),
        (201, "SUPERSEDE", "replaces_standing"),
        "accepted",
    ),
    Story(
        "somebody of the authority group moves it on",
        (says("first", fact_key="release.latest"),),
        says("second", day=1, by="bob", fact_key="release.latest"),
        (201, "SUPERSEDE", "replaces_standing"),
        "accepted",
    ),
    Story(
        "somebody of higher rank moves it on",
        (says("first"),),
        says("second", day=1, by="rita"),
        (201, "SUPERSEDE", "replaces_standing"),
        "accepted",
    ),
    Story(
        "a retraction ends it",
        (says("first"),),
        says(None, day=1),
        (201, "SUPERSEDE", "replaces_standing"),
        "accepted",
    ),
    Story(
        "a late fact corrects the past and not the present",
        (says("first", day=0), says("second", day=10)),
        says("third", day=12, valid_from=5, valid_to=8),
        (201, "SUPERSEDE", "corrects_history"),
        "accepted",
    ),
    Story(
        "a negation is another claim",
        (says("remote"),),
        says("onsite", day=1),
        (201, "SUPERSEDE", "replaces_standing"),
        "accepted",
    ),
    # CONFLICT: source, conditions or time do not settle it
    Story(
        "somebody else says otherwise",
        (says("first"),),
        says("second", day=1, by="bob"),
        (202, "CONFLICT", "author_may_not_supersede"),
        "pending",
    ),
    Story(
        "somebody else negates it",
        (says("remote"),),
        says("onsite", day=1, by="bob"),
        (202, "CONFLICT", "author_may_not_supersede"),
        "pending",
    ),
    Story(
        "a document without a date says otherwise",
        (says("first", fact_key="release.latest", source_type="document"),),
        says("second", day=1, fact_key="release.latest", source_type="document"),
        (202, "CONFLICT", "no_effective_time"),
        "pending",
    ),
    Story(
        "another one puts a value back within the window",
        (says("first", fact_key="release.latest"), says("second", day=1, by="bob", fact_key="release.latest")),
        says("first", day=3, fact_key="release.latest"),
        (202, "CONFLICT", "put_back_in_contest_window"),
        "pending",
    ),
    Story(
        "what comes while a conflict is open joins it",
        (says("first"), says("second", day=1, by="bob")),
        says("third", day=2),
        (202, "CONFLICT", "joins_open_conflict"),
        "pending",
    ),
    # Not a put-back: removal and adding again, and after the window
    Story(
        "removing and adding again is no put-back",
        (says("first", fact_key="release.latest"), says(None, day=1, by="bob", fact_key="release.latest")),
        says("first", day=3, fact_key="release.latest"),
        (201, "SUPERSEDE", "replaces_standing"),
        "accepted",
    ),
    Story(
        "after the window a value may come back",
        (says("first", fact_key="release.latest"), says("second", day=1, by="bob", fact_key="release.latest")),
        says("first", day=40, fact_key="release.latest"),
        (201, "SUPERSEDE", "replaces_standing"),
        "accepted",
    ),
    # A person is asked first
    Story(
        "a guessed preference waits for a person",
        (),
        says("first", kind="preference", epistemic_status="inferred"),
        (202, "ADD", "inferred_preference"),
        "needs_confirmation",
    ),
    Story(
        "a sensitive key waits for a person",
        (),
        says("first", fact_key="health.condition"),
        (202, "ADD", "sensitive_predicate"),
        "needs_confirmation",
    ),
]


@pytest.fixture
def spoken(cast: Cast) -> Cast:
    """Declare a key of many values and a sensitive one; Rita ranks above the others."""
    Principal.objects.filter(pk=cast.rita.pk).update(rank=5)
    with tenant_context(cast.tenant_id):
        Predicate.objects.create(tenant=cast.tenant, fact_key="language.spoken", cardinality=Cardinality.MANY)
        Predicate.objects.create(tenant=cast.tenant, fact_key="health.condition", sensitive=True)
    return cast


def send(api: Api, cast: Cast, words: Words, said: Said, **other: Any) -> Told:
    """Write what was said, relayed by the agent."""
    value = None if said.value is None else words.put(said.value)
    more = {**said.more}
    for name in ("valid_from", "valid_to"):
        if name in more:
            more[name] = to_day(more[name])
    subject = words.put(more.pop("subject", "subject"))
    return api.post(
        "memories",
        {
            "event_id": str(new_id()),
            "scope": PROJECT,
            "source_type": "statement",
            "occurred_at": to_day(said.day),
            "actor": None if said.by is None else getattr(cast, said.by).username,
            "subject": subject,
            "fact_key": "office.place",
            "content": f"{subject}: {value}",
            "value": value,
            **more,
            **other,
        },
    )


def to_day(day: int) -> str:
    return (MAY + timedelta(days=day)).isoformat()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.row)
def test_the_table_is_told_row_by_row(spoken: Cast, api: Api, story: Story, language: str) -> None:
    words = LANGUAGES[language]
    for said in story.before:
        assert send(api, spoken, words, said).status in (200, 201, 202)
    told = send(api, spoken, words, story.now)
    assert (told.status, told.json["action"], told.json["reason"]) == story.told
    candidate = api.get(f"candidates/{told.json['candidate_id']}").json
    assert candidate["status"] == story.candidate
    assert told.json["status"] == {
        "accepted": {"ADD": "committed", "SUPERSEDE": "committed", "ATTACH_EVIDENCE": "evidence_attached"}.get(
            told.json["action"]
        ),
    }.get(story.candidate, "pending_review")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_same_source_and_the_same_lineage_add_nothing(spoken: Cast, api: Api, language: str) -> None:
    words = LANGUAGES[language]
    event_id = str(new_id())
    first = send(api, spoken, words, says("first"), event_id=event_id)
    assert send(api, spoken, words, says("first"), event_id=event_id).json == first.json
    proposed = api.post(
        "candidates",
        {
            "scope": PROJECT,
            "subject": words.subject,
            "fact_key": "office.place",
            "content": f"{words.subject}: {words.first}",
            "value": words.first,
            "statement": 1,
            "evidence": [{"event_id": event_id}],
        },
    )
    work()
    candidate = api.get(f"candidates/{proposed.json['candidate_id']}").json
    assert (candidate["status"], candidate["action"], candidate["reason"]) == (
        "accepted",
        "NO_OP",
        "lineage_already_counted",
    )
    assert api.get(f"memories/{first.json['memory_id']}").json["version"] == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_may_not_enter_is_refused_with_its_reason_and_recorded(spoken: Cast, api: Api, language: str) -> None:
    words = LANGUAGES[language]
    revoke(
        caller=spoken.person(spoken.erin),
        scope=("project", "platform"),
        target=RevocationTarget.FACT_KEY,
        target_id=None,
        target_key="office.place",
        mode=RevocationMode.SUPPRESS,
        reason="asked",
        now=clock.now(),
    )
    told = send(api, spoken, words, says("first"))
    assert (told.status, told.code, told.json["reason"]) == (422, "rejected", "barred_by_revocation")
    candidate = api.get(f"candidates/{told.json['candidate_id']}").json
    assert (candidate["status"], candidate["action"]) == ("rejected", "REJECT")
