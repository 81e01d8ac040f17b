"""The bitemporal grid as SVG: valid time across, recorded time up. Pure.

Every part of every version is one shape. Distances follow time, but no period is drawn so short that
it could not be seen (`Scale`); the axes carry ticks only where some part begins or ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from memoryhub.console.words import format_day, label_ticks

HUES: Final = 6
# What was revoked, has expired or was erased answers nothing, at no instant.
READABLE: Final = frozenset({"active", "superseded", "needs_review"})
_LEFT, _RIGHT, _TOP, _BOTTOM = 112.0, 16.0, 26.0, 46.0
_HEAD = 8.0  # length of the arrow head at an open end
_MIN_ACROSS, _MIN_UP = 30.0, 24.0
_LABEL_FROM, _SECOND_LINE_FROM = 24.0, 40.0
_TICK_UP = 14.0
_MONO, _SANS = 8.6, 6.4  # width of a character at 14 mono and 12 sans


@dataclass(frozen=True, slots=True)
class Part:
    """One part of one version: a value for a valid period, held for a recorded period."""

    version: int
    part: int
    value: str
    valid_from: datetime
    valid_to: datetime | None
    recorded_from: datetime
    recorded_to: datetime | None
    state: str

    def holds_at(self, *, valid_at: datetime, recorded_at: datetime) -> bool:
        """Tell whether this part is the answer at a pair of instants; both periods are half-open."""
        valid = self.valid_from <= valid_at and (self.valid_to is None or valid_at < self.valid_to)
        held = self.recorded_from <= recorded_at and (self.recorded_to is None or recorded_at < self.recorded_to)
        return valid and held


@dataclass(frozen=True, slots=True)
class Cross:
    """A point on both clocks."""

    valid_at: datetime
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Scale:
    """A monotone map from instants to a length, with a least distance between neighbours."""

    stops: tuple[datetime, ...]
    places: tuple[float, ...]

    @classmethod
    def spread(cls, *, stops: Sequence[datetime], start: float, end: float, least: float) -> "Scale":
        """Place the stops between two ends: each step gets a least share, the rest follows time."""
        moments = tuple(sorted(set(stops)))
        steps = [(later - sooner).total_seconds() for sooner, later in pairwise(moments)]
        if not steps:
            return cls(stops=moments, places=(start,))
        span, floor = sum(steps), min(least, abs(end - start) / len(steps))
        loose = abs(end - start) - floor * len(steps)
        sign = 1 if end >= start else -1
        places = [start]
        for step in steps:
            places.append(places[-1] + sign * (floor + loose * step / span))
        return cls(stops=moments, places=tuple(places))

    def place(self, *, moment: datetime) -> float:
        """Place an instant, between its neighbours in proportion; beyond the ends, at the ends."""
        if moment <= self.stops[0]:
            return self.places[0]
        for index in range(1, len(self.stops)):
            sooner, later = self.stops[index - 1], self.stops[index]
            if moment <= later:
                share = (moment - sooner) / (later - sooner)
                return self.places[index - 1] + share * (self.places[index] - self.places[index - 1])
        return self.places[-1]


def find_origins(*, parts: Sequence[Part]) -> dict[tuple[int, int], int]:
    """Name the version that made each part's claim: a part carried over by a split keeps its own."""
    origins: dict[tuple[int, int], int] = {}
    for part in sorted(parts, key=lambda part: (part.version, part.part)):
        source = next((earlier for earlier in parts if _is_carried_over(part, earlier)), None)
        origin = origins[source.version, source.part] if source else part.version
        origins[part.version, part.part] = origin
    return origins


def find_hues(*, parts: Sequence[Part]) -> dict[tuple[int, int], str]:
    """Give each part the class of its hue, one for each version that made a claim, then again."""
    origins = find_origins(parts=parts)
    order = sorted(set(origins.values()))
    return {key: f"c{order.index(origin) % HUES + 1}" for key, origin in origins.items()}


def find_answer(*, parts: Sequence[Part], cross: Cross) -> Part | None:
    """Find the part that answers at a point, None where nothing was held."""
    hits = (part for part in parts if part.holds_at(valid_at=cross.valid_at, recorded_at=cross.recorded_at))
    return next((part for part in hits if part.state in READABLE), None)


def draw_grid(
    *, parts: Sequence[Part], now: datetime, cross: Cross | None = None, width: int = 660, height: int = 340
) -> SafeString:
    """Draw the parts as an SVG picture whose title and description stand in it; a table must follow it."""
    edges_up = {moment for part in parts for moment in (part.recorded_from, part.recorded_to) if moment}
    edges_across = {moment for part in parts for moment in (part.valid_from, part.valid_to) if moment}
    height = max(height, int(_TOP + _BOTTOM + _MIN_UP * (len(edges_up) + 2)))
    frame = _Frame.fit(across=edges_across, up=edges_up, now=now, cross=cross, width=width, height=height)
    hues = find_hues(parts=parts)
    hit = find_answer(parts=parts, cross=cross) if cross else None
    ordered = sorted(parts, key=lambda part: (part is hit, part.version, part.part))
    lines = (frame.across.place(moment=cross.valid_at), frame.up.place(moment=cross.recorded_at)) if cross else None
    shapes = [_draw_part(part, frame, hues[part.version, part.part], lines, is_hit=part is hit) for part in ordered]
    return format_html(
        '<svg class="mh-svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img" aria-labelledby="grid-t grid-d">'
        '<title id="grid-t">{title}</title><desc id="grid-d">{desc}</desc><defs>{defs}</defs>'
        "{ticks}{shapes}{axes}{cross}</svg>",
        w=width,
        h=height,
        title=gettext("Versions by valid time, across, and recorded time, up"),
        desc=gettext("The table after this picture holds the same data."),
        defs=_draw_patterns(sorted(set(hues.values()))),
        ticks=_draw_ticks(frame, sorted(edges_across), sorted(edges_up), cross),
        shapes=format_html_join("", "{}", ((shape,) for shape in shapes)),
        axes=_draw_axes(frame, now),
        cross=_draw_cross(frame, cross) if cross else "",
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where the picture's edges and the two scales are."""

    across: Scale
    up: Scale
    left: float
    right: float
    top: float
    bottom: float
    now_up: float
    day: str

    @classmethod
    def fit(
        cls, *, across: set[datetime], up: set[datetime], now: datetime, cross: Cross | None, width: int, height: int
    ) -> "_Frame":
        """Leave room before the first edge and after the last one, so that open ends show."""
        right, bottom = width - _RIGHT, height - _BOTTOM
        first, last = min(across | {now}), max(across | {now})
        margin = max((last - first) / 12, timedelta(hours=1))
        stops = across | {now, first - margin, last + margin}
        held = up | {now}
        start = min(held) - max((max(held) - min(held)) / 12, timedelta(seconds=1))
        scale_up = Scale.spread(stops=[*held, start], start=bottom, end=_TOP + 22, least=_MIN_UP)
        if cross:
            stops |= {min(max(cross.valid_at, first - margin), last + margin)}
        return cls(
            across=Scale.spread(stops=[*stops], start=_LEFT, end=right - _HEAD - 2, least=_MIN_ACROSS),
            up=scale_up,
            left=_LEFT,
            right=right,
            top=_TOP,
            bottom=bottom,
            now_up=scale_up.place(moment=now),
            day=f", {format_day(moment=min(up))}" if len({moment.date() for moment in up}) == 1 else "",
        )


def _is_carried_over(part: Part, earlier: Part) -> bool:
    """Tell whether an earlier part was closed only so that this one could say the same for less time."""
    covers_end = earlier.valid_to is None or (part.valid_to is not None and part.valid_to <= earlier.valid_to)
    return (
        earlier.version < part.version
        and earlier.value == part.value
        and earlier.recorded_to == part.recorded_from
        and earlier.valid_from <= part.valid_from
        and covers_end
    )


def _draw_patterns(hues: Sequence[str]) -> SafeString:
    return format_html_join(
        "",
        '<pattern id="g-{0}" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<path class="hatch {0}" d="M0 0v7"/></pattern>',
        ((hue,) for hue in hues),
    )


def _draw_ticks(frame: _Frame, across: Sequence[datetime], up: Sequence[datetime], cross: Cross | None) -> SafeString:
    """Draw every tick line, and the labels that do not touch another one or a plate of the cross-hair."""
    lines = [f"M{frame.across.place(moment=moment):.1f} {frame.top:.0f}V{frame.bottom:.1f}" for moment in across]
    lines += [f"M{frame.left:.0f} {frame.up.place(moment=moment):.1f}H{frame.right:.1f}" for moment in up]
    taken_across = [(frame.across.place(moment=cross.valid_at), 84.0)] if cross else []
    taken_up = [frame.now_up, *([frame.up.place(moment=cross.recorded_at)] if cross else [])]
    labels = []
    for moment, label in zip(across, label_ticks(moments=across), strict=True):
        place, wide = frame.across.place(moment=moment), len(label) * _SANS + 10
        if all(abs(place - other) >= (wide + others) / 2 for other, others in taken_across):
            taken_across.append((place, wide))
            labels.append((f"{place:.1f}", f"{frame.bottom + 17:.1f}", "middle", label))
    for moment, label in zip(up, label_ticks(moments=up), strict=True):
        place = frame.up.place(moment=moment)
        if all(abs(place - other) >= _TICK_UP for other in taken_up):
            taken_up.append(place)
            labels.append((f"{frame.left - 8:.1f}", f"{place + 4:.1f}", "end", label))
    return format_html(
        '<path class="tick" d="{}"/>{}',
        "".join(lines),
        format_html_join("", '<text class="t3" x="{}" y="{}" text-anchor="{}">{}</text>', labels),
    )


def _draw_part(part: Part, frame: _Frame, hue: str, lines: tuple[float, float] | None, *, is_hit: bool) -> SafeString:
    x0, y0 = frame.across.place(moment=part.valid_from), frame.up.place(moment=part.recorded_from)
    y1 = frame.up.place(moment=part.recorded_to) if part.recorded_to else frame.now_up
    if part.valid_to is None:
        x1 = frame.right - _HEAD - 2
        outline = f"M{x0:.1f} {y0:.1f}V{y1:.1f}H{x1:.1f}L{x1 + _HEAD:.1f} {(y0 + y1) / 2:.1f}L{x1:.1f} {y0:.1f}z"
    else:
        x1 = frame.across.place(moment=part.valid_to)
        outline = f"M{x0:.1f} {y0:.1f}V{y1:.1f}H{x1:.1f}V{y0:.1f}z"
    if part.state not in READABLE:
        return format_html('<path class="gone" d="{}"/>', outline)
    label = _draw_label(part, (x0, y1, x1 - x0, y0 - y1), lines)
    hit = " is-hit" if is_hit else ""
    if part.recorded_to is None:
        return format_html('<path class="held {}{}" d="{}"/>{}', hue, hit, outline, label)
    return format_html(
        '<path class="base {0}{1}" d="{2}"/><path d="{2}" fill="url(#g-{0})"/>{3}', hue, hit, outline, label
    )


def _draw_label(part: Part, box: tuple[float, float, float, float], cross: tuple[float, float] | None) -> SafeString:
    """Write value and version at the top left, or bottom left if the cross-hair would cut it there.

    Where that does not fit, the version alone; below a least size nothing, since the table has it.
    """
    left, top, width, height = box
    if width < _LABEL_FROM or height < _LABEL_FROM - 6:
        return SafeString()
    lines = _fit_lines(part, width, height)
    wide = max(len(text) * (_MONO if css else _SANS) for css, text in lines) + 12
    pad, high = (8.0, 36.0) if len(lines) > 1 else (4.0, 18.0)
    x, y = left + pad, top + min(pad, height - high)
    if cross and x <= cross[0] <= x + wide + 6:
        x = cross[0] + 6 if cross[0] + 6 + wide < left + width else x
    if cross and y - 2 <= cross[1] <= y + high + 2:
        y = top + height - high - pad
    texts = [
        (css, x + 6, y + 15 + 15 * row - (1 if len(lines) == 1 else 0), text) for row, (css, text) in enumerate(lines)
    ]
    return _plate(part, (x, y, wide, high), texts)


def _fit_lines(part: Part, width: float, height: float) -> list[tuple[str, str]]:
    """Choose the lines of a label that its shape has room for."""
    short = f"v{part.version}"
    long = gettext("v%(version)s part %(part)s") % {"version": part.version, "part": part.part}
    if len(part.value) * _MONO + 22 > width:
        return [("", short)]
    if height < _SECOND_LINE_FROM:
        return [("tv", part.value)]
    return [("tv", part.value), ("", long if len(long) * _SANS + 22 <= width else short)]


def _plate(
    part: Part, box: tuple[float, float, float, float], lines: Sequence[tuple[str, float, float, str]]
) -> SafeString:
    """Set lines of text, on a plate where the ground is hatched."""
    x, y, wide, high = (f"{number:.1f}" for number in box)
    plate = (
        format_html('<rect class="plate" x="{}" y="{}" width="{}" height="{}" rx="3"/>', x, y, wide, high)
        if part.recorded_to
        else ""
    )
    texts = format_html_join(
        "",
        '<text class="{}" x="{}" y="{}">{}</text>',
        ((css, f"{x:.1f}", f"{y:.1f}", text) for css, x, y, text in lines),
    )
    return format_html("{}{}", plate, texts)


def _draw_axes(frame: _Frame, now: datetime) -> SafeString:
    x = frame.across.place(moment=now)
    return format_html(
        '<path class="now" d="M{x} {top}V{bottom}M{left} {y}H{right}"/>'
        '<text class="t3" x="{near}" y="{y_text}" text-anchor="end">{now}</text>'
        '<text class="t3" x="{x}" y="{below_now}" text-anchor="middle">{now}</text>'
        '<path class="axis" fill="none" d="M{left} {above}V{bottom}H{right}"/>'
        '<text x="{right}" y="{below}" text-anchor="end">{valid}</text><text x="8" y="14">{recorded}</text>',
        x=f"{x:.1f}",
        y=f"{frame.now_up:.1f}",
        y_text=f"{frame.now_up + 4:.1f}",
        near=f"{frame.left - 8:.0f}",
        top=f"{frame.top:.0f}",
        above=f"{frame.top - 8:.0f}",
        left=f"{frame.left:.0f}",
        right=f"{frame.right:.0f}",
        bottom=f"{frame.bottom:.0f}",
        below=f"{frame.bottom + 38:.0f}",
        below_now=f"{frame.top - 12:.0f}",
        now=gettext("now"),
        valid=gettext("valid time: true in the world →"),
        recorded=gettext("↑ recorded time: held by the system") + frame.day,
    )


def _draw_cross(frame: _Frame, cross: Cross) -> SafeString:
    x, y = frame.across.place(moment=cross.valid_at), frame.up.place(moment=cross.recorded_at)
    valid, recorded = (format_day(moment=moment) for moment in (cross.valid_at, cross.recorded_at))
    wide = max(len(valid), len(recorded)) * 6.8 + 10
    return format_html(
        '<path class="cross" d="M{x} {top}V{bottom}M{left} {y}H{right}"/>'
        '<circle class="cross-dot" cx="{x}" cy="{y}" r="6"/>'
        '<rect class="tag" x="{x_plate}" y="{y_below}" width="{wide}" height="18" rx="3"/>'
        '<text class="tag-t" x="{x}" y="{y_below_text}" text-anchor="middle">{valid}</text>'
        '<rect class="tag" x="{x_left}" y="{y_plate}" width="{wide}" height="18" rx="3"/>'
        '<text class="tag-t" x="{x_left_text}" y="{y_text}" text-anchor="middle">{recorded}</text>',
        x=f"{x:.1f}",
        y=f"{y:.1f}",
        top=f"{frame.top:.0f}",
        bottom=f"{frame.bottom:.0f}",
        left=f"{frame.left:.0f}",
        right=f"{frame.right:.0f}",
        wide=f"{wide:.0f}",
        x_plate=f"{x - wide / 2:.1f}",
        y_below=f"{frame.bottom + 4:.0f}",
        y_below_text=f"{frame.bottom + 17:.0f}",
        x_left=f"{frame.left - 4 - wide:.1f}",
        x_left_text=f"{frame.left - 4 - wide / 2:.1f}",
        y_plate=f"{y - 9:.1f}",
        y_text=f"{y + 4:.1f}",
        valid=valid,
        recorded=recorded,
    )
