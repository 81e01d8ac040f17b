"""Redaction: forbidden material is replaced by a marker, wherever in a payload it stands. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from memoryhub.policy.screening.folding import decode_hidden, narrow_text, plain_name
from memoryhub.policy.screening.own import OwnPattern
from memoryhub.policy.screening.prose import LONG_PART, MARKER, SECRETS, STRONG_PART, WORDS_OF_FORMS, is_word
from memoryhub.policy.screening.services import find_service_keys
from memoryhub.policy.screening.thoughts import find_thoughts, is_thought_type, names_thoughts

_SECRET_NAMES = re.compile(
    r".*(?:password|passwd|passphrase|passcode|apikey|secretkey|accesskey|accountkey|privatekey|signingkey"
    r"|(?:client|app|shared|webhook|consumer)secret|(?:access|refresh|auth|id|bearer|session|api)token)s?"
    r"|(?:.*[.:/])?(?:pwd|secret)|.*(?:密码|密碼|口令|密钥|密鑰|令牌)"
)
_NAMING = frozenset({"name", "key", "factkey", "field", "variable", "attribute", "label"})
_MAYBE_SECRET_NAMES = frozenset({"token", "authorization", "proxyauthorization", "cookie", "setcookie"})
# Beside these, `pass` is no result of a test.
_ACCOUNTS = frozenset({"user", "username", "login", "account", "host", "email"})
# What a value is called that stands within a field which is named after a secret.
_VALUES = frozenset(
    {"value", "values", "new", "old", "current", "text", "raw", "plain", "plaintext", "content", "secret"}
)
_SHORTEST_NUMBER = 4  # digits
_CLAUSE_ENDS = re.compile(r"[.!?](?=\s|$)|[;。；！？\n]")
_SHORT_WORD = re.compile(r"[a-z_]{0,15}")  # such as the name of a field: no pattern takes it out
_SHORTEST_CLAUSE = 4  # letters and digits
_SHORTEST_ENCODED = 16
_SHORTEST_REPEATED = 6


@dataclass(frozen=True, slots=True)
class Redaction:
    """Hold what kind of thing was taken out, and where: a JSON pointer and a position, no content."""

    kind: str
    pointer: str
    position: int

    def as_json(self) -> dict[str, Any]:
        """Return the redaction as the envelope keeps it."""
        return {"kind": self.kind, "pointer": self.pointer, "position": self.position}


def redact_forbidden(*, payload: Any, own: Sequence[OwnPattern] = ()) -> tuple[Any, list[Redaction]]:
    """Return the payload without keys, tokens, passwords and hidden reasoning, and what was taken out.

    Names of fields are screened like their values, and a field that is named after a secret loses its text. What was
    found in one place is taken out of all others, where nothing gives it away. `own` are the tenant's own patterns.
    """
    redactor = _Redactor(own)
    kept = redactor.redact(payload, "")
    if redactor.taken:
        kept = redactor.redact_repeated(kept)
    return kept, redactor.found


def redact_text(text: str, *, own: Sequence[OwnPattern] = ()) -> tuple[str, list[Redaction]]:
    """Return one text, such as an id or a label, without forbidden material, and what was taken out."""
    return redact_forbidden(payload=text, own=own)


@dataclass(slots=True)
class _Redactor:
    """Walk one payload: `found` says what was taken out and where, `taken` holds it, as it may stand elsewhere too."""

    own: Sequence[OwnPattern]
    found: list[Redaction] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def redact(self, value: Any, pointer: str) -> Any:
        if isinstance(value, str):
            return self._redact_text(value, pointer)
        if isinstance(value, list):
            return [self.redact(item, f"{pointer}/{index}") for index, item in enumerate(value)]
        if isinstance(value, dict):
            return self._redact_fields(value, pointer)
        return value

    def redact_repeated(self, value: Any) -> Any:
        """Take out again, wherever it stands alone or in a text, what was taken out somewhere."""
        secrets = [text for text in self.taken if len(text) >= _SHORTEST_REPEATED and not is_word(text)]
        longest_first = sorted(secrets, key=len, reverse=True)
        either = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        alone = frozenset(text for text in self.taken if text.lower() not in WORDS_OF_FORMS)
        return self._take_again(value, "", either, alone)

    def _redact_fields(self, fields: dict[str, Any], pointer: str, *, within: str = "") -> dict[str, Any]:
        plain = {name: plain_name(text=name) for name in fields}
        is_message = not {"role", "content"}.isdisjoint(plain.values())
        hides = _hides_reasoning(fields.get("type"), plain.values())
        # A value may be named by a field beside it, as in {"name": "DB_PASSWORD", "value": …}.
        named = next((fields[name] for name in fields if plain[name] in _NAMING and isinstance(fields[name], str)), "")
        kept: dict[str, Any] = {}
        for name, item in fields.items():
            shown = self._redact_text(name, pointer)
            while shown in kept:
                shown += "'"
            place = f"{pointer}/{_escape(shown)}"
            announced = plain_name(text=named) if plain[name] == "value" and named else plain[name]
            if announced == "pass" and not _ACCOUNTS.isdisjoint(plain.values()):
                announced = "password"
            if within and plain[name] in _VALUES:
                announced = within
            if names_thoughts(name=name, is_by_model=is_message) or (hides and name != "type"):
                kept[shown] = self._mark("hidden_reasoning", place)
            else:
                kept[shown] = self._redact_named(announced, item, place)
        return kept

    def _redact_named(self, announced: str, item: Any, pointer: str) -> Any:
        """Return what stands under a name, in a list or as a value of its own within it, without the secret."""
        if isinstance(item, str) and _is_named_secret(announced, item):
            self.taken.add(item)
            return self._mark("password" if "pass" in announced else "api_key", pointer)
        if _SECRET_NAMES.fullmatch(announced) is not None:
            if _is_number(item) and "pass" in announced:
                self.taken.add(str(item))
                return self._mark("password", pointer)
            if isinstance(item, list):
                return [self._redact_named(announced, one, f"{pointer}/{place}") for place, one in enumerate(item)]
            if isinstance(item, dict):
                return self._redact_fields(item, pointer, within=announced)
        return self.redact(item, pointer)

    def _mark(self, kind: str, pointer: str, position: int = 0) -> str:
        self.found.append(Redaction(kind=kind, pointer=pointer, position=position))
        return f"[removed: {kind}]"

    def _redact_text(self, text: str, pointer: str) -> str:
        """Return the text with markers.

        What a reader takes in may hold what the characters as they stand do not: then that takes their place.
        """
        shown = self._mask(text, pointer)
        narrowed = narrow_text(text=text)
        if shown == text != narrowed:
            masked = self._mask(narrowed, pointer)
            shown = text if masked == narrowed else masked
        return shown

    def _mask(self, text: str, pointer: str) -> str:
        if _SHORT_WORD.fullmatch(text) is None:
            text = self._mask_known(text, pointer)
        for pattern in self.own:
            for match in reversed(list(pattern.expression.finditer(text))):
                text = self._put_marker(text, match.span(), pattern.kind, pointer)
        return text

    def _mask_known(self, text: str, pointer: str) -> str:
        for span in reversed(find_thoughts(text=text)):
            text = self._put_marker(text, span, "hidden_reasoning", pointer, is_repeated=False)
        text = self._mask_prose(text, pointer)
        for start, end in find_service_keys(text=text):
            if MARKER.search(text, start, end) is None:
                text = self._put_marker(text, (start, end), "api_key", pointer)
        if len(text) >= _SHORTEST_ENCODED:
            for start, end, told in reversed(list(decode_hidden(text=text))):
                kind = self._find_kind(told)
                if kind:
                    text = self._put_marker(text, (start, end), kind, pointer)
        return text

    def _find_kind(self, text: str) -> str:
        """Return the kind of the first forbidden thing in a text, or nothing."""
        if find_thoughts(text=text):
            return "hidden_reasoning"
        own = next((pattern.kind for pattern in self.own if pattern.expression.search(text) is not None), "")
        return _find_prose(text) or own or ("api_key" if any(find_service_keys(text=text)) else "")

    def _put_marker(
        self, text: str, span: tuple[int, int], kind: str, pointer: str, *, is_repeated: bool = True
    ) -> str:
        start, end = span
        if is_repeated:
            self.taken.add(text[start:end])
        return f"{text[:start]}{self._mark(kind, pointer, start)}{text[end:]}"

    def _mask_prose(self, text: str, pointer: str) -> str:
        for kind, pattern, is_secret in SECRETS:

            def mask(
                match: re.Match[str], kind: str = kind, is_secret: Callable[[re.Match[str]], bool] = is_secret
            ) -> str:
                if not is_secret(match):
                    return match.group()
                begins, ends = match.start("it") - match.start(), match.end("it") - match.start()
                self.taken.add(match["it"])
                return f"{match.group()[:begins]}{self._mark(kind, pointer, match.start('it'))}{match.group()[ends:]}"

            text = pattern.sub(mask, text)
        return text

    def _take_again(self, value: Any, pointer: str, either: re.Pattern[str], alone: frozenset[str]) -> Any:
        if isinstance(value, str):
            if value in alone:
                return self._mark("repeated", pointer)
            return either.sub(lambda match: self._mark("repeated", pointer, match.start()), value)
        if isinstance(value, list):
            return [self._take_again(item, f"{pointer}/{place}", either, alone) for place, item in enumerate(value)]
        if isinstance(value, dict):
            kept: dict[str, Any] = {}
            for name, item in value.items():
                shown = self._take_again(name, pointer, either, frozenset())
                while shown in kept:
                    shown += "'"
                kept[shown] = self._take_again(item, f"{pointer}/{_escape(shown)}", either, alone)
            return kept
        return value


def _find_prose(text: str) -> str:
    """Return the kind of the first secret in a text, or nothing."""
    for kind, pattern, is_secret in SECRETS:
        if any(is_secret(match) for match in pattern.finditer(text)):
            return kind
    return ""


def _hides_reasoning(kind: Any, names: Collection[str]) -> bool:
    if not isinstance(kind, str):
        return False
    if names_thoughts(name=kind, is_by_model=False):
        return True
    holds_words = not {"summary", "content", "encryptedcontent", "text", "thought", "reasoning"}.isdisjoint(names)
    return holds_words and is_thought_type(kind=kind) and kind.lower() != "compaction"


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _is_number(item: Any) -> bool:
    return isinstance(item, int) and not isinstance(item, bool) and len(str(abs(item))) >= _SHORTEST_NUMBER


def _is_named_secret(name: str, text: str) -> bool:
    if not text or MARKER.fullmatch(text):
        return False
    if name in _MAYBE_SECRET_NAMES:
        return any(len(word) >= LONG_PART or (len(word) >= STRONG_PART and not is_word(word)) for word in text.split())
    return _SECRET_NAMES.fullmatch(name) is not None and text.lower() not in WORDS_OF_FORMS


def lost_its_claim(*, content: str, value: Any, names: Sequence[Any] = ()) -> bool:
    """Tell whether what a candidate claims was taken out of it, so that nothing worth keeping is left.

    `names` are what it is known by: its key, its subject, its conditions. Of the content, a clause without a marker is
    enough; a value that holds one says nothing any more.
    """
    if any(MARKER.search(text) for text in _walk_texts(names)):
        return True
    if value != content and any(MARKER.search(text) for text in _walk_texts(value)):
        return True
    if MARKER.search(content) is None:
        return False
    clauses = _CLAUSE_ENDS.split(content)
    return not any(MARKER.search(clause) is None and _says_something(clause) for clause in clauses)


def _says_something(clause: str) -> bool:
    return sum(char.isalnum() for char in clause) >= _SHORTEST_CLAUSE


def _walk_texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting.extend(one.keys())
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)
