"""Word-level difference of two values, for the eye of a reviewer. Pure."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

# A token is a run of white space, a number, a word of a script with spaces, or any single other
# character: punctuation marks and Chinese characters each stand alone.
_TOKEN = re.compile(r"\s+|[0-9]+|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+|.", re.DOTALL)
_WHOLE_ABOVE = 0.5
_AROUND = 24  # characters that are kept at each end


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text that is the same on both sides, or changed."""

    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """The two sides of a comparison, each as spans that join to the whole text."""

    old: tuple[Span, ...]
    new: tuple[Span, ...]


def compare_words(*, old: str, new: str) -> Difference:
    """Mark what differs between two texts, by word, number, punctuation mark and Chinese character.

    When both sides change and more than half of the characters differ, both are marked whole: many
    small marks would be harder to read than two values.
    """
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    kept_before, kept_after = [False] * len(before), [False] * len(after)
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        for step in range(block.size):
            kept_before[block.a + step] = kept_after[block.b + step] = True
    if _is_mostly_changed(before, kept_before, after, kept_after):
        return Difference(old=(Span(old, changed=True),), new=(Span(new, changed=True),))
    return Difference(old=_join(before, kept_before), new=_join(after, kept_after))


def _is_mostly_changed(before: list[str], kept_before: list[bool], after: list[str], kept_after: list[bool]) -> bool:
    if all(kept_before) or all(kept_after):
        return False
    pairs = [*zip(before, kept_before, strict=True), *zip(after, kept_after, strict=True)]
    letters = [(len(token), kept) for token, kept in pairs if not token.isspace()]
    changed = sum(size for size, kept in letters if not kept)
    return changed > _WHOLE_ABOVE * sum(size for size, _ in letters)


def _join(tokens: list[str], kept: list[bool]) -> tuple[Span, ...]:
    """Join runs, bridge a single mark or space between two changes, keep spaces out of the edges."""
    flags = list(kept)
    for here in range(1, len(tokens) - 1):
        bridge = not any(sign.isalnum() for sign in tokens[here])
        if bridge and flags[here] and not kept[here - 1] and not kept[here + 1]:
            flags[here] = False
    for here, token in enumerate(tokens):
        at_edge = here in {0, len(tokens) - 1} or flags[here - 1] or flags[here + 1]
        if token.isspace() and at_edge:
            flags[here] = True
    runs = groupby(zip(tokens, flags, strict=True), key=lambda pair: pair[1])
    return tuple(Span("".join(token for token, _ in run), changed=not same) for same, run in runs)


def condense_spans(*, spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Condense each span for one line of a list."""
    return tuple(Span(condense_text(text=span.text), changed=span.changed) for span in spans)


def condense_text(*, text: str) -> str:
    """Keep beginning and end of a long value where it is only named; the claim shows the whole."""
    if len(text) <= 2 * _AROUND:
        return text
    head, tail = text[:_AROUND], text[-_AROUND:]
    return f"{head.rpartition(' ')[0] or head} … {tail.partition(' ')[2] or tail}"
