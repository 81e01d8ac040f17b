"""The picture of a memory on two clocks."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from memoryhub.console.grid import Cross, Part, Scale, draw_grid, find_answer, find_hues, find_origins

SVG = "{http://www.w3.org/2000/svg}"


def at(month: int, day: int, hour: int = 0) -> datetime:
    """Name an instant of 2022."""
    return datetime(2022, month, day, hour, tzinfo=UTC)


PARTS = [
    Part(1, 1, "4.1", at(8, 3), None, at(8, 9), at(9, 14), "superseded"),
    Part(2, 1, "4.1", at(8, 3), at(9, 5), at(9, 14), None, "active"),
    Part(2, 2, "4.1.1", at(9, 5), None, at(9, 14), at(10, 5), "superseded"),
    Part(4, 1, "4.1.1", at(9, 5), at(10, 4), at(10, 5), None, "active"),
    Part(4, 2, "4.1.2", at(10, 4), None, at(10, 5), None, "active"),
]
NOW = at(10, 20)


def draw(parts: list[Part], cross: Cross | None = None) -> ET.Element:
    """Draw and read back: the picture is well-formed XML."""
    text = draw_grid(parts=parts, now=NOW, cross=cross).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return ET.fromstring(text)  # noqa: S314 - our own text


def classes(root: ET.Element, name: str) -> list[ET.Element]:
    """Find the elements of a class."""
    return [element for element in root.iter() if name in (element.get("class") or "").split()]


def test_a_part_carried_over_by_a_split_keeps_the_hue_of_its_claim() -> None:
    assert find_origins(parts=PARTS) == {(1, 1): 1, (2, 1): 1, (2, 2): 2, (4, 1): 2, (4, 2): 4}
    assert find_hues(parts=PARTS) == {(1, 1): "c1", (2, 1): "c1", (2, 2): "c2", (4, 1): "c2", (4, 2): "c3"}


def test_the_seventh_claim_starts_the_hues_again() -> None:
    parts = [Part(n, 1, str(n), at(1, n), at(1, n + 1), at(2, n), None, "active") for n in range(1, 8)]
    assert find_hues(parts=parts)[7, 1] == "c1"


@pytest.mark.parametrize(
    ("valid_at", "recorded_at", "value"),
    [
        (at(9, 20), at(9, 10), "4.1"),
        (at(9, 20), at(9, 14), "4.1.1"),  # recorded periods are half-open
        (at(9, 5), at(10, 10), "4.1.1"),  # valid periods are half-open
        (at(10, 4), at(10, 10), "4.1.2"),
        (at(8, 2), at(10, 10), None),
        (at(9, 20), at(8, 8), None),
    ],
)
def test_the_answer_at_a_point(valid_at: datetime, recorded_at: datetime, value: str | None) -> None:
    answer = find_answer(parts=PARTS, cross=Cross(valid_at, recorded_at))
    assert (answer.value if answer else None) == value


@pytest.mark.parametrize("state", ["erased", "revoked", "expired"])
def test_what_is_gone_answers_nothing_and_shows_no_label(state: str) -> None:
    gone = Part(1, 1, "secret", at(8, 3), None, at(8, 9), None, state)
    assert find_answer(parts=[gone], cross=Cross(at(9, 1), at(9, 1))) is None
    root = draw([gone])
    assert len(classes(root, "gone")) == 1
    assert "secret" not in "".join(root.itertext())


def test_each_part_is_one_shape_and_the_hit_one_is_marked() -> None:
    root = draw(PARTS, Cross(at(9, 20), at(9, 10)))
    assert len(classes(root, "held")) == 3
    assert len(classes(root, "base")) == 2
    assert [element.get("class") for element in classes(root, "is-hit")] == ["base c1 is-hit"]
    assert len(classes(root, "cross-dot")) == 1


def test_an_open_end_is_an_arrow_and_nothing_is_drawn_above_now() -> None:
    root = draw(PARTS)
    now = classes(root, "now")[0].get("d") or ""
    line = float(now.rsplit(" ", 1)[1].split("H")[0])
    for shape in classes(root, "held") + classes(root, "base"):
        outline = shape.get("d") or ""
        heights = [float(number) for number in re.findall(r"V([0-9.]+)", outline)]
        assert min(heights) >= line
        assert ("L" in outline) == ("4.1.2" in outline or outline.count("L") == 2)


def test_values_are_escaped() -> None:
    part = Part(1, 1, "<script>&", at(8, 3), None, at(8, 9), None, "active")
    assert "<script>" not in draw_grid(parts=[part], now=NOW)


def test_the_label_leaves_the_way_of_the_cross_hair() -> None:
    cross = Cross(at(9, 20), at(9, 12))
    root = draw(PARTS[:1], cross)
    line = float((classes(root, "cross")[0].get("d") or "").rsplit(" ", 1)[1].split("H")[0])
    plate = classes(root, "plate")[0]
    top, high = float(plate.get("y") or 0), float(plate.get("height") or 0)
    assert not top <= line <= top + high


def test_many_versions_within_seconds_stay_apart() -> None:
    start = datetime(2026, 11, 30, 12, tzinfo=UTC)
    parts = [
        Part(n, 1, f"3.2.{n}", at(1, n), at(1, n + 1), start + timedelta(milliseconds=700 * n), None, "active")
        for n in range(1, 25)
    ]
    root = ET.fromstring(draw_grid(parts=parts, now=start + timedelta(days=3)))  # noqa: S314 - our own text
    feet = sorted(float((shape.get("d") or "").split()[1].split("V")[0]) for shape in classes(root, "held"))
    assert min(later - sooner for sooner, later in pairwise(feet)) >= 23


def test_a_scale_keeps_the_order_and_the_ends() -> None:
    stops = [at(1, 1), at(1, 2), at(12, 31)]
    scale = Scale.spread(stops=stops, start=0, end=100, least=20)
    places = [scale.place(moment=stop) for stop in stops]
    assert places[0] == 0
    assert places[1] >= 20
    assert places[2] == pytest.approx(100)
    assert scale.place(moment=at(1, 1) - timedelta(days=9)) == 0
    assert scale.place(moment=datetime(2023, 6, 1, tzinfo=UTC)) == pytest.approx(100)
    assert places[1] < scale.place(moment=at(6, 1)) < places[2]
