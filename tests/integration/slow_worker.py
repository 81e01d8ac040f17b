"""A real worker whose pieces take long, and say when they begin; run as a program by a test."""

import sys
import time
from typing import Any

import django

django.setup()

from memoryhub.celery import app  # noqa: E402
from memoryhub.usecases import run_jobs  # noqa: E402
from memoryhub.usecases.extract import extract_event  # noqa: E402

PIECE = 1.0


def extract_slowly(**arguments: Any) -> Any:
    """Take a second for a piece."""
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    time.sleep(PIECE)
    return extract_event(**arguments)


if __name__ == "__main__":
    vars(run_jobs)["extract_event"] = extract_slowly
    app.worker_main(["worker", "--pool", "threads", "--concurrency", "2", "--without-gossip", *sys.argv[1:]])
