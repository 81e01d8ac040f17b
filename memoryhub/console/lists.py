"""What every list shares: its filters in the address, its pages, and why it may be empty."""

from collections.abc import Mapping
from urllib.parse import urlencode

from django.http import QueryDict

from memoryhub.console.queue_queries import Facet
from memoryhub.console.shapes import Choice, Menu, Page

_MOST_DIGITS = 9


def read_word(*, form: QueryDict, name: str) -> str:
    """Return what was filled in, without blanks around it and without the character no database keeps."""
    return (form.get(name) or "").replace("\x00", "").strip()


def read_number(*, form: QueryDict, name: str) -> int:
    """Return a whole number of up to nine digits; anything else is 0, the beginning of a list."""
    text = read_word(form=form, name=name)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0


def write_query(*, query: Mapping[str, str | int]) -> str:
    """Write a query for an address, without what is empty; `?` alone clears everything."""
    return "?" + urlencode({name: value for name, value in query.items() if value not in {"", 0}})


def make_menu(
    *, label: str, name: str, query: Mapping[str, str], facets: list[Facet], words: Mapping[str, str]
) -> Menu:
    """Make the menu of one filter from the values that occur."""
    return Menu(
        label=label,
        choices=tuple(
            Choice(
                label=words.get(facet.value, facet.value),
                url=write_query(query={**query, name: "" if query[name] == facet.value else facet.value}),
                count=facet.count,
                is_on=query[name] == facet.value,
            )
            for facet in facets
        ),
    )


def make_page(*, query: Mapping[str, str], offset: int, shown: int, total: int, size: int) -> Page:
    """Say where a page stands and where its neighbours are."""
    return Page(
        first=offset + 1 if shown else 0,
        last=offset + shown,
        total=total,
        previous_url=write_query(query={**query, "from": max(offset - size, 0)}) if offset else "",
        next_url=write_query(query={**query, "from": offset + size}) if offset + shown < total else "",
    )
