"""What we take from others is pinned, hashed and unchanged."""

import hashlib
import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

PROJECT = Path(__file__).parents[2]
REQUIREMENTS = PROJECT / "requirements"
PIN = re.compile(r"^([a-z0-9._-]+)(?:\[[^]]*\])?==([^ ;\\]+)", re.MULTILINE)


def read_wanted(name: str) -> list[Requirement]:
    """Return what a list asks for by name."""
    lines = (line.split("#")[0].strip() for line in (REQUIREMENTS / name).read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def read_pins(name: str) -> dict[str, Version]:
    """Return what a compiled list pins."""
    return {key: Version(value) for key, value in PIN.findall((REQUIREMENTS / name).read_text())}


@pytest.mark.parametrize("name", ["base", "dev"])
def test_the_pins_satisfy_what_is_wanted(name: str) -> None:
    pins = read_pins(f"{name}.txt")
    for wanted in read_wanted(f"{name}.in"):
        assert wanted.specifier.contains(pins[wanted.name.lower()]), wanted


@pytest.mark.parametrize("name", ["base", "dev"])
def test_every_pin_has_a_hash(name: str) -> None:
    blocks = re.split(r"\n(?=[a-z0-9])", (REQUIREMENTS / f"{name}.txt").read_text())
    pinned = [block for block in blocks if PIN.match(block)]
    assert len(pinned) == len(read_pins(f"{name}.txt"))
    assert [block for block in pinned if "--hash=sha256:" not in block] == []


def test_the_checks_run_on_what_is_shipped() -> None:
    shipped, checked = read_pins("base.txt"), read_pins("dev.txt")
    assert {name: checked[name] for name in shipped} == shipped


@pytest.mark.parametrize("place", ["static/vendor", "tests/e2e/vendor"])
def test_vendored_files_are_the_ones_we_took(place: str) -> None:
    folder = PROJECT / place
    lines = (line.split() for line in (folder / "SHA256SUMS").read_text().splitlines())
    sums = {name: digest for digest, name in lines}
    found = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in {"SHA256SUMS", "VERSIONS"}
    }
    assert {name: sums.get(name) for name in found} == found
