"""Modality: read off the evidence, by the first rule that matches. Pure.

Source: ADR 0005.
"""

from __future__ import annotations

from dataclasses import dataclass

from memoryhub.types.enums import Modality


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Hold where one modality ends and the next begins; parameters of the policy version."""

    tau_high: float = 0.75
    epsilon: float = 0.15
    dispute_ratio: float = 0.8


def read_modality(
    *,
    confidence: float,
    support: float,
    opposition: float,
    has_open_conflict: bool,
    all_support_superseded: bool,
    thresholds: Thresholds,
) -> Modality:
    """Return the strength of belief."""
    if all_support_superseded:
        return Modality.REFUTED
    if has_open_conflict or (opposition > 0 and opposition >= support * thresholds.dispute_ratio):
        return Modality.DISPUTED
    if opposition >= thresholds.epsilon:
        return Modality.DOUBTED
    if confidence > thresholds.tau_high:
        return Modality.BELIEVED
    return Modality.POSSIBLE
