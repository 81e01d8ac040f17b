"""A tenant's own patterns: what they take out, which are refused, and that none can stall the door."""

from __future__ import annotations

import time

import pytest

from memoryhub.policy.screening import PatternRefused, compile_own_pattern, redact_forbidden, redact_text

NUMBER = compile_own_pattern(kind="customer_number", pattern=r"\bKD-\d{6}\b")
PATIENT = compile_own_pattern(kind="patient", pattern=r"病历号[：:]?\s*\d+")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("ask KD-123456 first", "ask [removed: customer_number] first"),
        ("KD-123456 and KD-654321", "[removed: customer_number] and [removed: customer_number]"),
        ("KD-1234567 is another", "KD-1234567 is another"),
        ("患者的病历号：88123，已出院", "患者的[removed: patient]，已出院"),
        ("ＫＤ－１２３４５６", "[removed: customer_number]"),
        ("K\u200bD-123456", "[removed: customer_number]"),
    ],
)
def test_what_a_tenant_does_not_want_is_taken_out(text: str, kept: str) -> None:
    own = (NUMBER, PATIENT)
    found, redactions = redact_text(text, own=own)
    assert found == kept
    assert redact_text(found, own=own) == (found, [])
    assert redact_text(text)[0] == text
    assert len(redactions) == kept.count("[removed: ")


def test_it_is_taken_out_of_every_part() -> None:
    payload = {"KD-111111": [{"note": "for KD-222222"}], "KD-111111 again": 1}
    kept, redactions = redact_forbidden(payload=payload, own=(NUMBER,))
    assert kept == {
        "[removed: customer_number]": [{"note": "for [removed: customer_number]"}],
        "[removed: customer_number] again": 1,
    }
    assert [one.kind for one in redactions] == ["customer_number"] * 3


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        ("number", ""),
        ("number", "x" * 201),
        ("number", "("),
        ("number", r"(?<=a)b"),
        ("number", r"(a)\1"),
        ("number", "a*"),
        ("number", "KD|"),
        ("number", r"\w+"),
        ("number", "."),
        ("number", "以后"),
        ("number", "removed"),
        ("number", "(x{1000}){1000}"),
        ("Number", "KD"),
        ("", "KD"),
        ("a" * 21, "KD"),
        ("number]", "KD"),
    ],
)
def test_a_pattern_that_cannot_be_meant_is_refused(kind: str, pattern: str) -> None:
    with pytest.raises(PatternRefused) as refusal:
        compile_own_pattern(kind=kind, pattern=pattern)
    assert not pattern or f"{pattern!r}" not in str(refusal.value)


@pytest.mark.parametrize("pattern", [r"(x+x+)+yy", r"(x|x)*yy", r"(x*)*yy", r"(.*x){12}yy", r"^(x+)+$yy"])
def test_a_pattern_that_stalls_others_takes_no_longer_than_the_text(pattern: str) -> None:
    own = compile_own_pattern(kind="slow", pattern=pattern)
    began = time.thread_time()
    redact_text("x" * 100_000, own=(own,))
    assert time.thread_time() - began < 1.0
