"""What a reviewer is shown as changed."""

import pytest

from memoryhub.console.diff import Span, compare_words, condense_spans, condense_text


def mark(spans: tuple[Span, ...]) -> str:
    """Write changed spans in brackets."""
    return "".join(f"[{span.text}]" if span.changed else span.text for span in spans)


@pytest.mark.parametrize(
    ("old", "new", "marked_old", "marked_new"),
    [
        ("4.1.1", "4.1", "4.1[.1]", "4.1"),
        ("6.8.9", "6.0.1", "6.[8.9]", "6.[0.1]"),
        ("5 Sep 2022", "3 Aug 2022", "[5 Sep] 2022", "[3 Aug] 2022"),
        ("喜欢香菜", "不喜欢香菜", "喜欢香菜", "[不]喜欢香菜"),
        ("默认用英文回答", "以后默认用中文回答", "默认用[英]文回答", "[以后]默认用[中]文回答"),
        ("allowed on Tuesday", "not allowed on Thursday", "allowed on [Tuesday]", "[not] allowed on [Thursday]"),
        ("30", "45", "[30]", "[45]"),
        ("2024-04-30", "2023-09-11", "[2024-04-30]", "[2023-09-11]"),
        ("same", "same", "same", "same"),
        ("", "45", "", "[45]"),
    ],
)
def test_a_difference_is_marked_by_word(old: str, new: str, marked_old: str, marked_new: str) -> None:
    difference = compare_words(old=old, new=new)
    assert mark(difference.old) == marked_old
    assert mark(difference.new) == marked_new


@pytest.mark.parametrize("text", ["<b>&amp;</b>", "a  b\tc\n", "混合 mixed 123.4", ""])
def test_the_spans_join_to_the_whole_text(text: str) -> None:
    difference = compare_words(old=text, new="x" + text)
    assert "".join(span.text for span in difference.old) == text
    assert "".join(span.text for span in difference.new) == "x" + text


def test_a_long_value_keeps_beginning_and_end_in_a_list() -> None:
    long = "fixes are published until the end of the period, " * 3 + "or twice a year"
    shown = condense_text(text=long)
    assert shown == "fixes are published … period, or twice a year"
    assert condense_text(text="4.1.1") == "4.1.1"
    spans = compare_words(old=long, new=long.replace("twice", "once")).old
    assert [(span.text, span.changed) for span in condense_spans(spans=spans)][1] == ("twice", True)
