"""Say where one installation keeps its data, sockets, locks and secrets."""

import hashlib
import json
import os
import pwd
import secrets
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
ROOT_STORE = Path("/var/lib/memoryhub")
SHORT_STORE = Path("/tmp")  # noqa: S108 - only for sockets, in a folder that is ours alone
SOCKET_PATH_LIMIT = 107
LONGEST_SOCKET_NAME = "/.s.PGSQL.5432.lock"
SERVICE_ACCOUNTS = ("memoryhub", "nobody")


class UnusableFolder(Exception):  # noqa: N818 - exceptions are named as facts
    """Report a folder that belongs to somebody else."""


@dataclass(frozen=True, slots=True)
class Account:
    """Name the operating system's account that runs the servers."""

    name: str
    uid: int
    gid: int


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
        if os.geteuid() != 0:
            return None
        return find_service_account()

    @property
    def digest(self) -> str:
        """A short name for this installation."""
        return hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]

    @property
    def store(self) -> Path:
        """The folder of the servers' data."""
        return self.root if self.account is None else ROOT_STORE / self.digest

    @property
    def sockets(self) -> Path:
        """The private folder of the servers' sockets, short enough for the kernel."""
        folder = self.store / "run"
        if len(os.fsencode(folder)) + len(LONGEST_SOCKET_NAME) <= SOCKET_PATH_LIMIT:
            return folder
        return SHORT_STORE / f"memoryhub-{os.geteuid()}-{self.digest}"

    @property
    def logs(self) -> Path:
        """The folder of the processes' logs."""
        return self.root / "log"

    @property
    def static(self) -> Path:
        """The folder of the collected static files."""
        return self.root / "static"

    @property
    def postgres_data(self) -> Path:
        """PostgreSQL's data folder."""
        return self.store / "postgres"

    @property
    def valkey_data(self) -> Path:
        """Valkey's data folder."""
        return self.store / "valkey"

    @property
    def valkey_socket(self) -> Path:
        """Valkey's socket."""
        return self.sockets / "valkey.sock"

    @property
    def secrets_file(self) -> Path:
        """The file of the generated secrets."""
        return self.root / "secrets.json"

    @property
    def lock_file(self) -> Path:
        """The file that the running supervisor holds."""
        return self.root / "serve.lock"


@dataclass(frozen=True, slots=True)
class Secrets:
    """Hold the secrets generated for an embedded installation."""

    django: str
    superuser: str
    owner: str
    app: str


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
    """Make `path` with mode 0700 for `account`; leave the mode of every parent folder alone.

    Raises:
        UnusableFolder: if the folder exists and belongs to another account.
    """
    for parent in reversed(path.parents):
        parent.mkdir(mode=0o755, exist_ok=True)
    wanted = os.geteuid() if account is None else account.uid
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        if found.st_uid != wanted or not stat.S_ISDIR(found.st_mode):
            message = f"{path} exists and is not a folder of ours."
            raise UnusableFolder(message) from None
        return
    if account is not None:
        os.chown(path, account.uid, account.gid)


def load_secrets(*, home: Home) -> Secrets:
    """Return the installation's secrets, generated on the first call and kept in one file."""
    if not home.secrets_file.exists():
        make_private_folder(path=home.root)
        fresh = Secrets(*(secrets.token_urlsafe(48) for _ in range(4)))
        draft = home.root / f"secrets.{os.getpid()}.draft"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump({name: getattr(fresh, name) for name in Secrets.__slots__}, file, indent=2)
        try:
            os.link(draft, home.secrets_file)  # unlike a rename, it never replaces another's file
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return Secrets(**json.loads(home.secrets_file.read_text()))
