"""A late claim may contest what was accepted long ago (ADR 0016); a person can rule on that too."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memoryhub.access.tenancy import tenant_context
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.usecases.rederive import check_memories
from memoryhub.usecases.review import Resolution, Verb, resolve_review
from tests.acts import state_fact
from tests.cast import EARLY, make_cast


@pytest.mark.parametrize("verb", [Verb.ACCEPT, Verb.KEEP_CONFLICT, Verb.REJECT])
def test_a_ruling_on_a_claim_that_was_accepted_before(verb: Verb) -> None:
    """Support a value, then learn late that it had been replaced in between: the support is a put-back now."""
    cast = make_cast()
    state_fact(cast, value="x", by=cast.alice.username)
    support = state_fact(cast, value="x", by=cast.bob.username, at=EARLY + timedelta(days=10)).result
    assert (support.action, support.status) == ("ATTACH_EVIDENCE", "accepted")
    late = state_fact(cast, value="y", by=cast.carol.username, at=EARLY + timedelta(days=5)).result
    assert late.action == "CONFLICT"
    with tenant_context(cast.tenant_id, read_only=True):
        [(item_id, candidate_id)] = fetch_all(sql="SELECT id::text, candidate_id::text FROM review_items", params=[])
    assert candidate_id == support.candidate_id
    resolution = Resolution(item_id=item_id, verb=verb, expected_version=3, reason="outdated")
    resolved = resolve_review(caller=cast.person(cast.rita), resolution=resolution, now=clock.now())
    assert resolved.version == 4
    with tenant_context(cast.tenant_id, read_only=True):
        statuses = fetch_all(sql="SELECT status FROM memory_candidates WHERE id = %s", params=[support.candidate_id])
        is_open = fetch_all(sql="SELECT has_open_conflict FROM memory_heads", params=[])
    assert statuses == [("rejected" if verb is Verb.REJECT else "accepted",)]
    assert is_open == [(verb is Verb.KEEP_CONFLICT,)]
    assert list(check_memories(tenant_id=cast.tenant_id)) == []
