"""Every link of README and docs leads to a file, and to a heading that stands in it."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PAGES = sorted([PROJECT / "README.md", PROJECT / "samples" / "README.md", *(PROJECT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def read_prose(path: Path) -> str:
    """Return a page without its blocks of code."""
    return FENCED.sub("", path.read_text(encoding="utf-8"))


def list_anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as they are shown on the web."""
    headings = HEADING.findall(read_prose(path))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def find_dead_links(page: Path, text: str) -> list[str]:
    """Return the links of a text, standing in a page's place, that lead nowhere."""
    dead = []
    for link in LINK.findall(text):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.is_relative_to(PROJECT) or not target.exists() or (anchor and anchor not in list_anchors(target)):
            dead.append(link)
    return dead


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert find_dead_links(page, read_prose(page)) == []


def test_a_dead_link_is_seen() -> None:
    page = PROJECT / "docs" / "README.md"
    text = "[a](nowhere.md) [b](glossary.md#no-such-heading) [c](glossary.md#time) [d](#documentation)"
    assert find_dead_links(page, text) == ["nowhere.md", "glossary.md#no-such-heading"]


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    ahead = [PROJECT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        links = [link.partition("#")[0] for link in LINK.findall(read_prose(page))]
        ahead += [(page.parent / link).resolve() for link in links if link and not link.startswith("https://")]
    assert [str(page.relative_to(PROJECT)) for page in PAGES if page not in seen] == []
