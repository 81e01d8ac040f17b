"""Secrets in prose and under a name: what no detector of service keys knows, in English and Chinese. Pure.

Every pattern reads a text once and takes time in proportion to its length; a marker that was in the text already
protects nothing that follows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

MARKER = re.compile(r"\[removed: [a-z_]{1,20}\]")
_PLAIN = re.compile(r"(?:[A-Z]?[a-z]+|[A-Z]+)(?:[-_/.'’](?:[A-Z]?[a-z]+|[A-Z]+))*")
_MEASURE = re.compile(
    r"[<>≥=]*\d{1,3}[+%]?(?:[-–]\d{1,3})?(?:-?(?:h|d|min|(?:char|character|digit|letter|word|minute|hour|day"
    r"|month)s?))?"
)
_PLACEHOLDER = re.compile(
    r"\$\{?[A-Z_]+\}?|%s|\*+|<[a-z_ -]{1,40}>?|\{\{?|\[[a-z_ -]{0,40}\]?|https?://\S*|[~.]{0,2}/[\w./-]*"
    r"|(?:[A-Za-z_]+\.)*[A-Za-z_]+[(\[]\)?"
)
_ALGORITHM = re.compile(
    r"(?i)(?:sha|md|argon|pbkdf|bcrypt|scrypt|oauth|base|utf)[-_]?\d[A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*"
)
WORDS_OF_FORMS = frozenset({
    "admin", "blank", "changed", "confidential", "correct", "disabled", "empty", "enabled", "encrypted",
    "expired", "false", "field", "forgotten", "hashed", "hidden", "incorrect", "invalid", "mandatory", "masked",
    "missing", "needed", "none", "null", "optional", "policy", "protected", "redacted", "required", "reset",
    "rotated", "stored", "string", "strong", "text", "true", "unknown", "unset", "user", "valid", "weak",
    "wrong",
})  # fmt: skip
STRONG_PART = 8
LONG_PART = 20


def is_word(text: str, /) -> bool:
    """Tell whether a text is a word, an amount or a place for a value, and so no secret by itself."""
    text = text.rstrip(".!?:)）")
    return any(known.fullmatch(text) for known in (_PLAIN, _MEASURE, _PLACEHOLDER, _ALGORITHM, MARKER)) or not text


def _has_both(text: str) -> bool:
    return any(char.isdigit() for char in text) and any(char.isalpha() for char in text)


def _is_random(match: re.Match[str]) -> bool:
    """Tell a key from words joined by hyphens: one part is long, or mixes digits and letters."""
    parts = re.split(r"[-_]", match["it"])
    return any(len(part) >= LONG_PART or (len(part) >= STRONG_PART and _has_both(part)) for part in parts)


def _is_strong(match: re.Match[str]) -> bool:
    """Tell a password from a word by itself, where only what follows says that it is one."""
    said = match["it"]
    return not is_word(said) and any(char.isdigit() or not char.isalnum() for char in said) and _has_letters(said)


def _has_letters(text: str) -> bool:
    return sum(char.isalpha() for char in text) > 1


def _is_encoded(match: re.Match[str]) -> bool:
    return not is_word(match["it"]) and (match["it"] != match["it"].lower() or _has_both(match["it"]))


def _is_password(match: re.Match[str]) -> bool:
    """Tell a password from prose about passwords, by how it is introduced."""
    said, by = match["it"], match["by"]
    after = match.string[match.end() : match.end() + 2]
    if any(sign in by for sign in ":=：＝是为為改设設换"):
        is_last = not after.strip() or after[0] in "\n,;，。；\"'`"
        return not is_word(said) or (
            bool(_PLAIN.fullmatch(said.rstrip(".!"))) and is_last and said.rstrip(".!").lower() not in WORDS_OF_FORMS
        )
    if by.strip():
        return not is_word(said)
    return len(said) >= STRONG_PART and _has_both(said) and not is_word(said)


def _is_chinese_password(match: re.Match[str]) -> bool:
    said, after = match["it"], match.string[match.end() : match.end() + 1]
    return not is_word(said) and not (said.isdigit() and "\u4e00" <= after <= "\u9fff")


def _is_key(match: re.Match[str]) -> bool:
    said = match["it"]
    is_named = any(sign in match["by"] for sign in ":=：＝是为為改设設换")
    return not said.isdigit() and not is_word(said) and (is_named or _has_both(said))


def _always(_match: re.Match[str]) -> bool:
    return True


_ALONE = r"(?<![A-Za-z0-9])"
_NAMED = (
    r"(?P<by>(?:\\{0,3}[\"'`])?\s{0,20}"
    r"(?:[:=：＝]|(?:(?:has been|have been|is|was|now|got)\s{1,5}){0,2}(?:changed|reset"
    r"|set|updated|rotated)"
    r"\s{1,5}to\b:?|\b(?:is|was)\b:?|(?:现在|已)?(?:改成了?|改为|設為|设为|换成了?|是|为|為))\s{0,20}|\s{1,20})"
    r"(?:\\{0,3}[\"'`“])?"
)
_SAID = r"(?P<it>(?:\[removed: [a-z_]{1,20}\]|[^\s\"'`,;，。；”]){4,}+)"
SECRETS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], bool]], ...] = (
    (
        "private_key",
        re.compile(
            r"(?P<it>-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z))", re.DOTALL
        ),
        _always,
    ),
    (
        "access_token",
        re.compile(
            _ALONE + r"(?P<it>gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
            r"|xox[abeprs]-[A-Za-z0-9-]{10,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{20,}|mh_[A-Za-z0-9_-]{20,})"
        ),
        _always,
    ),
    ("api_key", re.compile(_ALONE + r"(?P<it>(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}+)"), _is_random),
    (
        "api_key",
        re.compile(_ALONE + r"(?P<it>(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])|AIza[A-Za-z0-9_-]{30,})"),
        _always,
    ),
    (
        "access_token",
        re.compile(r"(?<![A-Za-z0-9_-])(?P<it>eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+)"),
        _always,
    ),
    (
        "access_token",
        re.compile(r"(?i)\b(?:bearer|basic)[ \t]{1,5}(?P<it>[A-Za-z0-9._~+/-]{16,}+={0,2})"),
        _is_encoded,
    ),
    (
        "password",
        re.compile(r"(?i)(?<![a-z])[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,100}:(?P<it>[^\s/?#]{1,200})@"),
        _always,
    ),
    (
        "password",
        re.compile(r"(?i)(?:password|passwd|passphrase|passcode|(?<![a-z])pwd?)(?![a-z])" + _NAMED + _SAID),
        _is_password,
    ),
    (
        "password",
        re.compile(
            r"(?:密码|密碼|口令)(?:(?:已|已经|已經|现在|現在|重新|都|统一|統一){0,2}(?:改成了?|改为|改為|设为"
            r"|設為|设成|设置为|設置為|更新为|换成了?|重置为|变更为))?"
            r"[\s是为為就:：=＝]{0,8}[\"'`“]?(?P<it>[!#-&(-+\--:<-~]{4,}+)"
        ),
        _is_chinese_password,
    ),
    (
        "password",
        re.compile(
            r"(?i)\b(?:use|using|with|set|enter|type"
            r"|try)\s{1,5}[\"'`“]?(?P<it>[^\s\"'`”]{6,80})[\"'`”]?\s{1,5}(?:as|for)\s{1,5}"
            r"(?:(?:the|my|your|our|its|a|new|initial|temporary|admin|root|login)\s{1,5}){0,3}(?:password"
            r"|passphrase|passcode|pw)\b"
        ),
        _is_strong,
    ),
    (
        "password",
        re.compile(
            r"[用把将以]\s{0,3}[\"'`“]?(?P<it>[!#-&(-+\--:<-~]{6,80})[\"'`”]?\s{0,3}(?:作为|當作|当作|做为|当"
            r"|设为|設為|设成)[^，。,;；\n]{0,12}(?:密码|密碼|口令)"
        ),
        _is_strong,
    ),
    (
        "api_key",
        re.compile(
            _ALONE + r"(?P<it>GOCSPX-[A-Za-z0-9_-]{20,}|\d{8,10}:AA[A-Za-z0-9_-]{30,}|key-[0-9a-f]{32}(?![A-Za-z0-9])"
            r"|[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])|NRAK-[A-Z0-9]{20,}|AKID[A-Za-z0-9]{28,}|LTAI[A-Za-z0-9]{16,})"
        ),
        _always,
    ),
    (
        "api_key",
        re.compile(
            r"(?:密钥|密鑰|秘钥|秘鑰|私钥|令牌|凭证|凭据|授权码)(?:已|现在|现|重新)?(?:[\s是为為就:：=＝]|改成"
            r"|改为|设为|換成|换成){0,8}[\"'`“]?"
            r"(?P<it>[!#-&(-+\--:<-~]{8,}+)"
        ),
        _is_encoded,
    ),
    (
        "api_key",
        re.compile(
            r"(?i)(?:api|access|private|secret[ _-]?access|secret|signing|encryption|account|storage|master"
            r"|hmac|app)[ _-]?key"
            r"(?=[^a-z0-9])" + _NAMED + _SAID.replace("{4,}", "{8,}")
        ),
        _is_key,
    ),
    (
        "access_token",
        re.compile(
            r"(?i)(?:secret|token|authorization)(?=[^a-z0-9])"
            + _NAMED
            + r"(?:(?:bearer|basic|token|digest) {1,5})?"
            + _SAID.replace("{4,}", "{8,}")
        ),
        _is_key,
    ),
)
