"""Tags and filters of the console: glyphs, the five vocabularies, keys of memories, times, differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memoryhub.console import words
from memoryhub.console.diff import Span, compare_words, condense_spans
from memoryhub.console.icons import draw_icon

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from django.utils.functional import _StrPromise

register = template.Library()


@register.simple_tag
def icon(name: str, css: str = "") -> SafeString:
    """Inline one glyph."""
    return draw_icon(name=name, css=css)


@register.simple_tag
def candidate_status(status: str) -> SafeString:
    """Show a candidate's status: a circle in a pill."""
    return _tag("mh-cand", "c-", status, words.CANDIDATE_STATUS[status])


@register.simple_tag
def merge_action(action: str) -> SafeString:
    """Show a merge action: a block in capitals, the same code in every language."""
    return _tag("mh-act", "a-", action, action)


@register.simple_tag
def action_gloss(action: str) -> SafeString:
    """Explain a merge action in Chinese, where the code alone says little."""
    return format_html("<b>{}</b>", words.MERGE_ACTION[action]) if words.is_chinese() else SafeString()


@register.simple_tag
def version_state(state: str) -> SafeString:
    """Show the state of a version: a square."""
    return _tag("mh-st", "s-", state, words.VERSION_STATE[state])


@register.simple_tag
def epistemic_status(status: str) -> SafeString:
    """Show the nature of the evidence: a hexagon."""
    return _tag("mh-epi", "e-", status, words.EPISTEMIC_STATUS[status])


@register.simple_tag
def modality(name: str, confidence: float | None = None) -> SafeString:
    """Show the strength of belief: four bars; a number may follow."""
    number = "" if confidence is None else format_html(' <span class="mh-num">{}</span>', f"{confidence:.2f}")
    return _tag("mh-mod", "m-", name, format_html("{}{}", words.MODALITY[name], number))


@register.simple_tag
def scope_kind(kind: str) -> _StrPromise:
    """Name the kind of a scope."""
    return words.SCOPE_KIND[kind]


@register.simple_tag
def memory_key(subject: str, fact_key: str, conditions: Mapping[str, object] | None = None) -> SafeString:
    """Name a memory: subject, fact key, and each condition in brackets."""
    pairs = ((name, words.format_value(value=value)) for name, value in sorted((conditions or {}).items()))
    return format_html(
        '<span class="mh-key"><span>{}</span> <b>{}</b>{}</span>',
        subject,
        fact_key,
        format_html_join("", " <i>{} = {}</i>", pairs),
    )


@register.filter
def conditions(value: Mapping[str, object]) -> str:
    """Write conditions as one line: cycle = 4.1, task = T-318."""
    return ", ".join(f"{name} = {words.format_value(value=held)}" for name, held in sorted(value.items()))


@register.filter
def moment(value: datetime | None) -> SafeString | str:
    """Write an instant with its zone; None is an open end."""
    return _time(value, words.format_moment(moment=value))


@register.filter
def moment_bare(value: datetime | None) -> SafeString | str:
    """Write an instant where the head of the page or the column already names the zone."""
    return _time(value, words.format_moment(moment=value, zone=False))


@register.filter
def moment_exact(value: datetime | None) -> SafeString | str:
    """Write an instant to the microsecond, for recorded time, where two may share a second."""
    return _time(value, words.format_exact(moment=value))


@register.filter
def day(value: datetime) -> SafeString | str:
    """Write the day of an instant."""
    return _time(value, words.format_day(moment=value))


@register.filter
def clock(value: datetime) -> SafeString | str:
    """Write the hour and minute of an instant with its zone."""
    return _time(value, words.format_clock(moment=value))


@register.filter
def age(value: timedelta) -> str:
    """Write how long ago something was."""
    return words.format_age(age=value)


@register.filter
def claim_value(value: object) -> str:
    """Write the value of a claim as text."""
    return words.format_value(value=value)


@register.filter
def code_spans(text: str) -> SafeString:
    """Set what stands between backticks as code; everything else is text."""
    pieces = enumerate(text.split("`"))
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if at % 2 else part,) for at, part in pieces)
    )


@register.filter
def reason(code: str) -> str:
    """Write a reason code in words."""
    return words.explain_reason(code=code)


@register.filter
def initials(name: str) -> str:
    """Shorten a name to its initials, or to the first character of a Chinese name."""
    parts = name.replace("-", " ").replace("_", " ").split()
    if not parts or not parts[0].isascii():
        return name[:1]
    return "".join(part[0] for part in parts[:2]).upper()


@register.simple_tag
def diff_old(old: str, new: str, *, short: bool = False) -> SafeString:
    """Show the old text with what is gone struck out."""
    spans = compare_words(old=old, new=new).old
    return _spans(condense_spans(spans=spans) if short else spans, "del")


@register.simple_tag
def diff_new(old: str, new: str, *, short: bool = False) -> SafeString:
    """Show the new text with what came underlined."""
    spans = compare_words(old=old, new=new).new
    return _spans(condense_spans(spans=spans) if short else spans, "ins")


@register.simple_tag
def diff_both(old: str, new: str) -> SafeString:
    """Show both in one line: what stays once, what is gone struck out before what came."""
    both = compare_words(old=old, new=new)
    kept = [[span.text for span in side if not span.changed] for side in (both.old, both.new)]
    if kept[0] != kept[1]:
        return format_html(
            "{} {}", _spans((Span(old, changed=True),), "del"), _spans((Span(new, changed=True),), "ins")
        )
    pieces: list[SafeString | str] = []
    gone, came = list(both.old), list(both.new)
    while gone or came:
        struck = gone and gone[0].changed
        added = came and came[0].changed
        if struck:
            pieces.append(_spans((gone.pop(0),), "del"))
        if struck and added:
            pieces.append(" ")
        if added:
            pieces.append(_spans((came.pop(0),), "ins"))
        if not struck and not added:
            pieces.append(gone.pop(0).text)
            came.pop(0)
    return format_html_join("", "{}", ((piece,) for piece in pieces))


def _tag(css: str, prefix: str, value: str, word: _StrPromise | str) -> SafeString:
    return format_html('<span class="{} is-{}">{}{}</span>', css, value, draw_icon(name=prefix + value), word)


def _time(value: datetime | None, text: str) -> SafeString | str:
    if value is None:
        return text
    return format_html('<time datetime="{}">{}</time>', value.isoformat(), text)


def _spans(spans: tuple[Span, ...], mark: str) -> SafeString:
    pieces = (format_html("<{0}>{1}</{0}>", mark, span.text) if span.changed else span.text for span in spans)
    return format_html_join("", "{}", ((piece,) for piece in pieces))
