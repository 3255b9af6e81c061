"""The cluster of tools/cluster for the tests of one session, which leave it as they found it."""

import contextlib
import fcntl
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from tests.house.sources import ROOT
from tests.networks import Network

_TOOLS = ROOT / "tools" / "cluster"
_BUILD = ROOT / "build"


class Cluster(msgspec.Struct, frozen=True):
    """What up.sh says of the cluster that it started, and the network it is in if that is one of its own."""

    slurm_conf: str
    version: str
    name: str
    has_accounting: bool
    has_cgroup: bool
    users: list[str]
    cpu_nodes: list[str]
    gpu_node: str
    jobs: str
    apptainer: str
    image: str
    network: Network | None = None

    @property
    def user(self) -> str:
        return self.users[0]

    def root(self, *command: str) -> str:
        """What an operator's command prints."""
        finished = subprocess.run(
            self.inside(*command),
            env={**os.environ, "SLURM_CONF": self.slurm_conf},
            capture_output=True,
            text=True,
            timeout=60,
        )
        if finished.returncode:
            raise RuntimeError(f"{' '.join(command)}: {finished.stderr.strip()}")
        return finished.stdout

    def lose(self, node: str) -> None:
        self.root("scontrol", "update", f"nodename={node}", "state=down", "reason=test")

    def bring_back(self, node: str) -> None:
        """One that came back by itself refuses to be brought."""
        with contextlib.suppress(RuntimeError):
            self.root("scontrol", "update", f"nodename={node}", "state=resume")

    def inside(self, *command: str) -> tuple[str, ...]:
        """The command that runs a command where the cluster is."""
        return command if self.network is None else self.network.inside(*command)

    def folder(self) -> Path:
        """A new folder of the user's on the disk that all nodes share."""
        folder = Path(self.jobs) / uuid.uuid4().hex[:12]
        folder.mkdir(mode=0o755)
        account = pwd.getpwnam(self.user)
        os.chown(folder, account.pw_uid, account.pw_gid)
        return folder


def can_run() -> bool:
    """Whether this machine has what a cluster needs, and we may start it."""
    return os.geteuid() == 0 and shutil.which("slurmctld") is not None


@contextlib.contextmanager
def running() -> Iterator[Cluster]:
    """One for as long as the block; blocks of a checkout share it, and the last one stops what tests started."""
    where = Path(
        subprocess.run([_TOOLS / "up.sh", "--where"], capture_output=True, text=True, check=True).stdout.strip()
    )
    mark = where / "for-tests"
    _BUILD.mkdir(exist_ok=True)
    with (_BUILD / f"{where.name}.lock").open("a") as use:
        with _changing(where):
            is_ours = mark.exists() or not _is_up(where)
            _tool("up.sh")
            if is_ours:
                mark.touch()
            fcntl.flock(use, fcntl.LOCK_SH)
        try:
            yield msgspec.json.decode((where / "cluster.json").read_bytes(), type=Cluster)
        finally:
            with _changing(where):
                _leave(use.fileno(), mark)


@contextlib.contextmanager
def _changing(where: Path) -> Iterator[None]:
    """Nobody else starts or stops it meanwhile; who only uses it holds another lock."""
    with (_BUILD / f"{where.name}.changing").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def behind(network: Network) -> Iterator[Cluster]:
    """Another one in a network of its own, for as long as the block."""
    with _another({}, network) as cluster:
        yield cluster


@contextlib.contextmanager
def forgetful() -> Iterator[Cluster]:
    """Another one, which keeps no accounts and forgets within seconds what has ended, for as long as the block."""
    with _another({"CLUSTER_ACCOUNTING": "none", "CLUSTER_MIN_JOB_AGE": "2"}) as cluster:
        yield cluster


@contextlib.contextmanager
def beside(cluster: Cluster) -> Iterator[Cluster]:
    """One more cluster of the same site, so that the commands of either reach both, for as long as the block."""
    with _another({"CLUSTER_BESIDE": str(Path(cluster.slurm_conf).parent.parent)}) as second:
        yield second


@contextlib.contextmanager
def _another(said: Mapping[str, str], network: Network | None = None) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="cableferry-cluster-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        settings = {"CLUSTER_DIR": folder, **said}
        try:
            _tool("up.sh", network, settings)
            cluster = msgspec.json.decode((Path(folder) / "cluster.json").read_bytes(), type=Cluster)
            yield msgspec.structs.replace(cluster, network=network)
        finally:
            _tool("down.sh", network, settings)
            Path(folder).mkdir(exist_ok=True)


def _leave(use: int, mark: Path) -> None:
    try:
        fcntl.flock(use, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        # another block still runs jobs on it
        return
    if mark.exists():
        _tool("down.sh")


def _is_up(where: Path) -> bool:
    command = ["scontrol", "ping"]
    environment = {**os.environ, "SLURM_CONF": str(where / "etc" / "slurm.conf")}
    return (where / "cluster.json").exists() and not subprocess.run(
        command, env=environment, capture_output=True, timeout=60
    ).returncode


def _tool(name: str, network: Network | None = None, settings: Mapping[str, str] = MappingProxyType({})) -> None:
    """Its daemons keep what they inherit, so they inherit nothing of ours that somebody waits for."""
    command = (str(_TOOLS / name),)
    _BUILD.mkdir(exist_ok=True)
    of = Path(settings["CLUSTER_DIR"]).name if settings else "cluster"
    said = _BUILD / f"{of}-{name}.log"
    with said.open("w") as log:
        finished = subprocess.run(
            command if network is None else network.inside(*command),
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            timeout=300,
        )
    if finished.returncode:
        raise RuntimeError(said.read_text()[-2000:])


@contextlib.contextmanager
def acting_as(name: str) -> Iterator[None]:
    """This process as an ordinary user, so that what it starts and writes is theirs."""
    account = pwd.getpwnam(name)
    before = os.getgroups()
    os.initgroups(name, account.pw_gid)
    os.setresgid(account.pw_gid, account.pw_gid, 0)
    os.setresuid(account.pw_uid, account.pw_uid, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
        os.setgroups(before)


@contextlib.contextmanager
def acting_as_root() -> Iterator[None]:
    """Inside of `acting_as`, for a moment root again."""
    user, group = os.geteuid(), os.getegid()
    os.setresuid(0, 0, 0)
    os.setresgid(0, 0, 0)
    try:
        yield
    finally:
        os.setresgid(group, group, 0)
        os.setresuid(user, user, 0)
