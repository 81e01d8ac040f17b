"""The small pictures of the review page as SVG: when each claim holds, and belief. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext

from memoryhub.console.grid import Scale
from memoryhub.console.words import label_ticks

_LEFT, _RIGHT, _HEAD = 62.0, 344.0, 8.0
_ROW_HEIGHT: Final = 28
_MONO: Final = 8.6
_TICK_APART: Final = 64.0
_BAR_FROM, _BAR_WIDE = 78.0, 226.0


@dataclass(frozen=True, slots=True)
class Held:
    """A value over a period of valid time, in the hue of the version that made it."""

    value: str
    hue: str
    valid_from: datetime
    valid_to: datetime | None


def draw_strip(*, standing: Sequence[Held], proposed: Held, version: int, now: datetime) -> SafeString:
    """Draw the standing parts over the proposed claim, hatched where they answer differently."""
    every = [*standing, proposed]
    edges = {moment for held in every for moment in (held.valid_from, held.valid_to) if moment}
    last = max(edges | {now})
    stops = edges | {now, last + max((last - min(edges)) / 8, timedelta(hours=1))}
    scale = Scale.spread(stops=[*stops], start=_LEFT, end=_RIGHT - _HEAD, least=26)
    clashes = [held for held in standing if held.value != proposed.value and _meet(held, proposed)]
    return format_html(
        '<svg class="mh-svg" width="346" height="132" viewBox="0 0 346 132" role="img" aria-labelledby="strip-t">'
        '<title id="strip-t">{title}</title><defs><pattern id="hx" width="6" height="6" '
        'patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<path class="hatch cx" d="M0 0v6"/></pattern></defs>'
        "{clashes}{ticks}{now}"
        '<text x="0" y="39">{held}</text><text class="t3" x="0" y="53">v{version}</text>'
        '<text x="0" y="87">{name}</text>'
        "{standing}{proposed}</svg>",
        title=_describe(standing, proposed, version),
        clashes=format_html_join("", "{}", ((_draw_clash(held, proposed, scale),) for held in clashes)),
        ticks=_draw_ticks([proposed.valid_from, *sorted(edges - {proposed.valid_from})], scale, now),
        now=_draw_now(scale.place(moment=now)),
        held=gettext("held"),
        version=version,
        name=pgettext("side of a review", "proposed"),
        standing=format_html_join("", "{}", ((_draw_held(held, 24, scale),) for held in standing)),
        proposed=_draw_held(proposed, 70, scale),
    )


def draw_belief(*, support: float, opposition: float, ratio: float, hue: str) -> SafeString:
    """Draw support over opposition, with a mark where opposition would dispute the belief."""
    mark = _BAR_FROM + _BAR_WIDE * min(support * ratio, 1.0)
    return format_html(
        '<svg class="mh-svg" width="346" height="42" viewBox="0 0 346 42" role="img" aria-label="{label}">'
        '<rect class="soft" x="78" y="4" width="226" height="10" rx="2"/>'
        '<rect class="{hue} solid" x="78" y="4" width="{support_wide}" height="10" rx="2"/>'
        '<text x="0" y="14">{support_name}</text><text class="t1" x="312" y="14">{support}</text>'
        '<rect class="soft" x="78" y="26" width="226" height="10" rx="2"/>'
        '<rect class="g-clash" x="78" y="26" width="{opposition_wide}" height="10" rx="2"/>'
        '<text x="0" y="36">{opposition_name}</text><text class="t1" x="312" y="36">{opposition}</text>'
        '<path class="axis" stroke-width="2" d="M{mark} 21v20"/></svg>',
        label=gettext("Support %(support)s, opposition %(opposition)s; the dispute threshold is %(mark)s")
        % {"support": f"{support:.2f}", "opposition": f"{opposition:.2f}", "mark": f"{support * ratio:.2f}"},
        hue=hue,
        support_wide=f"{_BAR_WIDE * min(support, 1.0):.1f}",
        opposition_wide=f"{_BAR_WIDE * min(opposition, 1.0):.1f}",
        support_name=gettext("support"),
        opposition_name=gettext("opposition"),
        support=f"{support:.2f}",
        opposition=f"{opposition:.2f}",
        mark=f"{mark:.1f}",
    )


def _meet(one: Held, other: Held) -> bool:
    starts = max(one.valid_from, other.valid_from)
    return all(held.valid_to is None or starts < held.valid_to for held in (one, other))


def _draw_clash(held: Held, proposed: Held, scale: Scale) -> SafeString:
    x0 = scale.place(moment=max(held.valid_from, proposed.valid_from))
    ends = [one.valid_to for one in (held, proposed) if one.valid_to]
    x1 = scale.place(moment=min(ends)) if ends else _RIGHT
    return format_html('<rect x="{}" y="8" width="{}" height="100" fill="url(#hx)"/>', f"{x0:.1f}", f"{x1 - x0:.1f}")


def _draw_ticks(edges: Sequence[datetime], scale: Scale, now: datetime) -> SafeString:
    lines = "".join(f"M{scale.place(moment=edge):.1f} 8v104" for edge in edges)
    taken, labels = [scale.place(moment=now)], []
    names = dict(zip(sorted(edges), label_ticks(moments=sorted(edges)), strict=True))
    for edge in edges:
        place = scale.place(moment=edge)
        if all(abs(place - other) >= _TICK_APART for other in taken):
            taken.append(place)
            labels.append((f"{place:.1f}", "start" if place < _LEFT + _TICK_APART / 2 else "middle", names[edge]))
    return format_html(
        '<path class="tick" d="{}"/>{}',
        lines,
        format_html_join("", '<text class="t3" x="{}" y="126" text-anchor="{}">{}</text>', labels),
    )


def _draw_now(place: float) -> SafeString:
    return format_html(
        '<path class="now" d="M{0} 4v108"/><text class="t3" x="{0}" y="126" text-anchor="middle">{1}</text>',
        f"{place:.1f}",
        gettext("now"),
    )


def _draw_held(held: Held, y: int, scale: Scale) -> SafeString:
    x0, middle, low = scale.place(moment=held.valid_from), y + _ROW_HEIGHT // 2, y + _ROW_HEIGHT
    if held.valid_to is None:
        x1 = _RIGHT - _HEAD
        outline = f"M{x0:.1f} {y}H{x1:.1f}L{_RIGHT:.1f} {middle}L{x1:.1f} {low}H{x0:.1f}z"
    else:
        x1 = scale.place(moment=held.valid_to)
        outline = f"M{x0:.1f} {y}H{x1:.1f}V{low}H{x0:.1f}z"
    fits = len(held.value) * _MONO + 12 <= x1 - x0
    text = format_html('<text class="tv" x="{}" y="{}">{}</text>', f"{x0 + 8:.1f}", y + 19, held.value) if fits else ""
    return format_html('<path class="held {}" d="{}"/>{}', held.hue, outline, text)


def _describe(standing: Sequence[Held], proposed: Held, version: int) -> str:
    values = ", ".join(held.value for held in standing)
    return gettext("Valid time. Held by version %(version)s: %(held)s. Proposed: %(proposed)s.") % {
        "version": version,
        "held": values,
        "proposed": proposed.value,
    }
