"""The Chinese interface is complete, and what is compiled is what is written."""

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path

from django.utils.translation.template import templatize

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / "locale" / "zh_Hans" / "LC_MESSAGES"
ENTRY = re.compile(
    r"(?:^msgctxt (?P<ctx>(?:\".*\"\n)+))?^msgid (?P<id>(?:\".*\"\n)+)(?:^msgid_plural (?:\".*\"\n)+)?"
    r"^msgstr(?:\[0\])? (?P<str>(?:\".*\"\n)+)",
    re.MULTILINE,
)
CALL = re.compile(
    r"""(?<![a-z])(_|gettext|gettext_lazy|ngettext|pgettext)\(\s*(u?'(?:\\.|[^'\\])*'|u?"(?:\\.|[^"\\])*")"""
    r"""(?:\s*,\s*(u?'(?:\\.|[^'\\])*'|u?"(?:\\.|[^"\\])*"))?"""
)


def read_entries() -> dict[str, str]:
    """Read the written catalogue; a context is joined to its text as `gettext` does."""
    text = (FOLDER / "django.po").read_text()
    entries = {}
    for match in ENTRY.finditer(text):
        parts = {
            name: "".join(map(ast.literal_eval, (value or "").splitlines()))
            for name, value in match.groupdict().items()
        }
        entries[f"{parts['ctx']}\x04{parts['id']}" if parts["ctx"] else parts["id"]] = parts["str"]
    entries.pop("")
    return entries


def read_sources() -> Iterator[tuple[str, str]]:
    """Read every text that templates and console mark for translation."""
    sources = [(path, templatize(path.read_text())) for path in (PROJECT / "templates").rglob("*.html")]
    sources += [(path, path.read_text()) for path in (PROJECT / "memoryhub" / "console").glob("*.py")]
    for path, text in sources:
        for function, first, second in CALL.findall(text):
            if function == "pgettext":
                yield path.name, f"{ast.literal_eval(first)}\x04{ast.literal_eval(second)}"
            else:
                yield path.name, ast.literal_eval(first)


ENTRIES = read_entries()


def test_every_text_of_the_console_has_an_entry() -> None:
    sources = list(read_sources())
    assert len(sources) > 200
    missing = sorted({(name, text) for name, text in sources if text not in ENTRIES})
    assert not missing


def test_every_entry_is_translated_with_the_same_places() -> None:
    places = re.compile(r"%\(\w+\)s")
    for text, translated in ENTRIES.items():
        message = text.rpartition("\x04")[2]
        assert translated, text
        assert set(places.findall(translated)) == set(places.findall(message)), text


def test_the_compiled_catalogue_is_the_written_one() -> None:
    with (FOLDER / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for text, translated in ENTRIES.items():
        context, _, message = text.rpartition("\x04")
        got = compiled.pgettext(context, message) if context else compiled.gettext(message)
        if got == message:
            got = compiled.ngettext(message, message, 1)
        assert got == translated, text
