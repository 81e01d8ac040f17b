"""Import what another program wrote down about its conversations, as events."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memoryhub.access.callers import authenticate_token
from memoryhub.extraction.adapters import ADAPTERS
from memoryhub.lib import clock
from memoryhub.lib.db import StoreFailure
from memoryhub.management.importing import TAKEN, ImportRefused, Job, Report, import_file
from memoryhub.types.enums import ScopeKind

TOKEN = "MEMORYHUB_TOKEN"  # noqa: S105  the name of a variable


class Command(BaseCommand):
    """Import a file, as the owner of a token."""

    help = "Import a file of conversations as events. Running it again changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the file and its format, where the events belong, and whose words they are."""
        parser.add_argument("file", type=Path, help="the file to read")
        parser.add_argument("--format", required=True, choices=sorted(ADAPTERS), help="what wrote the file")
        parser.add_argument("--scope", required=True, help="kind:key of the scope that the events belong to")
        parser.add_argument("--actor", help="user name of the person who wrote the user's messages; needs relay_user")
        parser.add_argument("--session", default="", help="session of records that name none; else the file's name")
        parser.add_argument("--at", help="time of records that have none, ISO 8601; without it they are left out")
        parser.add_argument(
            "--checkpoint", type=Path, help="file that keeps how far the import is, to go on from there"
        )

    def handle(self, **options: Any) -> None:
        """Import, and print what became of everything that the file held."""
        secret = os.environ.get(TOKEN, "")
        caller = authenticate_token(secret=secret, now=clock.now()) if secret else None
        if caller is None:
            raise CommandError(f"{TOKEN} in the environment must hold a valid token.")
        if not options["file"].is_file():
            raise CommandError(f"There is no file {options['file']}.")
        job = Job(
            path=options["file"],
            format=options["format"],
            scope=_read_scope(options["scope"]),
            actor=options["actor"],
            session=options["session"],
            at=_read_instant(options["at"]),
        )
        try:
            report = import_file(caller=caller, job=job, now=clock.now, checkpoint=options["checkpoint"])
        except ImportRefused as reason:
            raise CommandError(str(reason)) from None
        except StoreFailure:
            raise CommandError("The database does not answer. What was sent before stays; run it again.") from None
        self.stdout.write("\n".join(describe_report(report)))
        if options["at"] is None and report.left["no_time"]:
            self.stderr.write("Records without a time were left out; --at gives them one.")
        if report.refused:
            raise CommandError(f"{report.refused} events were refused; everything else was taken.")


def describe_report(report: Report) -> list[str]:
    """Return one line for each count: records, events by outcome, what was left out by kind."""
    lines = [f"records read: {report.records}"]
    taken = {outcome: count for outcome, count in report.outcomes.items() if outcome in TAKEN}
    refused = {outcome: count for outcome, count in report.outcomes.items() if outcome not in TAKEN}
    lines += [f"events {outcome.replace('_', ' ')}: {count}" for outcome, count in sorted(taken.items())]
    lines += [f"events refused, {outcome}: {count}" for outcome, count in sorted(refused.items())]
    lines += [f"left out, {kind}: {count}" for kind, count in sorted(report.left.items())]
    return lines


def _read_scope(text: str) -> tuple[str, str]:
    kind, _, key = text.partition(":")
    if kind not in list(ScopeKind) or not key:
        raise CommandError(f"A scope is written kind:key, with one of {', '.join(ScopeKind)}; not {text!r}.")
    return kind, key


def _read_instant(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"--at is an instant such as 2026-05-20T09:00:00Z, not {text!r}.") from None
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant
