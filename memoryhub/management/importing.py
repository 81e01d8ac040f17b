"""Import a file of another program: read its records, let an adapter make events of them, ingest them in batches."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from memoryhub.extraction.adapters import ADAPTERS, AdaptedEvent, Left
from memoryhub.lib.canonical import NotCanonical, canonical_json
from memoryhub.usecases.ingest import EventInput, IngestResult, ingest_events

if TYPE_CHECKING:
    from memoryhub.access.callers import Caller

BATCH = 200
BATCH_BYTES = 4 * 1024 * 1024
PAYLOAD_BYTES = 256 * 1024  # as the API takes at most
LONGEST_EVENT_ID = 200
UNNAMED = "relayed_message"
TAKEN = ("accepted", "replayed", "done_before")  # the last were taken by the run that wrote the checkpoint
_PIECE = 1024 * 1024
_LONGEST_RECORD = 256 * 1024 * 1024
_HEAD = 64 * 1024


class ImportRefused(Exception):
    """Say that a file cannot be imported as it was asked for."""


@dataclass(frozen=True, slots=True)
class Job:
    """Hold what is imported, and into which scope, as whose words.

    `actor` is the user name of the person whose messages these are. Without one nobody stands behind them: they come in
    as `relayed_message`, which is untrusted, and no extractor looks at them.
    """

    path: Path
    format: str
    scope: tuple[str, str]
    actor: str | None = None
    session: str = ""
    at: datetime | None = None


@dataclass(slots=True)
class Report:
    """Count what became of a file: records read, events by outcome, and what was left out by kind."""

    records: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)

    @property
    def refused(self) -> int:
        """How many events the system did not take."""
        return sum(count for outcome, count in self.outcomes.items() if outcome not in TAKEN)


def import_file(
    *,
    caller: Caller,
    job: Job,
    now: Callable[[], datetime],
    checkpoint: Path | None = None,
    size: int = BATCH,
    tell: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Ingest the events of a file; sending it again changes nothing, since each event has its id by its place.

    With a `checkpoint` the number of records that are done is kept there after each batch, and a run that was cut off
    goes on behind them. They are read again all the same, because the times and ids of later ones depend on them.

    Raises:
        ImportRefused: the checkpoint is of another file, scope or format.
        StoreFailure: the database could not be asked; what was ingested before stays.
    """
    adapter = ADAPTERS[job.format](session=job.session or job.path.stem, at=job.at)
    done = _read_checkpoint(checkpoint, job) if checkpoint else 0
    report = Report()
    batch: list[EventInput] = []
    held = 0
    for number, record in enumerate(read_records(path=job.path)):
        report.records += 1
        if isinstance(record, Left):
            report.left[record.kind] += 1
            continue
        if number >= done and (len(batch) >= size or held >= BATCH_BYTES):
            _send(caller, batch, report, now)
            batch, held = [], 0
            _write_checkpoint(checkpoint, job, number)
            tell(report)
        for one in adapter.read(record, place=number):
            if isinstance(one, Left):
                report.left[one.kind] += 1
            elif number >= done:
                cost = _weigh(one, report)
                if cost:
                    batch.append(describe_event(event=one, job=job))
                    held += cost
            else:
                report.outcomes["done_before"] += 1
    _send(caller, batch, report, now)
    _write_checkpoint(checkpoint, job, report.records)
    tell(report)
    return report


def describe_event(*, event: AdaptedEvent, job: Job) -> EventInput:
    """Return an adapted event as the use case takes it."""
    is_named = event.is_user and job.actor is not None
    return EventInput(
        event_id=event.event_id,
        scope=job.scope,
        source_type=UNNAMED if event.is_user and not is_named else event.source_type,
        occurred_at=event.occurred_at,
        payload=event.payload,
        actor=job.actor if is_named else None,
        session=event.session,
        source_seq=event.source_seq,
    )


def _weigh(event: AdaptedEvent, report: Report) -> int:
    """Return the bytes of an event's payload, or 0 if it cannot be taken; the report says why."""
    try:
        cost = len(canonical_json(event.payload).encode())
    except NotCanonical:
        report.outcomes["not_storable"] += 1
        return 0
    if cost > PAYLOAD_BYTES or len(event.event_id) > LONGEST_EVENT_ID:
        report.outcomes["too_large"] += 1
        return 0
    return cost


def _send(caller: Caller, batch: list[EventInput], report: Report, now: Callable[[], datetime]) -> None:
    """Ingest a batch; an id that stands in it twice is told apart by the use case itself."""
    if batch:
        results: list[IngestResult] = ingest_events(caller=caller, events=batch, now=now())
        report.outcomes.update(result.outcome for result in results)


def read_records(*, path: Path) -> Iterator[Any | Left]:
    """Yield the records of a file one by one: the lines of JSON Lines, the items of one array, or one document.

    Neither the file nor an array is ever held as a whole. A line that is no JSON is told as left out.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        first = _peek(file)
        if first == "[":
            yield from _read_array(file)
        elif first == "{" and not _is_lines(file):
            yield from _read_document(file)
        else:
            yield from _read_lines(file)


def _peek(file: IO[str]) -> str:
    while (character := file.read(1)) and (character.isspace() or character == "\ufeff"):
        pass
    file.seek(0)
    return character


def _is_lines(file: IO[str]) -> bool:
    """Tell whether the first line is a whole record."""
    first = next((line for line in file if line.strip(" \t\r\n\ufeff")), "")
    file.seek(0)
    return not isinstance(_load(first), Left)


def _read_lines(file: IO[str]) -> Iterator[Any | Left]:
    for number, line in enumerate(file):
        if line.strip(" \t\r\n\ufeff"):
            yield _load(line, place=str(number))


def _read_document(file: IO[str]) -> Iterator[Any | Left]:
    yield _load(file.read(_LONGEST_RECORD))


def _read_array(file: IO[str]) -> Iterator[Any | Left]:
    """Yield the items of one JSON array, reading on until each is whole."""
    decoder = json.JSONDecoder()
    text, place, want = file.read(_PIECE), 0, _PIECE
    place = text.index("[") + 1
    while True:
        while place < len(text) and (text[place].isspace() or text[place] == ","):
            place += 1
        if text[place : place + 1] == "]":
            return
        try:
            item, end = decoder.raw_decode(text, place)
            is_whole = end < len(text)
        except (ValueError, RecursionError):
            is_whole = False
        if is_whole:
            yield _clean(item)
            place, want = end, _PIECE
            continue
        more = file.read(want)
        if not more or len(text) - place > _LONGEST_RECORD:
            yield Left("record_malformed", "the rest")
            return
        # Twice as much each time, so that a large item is tried again only a few times.
        text, place, want = text[place:] + more, 0, want * 2


def _load(line: str, *, place: str = "") -> Any | Left:
    try:
        return _clean(json.loads(line.strip(" \t\r\n\ufeff")))
    except (ValueError, RecursionError):
        return Left("line_malformed", place)


def _clean(value: Any) -> Any:
    """Return JSON without what no database keeps: NUL, and halves of characters."""
    if isinstance(value, str):
        return value if value.isprintable() else value.replace("\x00", "").encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return value


def _describe_job(job: Job) -> dict[str, Any]:
    with job.path.open("rb") as file:
        head = file.read(_HEAD)
    return {
        "format": job.format,
        "scope": list(job.scope),
        "session": job.session,
        "head_bytes": len(head),
        "head": hashlib.sha256(head).hexdigest(),
    }


def _read_checkpoint(checkpoint: Path, job: Job) -> int:
    """Return how many records are done; the file may have grown since, but must begin as it did.

    Raises:
        ImportRefused: it is another file, scope or format.
    """
    if not checkpoint.exists():
        return 0
    try:
        kept = json.loads(checkpoint.read_text(encoding="utf-8"))
        with job.path.open("rb") as file:
            head = hashlib.sha256(file.read(kept["head_bytes"])).hexdigest()
        same = kept["head"] == head and all(
            kept[name] == _describe_job(job)[name] for name in ("format", "scope", "session")
        )
        records = int(kept["records"])
    except (ValueError, KeyError, TypeError):
        raise ImportRefused(f"{checkpoint} is no checkpoint of an import.") from None
    if not same:
        raise ImportRefused(f"{checkpoint} belongs to another file, scope, session or format.")
    return records


def _write_checkpoint(checkpoint: Path | None, job: Job, records: int) -> None:
    if checkpoint is not None:
        told = json.dumps({**_describe_job(job), "records": records})
        beside = checkpoint.with_name(checkpoint.name + ".new")
        beside.write_text(told, encoding="utf-8")
        beside.replace(checkpoint)
