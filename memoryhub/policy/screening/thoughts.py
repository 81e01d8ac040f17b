"""Thoughts: where a text or a message holds a model's hidden reasoning, by tags and by names of fields. Pure."""

from __future__ import annotations

import re
import unicodedata

# Names that mean nothing else, wherever they stand.
_ONLY_THOUGHTS = frozenset({
    "reasoningcontent", "reasoningdetails", "reasoningtext", "reasoningsummary", "reasoningtrace", "reasoningsteps",
    "reasoningencryptedcontent", "encryptedreasoning", "thinking", "thinkingblocks", "thinkingcontent",
    "thinkingtext", "redactedthinking", "thoughtsignature", "thinkingsignature", "chainofthought", "chainofthoughts",
    "innerthoughts", "internalthoughts", "innermonologue", "internalmonologue", "hiddenreasoning", "思维链", "思考过程",
    "推理过程", "内心独白",
})  # fmt: skip
# Names that mean it in what a model said, and may be anybody's word elsewhere.
_THOUGHTS_OF_MODELS = frozenset({"reasoning", "thought", "thoughts", "encryptedcontent", "scratchpad", "cot"})
_TYPES = frozenset({
    "reasoning", "thinking", "redactedthinking", "reasoningtext", "reasoningsummary", "summarytext", "thought",
    "thoughts", "compaction",
})  # fmt: skip
_NAMES = "think|thinking|antthinking|thoughts?|reasoning|scratchpad|inner_?(?:thoughts?|monologue)|seed:think"
_TAG = re.compile(
    rf"(?i:<(?P<end>/?)\s{{0,3}}(?:{_NAMES})(?:\s[^<>]{{0,200}})?>|◁(?P<end2>/?)think▷)|\[(?P<end3>/?)THINK\]"
)
_CHANNEL = re.compile(r"(?s)<\|channel\|>\s{0,3}analysis\b.*?(?=<\|(?:start|channel)\|>|\Z)")


def find_thoughts(*, text: str, is_by_model: bool = False) -> list[tuple[int, int]]:
    """Return where hidden reasoning stands in a text, as half-open ranges that do not overlap, tags included.

    A tag that nobody closes is a mention, except at the very beginning, or where `is_by_model` says that a model
    wrote the text: then what an end tag without a beginning closes is reasoning as well.
    """
    spans = [match.span() for match in _CHANNEL.finditer(text)]
    begin, closed, depth = 0, 0, 0
    for match in _TAG.finditer(text):
        if not (match["end"] or match["end2"] or match["end3"]):
            if depth == 0:
                begin, closed = match.start(), 0
            depth += 1
        elif depth:
            depth, closed = depth - 1, match.end()
            if depth == 0:
                spans.append((begin, closed))
        elif is_by_model:
            spans.append((0, match.end()))
    if depth:
        is_all = is_by_model or not text[:begin].strip()
        spans += [(begin, len(text))] if is_all else [(begin, closed)] if closed else []
    return _join(spans)


def _join(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if joined and begin < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def names_thoughts(*, name: str, is_by_model: bool) -> bool:
    """Tell whether a field of this name holds hidden reasoning, or what proves it."""
    plain = _simplify(name)
    return plain in _ONLY_THOUGHTS or (is_by_model and plain in _THOUGHTS_OF_MODELS)


def is_thought_type(*, kind: str) -> bool:
    """Tell whether a part of this type is hidden reasoning."""
    return _simplify(kind) in _TYPES


def _simplify(name: str) -> str:
    return re.sub(r"[^a-z\u4e00-\u9fff]", "", unicodedata.normalize("NFKC", name).lower())
