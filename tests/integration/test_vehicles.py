"""What people want of a shared car, sent as an agent would send it: who, which setting, when, and since when.

The statements are those of the hand annotation of VehicleMemBench (`tests/data/README.md`), 1,042 of 500 questions. Who
speaks is relayed as the author. The people of one question are others than those of the next, so that no two mix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import DjangoDbBlocker

from memoryhub.access import operations
from memoryhub.access.callers import RELAY_USER, Caller, authenticate_token
from memoryhub.access.models import PrincipalKind
from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.memory.queries import PartRecord, find_part
from memoryhub.types.entity import Mention
from memoryhub.types.enums import CandidateKind, CandidateStatus, EpistemicStatus, MergeAction
from memoryhub.types.temporal import AsOf
from memoryhub.usecases.consolidate import Consolidated
from memoryhub.usecases.ingest import EventInput
from memoryhub.usecases.propose import CandidateInput, EvidenceInput
from memoryhub.usecases.rederive import check_memories
from memoryhub.usecases.write_memory import write_memory
from tests.vehicles import Identity, Question, Statement, list_changes, read_questions

SCOPE = ("project", "car")
ALIKE = 63  # conditional constraints about one setting of one person
CORRECTED_FROM_THE_START = 27
CHANGED_FROM_THEN_ON = Counter(
    {
        "shift in state_shift": 75,
        "shift in error_correction": 9,
        "shift in coreference_resolution": 8,
        "shift in conditional_constraint": 2,
        "correction in error_correction": 13,
        "correction in coreference_resolution": 1,
    }
)
ACTIONS = Counter({MergeAction.ADD: 894, MergeAction.SUPERSEDE: 135, MergeAction.ATTACH_EVIDENCE: 11})
RIGHTS = ("view_memory", "ingest_event", "propose_memory")
INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Garage:
    """Hold a tenant in which everybody of the annotation is known."""

    tenant_id: str
    prefix: str
    relay: Caller

    def send(self, question: Question, number: int, *, run: str) -> Consolidated:
        """Write one statement of a question; what it says is the annotation's own fact, put into plain words."""
        statement = question.statements[number]
        event_id = str(new_id())
        words = f"{statement.fact_key} = {statement.value} {statement.conditions or ''}".strip()
        return write_memory(
            caller=self.relay,
            event=EventInput(
                event_id=event_id,
                scope=SCOPE,
                source_type="message",
                occurred_at=statement.told,
                payload={"text": words},
                actor=self.prefix + statement.author.partition(":")[2],
                source_seq=number,
            ),
            proposal=CandidateInput(
                scope=SCOPE,
                subject=f"{statement.subject} of {run} {question.name}" if statement.subject else "",
                mention=Mention(words=statement.mention, entity_type="person", is_uncertain=True)
                if statement.mention
                else None,
                fact_key=statement.fact_key,
                content=words,
                value=statement.value,
                kind=CandidateKind.PREFERENCE,
                epistemic_status=EpistemicStatus.EXPLICIT,
                conditions=dict(statement.conditions),
                valid_from=statement.begins,
                evidence=(EvidenceInput(event_id),),
            ),
            now=clock.now(),
        ).result

    def find(self, told: Consolidated, *, valid_at: datetime, recorded_at: datetime) -> PartRecord | None:
        """Return what a memory held at one instant for another."""
        assert told.memory_id is not None
        with tenant_context(self.tenant_id, read_only=True):
            return find_part(tenant_id=self.tenant_id, memory_id=told.memory_id, as_of=AsOf(valid_at, recorded_at))


@dataclass(frozen=True, slots=True)
class Sent:
    """Hold a question and what became of each of its statements."""

    question: Question
    told: tuple[tuple[Statement, Consolidated], ...]

    def list_memories(self) -> dict[Identity, set[str | None]]:
        """Return the memories that the statements of one identity went to."""
        memories: dict[Identity, set[str | None]] = {}
        for statement, result in self.told:
            memories.setdefault(statement.identity, set()).add(result.memory_id)
        return memories


def build_garage(questions: Iterable[Question]) -> Garage:
    """Make the tenant, its people and its scope."""
    now = clock.now()
    slug = f"cars{new_id().hex[-10:]}"
    tenant = operations.create_tenant(slug=slug, name=slug, now=now)
    people = {statement.author for question in questions for statement in question.statements}
    for person in sorted(people):
        name = person.partition(":")[2]
        operations.create_principal(tenant=tenant, username=f"{slug}-{name}", display_name=name)
    relay = operations.create_principal(
        tenant=tenant, username=f"{slug}-relay", display_name="Relay", kind=PrincipalKind.AGENT
    )
    with tenant_context(tenant.pk):
        for name in ("person", "place"):
            operations.declare_entity_type(tenant=tenant, name=name)
        scope = operations.create_scope(tenant=tenant, kind=SCOPE[0], key=SCOPE[1], name="", owner=None, now=now)
        operations.grant_rights(scope=scope, principal=relay, rights=RIGHTS)
    secret = operations.issue_token(principal=relay, name="cars", actions=(*RIGHTS, RELAY_USER), now=now)
    caller = authenticate_token(secret=secret, now=now)
    assert caller is not None
    return Garage(tenant_id=str(tenant.pk), prefix=f"{slug}-", relay=caller)


def send_all(garage: Garage, questions: Iterable[Question], *, run: str, newest_first: bool = False) -> dict[str, Sent]:
    """Send the statements of each question whose subject is known, in the order of time or against it."""
    sent = {}
    for question in questions:
        numbers = [number for number, one in enumerate(question.statements) if one.subject is not None]
        told = {n: garage.send(question, n, run=run) for n in (reversed(numbers) if newest_first else numbers)}
        sent[question.name] = Sent(
            question=question, told=tuple([(question.statements[number], told[number]) for number in numbers])
        )
    return sent


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    return read_questions()


@pytest.fixture(scope="module")
def garage(
    questions: list[Question],
    django_db_setup: None,  # noqa: ARG001 - it makes the database
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[Garage]:
    with django_db_blocker.unblock():
        yield build_garage(questions)


@pytest.fixture(scope="module")
def sent(garage: Garage, questions: list[Question], django_db_blocker: DjangoDbBlocker) -> dict[str, Sent]:
    """Send every statement as it is annotated."""
    with django_db_blocker.unblock():
        return send_all(garage, questions, run="stated")


def of_type(questions: Iterable[Question], reasoning_type: str) -> list[Question]:
    return [question for question in questions if question.reasoning_type == reasoning_type]


def count_actions(sent: Iterable[Sent]) -> Counter[str]:
    return Counter(result.action for one in sent for _, result in one.told)


def without_conditions(question: Question) -> Question:
    return replace(question, statements=tuple([replace(one, conditions={}) for one in question.statements]))


def about_one_person(question: Question) -> Question:
    statements = [replace(one, subject="person:somebody") for one in question.statements]
    return replace(question, statements=tuple(statements))


def beside_the_ordinary_value(question: Question) -> Question:
    """Put a value without conditions beside the first one, where the gold memory tells of one case alone."""
    first = question.statements[0]
    ordinary = replace(first, conditions={}, value="another")
    return replace(question, statements=(*question.statements, ordinary))


def has_two_conditions(question: Question) -> bool:
    return len({str(statement.conditions) for statement in question.statements}) > 1


def test_every_identity_is_one_memory_and_no_two_share_one(sent: dict[str, Sent]) -> None:
    assert len(sent) == 500
    for one in sent.values():
        memories = one.list_memories()
        assert all(len(found) == 1 for found in memories.values()), one.question.name
        assert len(set().union(*memories.values())) == len(memories), one.question.name
        for statement, result in one.told:
            assert result.outcome == "decided", (one.question.name, statement)


def test_what_two_people_want_is_two_memories(sent: dict[str, Sent], questions: list[Question]) -> None:
    conflicts = of_type(questions, "preference_conflict")
    for question in conflicts:
        by_subject: dict[str | None, set[str | None]] = {}
        for statement, result in sent[question.name].told:
            by_subject.setdefault(statement.subject, set()).add(result.memory_id)
        assert len(by_subject) >= 2, question.name
        assert len(set().union(*by_subject.values())) >= len(by_subject), question.name
    actions = count_actions(sent[question.name] for question in conflicts)
    assert set(actions) <= {MergeAction.ADD, MergeAction.ATTACH_EVIDENCE}
    assert len(conflicts) == 149


def test_the_subject_alone_keeps_two_people_apart(garage: Garage, questions: list[Question]) -> None:
    conflicts = of_type(questions, "preference_conflict")
    told = send_all(garage, map(without_conditions, conflicts), run="varied")
    for one in told.values():
        owners: dict[str | None, set[str | None]] = {}
        for statement, result in one.told:
            owners.setdefault(result.memory_id, set()).add(statement.subject)
        assert len(owners) >= 2, one.question.name
        assert all(len(subjects) == 1 for subjects in owners.values()), one.question.name
        assert all(result.action != MergeAction.CONFLICT for _, result in one.told), one.question.name


def test_without_subject_and_condition_the_two_people_meet(
    garage: Garage, questions: list[Question], at_scale: Callable[[int, int], int]
) -> None:
    """Twin: under one key they are rivals, and neither may replace the other."""
    rivals = [
        about_one_person(without_conditions(question))
        for question in of_type(questions, "preference_conflict")
        if question.exceptions.isdisjoint({"other_key", "doubtful_subject"})
    ]
    assert len(rivals) == 144
    for one in send_all(garage, rivals[: at_scale(40, 144)], run="twin").values():
        actions = {result.action for _, result in one.told}
        assert MergeAction.CONFLICT in actions, one.question.name


def test_another_condition_is_another_memory(sent: dict[str, Sent], questions: list[Question]) -> None:
    for question in filter(has_two_conditions, of_type(questions, "conditional_constraint")):
        by_condition: dict[str, set[str | None]] = {}
        for statement, result in sent[question.name].told:
            by_condition.setdefault(str(statement.conditions), set()).add(result.memory_id)
        assert len(set().union(*by_condition.values())) == sum(map(len, by_condition.values())), question.name


def test_the_condition_alone_keeps_two_values_apart(garage: Garage, questions: list[Question]) -> None:
    """Hold it for all 102: everybody is one person, and a lonely condition stands beside the ordinary value."""
    constraints = of_type(questions, "conditional_constraint")
    without_any = [question for question in constraints if not any(one.conditions for one in question.statements)]
    assert [question.name for question in without_any] == ["38.7"]
    assert all("no_condition" in question.exceptions for question in without_any)
    varied = [
        about_one_person(question if has_two_conditions(question) else beside_the_ordinary_value(question))
        for question in constraints
        if question not in without_any
    ]
    for one in send_all(garage, varied, run="varied").values():
        conditions: dict[str | None, set[str]] = {}
        for statement, result in one.told:
            conditions.setdefault(result.memory_id, set()).add(str(statement.conditions))
        assert len(conditions) >= 2, one.question.name
        assert all(len(found) == 1 for found in conditions.values()), one.question.name


def test_without_their_conditions_two_values_of_one_person_meet(
    garage: Garage, questions: list[Question], at_scale: Callable[[int, int], int]
) -> None:
    """Twin: the condition is what keeps them apart."""
    alike = [
        without_conditions(question)
        for question in of_type(questions, "conditional_constraint")
        if len({one.subject for one in question.statements}) == 1
        and len({one.fact_key for one in question.statements}) == 1
        and len({str(one.value) for one in question.statements}) > 1
    ]
    assert len(alike) == ALIKE
    for one in send_all(garage, alike[: at_scale(20, ALIKE)], run="twin").values():
        assert len({result.memory_id for _, result in one.told}) == 1, one.question.name
        assert MergeAction.SUPERSEDE in {result.action for _, result in one.told}, one.question.name


def find_result(sent: Sent, statement: Statement) -> tuple[Consolidated, Consolidated]:
    """Return what became of a statement, and of the one decided before it on the same memory."""
    results = [(one, result) for one, result in sent.told if one.identity == statement.identity]
    place = next(n for n, (one, _) in enumerate(results) if one is statement)
    return results[place][1], results[place - 1][1]


def test_a_shift_supersedes_from_its_instant_and_the_old_value_stays_readable(
    garage: Garage, sent: dict[str, Sent], questions: list[Question]
) -> None:
    shown: Counter[str] = Counter()
    for question in questions:
        for before, change in list_changes(question):
            if change.valid_from is not None:
                continue
            result, earlier = find_result(sent[question.name], change)
            assert (result.action, result.reason) == (MergeAction.SUPERSEDE, "replaces_standing"), question.name
            assert result.memory_id == earlier.memory_id
            assert result.recorded_at is not None
            now = clock.now()
            new = garage.find(result, valid_at=change.instant, recorded_at=result.recorded_at)
            old = garage.find(result, valid_at=change.instant - INSTANT, recorded_at=now)
            assert new is not None
            assert new.valid_from == change.instant
            assert (new.value, new.is_absent) == (change.value, change.value is None), question.name
            assert old is not None
            assert old.value == before.value, question.name
            shown[f"{change.kind} in {question.reasoning_type}"] += 1
    assert shown == CHANGED_FROM_THEN_ON


def test_a_correction_takes_the_wrong_value_out_of_valid_time_and_not_out_of_the_record(
    garage: Garage, sent: dict[str, Sent], questions: list[Question]
) -> None:
    corrected = 0
    for question in questions:
        for wrong, change in list_changes(question):
            if change.valid_from is None:
                continue
            result, earlier = find_result(sent[question.name], change)
            assert (result.action, result.reason) == (MergeAction.SUPERSEDE, "corrects_history"), question.name
            assert result.recorded_at is not None
            then = result.recorded_at - INSTANT
            for instant in (wrong.begins, change.told, change.told + timedelta(hours=1)):
                right = garage.find(result, valid_at=instant, recorded_at=clock.now())
                believed = garage.find(result, valid_at=instant, recorded_at=then)
                assert right is not None, question.name
                assert believed is not None, question.name
                assert (right.value, believed.value) == (change.value, wrong.value), question.name
            assert earlier.memory_id == result.memory_id
            assert wrong.value not in list_values_held(garage, result), question.name
            corrected += 1
    assert corrected == CORRECTED_FROM_THE_START


def list_values_held(garage: Garage, told: Consolidated) -> list[Any]:
    """Return the values that a memory holds today, for any instant of valid time."""
    sql = """
        SELECT value FROM memory_versions
        WHERE tenant_id = %(tenant)s AND memory_id = %(memory)s AND recorded_to IS NULL AND NOT is_absent
        """
    with tenant_context(garage.tenant_id, read_only=True):
        rows = fetch_all(sql=sql, params={"tenant": garage.tenant_id, "memory": told.memory_id})
    return [row[0] for row in rows]


def test_whatever_else_is_said_adds_or_repeats(sent: dict[str, Sent]) -> None:
    for one in sent.values():
        changed = [change for _, change in list_changes(one.question)]
        known: dict[Identity, Any] = {}
        for statement, result in one.told:
            if statement in changed:
                assert result.action == MergeAction.SUPERSEDE, one.question.name
            elif statement.identity in known:
                assert result.action == MergeAction.ATTACH_EVIDENCE, one.question.name
            else:
                assert (result.action, result.reason) == (MergeAction.ADD, "first_claim"), one.question.name
            known[statement.identity] = statement.value
    actions = count_actions(sent.values())
    assert actions == ACTIONS


def test_whom_a_reference_means_is_asked_and_not_guessed(
    garage: Garage, sent: dict[str, Sent], questions: list[Question]
) -> None:
    coreferences = of_type(questions, "coreference_resolution")
    resolved = [one for question in coreferences for one in question.statements if one.resolved]
    assert all(one.subject for one in resolved)
    assert len(resolved) == 95
    held = list_parts(garage, sent)
    open_questions = 0
    for question in coreferences:
        for number, statement in enumerate(question.statements):
            if statement.resolved is False:
                told = garage.send(question, number, run="stated")
                assert (told.outcome, told.reason) == ("waits", "subject_unclear"), question.name
                assert told.status == CandidateStatus.NEEDS_CONFIRMATION, question.name
                open_questions += 1
    assert open_questions == 2
    assert list_queue(garage) == [("confirmation", "subject_unclear")] * open_questions
    assert list_parts(garage, sent) == held


def list_queue(garage: Garage) -> list[tuple[Any, ...]]:
    """Return the open items that a statement of the annotation waits in, each with its question."""
    sql = """
        SELECT item.kind, waiting.reason FROM review_items item
        JOIN memory_candidates waiting ON waiting.tenant_id = item.tenant_id AND waiting.id = item.candidate_id
        WHERE item.tenant_id = %(tenant)s AND item.state = 'open' AND waiting.status = 'needs_confirmation'
        """
    with tenant_context(garage.tenant_id, read_only=True):
        return fetch_all(sql=sql, params={"tenant": garage.tenant_id})


def list_parts(garage: Garage, sent: dict[str, Sent]) -> dict[tuple[str, Identity], list[tuple[Any, ...]]]:
    """Return what is held today of each identity: its parts by valid time."""
    sql = """
        SELECT memory_id::text, valid_from, valid_to, value, is_absent FROM memory_versions
        WHERE tenant_id = %(tenant)s AND recorded_to IS NULL ORDER BY valid_from
        """
    with tenant_context(garage.tenant_id, read_only=True):
        rows = fetch_all(sql=sql, params={"tenant": garage.tenant_id})
    by_memory: dict[str | None, list[tuple[Any, ...]]] = {}
    for memory, *part in rows:
        by_memory.setdefault(memory, []).append(tuple(part))
    return {
        (name, statement.identity): by_memory[result.memory_id]
        for name, one in sent.items()
        for statement, result in one.told
    }


def test_told_backwards_it_comes_to_the_same(garage: Garage, sent: dict[str, Sent], questions: list[Question]) -> None:
    """Hold that what is said last and happened first is placed in the past, and takes nothing away."""
    changing = [question for question in questions if any(list_changes(question))]
    backwards = send_all(garage, changing, run="backwards", newest_first=True)
    assert set(count_actions(backwards.values())) == {MergeAction.ADD, MergeAction.ATTACH_EVIDENCE}
    assert list_parts(garage, backwards) == list_parts(garage, {name: sent[name] for name in backwards})


def test_the_tables_are_what_the_evidence_derives_to(garage: Garage, sent: dict[str, Sent]) -> None:
    assert sent
    assert list(check_memories(tenant_id=garage.tenant_id)) == []
