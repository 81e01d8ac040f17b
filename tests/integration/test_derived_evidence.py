"""What was derived goes back to exactly the roots of what it was derived from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import IntegrityError

from memoryhub.access.tenancy import tenant_context
from memoryhub.kernel.models import EvidenceEdge, EvidenceRoot
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all, find_constraint_name
from memoryhub.lib.ids import new_id
from tests.cast import EARLY, Cast, make_cast


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def describe(cast: Cast, **more: Any) -> dict[str, Any]:
    """Return one piece of evidence as `write_evidence_v1` takes it."""
    evidence_id = str(new_id())
    return {
        "id": evidence_id,
        "evidence_key": f"ev_{evidence_id}",
        "kind": "memory",
        "source_kind": "memory",
        "source_id": str(new_id()),
        "scope": str(cast.project.pk),
        "position": "",
        "digest": "",
        "observed_at": EARLY.isoformat(),
        **more,
    }


def write(cast: Cast, *items: dict[str, Any]) -> None:
    with tenant_context(cast.tenant_id):
        fetch_all(
            sql="SELECT write_evidence_v1(%s, %s::jsonb, %s)",
            params=[cast.tenant_id, json.dumps(items), clock.now()],
        )


def read_roots(cast: Cast, item: dict[str, Any]) -> set[str]:
    with tenant_context(cast.tenant_id, read_only=True):
        return {str(held.root) for held in EvidenceRoot.objects.filter(evidence_id=item["id"])}


def refuse(cast: Cast, *items: dict[str, Any]) -> str:
    with pytest.raises(IntegrityError) as refusal:
        write(cast, *items)
    return find_constraint_name(error=refusal.value)


def test_roots_come_from_what_it_was_derived_from(cast: Cast) -> None:
    one, two = (describe(cast, roots=[str(new_id()), str(new_id())]) for _ in range(2))
    write(cast, one, two)
    middle = describe(cast, derived_from=[one["id"], two["id"], one["id"]])
    top = describe(cast, derived_from=[middle["id"], one["id"]], roots=[])
    write(cast, middle, top)  # in one batch, the lower one first
    assert read_roots(cast, middle) == read_roots(cast, top) == {*one["roots"], *two["roots"]}
    with tenant_context(cast.tenant_id, read_only=True):
        edges = EvidenceEdge.objects.filter(child_id=middle["id"]).values_list("parent_id", flat=True)
        assert {str(parent) for parent in edges} == {one["id"], two["id"]}


def test_it_may_name_its_parents_roots_and_no_others(cast: Cast) -> None:
    one = describe(cast, roots=[str(new_id()), str(new_id())])
    write(cast, one)
    write(cast, describe(cast, derived_from=[one["id"]], roots=one["roots"]))
    fewer = describe(cast, derived_from=[one["id"]], roots=one["roots"][:1])
    other = describe(cast, derived_from=[one["id"]], roots=[*one["roots"], str(new_id())])
    for item in (fewer, other):
        assert refuse(cast, item) == "evidence_roots_follow_the_edges"
        assert read_roots(cast, item) == set()


def test_it_is_derived_from_what_is_there(cast: Cast) -> None:
    assert refuse(cast, describe(cast, derived_from=[str(new_id())])) == "evidence_edges_parent_is_of_the_tenant"
    stranger = make_cast()
    foreign = describe(stranger, roots=[str(new_id())])
    write(stranger, foreign)
    assert refuse(cast, describe(cast, derived_from=[foreign["id"]])) == "evidence_edges_parent_is_of_the_tenant"
    itself = describe(cast)
    assert refuse(cast, {**itself, "derived_from": [itself["id"]]}) == "evidence_edges_have_no_cycle"
