"""T2: PostgreSQL is killed with signal 9 under four writers; what was acknowledged is there after each start."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoryhub.embedded.paths import PROJECT, Home
from tests.promises import PromiseReport

pytestmark = pytest.mark.own_servers
PROGRAM = """
import sys, django
django.setup()
from tests.integration.crash_database import main
main(*sys.argv[1:])
"""


def crash(folder: Path, *arguments: str) -> dict[str, Any]:
    """Run the program in a home of its own, and return what it printed."""
    home = Home(root=folder / "home")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMORYHUB_")}
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=PROJECT,
            env=environment | {"MEMORYHUB_HOME": str(home.root), "DJANGO_SETTINGS_MODULE": "tests.settings"},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        for outside in (home.store, home.sockets):
            shutil.rmtree(outside, ignore_errors=True)
    assert done.returncode == 0, done.stderr[-4000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.promise("T2")
def test_the_database_may_crash_at_any_moment(
    tmp_path: Path, at_scale: Callable[[int, int], int], promise_report: PromiseReport
) -> None:
    kills = at_scale(50, 1_000)
    told = crash(tmp_path, str(kills))
    assert (told["lost"], told["faults"]) == (0, [])
    assert told["acknowledged"] > 3 * kills
    promise_report(count=kills, what="kills of PostgreSQL under four writers")
    promise_report(count=told["acknowledged"], what="acknowledged writes, 0 lost, 0 torn, 0 doubled")


@pytest.mark.promise("T2")
def test_without_waiting_for_the_disk_writes_go_missing(tmp_path: Path, promise_report: PromiseReport) -> None:
    """Let commits not wait: the same count must then find what was acknowledged and is gone."""
    told = crash(tmp_path, "60", "--lose")
    assert told["lost"] > 0
    promise_report(count=told["lost"], what="writes lost in the twin that does not wait for the disk")
