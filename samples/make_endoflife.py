"""Make `endoflife.jsonl` from the recorded history of endoflife.date: facts only, people as numbers.

Usage: python samples/make_endoflife.py HISTORY.jsonl > samples/endoflife.jsonl
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path


def main(history: Path) -> None:
    """Print one line for each change; a person's number is the order in which they first appear."""
    people: dict[str, int] = {}
    for line in history.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        is_bot = row["actor"].startswith("bot:")
        change = {
            "seq": row["seq"],
            "product": row["product"],
            "cycle": row["cycle"],
            "field": row["field"],
            "value": row["value"],
            "time": datetime.fromisoformat(row["recorded_at"]).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "who": "bot" if is_bot else people.setdefault(row["actor"], len(people) + 1),
        }
        sys.stdout.write(json.dumps(change, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
