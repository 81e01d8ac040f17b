"""L2, screening: what must never be stored, and what speaks to the agent instead of about the world. Pure.

Source: Seed 000 §4.1 and §5.2; ADR 0002, ADR 0023. A marker takes the place of forbidden material before anything is
stored, and says only what kind of thing stood there.
"""

from memoryhub.policy.screening.own import MOST_PATTERNS, OwnPattern, PatternRefused, compile_own_pattern
from memoryhub.policy.screening.redaction import Redaction, lost_its_claim, redact_forbidden, redact_text
from memoryhub.policy.screening.services import load_detector
from memoryhub.policy.screening.speech import Speech, judge_speech, words_to_screen
from memoryhub.policy.screening.thoughts import find_thoughts, is_thought_type, names_thoughts

__all__ = (
    "MOST_PATTERNS",
    "OwnPattern",
    "PatternRefused",
    "Redaction",
    "Speech",
    "compile_own_pattern",
    "find_thoughts",
    "is_thought_type",
    "judge_speech",
    "load_detector",
    "lost_its_claim",
    "names_thoughts",
    "redact_forbidden",
    "redact_text",
    "words_to_screen",
)
