"""Folding a key and normalising a value: done twice they change nothing more, whatever the text."""

from __future__ import annotations

import string
import unicodedata

from hypothesis import assume, given
from hypothesis import strategies as st

from memoryhub.lib.canonical import canonical_json
from memoryhub.types.entity import fold_mention
from memoryhub.types.fact_keys import (
    BadFactKey,
    choose_pattern,
    fold_fact_key,
    fold_pattern,
    matches_pattern,
    rank_pattern,
)
from memoryhub.types.normalising import NORMALISERS, normalise_value

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
SAID = st.one_of(
    WORDS,
    st.from_regex(r"[+-]?[0-9]{1,20}([.][0-9]{0,8})?(e[+-]?[0-9]{1,3})? ?", fullmatch=True),
    st.dates().map(lambda day: day.strftime("%Y/%m/%d")),
    st.from_regex(r"P([0-9]{1,3}Y)?([0-9]{1,3}M)?([0-9]W)?([0-9]{1,3}D)?(T[0-9]{1,3}M)?", fullmatch=True),
    st.from_regex(r"[0-9]{1,4} ?(days|Weeks|min|年|个月|天)", fullmatch=True),
    st.from_regex(r" ?[A-Za-z.]{1,6}@[A-Z.a-z]{1,8}", fullmatch=True),
    st.from_regex(r"[Hh]ttps?://[A-Za-z]{1,5}(:[0-9]{1,4})?(/[A-Za-z%0-9é~ ]{0,8})?([?]q=[A-Z]{0,3})?", fullmatch=True),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), SAID),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=6,
)
LISTS = st.lists(st.sampled_from(NORMALISERS), max_size=4)
SEGMENTS = st.sampled_from(["a", "b", "c1", "票", "x_y"])
KEYS = st.lists(SEGMENTS, min_size=1, max_size=4).map(".".join)
PATTERNS = (
    st.lists(st.one_of(SEGMENTS, st.just("*")), min_size=1, max_size=4).filter(lambda s: set(s) != {"*"}).map(".".join)
)


@given(value=VALUES, names=LISTS)
def test_a_normalised_value_is_normal(value: object, names: list[str]) -> None:
    once = normalise_value(value=value, names=names)
    assert canonical_json(normalise_value(value=once, names=names)) == canonical_json(once)


@given(text=st.one_of(WORDS, KEYS, st.text(string.ascii_letters + "._-", max_size=12)))
def test_a_folded_key_is_folded(text: str) -> None:
    try:
        key = fold_fact_key(text=text)
    except BadFactKey:
        assume(False)
    assert fold_fact_key(text=key) == key == fold_pattern(text=key)
    for twin in (key.upper(), f" {key}\u200b", unicodedata.normalize("NFD", key)):
        assert fold_fact_key(text=twin) == key or twin.casefold() != key


@given(
    key=KEYS,
    noise=st.lists(
        st.tuples(st.integers(0, 40), st.sampled_from("\u200b\u00ad\ufeff\u2060\ufe0f\u3164\u115f\u034f")), max_size=4
    ),
)
def test_what_cannot_be_seen_makes_no_other_key(key: str, noise: list[tuple[int, str]]) -> None:
    twin = key.swapcase()
    for place, character in noise:
        twin = twin[:place] + character + twin[place:]
    assert fold_fact_key(text=f"\u3000{twin} ") == key


@given(text=WORDS)
def test_a_folded_mention_is_folded(text: str) -> None:
    once = fold_mention(text=text)
    assert fold_mention(text=once) == once


@given(key=KEYS, patterns=st.lists(PATTERNS, max_size=6))
def test_one_pattern_counts_whatever_their_order(key: str, patterns: list[str]) -> None:
    chosen = choose_pattern(key=key, patterns=patterns)
    assert chosen == choose_pattern(key=key, patterns=reversed(patterns))
    fitting = [pattern for pattern in patterns if matches_pattern(key=key, pattern=pattern)]
    assert (chosen is None) == (not fitting)
    for pattern in set(fitting) - {chosen}:
        assert chosen is not None
        # No other is more specific, and no two that fit are equally so.
        assert rank_pattern(pattern=chosen) < rank_pattern(pattern=pattern)
        assert chosen.count("*") <= pattern.count("*")
