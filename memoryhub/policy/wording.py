"""Wording: what the words of a candidate give away of its nature, in English and Chinese. Pure.

Source: Seed 000 §5.2. Every pattern takes time in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from memoryhub.types.enums import EvidenceKind

_ONLY_NOW = re.compile(
    r"(?ia)\b(?:(?:just |only )?(?:this|one) time\b|just (?:this |for )?once\b|for (?:now|today|this once)\b"
    r"|today only\b"
    r"|(?:in|for|of|with)? ?this (?:one )?(?:report|trip|task|draft|document|mail|e-?mail|meeting|answer|reply|page)\b)"
    r"|这次|这一次|這次|這一次|本次|仅此一次|僅此一次|今天先|暂时|暫時|这(?:份|个|篇|封)(?:报告|报表|任务|文档"
    r"|邮件|稿)|這(?:份|個|篇|封)(?:報告|報表|任務|文檔|郵件|稿)"
)
_LASTING = re.compile(
    r"(?ia)\b(?:not (?:just|only) (?:this|for)|from now on|by default|always|in (?:the )?future|every time|generally"
    r"|usually|whenever)\b|不(?:只|仅|止|僅)(?:是)?(?:这|本|這)|以后|以後|今后|今後|默认|默認|默認|总是|總是"
    r"|一直|每次|通常|平时|平時|永远|永遠"
)
_GUESS = re.compile(
    r"(?ia)\b(?:maybe|perhaps|possibly|probably|presumably|supposedly|likely (?:it|the|that)|i (?:guess|suspect"
    r"|suppose)"
    r"|i think (?:it|that|the\b.{0,40}) ?(?:is|may|might|could)?|my guess|(?:might|could|may) (?:well )?be"
    r"|not (?:quite |entirely )?sure|seems? to be|looks like (?:it|the|a)|i(?:'m| am) guessing)\b"
    r"|(?<!尽)(?<!不)(?<!盡)可能(?!的话|性|的話|地)|也许|也許|或许|或許|兴许|大概(?!念)|估计(?!值|量)|估計(?!值"
    r"|量)|恐怕"
    r"|我猜|猜测|猜測|怀疑|懷疑|不确定|不確定|说不定|說不定|好像|似乎|看起来像|看起來像|应该是.{0,20}吧|應該是.{0,20}吧"
)
_SUCCESS = re.compile(
    r"(?ia)\b(?:(?:all |every |the |our )?(?:tests?|checks?|suite|build|pipeline|ci|deployment|migration) "
    r"(?:has |have |had )?(?:all )?(?:now )?(?:pass(?:ed|es)?|succeed(?:ed|s)?|(?:is|are|was|were"
    r"|went) (?:now )?(?:green|successful))\b"
    r"|(?:verified|confirmed|proven) (?:to be )?(?:working|fixed|correct)\b|no (?:errors?|failures?) (?:found|left)\b)"
    r"|(?:测试|測試|检查|檢查|构建|構建|校验|校驗|验证|驗證|用例|流水线|流水線|部署)(?:已经?|已經|都|全部?|均"
    r"|也)*(?:通过|通過|成功|过了|過了)"
    r"|(?:全部|所有).{0,6}(?:通过|通過)"
)

_FIELDS_OF_RESULTS = frozenset({
    "result", "results", "output", "stdout", "exit_code", "report", "log", "artifact", "artifacts", "data",
})  # fmt: skip
_PREFERENCES = frozenset({"preference", "preferences", "偏好"})


def names_preference(*, fact_key: str) -> bool:
    """Tell whether a fact key is one of preferences: a segment of it says so."""
    return not _PREFERENCES.isdisjoint(fact_key.casefold().split("."))


def holds_only_now(*, text: str) -> bool:
    """Tell whether a text speaks of the task at hand alone, such as this report, and of nothing lasting."""
    return _ONLY_NOW.search(text) is not None and _LASTING.search(text) is None


def sounds_inferred(*, text: str) -> bool:
    """Tell whether a text presents what it says as a guess."""
    return _GUESS.search(text) is not None


def claims_success(*, text: str) -> bool:
    """Tell whether a text says that something was tried and worked, such as tests that passed."""
    return _SUCCESS.search(text) is not None


def shows_result(
    *, kind: str, source_type: str | None, has_reference: bool | None, fields: Collection[str] | None
) -> bool:
    """Tell whether a piece of evidence holds the result of what was done, and not only somebody's word that it worked.

    A reproduction does, and so does a tool's answer with the output in one of its fields, or with a reference to where
    the output lies. `fields` are the names of the payload's fields that hold something.
    """
    if kind == EvidenceKind.REPRODUCTION:
        return True
    if source_type != "tool_result":
        return False
    return bool(has_reference) or not _FIELDS_OF_RESULTS.isdisjoint(fields or ())
