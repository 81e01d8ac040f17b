"""Governed object, adapters: turn what other programs write down of conversations into events. Pure.

Each reads one format, keeps only what stands in its allow-list, and tells everything it leaves out. Hidden reasoning,
in whatever field or part a format hides it, is never kept; nor are system prompts, signatures and the bytes of files,
in whose place a marker says what stood there and how large it was. A kind of record that an adapter does not know is
kept as an event with such a marker, so that nothing is lost without a trace.
"""

from __future__ import annotations

from memoryhub.extraction.adapters.claude_code import ClaudeCodeAdapter
from memoryhub.extraction.adapters.cloudevents import CloudEventsAdapter
from memoryhub.extraction.adapters.codex import CodexAdapter
from memoryhub.extraction.adapters.openai_chat import OpenAIChatAdapter
from memoryhub.extraction.adapters.otel_genai import GenAIAdapter
from memoryhub.extraction.adapters.reading import AdaptedEvent, Adapter, Left

ADAPTERS: dict[str, type[Adapter]] = {
    "openai-chat": OpenAIChatAdapter,
    "cloudevents": CloudEventsAdapter,
    "otel-genai": GenAIAdapter,
    "claude-code": ClaudeCodeAdapter,
    "codex": CodexAdapter,
}

__all__ = ["ADAPTERS", "AdaptedEvent", "Adapter", "Left"]
