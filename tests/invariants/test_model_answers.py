"""What a model answered is recorded input: it comes once, and afterwards can only be erased."""

from __future__ import annotations

import pytest

from tests.conftest import ConnectAs
from tests.invariants.attacks import Attack, show_guard, try_statement
from tests.invariants.world import World

_COMES_ONCE = "model_answers_come_once"
ATTACKS = [
    Attack(_COMES_ONCE, "model_answers", "UPDATE model_answers SET answer = 'x' WHERE id = %(model_answer)s"),
    Attack(_COMES_ONCE, "model_answers", "UPDATE model_answers SET tokens = 1 WHERE id = %(model_answer)s"),
    Attack(
        _COMES_ONCE,
        "model_answers",
        "UPDATE model_answers SET answer = '', erased_at = now(), answered_at = now() WHERE id = %(model_answer)s",
    ),
    Attack(
        _COMES_ONCE,
        "model_answers",
        "UPDATE model_answers SET question_digest = 'x' WHERE id = %(model_answer)s",
        needs_owner=True,
    ),
    Attack(_COMES_ONCE, "model_answers", "DELETE FROM model_answers WHERE id = %(model_answer)s", needs_owner=True),
    Attack(
        "model_answers_are_given_and_not_erased",
        "model_answers",
        "UPDATE model_answers SET answer = 'x' WHERE id = %(silent_model)s",
    ),
    Attack(
        "model_answers_cost_nothing_or_more",
        "model_answers",
        "UPDATE model_answers SET tokens = -1 WHERE id = %(silent_model)s",
    ),
]
ALLOWED = (
    "UPDATE model_answers SET answer = '', erased_at = now() WHERE id = %(model_answer)s",
    "UPDATE model_answers SET answer = 'x', answered_at = now(), tokens = 7 WHERE id = %(silent_model)s",
    "UPDATE model_answers SET tokens = tokens + 5 WHERE id = %(silent_model)s",
)


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_an_answer_comes_once(attack: Attack, connect_as: ConnectAs, world: World) -> None:
    show_guard(connect_as=connect_as, world=world, attack=attack)


@pytest.mark.parametrize("statement", ALLOWED)
def test_an_answer_that_is_awaited_comes_and_one_that_is_there_can_be_erased(
    statement: str, connect_as: ConnectAs, world: World
) -> None:
    with connect_as("app") as app:
        assert try_statement(app, world=world, statement=statement) is None
