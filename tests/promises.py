"""Collect what the tests of promises counted, and print one line for each promise."""

import json
import os
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import pytest

RESULTS = Path(__file__).resolve().parents[1] / "var" / "promises.json"


def read_scale() -> str:
    """Return the size of this run: `ci`, or `nightly` when MEMORYHUB_TEST_SCALE says so."""
    return "nightly" if os.environ.get("MEMORYHUB_TEST_SCALE", "ci") == "nightly" else "ci"


class PromiseReport(Protocol):
    """Say what one test counted: `count` is the size reached, `what` says of what."""

    def __call__(self, *, count: int, what: str) -> None:
        """Add to the promise's line; counts of the same thing add up."""


@dataclass
class Tally:
    """Hold what was seen of one promise."""

    counted: Counter[str] = field(default_factory=Counter)
    passed: int = 0
    failed: int = 0
    seconds: float = 0.0

    @property
    def is_held(self) -> bool:
        """A promise is held when its tests ran, counted something and none failed."""
        return self.passed > 0 and self.failed == 0 and self.counted.total() > 0


class Promises:
    """Select the tests of the wanted promises and keep their tallies."""

    def __init__(self, *, wanted: Iterable[str]) -> None:
        self.wanted = list(wanted)
        self.tallies: defaultdict[str, Tally] = defaultdict(Tally)
        self.tests: dict[str, list[str]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Remember which test shows which promise; keep only the wanted ones."""
        for item in items:
            shown = [str(mark.args[0]) for mark in item.iter_markers("promise")]
            if shown:
                self.tests[item.nodeid] = shown
        if self.wanted:
            left = [i for i in items if not set(self.tests.get(i.nodeid, [])) & set(self.wanted)]
            config.hook.pytest_deselected(items=left)
            items[:] = [item for item in items if item not in left]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test as failed when any of its phases failed or it was skipped."""
        for promise in self.tests.get(report.nodeid, []):
            self.tallies[promise].seconds += report.duration
            if report.failed or report.skipped:
                self.tallies[promise].failed += 1
            elif report.when == "call":
                self.tallies[promise].passed += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Let the run fail when a wanted promise is not held."""
        if any(not self.tallies[promise].is_held for promise in self.wanted):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self.tallies:
            self.keep_results(path=RESULTS, scale=read_scale())

    def keep_results(self, *, path: Path, scale: str) -> None:
        """Write what this run found beside the last results of other promises and sizes."""
        kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        for name, tally in self.tallies.items():
            kept.setdefault(name, {})[scale] = {
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
                "commit": _find_commit(),
                "seconds": round(tally.seconds),
                "counted": dict(tally.counted),
                "verdict": "held" if tally.is_held else "broken",
            }
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the lines among the summaries of an ordinary run."""
        if self.tallies and not self.wanted:
            terminalreporter.section("promises")
            for line in self.lines():
                terminalreporter.line(line)

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Print the lines last of all when promises were asked for, also into a file."""
        if self.wanted:
            reporter = config.pluginmanager.get_plugin("terminalreporter")
            if isinstance(reporter, pytest.TerminalReporter):
                reporter.flush()
            os.write(1, ("\n".join(self.lines()) + "\n").encode())

    def lines(self) -> list[str]:
        """Return one line for each promise: id, sizes, what was counted, verdict."""
        names = self.wanted or sorted(self.tallies, key=lambda name: int(name.lstrip("T")))
        return [self._line(name) for name in names]

    def _line(self, name: str) -> str:
        tally = self.tallies[name]
        counted = ", ".join(f"{count:,} {what}" for what, count in tally.counted.items())
        verdict = "held" if tally.is_held else "broken"
        return f"{name:<4} {counted or 'nothing counted'}: {verdict}"


def _find_commit() -> str:
    asked = ["git", "-C", str(RESULTS.parents[1]), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip()
