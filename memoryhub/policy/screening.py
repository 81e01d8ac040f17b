"""Screening: what must never be stored, and what speaks to the agent instead of about the world. Pure.

Source: Seed 000 §4.1 and §5.2; ADR 0002. A marker takes the place of forbidden material before anything is
stored, and says only what kind of thing stood there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_SECRETS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "private_key",
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    ),
    ("access_token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,})")),
    ("access_token", re.compile(r"\bmh_[A-Za-z0-9_-]{20,}")),
    ("api_key", re.compile(r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{16,}")),
    ("api_key", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}")),
    ("access_token", re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}")),
    ("access_token", re.compile(r"(?i)(?<=\bbearer )[\w.~+/-]{16,}=*")),
    (
        "password",
        re.compile(
            r"(?i)(?:(?<=password is )|(?<=password: )|(?<=password=)|(?<=passwd=)|(?<=pwd=)|(?<=secret=)"
            r"|(?<=密码是)|(?<=密码为)|(?<=密码:)|(?<=密码：)|(?<=口令是)|(?<=口令：))\s*[^\s，。,;；\"']{4,}"
        ),
    ),
)
_REASONING_KEYS = frozenset({"reasoning", "reasoning_content", "thinking", "chain_of_thought", "redacted_thinking"})
_INSTRUCTIONS = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instruction|permission|polic|rule|guardrail|previous)"
    r"|\byou (?:must|should) (?:now |always |never )?(?:remember|store|save|obey|reveal|send|act as)\b"
    r"|\b(?:system prompt|jailbreak|developer mode)\b|\bapproved by (?:the )?(?:owner|admin|security|management)\b"
    r"|(?:忽略|无视|绕过|忘记).{0,12}(?:指令|权限|规则|限制|策略|要求)|你(?:必须|应该|要)(?:记住|保存|存储|服从|透露)"
    r"|(?:保存|记住|发送).{0,8}(?:密钥|密码|令牌)|已(?:经)?(?:由|获).{0,8}(?:批准|授权)"
)


@dataclass(frozen=True, slots=True)
class Redaction:
    """Hold what kind of thing was taken out, and where: a JSON pointer and a position, no content."""

    kind: str
    pointer: str
    position: int

    def as_json(self) -> dict[str, Any]:
        """Return the redaction as the envelope keeps it."""
        return {"kind": self.kind, "pointer": self.pointer, "position": self.position}


def redact_forbidden(*, payload: Any) -> tuple[Any, list[Redaction]]:
    """Return the payload without keys, tokens, passwords and hidden reasoning, and what was taken out."""
    found: list[Redaction] = []
    return _redact(payload, "", found), found


def _redact(value: Any, pointer: str, found: list[Redaction]) -> Any:
    if isinstance(value, str):
        return _redact_text(value, pointer, found)
    if isinstance(value, list):
        return [_redact(item, f"{pointer}/{index}", found) for index, item in enumerate(value)]
    if isinstance(value, dict):
        kept: dict[str, Any] = {}
        hides = value.get("type") in _REASONING_KEYS
        for name, item in value.items():
            place = f"{pointer}/{name}"
            if name in _REASONING_KEYS or (hides and name != "type"):
                found.append(Redaction(kind="hidden_reasoning", pointer=place, position=0))
                kept[name] = "[removed: hidden_reasoning]"
            else:
                kept[name] = _redact(item, place, found)
        return kept
    return value


def _redact_text(text: str, pointer: str, found: list[Redaction]) -> str:
    for kind, pattern in _SECRETS:
        while match := pattern.search(text):
            marker = f"[removed: {kind}]"
            if match.group().strip() == marker or match.group().lstrip().startswith("[removed:"):
                break
            found.append(Redaction(kind=kind, pointer=pointer, position=match.start()))
            text = text[: match.start()] + marker + text[match.end() :]
    return text


def is_instruction_like(*, text: str) -> bool:
    """Tell whether a text speaks to the agent (do this, ignore that, it was approved) instead of about the world."""
    return _INSTRUCTIONS.search(text) is not None
