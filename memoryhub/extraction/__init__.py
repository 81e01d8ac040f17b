"""Governed object, extraction: turns events into proposals behind one Protocol."""

from __future__ import annotations

from django.conf import settings

from memoryhub.extraction.interfaces import Extractor, ModelExtractor
from memoryhub.extraction.rules import TOOL_SOURCES, RulesExtractor
from memoryhub.extraction.rules import VERSION as RULES_VERSION
from memoryhub.extraction.rules_v1 import VERSION as FIRST_RULES_VERSION
from memoryhub.extraction.rules_v1 import FirstRulesExtractor

MODEL_VERSION = "openai/1"
_SPEAKING = frozenset({"message"})
_PLAIN: dict[str, Extractor] = {RULES_VERSION: RulesExtractor(), FIRST_RULES_VERSION: FirstRulesExtractor()}


class ExtractorMissing(LookupError):
    """Say that there is no extractor of a version, or that it is switched off."""


def active_extractors(*, source_type: str) -> tuple[str, ...]:
    """Return the versions of the extractors that look at new events of this source type."""
    rules = (RULES_VERSION,) if source_type in _SPEAKING | TOOL_SOURCES else ()
    models = (MODEL_VERSION,) if settings.MODEL_URL and source_type in _SPEAKING else ()
    return (*rules, *models)


def get_extractor(*, version: str) -> Extractor | ModelExtractor:
    """Return an extractor by its version; one that new events no longer get still does the jobs made under it.

    Raises:
        ExtractorMissing: there is none of that version, or it is switched off.
    """
    if version in _PLAIN:
        return _PLAIN[version]
    if version == MODEL_VERSION and settings.MODEL_URL:
        from memoryhub.extraction.openai import ModelSettings, OpenAIExtractor

        return OpenAIExtractor(
            ModelSettings(
                url=settings.MODEL_URL,
                model=settings.MODEL_NAME,
                key=settings.MODEL_KEY,
                timeout=settings.MODEL_TIMEOUT,
                retries=settings.MODEL_RETRIES,
                event_tokens=settings.MODEL_EVENT_TOKENS,
                daily_tokens=settings.MODEL_DAILY_TOKENS,
            )
        )
    raise ExtractorMissing(version)
