"""Every room says where it stands, every table says what a row means."""

import ast
import importlib
from pathlib import Path

import pytest
from django.apps import apps
from django.db import models

PRODUCT = Path(__file__).parents[2] / "memoryhub"
LAYERS = ("L0", "L1", "L2", "Governed", "Use cases", "Interface", "Base")
LONGEST_MODULE = 600
PACKAGES = sorted(
    path.parent
    for path in PRODUCT.rglob("__init__.py")
    if path.parent != PRODUCT and path.parent.name not in {"migrations", "templatetags"}
)
MODULES = sorted(path for path in PRODUCT.rglob("*.py") if "migrations" not in path.parts)
MODELS = list(apps.get_app_config("memoryhub").get_models())


def read_first_line(path: Path) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n", maxsplit=1)[0]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(PRODUCT)))
def test_a_package_names_its_layer_and_its_job(package: Path) -> None:
    line = read_first_line(package / "__init__.py")
    assert line.startswith(LAYERS), line
    assert len(line) > len("Interface: api."), "the line names no job"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_table_says_what_a_row_its_absence_and_erasure_mean(model: type[models.Model]) -> None:
    text = model.__doc__ or ""
    missing = [marker for marker in ("Row:", "Absent:", "Erasure:") if marker not in text]
    assert not missing, f"{model.__name__} does not say {missing}"


def test_there_are_tables_to_look_at() -> None:
    assert len(MODELS) > 20


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PRODUCT)))
def test_a_module_can_be_read_in_one_sitting(module: Path) -> None:
    assert len(module.read_text().splitlines()) <= LONGEST_MODULE


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PRODUCT)))
def test_a_module_is_imported_without_work(module: Path) -> None:
    name = ".".join(("memoryhub", *module.relative_to(PRODUCT).with_suffix("").parts))
    importlib.import_module(name.removesuffix(".__init__"))
