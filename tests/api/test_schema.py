"""What is documented is what is served."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from django.core.management import call_command
from django.urls import URLResolver, get_resolver

from memoryhub.api.v1.problems import PROBLEMS, Code, describe_problems

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "docs" / "openapi.yaml"


def read_schema() -> dict[str, Any]:
    schema: dict[str, Any] = yaml.safe_load(COMMITTED.read_text(encoding="utf-8"))
    return schema


def test_the_committed_schema_is_current(tmp_path: Path) -> None:
    made = tmp_path / "openapi.yaml"
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(made))
    assert made.read_text() == COMMITTED.read_text(), "run `make openapi`"


def test_every_address_is_described() -> None:
    served = {
        "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", prefix + route)
        for prefix, route in (("api/v1/", str(pattern.pattern)) for pattern in api_patterns())
        if "\\Z" not in route
    }
    assert served == set(read_schema()["paths"])


def api_patterns() -> list[Any]:
    [included] = [
        one for one in get_resolver().url_patterns if isinstance(one, URLResolver) and str(one.pattern) == "api/v1/"
    ]
    return list(included.url_patterns)


def test_every_call_needs_a_token_and_names_its_refusals() -> None:
    schema = read_schema()
    assert schema["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    operations = [(path, method, held) for path, item in schema["paths"].items() for method, held in item.items()]
    assert len(operations) == 14
    for path, method, held in operations:
        assert held["security"] == [{"bearer": []}], path
        assert held["summary"], path
        assert "401" in held["responses"], path
        if method == "post":
            assert "Idempotency-Key" in {parameter["name"] for parameter in held["parameters"]}, path
            assert {"400", "409", "413", "415", "422"} <= set(held["responses"]), path
        for status, answer in held["responses"].items():
            kinds = set(answer["content"])
            assert kinds == {"application/json" if status < "300" else "application/problem+json"}, (path, status)


def test_the_list_of_problems_is_the_one_in_code() -> None:
    page = (ROOT / "docs" / "reference" / "problems.md").read_text(encoding="utf-8")
    assert describe_problems() in page
    assert set(PROBLEMS) == set(Code)


def test_every_problem_is_raised_somewhere() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "memoryhub" / "api").rglob("*.py")
        if path.name != "problems.py"
    )
    assert [code for code in Code if f"Code.{code.name}" not in sources] == []
