"""How rows come back from the database."""

import json
from collections.abc import Sequence
from typing import Any


def read_json(held: Any) -> Any:
    """Return a JSON column as values; a server-side cursor hands it over as text."""
    return json.loads(held) if isinstance(held, str) else held


def read_row(row: Sequence[Any], *json_at: int) -> list[Any]:
    """Return a row with the columns at some places read as JSON."""
    return [read_json(held) if place in json_at else held for place, held in enumerate(row)]
