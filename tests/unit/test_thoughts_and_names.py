"""Secrets under odd names, and hidden reasoning in odd tags, fields and texts."""

from __future__ import annotations

import base64
import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from memoryhub.extraction.adapters import ADAPTERS
from memoryhub.extraction.adapters.reading import AdaptedEvent
from memoryhub.policy.screening import compile_own_pattern, find_thoughts, redact_forbidden

WORD = "Tr0ub4dor" + "&3x"
AT = datetime(2026, 5, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    "payload",
    [
        {"ｐａｓｓｗｏｒｄ": WORD},
        {"pass\u200bword": WORD},
        {"p\u0430ssword": WORD},
        {"pässwörd": WORD},
        {"password": [WORD, "and more"]},
        {"passwords": [WORD]},
        {"password": {"value": WORD}},
        {"password": {"new": {"value": [WORD]}}},
        {"login": "alice", "pass": WORD},
        {"name": "DB_PASSWORD", "value": [WORD]},
        json.dumps(json.dumps({"password": WORD})),
        json.dumps(json.dumps(json.dumps({"password": WORD}))),
    ],
)
def test_a_secret_is_taken_out_however_its_name_is_written(payload: Any) -> None:
    kept, redactions = redact_forbidden(payload=payload)
    assert WORD not in json.dumps(kept, ensure_ascii=False)
    assert redactions


def test_a_number_can_be_a_password_and_is_taken_out_everywhere() -> None:
    kept, _ = redact_forbidden(payload={"password": 84721963, "note": "type 84721963 at the door"})
    assert "84721963" not in json.dumps(kept)


@pytest.mark.parametrize(
    "payload",
    [
        {"password": {"type": "string", "required": True, "min_length": 12, "description": "The word to log in."}},
        {"pass": "12 of 12 tests"},
        {"password": None, "password_length": 4000, "reset_password": 12},
        {"cookie": "with chocolate"},
        {"reasoning": "The cheaper offer ran out.", "thoughts": "Ana finds it too dear."},
        {"type": "compaction", "content": "of the soil"},
        "Write <think> where the model begins; it is a tag.",
        "Does the answer hold </think> at its end?",
    ],
)
def test_what_only_looks_like_it_stays(payload: Any) -> None:
    assert redact_forbidden(payload=payload) == (payload, [])


def test_base64_is_read_for_patterns_and_keys_as_well() -> None:
    own = (compile_own_pattern(kind="customer", pattern=r"C-\d{6}"),)
    packed = base64.b64encode(b"the customer C-123456 called").decode()
    assert redact_forbidden(payload=packed, own=own)[0] == "[removed: customer]"
    assert redact_forbidden(payload=packed)[0] == packed


@pytest.mark.parametrize(
    "text",
    [
        "<think>HIDDEN</think>shown",
        "<THINKING lang='en'>HIDDEN</THINKING>shown",
        "<think>HIDDEN<think>HIDDEN</think>HIDDEN</think>shown",
        "shown <thought>HIDDEN</thought>",
        "<reasoning>\nHIDDEN\n</reasoning>shown",
        "<antThinking>HIDDEN</antThinking>shown",
        "[THINK]HIDDEN[/THINK]shown",
        "◁think▷HIDDEN◁/think▷shown",
        "<|channel|>analysis<|message|>HIDDEN<|end|><|start|>assistant<|channel|>final<|message|>shown",
        "shown <think>HIDDEN</think> shown <think>HIDDEN</think>",
    ],
)
def test_reasoning_between_tags_is_taken_out(text: str) -> None:
    kept, redactions = redact_forbidden(payload={"text": text})
    assert "HIDDEN" not in kept["text"]
    assert "shown" in kept["text"]
    assert {redaction.kind for redaction in redactions} == {"hidden_reasoning"}


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_details": [{"text": "HIDDEN"}]},
        {"Reasoning-Summary": "HIDDEN"},
        {"ｔｈｉｎｋｉｎｇ": "HIDDEN"},
        {"inner_thoughts": "HIDDEN"},
        {"思维链": "HIDDEN"},
        {"role": "assistant", "content": "a", "thought": "HIDDEN"},
        {"role": "assistant", "content": "a", "encrypted_content": "HIDDEN"},
        {"parts": [{"type": "reasoning", "text": "HIDDEN"}]},
    ],
)
def test_reasoning_in_fields_is_taken_out(fields: dict[str, Any]) -> None:
    assert "HIDDEN" not in json.dumps(redact_forbidden(payload=fields)[0])


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "HIDDEN</think>shown"},
        {"role": "assistant", "content": "shown <think>HIDDEN"},
        {"role": "assistant", "content": "shown", "tool_calls": [{"id": "1", "function": {
            "name": "search", "arguments": json.dumps({"thought": "HIDDEN", "query": "rail"})}}]},
        {"role": "assistant", "content": "shown", "tool_calls": [{"id": "1", "function": {
            "name": "search", "arguments": "<think>HIDDEN</think> rail"}}]},
        {"role": "assistant", "content": "shown", "tool_calls": [{"id": "1", "function": {
            "name": "search", "arguments": json.dumps({"inner": json.dumps({"reasoning": "HIDDEN"})})}}]},
        {"role": "tool", "content": json.dumps({"answer": "shown", "reasoning_content": "HIDDEN"})},
        {"role": "assistant", "content": "shown", "inner_thoughts": "HIDDEN"},
    ],
)  # fmt: skip
def test_an_adapter_leaves_reasoning_out_wherever_a_model_writes_it(message: dict[str, Any]) -> None:
    adapter = ADAPTERS["openai-chat"](session="s", at=AT)
    found = list(adapter.read({"messages": [message]}, place=0))
    told = json.dumps([getattr(one, "payload", one.kind if hasattr(one, "kind") else "") for one in found])
    assert "HIDDEN" not in told
    assert "shown" in told
    assert "hidden_reasoning" in told


def test_what_a_person_says_of_an_end_tag_stays() -> None:
    adapter = ADAPTERS["openai-chat"](session="s", at=AT)
    said = "Why does it end in </think> again?"
    [event] = adapter.read({"messages": [{"role": "user", "content": said}]}, place=0)
    assert isinstance(event, AdaptedEvent)
    assert event.payload["text"] == said


@pytest.mark.parametrize("text", ["<think>", "</think>", "<think></think>", "<think ", "<|channel|>analysis"])
def test_finding_thoughts_takes_time_in_proportion(text: str) -> None:
    began = time.perf_counter()
    find_thoughts(text=text * (200_000 // len(text)), is_by_model=True)
    assert time.perf_counter() - began < 1.0
