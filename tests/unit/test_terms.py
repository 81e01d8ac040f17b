"""What is searched for: words of two languages become terms that the database need not understand."""

from __future__ import annotations

from memoryhub.retrieval.terms import list_terms, write_terms, write_vector


def test_a_run_of_han_characters_becomes_characters_and_pairs() -> None:
    assert list_terms("喜欢茶") == ["喜", "欢", "茶", "喜欢", "欢茶"]


def test_a_number_with_dots_brings_its_beginnings_and_no_digit_alone() -> None:
    assert list_terms("Django 4.1.13") == ["django", "4.1.13", "4.1"]
    assert write_terms(text="django 4.1") == ["'django'", "'4.1'"]


def test_a_word_of_pieces_brings_the_pieces() -> None:
    assert list_terms("release-date") == ["release-date", "release", "date"]


def test_a_question_asks_for_pairs_and_telling_words() -> None:
    assert write_terms(text="我喜欢什么") == ["'我喜'", "'喜欢'", "'欢什'", "'什么'"]
    assert write_terms(text="what is the eol of it") == ["'eol'"]
    assert write_terms(text="茶") == ["'茶'"]
    assert write_terms(text="?!") == []


def test_quotes_and_backslashes_cannot_leave_a_term() -> None:
    assert write_terms(text="l'eau \\ | & '") == ["'l''eau'", "'l'", "'eau'"]
    assert write_vector(fields=[("A", "l'eau")]) == "'l''eau':1A 'l':2A 'eau':3A"
