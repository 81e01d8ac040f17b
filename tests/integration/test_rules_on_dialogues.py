"""The shipped rules on other people's dialogues, as it comes out: the documented figures, and the same through jobs."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryhub.access.models import Principal
from memoryhub.access.operations import create_principal, declare_entity_type, join_group
from memoryhub.access.tenancy import tenant_context
from memoryhub.extraction.interfaces import ExtractionContext
from memoryhub.extraction.rules import RulesExtractor
from memoryhub.lib import clock
from memoryhub.lib.db import fetch_all
from memoryhub.lib.ids import new_id
from memoryhub.memory.models import Predicate
from memoryhub.usecases.ingest import EventInput, ingest_events
from memoryhub.usecases.run_jobs import run_due_jobs
from tests.cast import make_cast
from tests.dialogues import FILES, HISTORIES, NEAR, Line, as_event, declare_predicates, measure, read_lines
from tests.vehicles import read_questions

PAGE = Path(__file__).parents[2] / "docs/reference/extraction.md"


def are_missing() -> bool:
    """Tell whether the dialogues are missing; a build fails then, and elsewhere the run says so."""
    if HISTORIES.exists():
        return False
    assert "CI" not in os.environ, f"{HISTORIES} is missing"
    warnings.warn("the dialogues are missing: the figures of the rules were not compared", stacklevel=2)
    return True


def read_documented() -> dict[str, int]:
    """Return the figures of the table on the page."""
    rows = re.findall(r"^\| ([a-z][^|]*?) \| ([0-9,]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {what: int(count.replace(",", "")) for what, count in rows}


def test_the_documented_figures_are_what_comes_out() -> None:
    documented = read_documented()
    assert len(documented) == 10
    if not are_missing():
        assert dict(measure().as_rows()) == documented


def list_lines(*, file: int) -> list[Line]:
    """Return the lines around what the annotation has of a file."""
    told = [said.told for question in read_questions() if question.file == file for said in question.statements]
    return [line for line in read_lines(file=file) if any(abs(line.at - at) <= NEAR for at in told)]


@pytest.mark.filterwarnings("default")
def test_ingest_and_jobs_propose_what_the_rules_read(at_scale: Callable[[int, int], int]) -> None:
    if are_missing():
        return
    predicates = declare_predicates(read_questions())
    expected: Counter[tuple[str, str]] = Counter()
    held: Counter[tuple[str, str]] = Counter()
    for file in FILES[: at_scale(1, len(FILES))]:
        lines = list_lines(file=file)
        cast = make_cast()
        people: dict[str, Principal] = {}
        for who in sorted({line.who for line in lines}):
            name = f"{cast.tenant.slug}-{who.split()[0].lower()}-{len(people)}"
            people[who] = create_principal(tenant=cast.tenant, username=name, display_name=who, password="x" * 20)
            join_group(tenant=cast.tenant, principal=people[who], role="maintainers")
        with tenant_context(cast.tenant_id):
            declare_entity_type(tenant=cast.tenant, name="setting")
            for predicate in predicates:
                Predicate.objects.create(
                    tenant=cast.tenant,
                    fact_key=predicate.fact_key,
                    name=" / ".join(predicate.labels),
                    value_schema=predicate.value_schema,
                )
        events = [
            EventInput(
                event_id=str(new_id()),
                scope=("project", "platform"),
                source_type="message",
                occurred_at=line.at,
                payload={"text": line.text},
                actor=people[line.who].username,
                source_seq=place,
            )
            for place, line in enumerate(lines)
        ]
        ingest_events(caller=cast.caller, events=events, now=clock.now())
        while run_due_jobs(now=clock.now()):
            pass
        context = ExtractionContext(predicates=predicates)
        for line in lines:
            for proposal in RulesExtractor().extract(as_event(line), context):
                expected[proposal.fact_key, proposal.content] += 1
        with tenant_context(cast.tenant_id, read_only=True):
            rows = fetch_all(sql="SELECT fact_key, content, status FROM memory_candidates", params=[])
            notes = fetch_all(sql="SELECT DISTINCT state, last_error FROM processing_jobs", params=[])
        held.update((key, content) for key, content, _ in rows)
        assert {state for state, _ in notes} == {"succeeded"}
    assert sum(expected.values()) > 5
    assert held == expected
