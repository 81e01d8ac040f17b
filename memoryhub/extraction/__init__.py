"""Governed object, extraction: turns events into proposals behind one Protocol."""

from __future__ import annotations

from memoryhub.extraction.interfaces import Extractor
from memoryhub.extraction.rules import TOOL_SOURCES, RulesExtractor
from memoryhub.extraction.rules import VERSION as RULES_VERSION
from memoryhub.extraction.rules_v1 import VERSION as FIRST_RULES_VERSION
from memoryhub.extraction.rules_v1 import FirstRulesExtractor

_SPEAKING = frozenset({"message"})
_PLAIN: dict[str, Extractor] = {RULES_VERSION: RulesExtractor(), FIRST_RULES_VERSION: FirstRulesExtractor()}


class ExtractorMissing(LookupError):
    """Say that there is no extractor of a version, or that it is switched off."""


def active_extractors(*, source_type: str) -> tuple[str, ...]:
    """Return the versions of the extractors that look at new events of this source type."""
    return (RULES_VERSION,) if source_type in _SPEAKING | TOOL_SOURCES else ()


def get_extractor(*, version: str) -> Extractor:
    """Return an extractor by its version; one that new events no longer get still does the jobs made under it.

    Raises:
        ExtractorMissing: there is none of that version, or it is switched off.
    """
    if version not in _PLAIN:
        raise ExtractorMissing(version)
    return _PLAIN[version]
