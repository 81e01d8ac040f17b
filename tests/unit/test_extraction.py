"""The plain rules: what they read, what they leave, and that no text holds them up."""

from __future__ import annotations

import time

import pytest

from memoryhub.extraction.interfaces import EventText, Proposal
from memoryhub.extraction.rules import RulesExtractor
from tests.cast import EARLY

LONGEST_SECONDS = 0.5


def read(text: str) -> list[Proposal]:
    """Let the rules read a text that its speaker wrote."""
    return RulesExtractor().extract(
        EventText(text=text, subject="person:alice", is_first_party=True, occurred_at=EARLY)
    )


@pytest.mark.parametrize(
    ("text", "fact_key", "value"),
    [
        ("From now on, please answer me in Chinese.", "preference.language", "zh"),
        ("By default write all of my mails in German", "preference.language", "de"),
        ("以后请用中文回答。", "preference.language", "zh"),
        ("I always prefer short answers.", "preference.general", "short answers"),
        ("我一直喜欢简短的回答。", "preference.general", "简短的回答"),
        ("x " * 230 + "From now on answer in French.", "preference.language", "fr"),
    ],
)
def test_a_lasting_preference_is_read(text: str, fact_key: str, value: str) -> None:
    [proposal] = read(text)
    assert (proposal.fact_key, proposal.value) == (fact_key, value)
    start, end = proposal.span
    assert text[start:end].strip() == proposal.content


@pytest.mark.parametrize(
    "text",
    [
        "This time answer in Chinese, always.",
        "这次用英文，以后再说",
        "The answer is in Chinese.",
        "Always answer. Write in German.",
        "",
    ],
)
def test_anything_else_is_left(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "always answer " * 15_000,
        "always answer in" * 12_000,
        "always " * 28_000,
        "默认用" * 66_000,
        "以后使用" * 50_000,
        "我一直喜欢" * 40_000,
        "I always prefer " * 12_000,
        "a." * 100_000,
        "a" * 200_000,
        "。" * 200_000,
    ],
)
def test_a_hostile_text_takes_no_longer_than_its_length(text: str) -> None:
    began = time.thread_time()
    read(text)
    assert time.thread_time() - began < LONGEST_SECONDS
