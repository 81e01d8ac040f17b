"""Forgetting: what fades from an answer; no row changes, and new evidence brings it back. Pure.

Source: ADR 0005; Seed 003 §2.3.
"""

from __future__ import annotations

from datetime import timedelta

from memoryhub.types.cognitive import get_decay
from memoryhub.types.enums import Modality

_NEVER_FADES = frozenset({Modality.DISPUTED, Modality.DOUBTED})


def fade_confidence(*, confidence: float, memory_type: str, age: timedelta) -> float:
    """Return what is left of a confidence in 0..1 when nothing has come since, an age after it was derived."""
    return confidence * get_decay(memory_type=memory_type).retain(age)


def find_fading(*, modality: Modality, confidence: float, epsilon: float) -> str:
    """Return why a memory stays out of an answer, or nothing.

    What is disputed or doubted always shows: weak because contested is not the same as forgotten.
    """
    if modality is Modality.REFUTED:
        return "refuted"
    if modality not in _NEVER_FADES and confidence < epsilon:
        return "forgotten"
    return ""
