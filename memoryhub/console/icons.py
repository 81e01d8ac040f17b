"""The glyphs of the console: paths on a grid of 16, drawn in the colour of the text beside them."""

from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString

# Prefixes name the vocabulary: c- candidate status, a- merge action, s- version state,
# e- epistemic status, m- modality. What fills a glyph is cut out in the colour of the surface.
PATHS: Final[dict[str, str]] = {
    "a-ADD": ('<path d="M8 3v10M3 8h10"/>'),
    "a-ATTACH_EVIDENCE": ('<path d="M12.6 7.6l-4.5 4.5a2.9 2.9 0 0 1-4.1-4.1l5-5a1.9 1.9 0 0 1 2.7 2.7l-5 5"/>'),
    "a-CONFLICT": ('<path d="M3.5 6h9M3.5 10h9M10.5 3l-5 10"/>'),
    "a-NO_OP": ('<path d="M3.5 6h9M3.5 10h9"/>'),
    "a-REJECT": ('<path d="M4 4l8 8M12 4l-8 8"/>'),
    "a-SUPERSEDE": ('<path d="M2.5 8h8M7.5 4.8L10.7 8l-3.2 3.2M13.5 3.5v9"/>'),
    "against": ('<circle cx="8" cy="8" r="6"/><path d="M4.6 8h6.8"/>'),
    "ask": ('<path d="M2.2 3h11.6v8H7.4l-3 2.6V11H2.2zM6.6 5.9a1.4 1.4 0 1 1 2 1.3c-.5.2-.6.5-.6.8"/>'),
    "base": (
        '<ellipse cx="8" cy="3.8" rx="5.4" ry="2"/>'
        '<path d="M2.6 3.8v8.4c0 1.1 2.4 2 5.4 2s5.4-.9 5.4-2V3.8M2.6 8c0 1.1 2.4 2 5.4 2s5.4-.9 5.4-2"/>'
    ),
    "bot": ('<rect x="2.8" y="5" width="10.4" height="8" rx="1.6"/><path d="M8 2.2V5M5.8 8.6v.8M10.2 8.6v.8"/>'),
    "c-accepted": (
        '<circle cx="8" cy="8" r="7" fill="currentColor" stroke="none"/>'
        '<path stroke="var(--surface)" stroke-width="1.7" d="M5 8.2l2.1 2.1L11 6.2"/>'
    ),
    "c-needs_confirmation": (
        '<circle cx="8" cy="8" r="6.2"/><path d="M6.3 6.3a1.8 1.8 0 1 1 2.5 1.7c-.6.3-.8.6-.8 1.2M8 11.3v.1"/>'
    ),
    "c-pending": ('<circle cx="8" cy="8" r="6" stroke-dasharray="2.4 2.3"/>'),
    "c-rejected": (
        '<circle cx="8" cy="8" r="7" fill="currentColor" stroke="none"/>'
        '<path stroke="var(--surface)" stroke-width="1.7" d="M5.7 5.7l4.6 4.6M10.3 5.7l-4.6 4.6"/>'
    ),
    "c-superseded": ('<circle cx="8" cy="8" r="6.2"/><path d="M5 8h5.6M8.6 5.8L10.8 8l-2.2 2.2"/>'),
    "chat": ('<path d="M2.2 3h11.6v8H7.4l-3 2.6V11H2.2z"/>'),
    "check": ('<path d="M3 8.5l3.2 3.2L13 4.8"/>'),
    "clock": ('<circle cx="8" cy="8" r="6"/><path d="M8 4.6V8l2.4 1.5"/>'),
    "code": ('<path d="M5.2 4.4L1.8 8l3.4 3.6M10.8 4.4L14.2 8l-3.4 3.6"/>'),
    "copy": ('<rect x="5.4" y="5.4" width="8" height="8" rx="1.2"/><path d="M3 10.6V2.6h8"/>'),
    "doc": ('<path d="M4 1.8h5.2L12.4 5v9.2H4zM9 2v3.3h3.2M6 8.4h4.4M6 11h4.4"/>'),
    "down": ('<path d="M4 6l4 4 4-4"/>'),
    "e-explicit": (
        '<path fill="currentColor" stroke="none" d="M8 1.4l5.7 3.3v6.6L8 14.6l-5.7-3.3V4.7z"/>'
        '<path stroke="var(--surface)" stroke-width="1.7" d="M6 9.6l1.2-3.2M9.2 9.6l1.2-3.2"/>'
    ),
    "e-inferred": (
        '<path stroke-dasharray="2.6 1.9" d="M8 1.4l5.7 3.3v6.6L8 14.6l-5.7-3.3V4.7z"/>'
        '<path stroke-width="1.9" d="M8 6.2v.01M6.2 9.4v.01M9.8 9.4v.01"/>'
    ),
    "e-observed": (
        '<path d="M8 1.4l5.7 3.3v6.6L8 14.6l-5.7-3.3V4.7z"/>'
        '<circle cx="8" cy="8" r="1.9" fill="currentColor" stroke="none"/>'
    ),
    "e-validated": (
        '<path fill="currentColor" stroke="none" d="M8 1.4l5.7 3.3v6.6L8 14.6l-5.7-3.3V4.7z"/>'
        '<path stroke="var(--surface)" stroke-width="1.7" d="M5.2 8.2l2 2L11 6.3"/>'
    ),
    "filter": ('<path d="M2.4 3.4h11.2L9.4 8.6v4.2l-2.8-1.4V8.6z"/>'),
    "home": ('<path d="M2.4 7.4L8 2.6l5.6 4.8M4 6.4v7h8v-7"/>'),
    "key": ('<rect x="1.8" y="4" width="12.4" height="8" rx="1.4"/><path d="M4.4 7h.1M7 7h.1M9.6 7h.1M5.4 9.6h5.2"/>'),
    "left": ('<path d="M10 4L6 8l4 4"/>'),
    "lock": ('<rect x="3.2" y="7" width="9.6" height="6.6" rx="1.4"/><path d="M5.4 7V5a2.6 2.6 0 0 1 5.2 0v2"/>'),
    "m-believed": (
        '<rect x="1.2" y="10.2" width="2.6" height="4" rx=".6" fill="currentColor" stroke="none"/>'
        '<rect x="4.8" y="7.2" width="2.6" height="7" rx=".6" fill="currentColor" stroke="none"/>'
        '<rect x="8.4" y="4.2" width="2.6" height="10" rx=".6" fill="currentColor" stroke="none"/>'
        '<rect x="12.0" y="1.2" width="2.6" height="13" rx=".6" fill="currentColor" stroke="none"/>'
    ),
    "m-disputed": (
        '<rect x="1.2" y="7" width="2.6" height="7.2" rx=".6" fill="currentColor" stroke="none"/>'
        '<rect x="4.8" y="4" width="2.6" height="10.2" rx=".6" fill="currentColor" stroke="none"/>'
        '<rect x="8.6" y="1.8" width="2.6" height="10.2" rx=".6" fill="currentColor" stroke="none"/>'
        '<rect x="12.2" y="1.8" width="2.6" height="7.2" rx=".6" fill="currentColor" stroke="none"/>'
    ),
    "m-doubted": (
        '<rect x="1.2" y="10.2" width="2.6" height="4" rx=".6" fill="currentColor" stroke="none"/>'
        '<rect x="4.8" y="7.2" width="2.6" height="7" rx=".6" fill="none" stroke="currentColor" '
        'stroke-width="1"/>'
        '<rect x="8.4" y="4.2" width="2.6" height="10" rx=".6" fill="none" stroke="currentColor" '
        'stroke-width="1"/>'
        '<rect x="12.0" y="1.2" width="2.6" height="13" rx=".6" fill="none" stroke="currentColor" '
        'stroke-width="1"/>'
    ),
    "m-possible": (
        '<rect x="1.2" y="10.2" width="2.6" height="4" rx=".6" fill="currentColor" stroke="none"/>'
        '<rect x="4.8" y="7.2" width="2.6" height="7" rx=".6" fill="currentColor" stroke="none"/>'
        '<rect x="8.4" y="4.2" width="2.6" height="10" rx=".6" fill="none" stroke="currentColor" '
        'stroke-width="1"/>'
        '<rect x="12.0" y="1.2" width="2.6" height="13" rx=".6" fill="none" stroke="currentColor" '
        'stroke-width="1"/>'
    ),
    "m-refuted": (
        '<rect x="1.2" y="10.2" width="2.6" height="4" rx=".6" fill="none" stroke="currentColor" '
        'stroke-width="1"/>'
        '<rect x="4.8" y="7.2" width="2.6" height="7" rx=".6" fill="none" stroke="currentColor" '
        'stroke-width="1"/>'
        '<rect x="8.4" y="4.2" width="2.6" height="10" rx=".6" fill="none" stroke="currentColor" '
        'stroke-width="1"/>'
        '<rect x="12.0" y="1.2" width="2.6" height="13" rx=".6" fill="none" stroke="currentColor" '
        'stroke-width="1"/>'
        '<path stroke-width="1.6" d="M1 2l14 12.5"/>'
    ),
    "mark": ('<path d="M2.5 12.5V4l3.2 4L8 4.8 10.3 8l3.2-4v8.5"/>'),
    "me": ('<circle cx="8" cy="5.4" r="2.6"/><path d="M3 13.6c.5-2.7 2.4-4 5-4s4.5 1.3 5 4"/>'),
    "menu": ('<path d="M2.4 4.4h11.2M2.4 8h11.2M2.4 11.6h11.2"/>'),
    "off": (
        '<path d="M2 2l12 12M6.4 4A7 7 0 0 1 14.5 8a10 10 0 0 1-1.9 2.3M4 5.2A9.6 9.6 0 0 0 1.5 8a7 7 0 0 0 8 3.8"/>'
    ),
    "out": ('<path d="M9.4 2.6H3v10.8h6.4M6.6 8h7M11 5.2L13.8 8 11 10.8"/>'),
    "rec": ('<path d="M8 1.8v12.4M5.2 4.6L8 1.8l2.8 2.8M5.2 11.4L8 14.2l2.8-2.8"/>'),
    "right": ('<path d="M6 4l4 4-4 4"/>'),
    "ring": ('<circle cx="8" cy="8" r="5.2"/>'),
    "s-active": ('<rect x="2.2" y="2.2" width="11.6" height="11.6" rx="1.6" fill="currentColor" stroke="none"/>'),
    "s-erased": ('<rect x="2.2" y="2.2" width="11.6" height="11.6" rx="1.6" stroke-dasharray="2.2 2"/>'),
    "s-expired": ('<rect x="2.2" y="2.2" width="11.6" height="11.6" rx="1.6"/><path d="M8 4.8V8l2.3 1.6"/>'),
    "s-needs_review": (
        '<rect x="2.2" y="2.2" width="11.6" height="11.6" rx="1.6"/><path stroke-width="1.8" d="M8 5v3.6M8 11.2v.1"/>'
    ),
    "s-revoked": (
        '<rect x="2.2" y="2.2" width="11.6" height="11.6" rx="1.6" fill="currentColor" stroke="none"/>'
        '<path stroke="var(--surface)" stroke-width="1.7" d="M5 8h6"/>'
    ),
    "s-superseded": (
        '<rect x="2.2" y="2.2" width="11.6" height="11.6" rx="1.6"/>'
        '<path stroke-width="1" d="M2.6 9.5l6.9-6.9M3.2 13.2l10-10M6.6 13.4l6.8-6.8"/>'
    ),
    "search": ('<circle cx="7" cy="7" r="4.6"/><path d="M10.4 10.4l3.6 3.6"/>'),
    "shield": ('<path d="M8 1.8l5.2 2v3.8c0 3.2-2.2 5.5-5.2 6.8-3-1.3-5.2-3.6-5.2-6.8V3.8z"/>'),
    "tool": ('<path d="M2 3h12v10H2zM4.6 6.2L6.6 8l-2 1.8M8 10h3"/>'),
    "valid": ('<path d="M1.8 8h12.4M4.6 5.2L1.8 8l2.8 2.8M11.4 5.2L14.2 8l-2.8 2.8"/>'),
    "warn": ('<path d="M8 2.2l6.2 11H1.8zM8 6.6v3M8 11.4v.1"/>'),
    "x": ('<path d="M4 4l8 8M12 4l-8 8"/>'),
}


def draw_icon(*, name: str, css: str = "") -> SafeString:
    """Draw one glyph as inline SVG, hidden from screen readers since a word stands beside it."""
    return format_html(
        '<svg class="mh-i{}" viewBox="0 0 16 16" aria-hidden="true">{}</svg>',
        f" {css}" if css else "",
        SafeString(PATHS[name]),
    )
