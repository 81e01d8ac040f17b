"""Folding: one plain form for the many ways to write the same words. Pure.

Characters that nobody sees, width, accents, look-alikes of other alphabets, traditional characters, letters or
characters set apart, and text that is only encoded (Base64, percent signs, HTML entities, escapes of JSON) make no
difference to what is screened. Two encodings on top of each other, other ciphers and digits for letters are out of
scope.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
_ACCENTS = re.compile("[\u0300-\u036f]+")
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_WIDE = re.compile("[\uff01-\uff5e\u3000]")
_TRADITIONAL = (
    "從从現现發发給给碼码權权則则這这為为無无視视繞绕記记憶忆儲储應应該该須须務务將将執执經经獲获審审員员請请長长當当個个們们對对開开"
    "傳传達达訴诉話话說说讓让過过處处總总規规設设認认證证鑰钥準准諾诺聽听關关啟启覽览顯显與与號号密密寫写錄录轉转賬账帳账匯汇款款"
    "禁禁停停刪删除除驗验標标為为實实權权統统體体復复覆覆約约內内條条遵遵守守時时詢询問问題题簡简單单來来後后報报復复佈布導导導导"
    "會会議议遠远終终貼贴據据憑凭測测試试確确許许可可級级別别動动作作聯联繫系備备註注檔档讀读價价買买賣卖機机構构團团隊队學学習习"
    "滿满讚赞優优馬马務务擁拥護护閉闭邏逻輯辑變变"
)
_LOOK_ALIKES = (
    "аaеeоoрpсcуyхxіiѕsԁdјjкkмmтtнhвbгrԛqԝwһhӏlґrєeїiъbьbпnиuшwяrуy"
    "αaβbεeιiκkνvοoρpτtυuχxγyηnωwσoδdλlμuζzɑaɡgıiɩiʟlɴnʀrᴀaᴄcᴅdᴇeᴊjᴋkᴍmᴏoᴘpᴛtᴜuᴠvᴡwᴢzßb"
)


def _pair(pairs: str) -> dict[int, str]:
    return {ord(strange): plain for strange, plain in zip(pairs[::2], pairs[1::2], strict=True)}


_PLAIN = _pair(_TRADITIONAL) | _pair(_LOOK_ALIKES)
_SPACES = re.compile(r"[\s_]+")
_SIGNS = r"[\s·.・\-_*|/~+]"
_BETWEEN_CHINESE = re.compile(
    rf"(?<=[\u4e00-\u9fff]){_SIGNS}{{1,3}}(?=[\u4e00-\u9fff,.:;!?。])|(?<=[,.:;!?。]){_SIGNS}{{1,3}}(?=[\u4e00-\u9fff])"
)
# One sign between the letters, and more or another one between the words.
_APART = re.compile(r"(?<![a-z])(?:[a-z](?P<sign>[ .\-_*|/~+])(?!(?P=sign))){3,}[a-z](?![a-z])")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{16,}={0,2}(?![A-Za-z0-9+/_=-])")
_ESCAPES = re.compile(r"\\(?:u(?P<four>[0-9a-fA-F]{4})|x(?P<two>[0-9a-fA-F]{2})|[nrtbf/\\\"'])")
_TEXTUAL = 0.9


def narrow_text(*, text: str) -> str:
    """Return a text without what nobody sees and with wide characters narrowed, as a reader takes it in."""
    if text.isascii():
        return text
    return UNSEEN.sub("", text.translate(_NARROW) if _WIDE.search(text) else text)


def plain_name(*, text: str) -> str:
    """Return the name of a field in small plain letters: what is not seen, wide or looks alike makes no other name."""
    if not text.isascii():
        text = _ACCENTS.sub("", unicodedata.normalize("NFKD", narrow_text(text=text))).translate(_PLAIN)
    return re.sub(r"[-_\s]", "", text).lower().translate(_PLAIN if not text.isascii() else {})


def decode_hidden(*, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield what Base64 in a text reads as, if it reads as text, with the range of characters it stands in."""
    for match in _BASE64.finditer(text):
        packed = match.group().rstrip("=").replace("-", "+").replace("_", "/")
        try:
            told = base64.b64decode(packed + "=" * (-len(packed) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
        if sum(char.isprintable() or char.isspace() for char in told) >= _TEXTUAL * len(told):
            yield match.start(), match.end(), told


def fold_text(*, text: str) -> str:
    """Return the plain forms of a text, each a clause of its own: itself, and whatever else it can be read as."""
    forms = dict.fromkeys(_fold(text))
    for form in [text, *([] if text.isascii() else [narrow_text(text=text)])]:
        for _, _, told in decode_hidden(text=form):
            forms.update(dict.fromkeys(_fold(told)))
    if "\\" in text:
        forms.update(dict.fromkeys(_fold(_ESCAPES.sub(_unescape, text))))
    if "&" in text and (unescaped := html.unescape(text)) != text:
        forms.update(dict.fromkeys(_fold(unescaped)))
    if "%" in text and (unquoted := unquote(text)) != text:
        forms.update(dict.fromkeys(_fold(unquoted)))
    return "; ".join(forms)


def _fold(text: str) -> Iterator[str]:
    if text.isascii():
        plain = text.lower()
        gaps: tuple[str, ...] = ("",)
    else:
        plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text)).lower().translate(_PLAIN)
        gaps = ("", " ") if UNSEEN.search(plain) else ("",)
    for gap in gaps:
        seen = UNSEEN.sub(gap, plain) if len(gaps) > 1 else plain
        form = _SPACES.sub(" ", seen).strip()
        yield form
        joined = _APART.sub(_join, seen)
        joined = _SPACES.sub(" ", joined if joined.isascii() else _BETWEEN_CHINESE.sub("", joined)).strip()
        if joined != form:
            yield joined


def _unescape(match: re.Match[str]) -> str:
    code = match["four"] or match["two"]
    return chr(int(code, 16)) if code else " "


def _join(match: re.Match[str]) -> str:
    return re.sub(r"[ .\-_*|/~+]", "", match.group())
