"""The production functions once more, in a schema of their own, with a guard taken out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memoryhub.lib.db import read_sql
from tests.conftest import ConnectAs

APP = "memoryhub_app"
LOCKS = (
    r"^\s*PERFORM pg_advisory_xact_lock(_shared)?\(.*\);$",
    r"\s+FOR (SHARE|UPDATE)(?=[;\s])",
)
COMPARE = (r" AND version = v_expected",)


@contextmanager
def functions_without(
    *, connect_as: ConnectAs, schema: str, files: Sequence[tuple[str, str]], patterns: Sequence[str]
) -> Iterator[str]:
    """Make the functions of these SQL files without what the patterns match; yields the search path to use.

    A pattern that matches nowhere would make a twin that is no twin, so it fails.
    """
    texts = [read_sql(package=package, name=name) for package, name in files]
    for pattern in patterns:
        assert any(re.search(pattern, text, re.MULTILINE) for text in texts), pattern
    owner = connect_as("owner")
    owner.autocommit = True
    owner.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}".encode())
    try:
        owner.execute(f"SET search_path TO {schema}, public".encode())
        for text in texts:
            for pattern in patterns:
                text = re.sub(pattern, "", text, flags=re.MULTILINE)  # noqa: PLW2901  each pattern works on the last
            owner.execute(text.encode())
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO {APP}".encode())
        yield f"{schema}, public"
    finally:
        owner.execute(f"DROP SCHEMA {schema} CASCADE".encode())
