"""Every column of a table of the ledger is sealed, or is named among those that something else explains."""

import json

import pytest
from django.apps import apps
from django.db import models

from memoryhub.kernel.leaves import NEWEST_SCHEME, SCHEMES, Leaf
from memoryhub.lib.fields import LedgerModel
from memoryhub.lib.hashing import sha256_hex

LEAVES = SCHEMES[NEWEST_SCHEME]
KNOWN = {
    1: "3587148f7f80970416d227df5a20e6612966e81d505b0306ace3655503c19555",
    2: "2d6041ddb7edb88e87588a4b60d740e14cad443429415ba04f4db77e7343dc6e",
    3: "365f761b5e5ad6c2e772dbea3af19544ca16af4a062afed02f495eed9ab2e885",
}
MODELS = {model._meta.db_table: model for model in apps.get_app_config("memoryhub").get_models()}


def list_columns(model: type[models.Model]) -> set[str]:
    return {str(field.column) for field in model._meta.local_concrete_fields}


def test_every_table_of_the_ledger_has_its_leaf() -> None:
    tables = {table for table, model in MODELS.items() if issubclass(model, LedgerModel)}
    assert tables == {leaf.table for leaf in LEAVES}


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.table)
def test_every_column_is_sealed_or_explained(leaf: Leaf) -> None:
    """Whoever adds a column says here what becomes of it: in a new scheme, or among what may move."""
    words = leaf.words
    own = {*words.columns, "salt"} if words is not None and not words.table else set()
    assert list_columns(MODELS[leaf.table]) == {*leaf.all_columns, *leaf.movable, *own}
    if words is not None and words.table:
        bookkeeping = {words.key, "tenant_id", "erased_at", "erased_by"}
        assert list_columns(MODELS[words.table]) == {*words.columns, "salt", *bookkeeping}
        if words.beside_table:
            assert list_columns(MODELS[words.beside_table]) == {*words.beside, *bookkeeping}


def write_list(leaf: Leaf) -> list[object]:
    words = leaf.words
    said = None if words is None else [words.table, *words.columns.items(), words.beside_table, *words.beside.items()]
    return [leaf.table, *leaf.all_columns.items(), said]


def test_no_scheme_is_changed() -> None:
    """See that the lists are those under which rows were sealed: who needs another one adds a scheme, and its line."""
    digests = {
        scheme: sha256_hex(json.dumps([write_list(leaf) for leaf in leaves])) for scheme, leaves in SCHEMES.items()
    }
    assert digests == KNOWN
