"""Say where one installation keeps its data, sockets, locks and secrets."""

import contextlib
import fcntl
import hashlib
import json
import os
import pwd
import secrets
import stat
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
ROOT_STORE = Path("/var/lib/memoryhub")
SHORT_STORE = Path("/tmp")  # noqa: S108 - only for sockets, in a folder that is ours alone
SOCKET_PATH_LIMIT = 107
LONGEST_SOCKET_NAME = "/.s.PGSQL.5432.lock"
SERVICE_ACCOUNTS = ("memoryhub", "nobody")


class UnusableFolder(Exception):
    """Report a folder that belongs to somebody else."""


@dataclass(frozen=True, slots=True)
class Account:
    """Name the operating system's account that runs the servers."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Secrets:
    """Hold what is generated once for an installation: its name and its passwords."""

    installation: str
    django: str
    superuser: str
    owner: str
    app: str
    digest: str


@dataclass(frozen=True)
class Home:
    """Hold the folders of one installation.

    `root` is what the caller named. As root the servers' own folders lie elsewhere, because
    PostgreSQL refuses to run as root and another account may not be able to reach `root`.
    """

    root: Path

    @cached_property
    def account(self) -> Account | None:
        """The account that runs the servers; None means our own."""
        return find_service_account() if os.geteuid() == 0 else None

    @cached_property
    def secrets(self) -> Secrets:
        """The installation's secrets, generated on first use."""
        return load_secrets(file=self.root / "secrets.json")

    @property
    def store(self) -> Path:
        """The folder of the servers' data."""
        return self.root if self.account is None else ROOT_STORE / self.secrets.installation

    @property
    def sockets(self) -> Path:
        """The private folder of the servers' sockets, short enough for the kernel."""
        folder = self.store / "run"
        if len(os.fsencode(folder)) + len(LONGEST_SOCKET_NAME) <= SOCKET_PATH_LIMIT:
            return folder
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]
        return SHORT_STORE / f"memoryhub-{os.geteuid()}-{digest}"

    @property
    def valkey_socket(self) -> Path:
        """Valkey's socket."""
        return self.sockets / "valkey.sock"

    @property
    def logs(self) -> Path:
        """The folder of the processes' logs."""
        return self.root / "log"

    @property
    def static(self) -> Path:
        """The folder of the collected static files."""
        return self.root / "static"

    def make_folders(self) -> None:
        """Make every folder that the servers need."""
        make_private_folder(path=self.root)
        make_private_folder(path=self.logs)
        if self.account is not None:
            with contextlib.suppress(FileExistsError):
                ROOT_STORE.mkdir()
                ROOT_STORE.chmod(0o755)  # whatever the umask: the service account passes through it
        for folder in (self.store, self.sockets):
            make_private_folder(path=folder, account=self.account)


def find_service_account() -> Account:
    """Return the account that runs the servers when we are root.

    Raises:
        UnusableFolder: if the machine knows none of the accounts.
    """
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in SERVICE_ACCOUNTS:
        if name in known:
            return Account(name=name, uid=known[name].pw_uid, gid=known[name].pw_gid)
    message = f"As root the servers need one of the accounts {', '.join(SERVICE_ACCOUNTS)}."
    raise UnusableFolder(message)


def find_home() -> Home:
    """Return the installation that MEMORYHUB_HOME names, or the project's own `var`."""
    named = os.environ.get("MEMORYHUB_HOME")
    return Home(root=Path(named).resolve() if named else PROJECT / "var")


def make_private_folder(*, path: Path, account: Account | None = None) -> None:
    """Make `path` with mode 0700 for `account`; change no folder that exists.

    Raises:
        UnusableFolder: if the folder exists and belongs to another account.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    owner = os.geteuid() if account is None else account.uid
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        if found.st_uid != owner or not stat.S_ISDIR(found.st_mode):
            raise UnusableFolder(f"{path} is there already and is not a folder of ours.") from None
        return
    if account is not None:
        os.chown(path, account.uid, account.gid)


def load_secrets(*, file: Path) -> Secrets:
    """Return the secrets in `file`, generated on the first call; a later release adds its own.

    Two processes may come first together: the folder is locked while one of them generates.
    """
    if not file.exists():
        make_private_folder(path=file.parent)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        known: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
        names = {field.name for field in fields(Secrets)}
        if not names <= known.keys():
            fresh = {name: secrets.token_hex(6 if name == "installation" else 32) for name in names}
            known = fresh | known
            draft = file.with_suffix(".draft")
            draft.touch(mode=0o600)
            draft.write_text(json.dumps(known, indent=2))
            draft.rename(file)
    finally:
        os.close(folder)
    return Secrets(**known)
