"""Delete what one installation keeps, and nothing that stands beside it."""

import os
import shutil
from contextlib import ExitStack
from pathlib import Path

from memoryhub.embedded.paths import Home
from memoryhub.embedded.processes import take_lock

# What stands in a home; a folder that somebody named may hold other things, which stay.
OURS = (
    "beat-schedule*",
    "log",
    "postgres",
    "postgres.draft",
    "postgres.lock",
    "programs-*",
    "programs.draft",
    "run",
    "sample.draft",
    "sample.json",
    "secrets.draft",
    "static",
    "superuser.password",
    "valkey",
    "valkey-server*",
    "valkey.lock",
    "serve.lock",
    "secrets.json",
)
LOCKS = ("postgres.lock", "valkey.lock")


def list_data(*, home: Home) -> list[Path]:
    """Return everything that the installation keeps; its secrets, which name its store, come last."""
    outside = [] if home.account is None else [home.store]
    sockets = [] if home.sockets.is_relative_to(home.store) else [home.sockets]
    inside = [path for pattern in OURS for path in sorted(home.root.glob(pattern))]
    return [path for path in (*sockets, *outside, *inside) if path.exists()]


def remove_data(*, home: Home) -> None:
    """Delete everything that the installation keeps; call it while the home is claimed.

    Raises:
        StillHeld: a server of an earlier run has not ended yet; nothing was deleted.
    """
    with ExitStack() as held:
        for lock in (home.store / name for name in LOCKS):
            if lock.exists():
                held.callback(os.close, take_lock(path=lock))
        for path in list_data(home=home):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        if not any(home.root.iterdir()):
            home.root.rmdir()
