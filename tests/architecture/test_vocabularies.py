"""A column that holds a word of an enum has the CHECK made from that enum; an enum with a lifecycle says all of it."""

import re
from enum import StrEnum

import pytest
from django.apps import apps
from django.db import models

from memoryhub.lib.fields import TenantModel, enum_check
from memoryhub.types import enums
from memoryhub.types.status import list_ends

ENUMS = [
    found
    for found in vars(enums).values()
    if isinstance(found, type) and issubclass(found, StrEnum) and found.__members__
]
MODELS = [model for model in apps.get_app_config("memoryhub").get_models() if issubclass(model, TenantModel)]
# What a column of an enum is called: the enum's own name, or one of these short ones.
SHORT = {"kind", "state", "status", "mode", "target", "outcome", "action", "modality"}
# Words of another list than an enum of `types`, each with the reason.
OTHERS = {
    ("processing_jobs", "kind"): "a consumer brings a kind of its own",
    ("audit_events", "action"): "`subject.action`, open by design",
    ("audit_events", "outcome"): "whatever the audited call ended in",
    ("review_items", "outcome"): "a verb, or why the item closed by itself",
    ("screening_patterns", "kind"): "a tenant names what its pattern finds",
    ("memory_heads", "memory_type"): "an application registers its own, see types/cognitive.py",
    ("memory_candidates", "memory_type"): "an application registers its own, see types/cognitive.py",
}


def to_column(enum: type[StrEnum]) -> str:
    """Return the enum's name as a column would be called."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", enum.__name__).lower()


def list_columns() -> list[tuple[type[models.Model], str]]:
    """Return every column that is called like an enum, or like the words of one."""
    names = SHORT | {to_column(enum) for enum in ENUMS}
    return [
        (model, field.name)
        for model in MODELS
        for field in model._meta.local_fields
        if isinstance(field, models.CharField) and field.name in names
    ]


def find_enum(model: type[models.Model], column: str) -> type[StrEnum] | None:
    """Return the enum whose generated CHECK the column has."""
    for constraint in model._meta.constraints:
        for enum in ENUMS:
            if constraint == enum_check(field=column, enum=enum, name=constraint.name):
                return enum
    return None


@pytest.mark.parametrize(("model", "column"), list_columns(), ids=lambda it: getattr(it, "__name__", it))
def test_a_column_of_an_enum_has_its_check(model: type[models.Model], column: str) -> None:
    table = model._meta.db_table
    assert (find_enum(model, column) is None) == ((table, column) in OTHERS), f"{table}.{column}"


def test_a_column_without_its_check_is_seen() -> None:
    """The twin: the walk tells a column with the CHECK of its enum from one with another list, and from none."""
    model = apps.get_model("memoryhub", "ReviewItem")
    assert find_enum(model, "state") is enums.ReviewState
    assert find_enum(model, "reason") is None
    assert len(list_columns()) > 25


def test_what_is_left_out_is_there() -> None:
    columns = {(model._meta.db_table, column) for model, column in list_columns()}
    assert set(OTHERS) <= columns


@pytest.mark.parametrize("enum", enums.LIFECYCLES, ids=lambda enum: enum.__name__)
def test_a_table_of_transitions_says_all(enum: type[StrEnum]) -> None:
    """Every value has its line, leads only to values, and comes to an end."""
    table = enums.LIFECYCLES[enum]
    assert set(table) == set(enum)
    assert {after for afters in table.values() for after in afters} <= set(enum)
    ends = list_ends(table=table)
    assert ends
    for value in enum:
        reached, ahead = set[str](), [str(value)]
        while ahead:
            state = ahead.pop()
            if state not in reached:
                reached.add(state)
                ahead += table[state]
        assert reached & ends, f"{value} never ends"


def test_every_table_of_transitions_is_a_lifecycle() -> None:
    tables = [held for name, held in vars(enums).items() if name.endswith("_TRANSITIONS")]
    assert sorted(map(id, tables)) == sorted(map(id, enums.LIFECYCLES.values()))
