"""The first version of the plain rules, kept for jobs that were made under it: a lasting preference. Pure.

"This time" and 这次 are parameters of the task at hand and change no preference (seed 000 §5.2). A sentence of more
than 500 characters is read in pieces, so that the time it takes grows with the text and no faster.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from memoryhub.extraction.interfaces import EventText, ExtractionContext, Proposal
from memoryhub.types.enums import CandidateKind, EpistemicStatus, MemoryType

VERSION = "rules/1"

_ONLY_NOW = re.compile(
    r"(?i)\b(?:this time|just (?:this )?once|for now|today only|this (?:report|trip|task))\b"
    r"|这次|这一次|本次|今天先|这份|这个报告"
)
_LANGUAGES = {
    "chinese": "zh", "中文": "zh", "汉语": "zh", "english": "en", "英文": "en", "英语": "en",
    "german": "de", "德文": "de", "德语": "de", "french": "fr", "法文": "fr", "法语": "fr",
    "japanese": "ja", "日文": "ja", "日语": "ja",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    fact_key: str


_NAMES = "|".join(_LANGUAGES)
_RULES = (
    _Rule(
        re.compile(
            rf"(?i)\b(?:from now on|by default|always)\b(?>[^.!?]{{0,200}}?\b(?:answer|reply|write|respond)\b)"
            rf"[^.!?]{{0,200}}?\bin (?P<value>{_NAMES})\b"
        ),
        "preference.language",
    ),
    _Rule(
        re.compile(rf"(?i)(?:以后|今后|默认|一直|总是)[^。！？]{{0,100}}?(?:用|使用)(?P<value>{_NAMES})"),
        "preference.language",
    ),
    _Rule(
        re.compile(r"(?i)\bI (?:always|generally|usually) prefer (?P<value>[^.!?\n]{2,80})"),
        "preference.general",
    ),
    _Rule(
        re.compile(r"(?:我(?:一直|通常|总是|平时)(?:喜欢|偏好|习惯))(?P<value>[^。！？\n]{1,40})"), "preference.general"
    ),
)


class FirstRulesExtractor:
    """Read stated lasting preferences by pattern; deterministic."""

    version = VERSION

    def extract(self, event: EventText, context: ExtractionContext) -> list[Proposal]:  # noqa: ARG002  words are enough
        """Return one proposal for each sentence that states a lasting preference of the speaker."""
        proposals: list[Proposal] = []
        for start, sentence in _list_sentences(event.text):
            if _ONLY_NOW.search(sentence):
                continue
            for rule in _RULES:
                match = rule.pattern.search(sentence)
                if match is None:
                    continue
                words = match.group("value").strip()
                value: Any = _LANGUAGES.get(words.lower(), words)
                proposals.append(
                    Proposal(
                        kind=CandidateKind.PREFERENCE,
                        memory_type=MemoryType.SEMANTIC,
                        subject=event.subject,
                        fact_key=rule.fact_key,
                        content=sentence.strip(),
                        value=value,
                        epistemic_status=EpistemicStatus.EXPLICIT if event.is_first_party else EpistemicStatus.OBSERVED,
                        confidence=0.95,
                        span=(start, start + len(sentence)),
                    )
                )
                break
        return proposals


def _list_sentences(text: str) -> list[tuple[int, str]]:
    return [(match.start(), match.group()) for match in re.finditer(r"[^.!?。！？\n]{1,500}[.!?。！？]?", text)]
