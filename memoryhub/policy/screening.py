"""Screening: what must never be stored, and what speaks to the agent instead of about the world. Pure.

Source: Seed 000 §4.1 and §5.2; ADR 0002. A marker takes the place of forbidden material before anything is
stored, and says only what kind of thing stood there. Every pattern reads a text once and takes time in
proportion to its length; a marker that was in the text already protects nothing that follows it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_MARKER = re.compile(r"\[removed: [a-z_]{1,20}\]")
_PLAIN = re.compile(r"(?:[A-Z]?[a-z]+|[A-Z]+)(?:[-_/.'’](?:[A-Z]?[a-z]+|[A-Z]+))*")
_MEASURE = re.compile(
    r"[<>≥=]*\d{1,3}[+%]?(?:[-–]\d{1,3})?(?:-?(?:h|d|min|(?:char|character|digit|letter|word|minute|hour|day|month)s?))?"
)
_PLACEHOLDER = re.compile(
    r"\$\{?[A-Z_]+\}?|%s|\*+|<[a-z_ -]{1,40}>?|\{\{?|\[[a-z_ -]{0,40}\]?|https?://\S*|[~.]{0,2}/[\w./-]*"
    r"|(?:[A-Za-z_]+\.)*[A-Za-z_]+[(\[]\)?"
)
_ALGORITHM = re.compile(
    r"(?i)(?:sha|md|argon|pbkdf|bcrypt|scrypt|oauth|base|utf)[-_]?\d[A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*"
)
_WORDS_OF_FORMS = frozenset({
    "admin", "blank", "changed", "confidential", "correct", "disabled", "empty", "enabled", "encrypted",
    "expired", "false", "field", "forgotten", "hashed", "hidden", "incorrect", "invalid", "mandatory", "masked",
    "missing", "needed", "none", "null", "optional", "policy", "protected", "redacted", "required", "reset",
    "rotated", "stored", "string", "strong", "text", "true", "unknown", "unset", "user", "valid", "weak",
    "wrong",
})  # fmt: skip
_STRONG_PART = 8
_LONG_PART = 20


def _is_word(text: str) -> bool:
    """Tell whether a text is a word, an amount or a place for a value, and so no secret by itself."""
    text = text.rstrip(".!?:)）")
    return any(known.fullmatch(text) for known in (_PLAIN, _MEASURE, _PLACEHOLDER, _ALGORITHM, _MARKER)) or not text


def _has_both(text: str) -> bool:
    return any(char.isdigit() for char in text) and any(char.isalpha() for char in text)


def _is_random(match: re.Match[str]) -> bool:
    """Tell a key from words joined by hyphens: one part is long, or mixes digits and letters."""
    parts = re.split(r"[-_]", match["it"])
    return any(len(part) >= _LONG_PART or (len(part) >= _STRONG_PART and _has_both(part)) for part in parts)


def _is_encoded(match: re.Match[str]) -> bool:
    return not _is_word(match["it"]) and (match["it"] != match["it"].lower() or _has_both(match["it"]))


def _is_password(match: re.Match[str]) -> bool:
    """Tell a password from prose about passwords, by how it is introduced."""
    said, by = match["it"], match["by"]
    after = match.string[match.end() : match.end() + 2]
    if any(sign in by for sign in ":=：＝"):
        is_last = not after.strip() or after[0] in "\n,;，。；\"'`"
        return not _is_word(said) or (
            bool(_PLAIN.fullmatch(said.rstrip(".!"))) and is_last and said.rstrip(".!").lower() not in _WORDS_OF_FORMS
        )
    if by.strip():
        return not _is_word(said)
    return len(said) >= _STRONG_PART and _has_both(said) and not _is_word(said)


def _is_chinese_password(match: re.Match[str]) -> bool:
    said, after = match["it"], match.string[match.end() : match.end() + 1]
    return not _is_word(said) and not (said.isdigit() and "\u4e00" <= after <= "\u9fff")


def _is_key(match: re.Match[str]) -> bool:
    said = match["it"]
    is_named = any(sign in match["by"] for sign in ":=")
    return not said.isdigit() and not _is_word(said) and (is_named or _has_both(said))


def _is_thought(match: re.Match[str]) -> bool:
    """Tell hidden reasoning from a mention of the tag: it ends, or the whole text is it."""
    return bool(match["end"]) or not match.string[: match.start()].strip()


def _always(_match: re.Match[str]) -> bool:
    return True


_ALONE = r"(?<![A-Za-z0-9])"
_NAMED = r"(?P<by>[\"'`]?\s{0,20}(?:[:=：＝]|\b(?:is|was)\b:?)\s{0,20}|\s{1,20})[\"'`“]?"
_SAID = r"(?P<it>(?:\[removed: [a-z_]{1,20}\]|[^\s\"'`,;，。；”]){4,}+)"
_SECRETS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], bool]], ...] = (
    (
        "private_key",
        re.compile(
            r"(?P<it>-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z))", re.DOTALL
        ),
        _always,
    ),
    (
        "hidden_reasoning",
        re.compile(r"(?is)(?P<it><think(?:ing)?>.*?(?:(?P<end></think(?:ing)?>)|\Z))"),
        _is_thought,
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
    ("password", re.compile(r"(?i)(?:password|passwd|passphrase|passcode|pwd)" + _NAMED + _SAID), _is_password),
    (
        "password",
        re.compile(r"(?:密码|密碼|口令)[\s是为為就:：=＝]{0,8}[\"'`“]?(?P<it>[!#-&(-+\--:<-~]{4,}+)"),
        _is_chinese_password,
    ),
    (
        "api_key",
        re.compile(
            r"(?i)(?:api|access|private|secret[ _-]?access|secret|signing|encryption)[ _-]?key(?=[^a-z0-9])"
            + _NAMED
            + _SAID.replace("{4,}", "{8,}")
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
_SECRET_NAMES = re.compile(
    r".*(?:password|passwd|passphrase|apikey|secretkey|accesskey|privatekey|clientsecret"
    r"|(?:access|refresh|auth|id|bearer|session|api)token)|pwd|secret|密码|密碼|口令"
)
_MAYBE_SECRET_NAMES = frozenset({"token", "authorization", "proxyauthorization"})
_REASONING_NAMES = frozenset({"reasoningcontent", "thinking", "chainofthought", "redactedthinking"})


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
    """Return the payload without keys, tokens, passwords and hidden reasoning, and what was taken out.

    Names of fields are screened like their values, and a field that is named after a secret loses its text.
    """
    found: list[Redaction] = []
    return _redact(payload, "", found), found


def redact_text(text: str) -> tuple[str, list[Redaction]]:
    """Return one text, such as an id or a label, without forbidden material, and what was taken out."""
    found: list[Redaction] = []
    return _redact_text(text, "", found), found


def _redact(value: Any, pointer: str, found: list[Redaction]) -> Any:
    if isinstance(value, str):
        return _redact_text(value, pointer, found)
    if isinstance(value, list):
        return [_redact(item, f"{pointer}/{index}", found) for index, item in enumerate(value)]
    if isinstance(value, dict):
        return _redact_fields(value, pointer, found)
    return value


def _redact_fields(fields: dict[str, Any], pointer: str, found: list[Redaction]) -> dict[str, Any]:
    plain = {name: _simplify(name) for name in fields}
    is_message = not {"role", "content"}.isdisjoint(plain.values())
    kind = fields.get("type")
    hides = isinstance(kind, str) and (
        _simplify(kind) in _REASONING_NAMES
        or (kind.lower() == "reasoning" and not {"summary", "content", "encryptedcontent"}.isdisjoint(plain.values()))
    )
    kept: dict[str, Any] = {}
    for name, item in fields.items():
        shown = _redact_text(name, pointer, found)
        while shown in kept:
            shown += "'"
        place = f"{pointer}/{shown.replace('~', '~0').replace('/', '~1')}"
        is_thought = plain[name] in _REASONING_NAMES or (is_message and plain[name] == "reasoning")
        if is_thought or (hides and name != "type"):
            kept[shown] = _mark("hidden_reasoning", place, found)
        elif isinstance(item, str) and _is_named_secret(plain[name], item):
            kept[shown] = _mark("password" if "pass" in plain[name] else "api_key", place, found)
        else:
            kept[shown] = _redact(item, place, found)
    return kept


def _mark(kind: str, pointer: str, found: list[Redaction]) -> str:
    found.append(Redaction(kind=kind, pointer=pointer, position=0))
    return f"[removed: {kind}]"


def _simplify(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).lower()


def _is_named_secret(name: str, text: str) -> bool:
    if not text or _MARKER.fullmatch(text):
        return False
    if name in _MAYBE_SECRET_NAMES:
        return any(
            len(word) >= _LONG_PART or (len(word) >= _STRONG_PART and not _is_word(word)) for word in text.split()
        )
    return _SECRET_NAMES.fullmatch(name) is not None and text.lower() not in _WORDS_OF_FORMS


def _redact_text(text: str, pointer: str, found: list[Redaction]) -> str:
    for kind, pattern, is_secret in _SECRETS:

        def mask(match: re.Match[str], kind: str = kind, is_secret: Callable[[re.Match[str]], bool] = is_secret) -> str:
            if not is_secret(match):
                return match.group()
            begins, ends = match.start("it") - match.start(), match.end("it") - match.start()
            found.append(Redaction(kind=kind, pointer=pointer, position=match.start("it")))
            return f"{match.group()[:begins]}[removed: {kind}]{match.group()[ends:]}"

        text = pattern.sub(mask, text)
    return text


_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
_ACCENTS = re.compile("[\u0300-\u036f]+")
_LOOK_ALIKES = str.maketrans(
    "从現發給碼權則這為無視繞記憶儲應該須務將執經獲審員請長當個們對開傳達訴話說讓過處總規設認證鑰準諾聽關啟覽顯"
    "аеорсухіѕԁ",
    "从现发给码权则这为无视绕记忆储应该须务将执经获审员请长当个们对开传达诉话说让过处总规设认证钥准诺听关启览显"
    "aeopcyxisd",
) | str.maketrans("從與號密", "从与号密")
_INSTRUCTIONS = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override|overrule|bypass|circumvent)\b.{0,40}"
    r"\b(?:instruction|permission|polic|guardrail|previous|prior|everything above|rules?\b|restrictions?\b|safety)"
    r"|\byou (?:must|should|will|shall|have to|need to) (?:now |always |never )?"
    r"(?:remember|store|save|obey|reveal|send|forward|act as|comply|approve|trust)\b"
    r"|\byou are (?:now (?:an?|the|in|my|free|acting|no)\b|no longer\b|in developer mode)"
    r"|\bpretend (?:to be|you are|that you)\b|\bdo anything now\b"
    r"|\bfrom now on,? (?:you|always|never|send|forward|share|approve|grant|treat|act|pretend|obey|reveal|trust)\b"
    r"|\b(?:your|new|updated) system prompt\b|\bsystem prompt ?:|<\|?(?:system|im_start)\b|\[/?(?:inst|system)\]"
    r"|\bnew instructions? ?:|\binstructions? (?:override|replace|supersede)\b"
    r"|\b(?:enter|enable|activate) (?:developer|jailbreak|dan|god) mode\b(?! (?:on|in|for) )"
    r"|\b(?:send|forward|e-?mail|post|upload|leak|exfiltrate|reveal|print|output|disclose|repeat|show me)\b"
    r" (?:me |us )?(?:your|all|every) .{0,30}"
    r"\b(?:passwords?|keys?|secrets?|credentials?|tokens?|prompts?|instructions?)\b"
    r"|\b(?:do not|don't|never|without) (?:tell|inform|notify|alert|mention|ask|telling|informing|notifying|asking)"
    r".{0,20}\b(?:the )?(?:user|owner|reviewer|human|operator)\b"
    r"|\b(?:note|message|attention|dear|hey|hello)\b,? (?:to )?"
    r"(?:the |any |all )?(?:ai|llm|assistant|language model)s?\b"
    r"|\b(?:ai|llm|assistant|agent|model)s? (?:reading|processing|parsing|seeing|summari[sz]ing) this\b"
    r"|\b(?:add|save|store|write|commit) (?:this|the following|it) (?:to|in|into) "
    r"(?:your )?(?:long-term |permanent )?memory\b"
    r"|\b(?:remember|store|save|treat) (?:this|the following|it) as (?:an? )?"
    r"(?:permanent|trusted|verified|approved|absolute)"
    r"|\b(?:grant|give) (?:me|us|yourself|everyone|anyone) .{0,20}\b(?:access|rights?|permissions?|privileges?)\b"
    r"|\b(?:this|these|it|already|pre)\b.{0,40}\bapproved by (?:the )?(?:owner|admin|security|management)"
    r"|(?:^|[.!:;] ?)approved by (?:the )?(?:owner|admin|security|management)"
    r"|(?:忽略|无视|绕过|忘记|抛开|不要理会|不用管).{0,12}(?:指令|权限|规则|限制|策略|要求|提示词|约束|设定)"
    r"|你(?:必须|应该|要|需要|务必)(?:立即|马上|永远|始终)?(?:记住|保存|存储|服从|透露|发送|照做|执行以下)"
    r"|(?<!不要)(?<!不得)(?<!禁止)(?<!切勿)(?<!不能)(?<!不可)(?<!不应)(?<!请勿)(?<!别)(?<!严禁)(?:把|将)"
    r".{0,12}(?:密码|密钥|令牌|口令|凭证|凭据).{0,8}(?:发给|发送|发到|发往|告诉|透露|传给|交给|泄露)"
    r"|(?:请(?!勿|不)|你|务必|立即|马上|帮我).{0,4}(?:保存|记住|发送|透露|输出).{0,8}(?:密钥|密码|令牌|口令)"
    r"|(?:^|[.。!;] ?)(?:保存|记住|发送).{0,8}(?:密钥|密码|令牌)"
    r"|(?:透露|输出|显示|打印|泄露|告诉我).{0,8}系统提示|进入(?:开发者|越狱)模式|你现在是|你不再是|假装(?:你|自己)是"
    r"|不要(?:告诉|通知|告知|提醒).{0,6}(?:用户|主人|管理员|审核)"
    r"|(?:把|将)?(?:这|此|以下|上述).{0,8}(?:写入|存入|加入|保存到|记入)(?:你的)?(?:长期)?记忆"
    r"|已(?:经)?(?:由|获|被).{0,8}(?:批准|授权)"
)


def is_instruction_like(*, text: str) -> bool:
    """Tell whether a text speaks to the agent (do this, ignore that, it was approved) instead of about the world.

    Characters that nobody sees, accents, look-alikes, width and line breaks make no difference.
    """
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text)).lower().translate(_LOOK_ALIKES)
    return any(
        _INSTRUCTIONS.search(re.sub(r"\s+", " ", _UNSEEN.sub(gap, plain)).strip()) is not None
        for gap in (("", " ") if _UNSEEN.search(plain) else ("",))
    )


def words_to_screen(*values: Any) -> str:
    """Return every word of some values, names of fields included, as one text to screen, each a clause of its own."""
    words: list[str] = []
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            words.append(value)
        elif isinstance(value, dict):
            waiting.extend(part for pair in reversed(value.items()) for part in (pair[1], pair[0]))
        elif isinstance(value, list | tuple):
            waiting.extend(reversed(value))
    return "; ".join(words)
