"""Set tokens aside for a question to a model, and record what it answered."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memoryhub.lib.db import fetch_all, fetch_json

if TYPE_CHECKING:
    from memoryhub.extraction.interfaces import Answer, Question


@dataclass(frozen=True, slots=True)
class Reserved:
    """Hold whether a question may be asked (`asked`), was answered before (`known`) or costs too much (`over_budget`).

    `answer` is the recorded one; empty when it was erased.
    """

    outcome: str
    id: str | None
    answer: str | None


def reserve_question(
    *, tenant_id: str, event_id: str, extractor_version: str, question: Question, daily_tokens: int, now: datetime
) -> Reserved:
    """Set the tokens of a question aside, unless the tenant would spend more than `daily_tokens` on this day (UTC).

    Rows written: one model answer that has not come yet.
    """
    request = {
        "tenant": tenant_id,
        "event": event_id,
        "extractor_version": extractor_version,
        "model": question.model[:100],
        "digest": question.digest,
        "tokens": question.tokens,
        "daily_tokens": daily_tokens,
    }
    return Reserved(**fetch_json(sql="SELECT reserve_question_v1(%s::jsonb, %s)", params=[json.dumps(request), now]))


def record_answer(*, tenant_id: str, reserved_id: str, answer: Answer, now: datetime) -> bool:
    """Record an answer, once, and what it cost in place of what was set aside, where the model said so.

    Returns whether it was the first.
    """
    rows = fetch_all(
        sql="""
            UPDATE model_answers SET answer = %s, answered_at = %s, tokens = coalesce(%s, tokens)
            WHERE tenant_id = %s AND id = %s AND answered_at IS NULL AND erased_at IS NULL
            RETURNING id
        """,
        params=[answer.text, now, answer.tokens, tenant_id, reserved_id],
    )
    return bool(rows)


def find_answer(*, tenant_id: str, reserved_id: str) -> str | None:
    """Return a recorded answer; None while there is none."""
    rows = fetch_all(
        sql="SELECT answer FROM model_answers WHERE tenant_id = %s AND id = %s AND answered_at IS NOT NULL",
        params=[tenant_id, reserved_id],
    )
    return str(rows[0][0]) if rows else None
