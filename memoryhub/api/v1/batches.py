"""Batches: every item is read by itself, so that one that is refused does not fail the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from memoryhub.api.v1.bodies import escape_pointer
from memoryhub.api.v1.limits import BATCH
from memoryhub.api.v1.problems import Code, Fault, Problem
from memoryhub.api.v1.reading import read_shape

M = TypeVar("M", bound=BaseModel)


def is_batch(data: Any, *, name: str) -> bool:
    """Tell whether the body is meant as a batch."""
    return isinstance(data, dict) and name in data


def read_batch(model: type[M], data: Mapping[str, Any], *, name: str) -> list[M | Problem]:
    """Return each item as a shape, or the problem it has.

    Raises:
        Problem: the batch itself is no list, is empty or too large, or stands beside other fields.
    """
    others = [field for field in data if field != name]
    if others:
        raise Problem(
            Code.UNKNOWN_FIELD,
            "A batch has no other fields.",
            errors=[
                Fault(f"/{escape_pointer(field)}", Code.UNKNOWN_FIELD, "a batch has no such field") for field in others
            ],
        )
    items = data[name]
    if not isinstance(items, list) or not items:
        detail = "a batch is a list of at least one item"
        raise Problem(Code.INVALID_INPUT, errors=[Fault(f"/{name}", Code.INVALID_INPUT, detail)])
    if len(items) > BATCH:
        raise Problem(
            Code.TOO_LARGE,
            f"A batch holds at most {BATCH} items.",
            errors=[Fault(f"/{name}", Code.TOO_LARGE, f"{len(items)} items")],
            more={"limit": BATCH},
        )
    return [_read_item(model, item, at=f"/{name}/{index}") for index, item in enumerate(items)]


def _read_item(model: type[M], item: Any, *, at: str) -> M | Problem:
    try:
        return read_shape(model, item, at=at)
    except Problem as problem:
        return problem
