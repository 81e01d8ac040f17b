"""Show evidence by lineage: what goes back to one root stands together and counts once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Final, Literal

from django.utils.translation import gettext

from memoryhub.access.callers import Caller
from memoryhub.console import words
from memoryhub.console.memory_queries import ClaimRow
from memoryhub.console.shapes import Evidence, Lineage, Tally
from memoryhub.kernel.lineage import count_lineages, number_lineages
from memoryhub.types.enums import Availability, Stance, Trust
from memoryhub.usecases.propose import words_of

_AROUND: Final = 60  # characters shown before and after a quoted span
_ICONS: Final = {"event_span": "chat", "document": "doc", "tool_result": "tool", "ruling": "check", "memory": "base"}


def group_claims(
    *,
    claims: Sequence[ClaimRow],
    hue_of: Callable[[ClaimRow], str],
    caller: Caller,
    is_earlier: Callable[[ClaimRow], bool] = lambda _: False,
) -> list[Lineage]:
    """Make one section for each lineage, the oldest first; `hue_of` gives the colour of a claim.

    `is_earlier` tells of a claim that it is about an earlier period than the one that is looked at.
    """
    numbers = number_lineages(pieces=[_list_roots(claim) for claim in claims])
    groups: dict[int, list[ClaimRow]] = {}
    for claim, number in zip(claims, numbers, strict=True):
        groups.setdefault(number, []).append(claim)
    return [
        replace(
            _make_lineage(index, group, hue_of, caller),
            is_earlier=all(is_earlier(claim) for claim in group),
        )
        for index, group in enumerate(groups.values())
    ]


def _list_roots(claim: ClaimRow) -> set[str]:
    return set(claim.roots) or {claim.source}


def tally_side(*, claims: Sequence[ClaimRow], value: str, hue: str, side: str) -> Tally:
    """Count the independent lineages and the items that speak for one side."""
    speaking = [claim for claim in claims if claim.stance == Stance.SUPPORTS and not is_gone(claim=claim)]
    return Tally(
        value=value,
        hue=hue,
        independent=count_lineages(pieces=map(_list_roots, speaking)),
        items=len(speaking),
        side="standing" if side == "standing" else "proposed",
    )


def _make_lineage(index: int, claims: Sequence[ClaimRow], hue_of: Callable[[ClaimRow], str], caller: Caller) -> Lineage:
    first = claims[0]
    letter = ascii_uppercase[index] if index < len(ascii_uppercase) else str(index + 1)
    return Lineage(
        letter=letter,
        title=gettext("%(name)s, %(trust)s") % {"name": first.author, "trust": name_trust(trust=first.trust)},
        value=words.format_value(value=first.value),
        hue=hue_of(first),
        weight=max(claim.weight for claim in claims),
        items=tuple(_make_item(claim, caller) for claim in claims),
    )


def name_trust(*, trust: str) -> str:
    """Say how far a source is trusted."""
    names = {
        Trust.FIRST_PARTY: gettext("first party"),
        Trust.THIRD_PARTY: gettext("third party"),
        Trust.UNTRUSTED: gettext("untrusted"),
    }
    return names[Trust(trust)]


def _make_item(claim: ClaimRow, caller: Caller) -> Evidence:
    before, after = _read_around(claim)
    note = ""
    if is_gone(claim=claim):
        note = _explain_absence(claim.availability)
    elif claim.is_dismissed:
        note = gettext("settled by a ruling")
    position = ""
    if claim.span_start is not None and claim.span_end is not None:
        position = gettext("characters %(first)s–%(last)s") % {
            "first": claim.span_start + 1,
            "last": claim.span_end,
        }
    return Evidence(
        icon=_ICONS.get(claim.kind, "chat"),
        title=_name_source(claim.source_type),
        position=claim.position or position,
        state=_judge_state(claim, caller),
        before=before,
        quote=claim.quote or "",
        after=after,
        author=claim.author,
        occurred_at=claim.valid_from if claim.effective else None,
        received_at=claim.received_at,
        note=note,
        is_code=(claim.quote or "").startswith(("{", "[")),
    )


def _judge_state(claim: ClaimRow, caller: Caller) -> Literal["present", "against", "gone", "changed"]:
    """Tell present, against, gone and changed apart; a quote is marked only if its digest matches."""
    if is_gone(claim=claim):
        return "gone"
    if claim.quote is not None and caller.digest(claim.quote, salt=bytes.fromhex(claim.salt or "")) != claim.digest:
        return "changed"
    return "against" if claim.stance == Stance.CONTRADICTS else "present"


def is_gone(*, claim: ClaimRow) -> bool:
    """Tell whether a piece of evidence can no longer be used; a claim without any has lost nothing."""
    return bool(claim.availability) and claim.availability != Availability.AVAILABLE


def _read_around(claim: ClaimRow) -> tuple[str, str]:
    """Return a little of the words before and after the quoted span, if they are still held."""
    if claim.words is None or claim.span_start is None or claim.span_end is None:
        return "", ""
    text = words_of(claim.words)
    before = text[max(claim.span_start - _AROUND, 0) : claim.span_start]
    after = text[claim.span_end : claim.span_end + _AROUND]
    return ("… " if claim.span_start > _AROUND else "") + before, after + (
        " …" if len(text) > claim.span_end + _AROUND else ""
    )


def _name_source(source_type: str) -> str:
    names = {
        "message": gettext("Message"),
        "user_message": gettext("Message"),
        "tool_result": gettext("Tool result"),
        "document": gettext("Document"),
        "release": gettext("Release"),
    }
    return names.get(source_type, source_type.replace("_", " "))


def _explain_absence(availability: str) -> str:
    reasons = {
        Availability.EXPIRED: gettext("The quote has expired."),
        Availability.ERASED: gettext("The quote was erased."),
        Availability.REVOKED: gettext("The source was revoked."),
        Availability.UNREACHABLE: gettext("The source cannot be reached."),
    }
    return reasons[Availability(availability)]
