"""The witness: a file outside the database that knows every seal, so that an older or another chain is noticed.

One line a seal, `{"tenant", "number", "digest", "at"}`, only ever appended. What stands in it was committed before.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


_TAIL = 16_384  # bytes: the last lines of a witness, whatever it has grown to


class WitnessFailure(Exception):
    """Say that a witness could not be written; the seals are in the database and will be witnessed later."""


@dataclass(frozen=True, slots=True)
class WitnessLine:
    """Hold what the witness knows of one seal."""

    number: int
    digest: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Witness:
    """Hold a witness as it was read. `lines` None: there is no such file. `unreadable` are numbers of lines."""

    path: str
    lines: tuple[WitnessLine, ...] | None
    unreadable: tuple[int, ...] = ()


def name_witness(*, folder: Path, tenant_id: str) -> Path:
    """Return the file of a tenant."""
    return folder / f"{tenant_id}.jsonl"


def read_witness(*, path: Path, tenant_id: str) -> Witness:
    """Read a witness; lines that cannot be read are named.

    What a crash left unfinished says nothing: it stands at the end, or before the same line written again.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return Witness(str(path), None)
    except OSError as error:
        raise WitnessFailure(f"{path}: {type(error).__name__}") from error
    whole = text.split("\n")[:-1]
    lines: list[WitnessLine] = []
    unreadable: list[int] = []
    for place, line in enumerate(whole):
        read = _read_line(line, tenant_id)
        if read is not None:
            lines.append(read)
        elif place + 1 == len(whole) or not line or not whole[place + 1].startswith(line):
            unreadable.append(place + 1)
    return Witness(str(path), tuple(lines), tuple(unreadable))


def read_newest(*, path: Path, tenant_id: str) -> WitnessLine | None:
    """Return what the witness was told last, from the end of its file; None if it was told nothing.

    Raises:
        WitnessFailure: the file could not be read.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            tail = file.read().decode(errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WitnessFailure(f"{path}: {type(error).__name__}") from error
    read = (_read_line(line, tenant_id) for line in reversed(tail.split("\n")[:-1]))
    return next((line for line in read if line is not None), None)


def _read_line(line: str, tenant_id: str) -> WitnessLine | None:
    try:
        said = json.loads(line)
        read = WitnessLine(int(said["number"]), str(said["digest"]), datetime.fromisoformat(said["at"]))
    except (ValueError, KeyError, TypeError):
        return None
    return read if said.get("tenant") == tenant_id else None


def append_witness(*, path: Path, tenant_id: str, lines: Sequence[WitnessLine]) -> None:
    """Append lines and wait until they are on the disk; what stands there is never touched.

    Raises:
        WitnessFailure: the file could not be written.
    """
    texts = [
        json.dumps({"tenant": tenant_id, "number": line.number, "digest": line.digest, "at": line.at.isoformat()})
        for line in lines
    ]
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            size = os.fstat(file).st_size
            is_torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
            os.write(file, (("\n" if is_torn else "") + "".join(f"{text}\n" for text in texts)).encode())
            os.fsync(file)
        finally:
            os.close(file)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise WitnessFailure(f"{path}: {type(error).__name__}") from error
