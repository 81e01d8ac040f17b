"""Normalisers: what each one reads, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest

from memoryhub.types.normalising import (
    NORMALISERS,
    UnknownNormaliser,
    check_normalisers,
    compose_value,
    normalise_value,
    read_normalisers,
)


@pytest.mark.parametrize(
    ("names", "value", "expected"),
    [
        ("", "45 ", "45 "),
        ("none", "45 ", "45 "),
        ("trim", " 45\n", "45"),
        ("trim", "\u300045", "45"),
        ("casefold", "STRASSE Straße", "strasse strasse"),
        ("nfkc", "４５ ﬁ", "45 fi"),
        ("number", "45 ", 45),
        ("number", "45.0", 45),
        ("number", "-0.50", -0.5),
        ("number", "1e3", 1000),
        ("number", "9007199254740993", 9007199254740993),
        ("number", "9007199254740993.0", 9007199254740993),
        ("number", "1e23", 10**23),
        ("number", "-0.0", 0),
        ("number", "0e999", 0),
        ("number", "1e-400", "1e-400"),
        ("number", "0.10000000000000000001", "0.10000000000000000001"),
        ("number", "12345678901234567890.5", "12345678901234567890.5"),
        ("number", "1.10", 1.1),
        ("number", "2.5e-7", 2.5e-7),
        ("number", "1,000", "1,000"),
        ("number", "1e999", "1e999"),
        ("number", "45 days", "45 days"),
        ("number", "NaN", "NaN"),
        ("number", True, True),
        ("number", "４５", "４５"),
        ("nfkc,number", "４５", 45),
        ("date", "2026-5-3", "2026-05-03"),
        ("date", "2026/05/03", "2026-05-03"),
        ("date", "2026年5月3日", "2026-05-03"),
        ("date", "3 May 2026", "2026-05-03"),
        ("date", "May 3rd, 2026", "2026-05-03"),
        ("date", "Sept. 3, 2026", "2026-09-03"),
        ("date", "03/05/2026", "03/05/2026"),
        ("date", "2026-02-30", "2026-02-30"),
        ("date", "2026-05/03", "2026-05/03"),
        ("date", "2026-05-03T10:00:00Z", "2026-05-03T10:00:00Z"),
        ("duration", "30 days", "P30D"),
        ("duration", "two days", "two days"),
        ("duration", "2 weeks", "P14D"),
        ("duration", "p2w", "P14D"),
        ("duration", "P18M", "P1Y6M"),
        ("duration", "90 min", "PT1H30M"),
        ("duration", "1 day, 2 hours", "P1DT2H"),
        ("duration", "30天", "P30D"),
        ("duration", "１个月２天", "P1M2D"),
        ("duration", "0 days", "PT0S"),
        ("duration", "P", "P"),
        ("duration", "24h", "PT24H"),
        ("email", " Hans@Example.ORG ", "Hans@example.org"),
        ("email", "mailto:hans@example.org", "hans@example.org"),
        ("email", "hans at example.org", "hans at example.org"),
        ("url", "HTTPS://Example.org:443", "https://example.org/"),
        ("url", "http://example.org:8080/%7ea/%e4", "http://example.org:8080/~a/%E4"),
        ("url", "http://[2001:DB8::1]/", "http://[2001:db8::1]/"),
        ("url", "example.org", "example.org"),
        ("url", "http://a b/", "http://a b/"),
        ("trim,casefold", [" A ", {"k ": " B "}, 3, None], ["a", {"k ": "b"}, 3, None]),
        ("trim", None, None),
    ],
)
def test_a_value_is_written_in_one_way(names: str, value: Any, expected: Any) -> None:
    found = normalise_value(value=value, names=read_normalisers(text=names))
    assert (found, type(found)) == (expected, type(expected))


def test_one_text_to_unicode_is_one_value() -> None:
    apart = {"Cafe\u0301": ["re\u0301sume\u0301", 1, None]}
    assert compose_value(value=apart) == {"Caf\u00e9": ["r\u00e9sum\u00e9", 1, None]}
    both = {"e\u0301": 1, "\u00e9": 2}
    assert compose_value(value=both) == both, "a condition was lost"


def test_the_list_is_closed() -> None:
    with pytest.raises(UnknownNormaliser, match="known are none, trim"):
        check_normalisers(names=["trim", "stem"])
    assert check_normalisers(names=NORMALISERS) == NORMALISERS[1:]
