"""Whose word a source is: what a body names lowers the trust, and nothing raises it but the tenant's own word."""

from __future__ import annotations

from typing import Any

import pytest

from memoryhub.policy.trust import is_first_hand, judge_claim, judge_trust, name_status
from memoryhub.types.enums import EpistemicStatus, Trust

FIRST, THIRD, UNTRUSTED = Trust.FIRST_PARTY, Trust.THIRD_PARTY, Trust.UNTRUSTED
EXPLICIT, OBSERVED, INFERRED = EpistemicStatus.EXPLICIT, EpistemicStatus.OBSERVED, EpistemicStatus.INFERRED


@pytest.mark.parametrize(
    ("source_type", "by_person", "by_machine"),
    [
        ("message", FIRST, THIRD),
        ("statement", FIRST, THIRD),
        ("commit", FIRST, THIRD),
        ("form", FIRST, THIRD),
        ("document", THIRD, THIRD),
        ("tool_result", THIRD, THIRD),
        ("web_page", UNTRUSTED, UNTRUSTED),
        ("first_party", UNTRUSTED, UNTRUSTED),
    ],
)
def test_no_source_type_is_trusted_more_than_who_sends_it(
    source_type: str, by_person: Trust, by_machine: Trust
) -> None:
    payload = {"text": "words", "trust": "first_party"}
    assert judge_trust(source_type=source_type, payload=payload, is_person=True) is by_person
    assert judge_trust(source_type=source_type, payload=payload, is_person=False) is by_machine


@pytest.mark.parametrize(
    ("payload", "by_person", "by_machine"),
    [
        ("words alone", True, True),
        ({"text": "words"}, True, True),
        ({"role": None}, True, True),
        ({"role": "User"}, True, False),
        ({"role": "assistant"}, False, True),
        ({"role": "tool"}, False, False),
        ({"role": "system"}, False, False),
        ({"role": ["user"]}, False, False),
    ],
)
def test_the_role_of_a_message_may_give_it_away(payload: Any, by_person: bool, by_machine: bool) -> None:
    assert is_first_hand(source_type="message", payload=payload, is_person=True) is by_person
    assert is_first_hand(source_type="message", payload=payload, is_person=False) is by_machine
    assert not is_first_hand(source_type="document", payload=payload, is_person=True)


@pytest.mark.parametrize(
    ("first_hand", "groups", "named", "trust"),
    [
        (True, {"maintainers"}, "maintainers", FIRST),
        (True, {"others"}, "maintainers", THIRD),
        (True, {"maintainers"}, "", THIRD),
        (True, {""}, "", THIRD),
        (False, {"maintainers"}, "maintainers", THIRD),
    ],
)
def test_a_machine_is_an_authority_only_where_the_tenant_says_so(
    first_hand: bool, groups: set[str], named: str, trust: Trust
) -> None:
    assert judge_claim(trust=THIRD, first_hand=first_hand, groups=groups, authority_group=named) is trust


@pytest.mark.parametrize(
    ("claimed", "trust", "is_person", "kept"),
    [
        (EXPLICIT, FIRST, True, EXPLICIT),
        (EXPLICIT, THIRD, True, OBSERVED),
        (EXPLICIT, FIRST, False, OBSERVED),
        (EpistemicStatus.VALIDATED, FIRST, True, OBSERVED),
        (OBSERVED, FIRST, True, OBSERVED),
        (INFERRED, FIRST, True, INFERRED),
        (INFERRED, UNTRUSTED, False, INFERRED),
    ],
)
def test_the_nature_of_evidence_is_the_servers(
    claimed: EpistemicStatus, trust: Trust, is_person: bool, kept: EpistemicStatus
) -> None:
    assert name_status(claimed=claimed, trust=trust, is_person=is_person) is kept
