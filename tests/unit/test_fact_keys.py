"""Fact keys: twins are one key, patterns match segment by segment, the most specific counts."""

from __future__ import annotations

import pytest

from memoryhub.types.fact_keys import (
    BadFactKey,
    choose_pattern,
    fold_fact_key,
    fold_pattern,
    matches_pattern,
    name_key,
    rank_pattern,
)

KEY = "invoice.payment_terms_days"


@pytest.mark.parametrize(
    "twin",
    [
        "invoice.payment_terms_days ",
        "\tinvoice.payment_terms_days\n",
        "Invoice.Payment_Terms_Days",
        "ｉｎｖｏｉｃｅ．ｐａｙｍｅｎｔ＿ｔｅｒｍｓ＿ｄａｙｓ",
        "invoice\u200b.payment\u00ad_terms_days",
        "\ufeffinvoice.payment_terms_days",
        "invoice.payment_terms_days\u3164",
        "\uffa0invoice.pay\u115fment_terms\u1160_days",
        "invoice.pay\u034fment_terms_days",
        "ℹnvoice.payment_terms_days".replace("ℹ", "ⅰ"),
        "𝐢𝐧𝐯𝐨𝐢𝐜𝐞.payment_terms_days",
    ],
)
def test_a_twin_is_the_same_key(twin: str) -> None:
    assert fold_fact_key(text=twin) == KEY


def test_a_letter_and_its_mark_are_one_letter() -> None:
    assert fold_fact_key(text="cafe\u0301.price") == fold_fact_key(text="caf\u00e9.PRICE") == "caf\u00e9.price"


@pytest.mark.parametrize(
    "key",
    [
        "release.latest",
        "django.4.1.latest",
        "preference.general",
        "undeclared",
        "发票.付款期限_天",
        "偏好.语言",
        "a-b.c",
    ],
)
def test_ordinary_keys_stay_as_they_are(key: str) -> None:
    assert fold_fact_key(text=key) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        ".",
        "a..b",
        ".a",
        "a.",
        "a b",
        "a. b",
        "*",
        "a.*",
        "a/b",
        "a'b",
        "-a",
        "a-",
        "a:b",
        "a%b",
        "a\x00b",
        "发票。付款",
        "inv\u043eice.terms",
        "x" * 201,
        ".".join("x" * 17),
    ],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(BadFactKey):
        fold_fact_key(text=text)


def test_a_pattern_matches_one_segment_for_each_star() -> None:
    assert matches_pattern(key="django.4.latest", pattern="*.4.latest")
    assert not matches_pattern(key="django.4.1.latest", pattern="*.4.latest")
    assert not matches_pattern(key="latest", pattern="*.latest")
    assert fold_pattern(text=" *.Latest ") == "*.latest"
    for text in ("*", "*.*", "a.**", "a*.b"):
        with pytest.raises(BadFactKey):
            fold_pattern(text=text)


def test_the_most_specific_pattern_counts() -> None:
    patterns = ["*.*.latest", "django.*.latest", "*.4.latest", "django.4.latest"]
    assert choose_pattern(key="django.4.latest", patterns=patterns) == "django.4.latest"
    assert choose_pattern(key="django.5.latest", patterns=patterns) == "django.*.latest"
    assert choose_pattern(key="node.4.latest", patterns=patterns) == "*.4.latest"
    assert choose_pattern(key="node.5.latest", patterns=patterns) == "*.*.latest"
    assert choose_pattern(key="node.5.eol", patterns=patterns) is None
    # As many stars: what is named further to the left counts.
    assert choose_pattern(key="a.b", patterns=["*.b", "a.*"]) == "a.*"
    assert rank_pattern(pattern="a.b") < rank_pattern(pattern="a.*") < rank_pattern(pattern="*.b")


def test_a_declared_spelling_is_kept() -> None:
    fold = fold_fact_key(text="RELEASE.RELEASEDATE")
    assert name_key(fold=fold, declared="release.releaseDate").spelling == "release.releaseDate"
    assert name_key(fold=fold, declared="release.*").spelling == "release.releasedate"
    assert name_key(fold=fold, declared=None).spelling == "release.releasedate"
