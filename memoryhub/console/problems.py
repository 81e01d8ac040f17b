"""The list of problems, where the `type` of every problem document leads; drawn from the documentation."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

_SOURCE: Final = Path(settings.BASE_DIR) / "docs" / "reference" / "problems.md"


@dataclass(frozen=True, slots=True)
class Problem:
    """One code with its status, when it comes and what to do."""

    code: str
    status: str
    when: str
    remedy: str


@require_safe
def show_problems(request: HttpRequest) -> HttpResponse:
    """Show every problem; programs lead people here, so nobody has to sign in."""
    return render(request, "console/problems.html", {"problems": read_problems()})


@cache
def read_problems() -> tuple[Problem, ...]:
    """Read the table of the documentation once."""
    return parse_problems(text=_SOURCE.read_text(encoding="utf-8"))


def parse_problems(*, text: str) -> tuple[Problem, ...]:
    """Parse the rows of a Markdown table whose first cell is a code in backticks."""
    rows = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines())
    return tuple(
        Problem(code=row[0].strip("`"), status=row[1], when=row[2], remedy=_drop_links(row[3]))
        for row in rows
        if len(row) == 4 and row[0].startswith("`")  # noqa: PLR2004 - the four columns of the table
    )


def _drop_links(text: str) -> str:
    """Keep the words of Markdown links, whose targets are files of the documentation."""
    before, bracket, rest = text.partition("[")
    words, found, after = rest.partition("](")
    return before + words + after.partition(")")[2] if bracket and found else text
