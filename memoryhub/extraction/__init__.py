"""Governed object, extraction: turns events into proposals behind one Protocol."""

from memoryhub.extraction.interfaces import Extractor
from memoryhub.extraction.rules import VERSION as RULES_VERSION
from memoryhub.extraction.rules import RulesExtractor

_EXTRACTORS: dict[str, Extractor] = {RULES_VERSION: RulesExtractor()}
_SPEAKING = frozenset({"message"})


def active_extractors(*, source_type: str) -> tuple[str, ...]:
    """Return the versions of the extractors that look at events of this source type."""
    return tuple(_EXTRACTORS) if source_type in _SPEAKING else ()


def get_extractor(*, version: str) -> Extractor:
    """Return an extractor by its version.

    Raises:
        KeyError: there is none of that version.
    """
    return _EXTRACTORS[version]
