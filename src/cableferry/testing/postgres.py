"""A private PostgreSQL cluster for tests and benchmarks, thrown away with the process that started it."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

_PLACES = ("/usr/lib/postgresql", "/usr/local/pgsql")
_FAST = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off", "-c", "deadlock_timeout=50ms")


class Cluster:
    """A running server that listens on a Unix socket and nowhere else."""

    def __init__(self, folder: Path, programs: Path, user: str) -> None:
        self._folder = folder
        self._programs = programs
        self._user = user

    def url(self, database: str = "postgres") -> str:
        return f"postgresql:///{quote(database)}?host={quote(str(self._folder), safe='')}&user={self._user}"

    def create(self, database: str, template: str = "template0") -> str:
        """A new database, copied from another one, and its url."""
        self.command(f'CREATE DATABASE "{database}" TEMPLATE "{template}"')
        return self.url(database)

    def drop(self, database: str) -> None:
        self.command(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')

    def command(self, sql: str) -> str:
        """One statement through psql; what it printed."""
        finished = subprocess.run(
            [self._programs / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql, self.url()],
            capture_output=True,
            text=True,
        )
        if finished.returncode:
            raise RuntimeError(finished.stderr.strip())
        return finished.stdout.strip()


def programs() -> Path | None:
    """Where initdb and its kin are, if PostgreSQL is on this machine."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    found_below = [path for place in _PLACES for path in Path(place).glob("**/bin/initdb")]
    return max(found_below).parent if found_below else None


@contextlib.contextmanager
def cluster(*, durable: bool = False, settings: Sequence[str] = ()) -> Iterator[Cluster]:
    """Start one; it ends with this block, and with this process however that ends.

    Without `durable` a commit does not wait for the disk: right for tests of behaviour, wrong for figures.
    """
    found = programs()
    if found is None:
        raise RuntimeError("PostgreSQL is not on this machine: tools/postgres.sh says how to get it")
    user = _user()
    folder = Path(tempfile.mkdtemp(prefix="cableferry-postgres-", dir="/tmp"))
    try:
        _give(folder, user)
        _initialise(found, folder, user)
        extra = [part for setting in settings for part in ("-c", setting)]
        with _running(found, folder, user, [*(() if durable else _FAST), *extra]):
            yield Cluster(folder, found, user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> str:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _give(folder: Path, user: str) -> None:
    entry = pwd.getpwnam(user)
    os.chown(folder, entry.pw_uid, entry.pw_gid)


def _initialise(found: Path, folder: Path, user: str) -> None:
    options = ("--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", f"--username={user}")
    command = [*_as(user), str(found / "initdb"), *options, str(folder / "data")]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if finished.returncode:
        raise RuntimeError(f"initdb failed: {finished.stderr.strip()}")


@contextlib.contextmanager
def _running(found: Path, folder: Path, user: str, options: Sequence[str]) -> Iterator[None]:
    places = ("-D", str(folder / "data"), "-k", str(folder), "-c", "listen_addresses=")
    command = [*_as(user), str(found / "postgres"), *places, "-c", "max_connections=200", *options]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
    try:
        _wait_until_ready(found, folder, user, server)
        yield
    finally:
        _end(server)


def _as(user: str) -> list[str]:
    """Run as that user, and let the kernel end it with this process."""
    change = ["--reuid", user, "--regid", str(pwd.getpwnam(user).pw_gid), "--clear-groups"]
    return ["setpriv", *(change if os.geteuid() == 0 else []), "--pdeathsig", "INT"]


def _wait_until_ready(found: Path, folder: Path, user: str, server: "subprocess.Popen[bytes]") -> None:
    """`pg_ctl -w` would wait with a second's grain; pg_isready asks at once."""
    for _ in range(300):
        asked = subprocess.run([found / "pg_isready", "-q", "-h", folder, "-U", user], capture_output=True)
        if asked.returncode == 0:
            return
        try:
            server.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    raise RuntimeError(f"PostgreSQL did not start: {(folder / 'log').read_text()[-2000:]}")


def _end(server: "subprocess.Popen[bytes]") -> None:
    # clients may still be connected: INT ends their sessions and shuts down
    server.send_signal(2)
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
