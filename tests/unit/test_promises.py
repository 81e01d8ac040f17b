"""A promise is called held only when something was tried, counted, and nothing failed."""

import json
from pathlib import Path

import pytest

from tests.promises import Promises, Tally


@pytest.mark.parametrize(
    ("passed", "failed", "count", "is_held"),
    [(1, 0, 70, True), (1, 1, 70, False), (0, 0, 70, False), (1, 0, 0, False), (0, 1, 70, False)],
)
def test_what_makes_a_promise_held(passed: int, failed: int, count: int, is_held: bool) -> None:
    tally = Tally(passed=passed, failed=failed)
    tally.counted["interleavings"] += count
    assert tally.is_held is is_held


def test_every_wanted_promise_has_its_line_even_when_nothing_ran() -> None:
    promises = Promises(wanted=["T3", "T10"])
    promises.tallies["T3"].passed = 2
    promises.tallies["T3"].counted.update({"attempts": 10_000, "lost updates": 0})
    assert promises.lines() == [
        "T3   10,000 attempts, 0 lost updates: held",
        "T10  nothing counted: broken",
    ]


def test_results_are_kept_beside_those_of_other_runs(tmp_path: Path) -> None:
    path = tmp_path / "var" / "promises.json"
    for scale, name, failed in (("ci", "T3", 0), ("nightly", "T3", 1), ("ci", "T4", 0)):
        promises = Promises(wanted=[])
        promises.tallies[name] = Tally(passed=1, failed=failed, seconds=2.4)
        promises.tallies[name].counted["attempts"] += 5
        promises.keep_results(path=path, scale=scale)
    kept = json.loads(path.read_text())
    assert {name: sorted(sizes) for name, sizes in kept.items()} == {"T3": ["ci", "nightly"], "T4": ["ci"]}
    assert (kept["T3"]["ci"]["verdict"], kept["T3"]["nightly"]["verdict"]) == ("held", "broken")
    assert (kept["T4"]["ci"]["counted"], kept["T4"]["ci"]["seconds"]) == ({"attempts": 5}, 2)
