"""A daemon on a head node that sees the jobs' folder over a real NFS: a machine of its own, emulated."""

import contextlib
import importlib.metadata
import json
import os
import pwd
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

import cableferry
from cableferry.client.emx2 import Emx2
from tests.clusters import Cluster
from tests.house.sources import ROOT
from tests.schedulers.waiting import until
from tests.system.cluster_daemon import ClusterDaemon

_TOOL = ROOT / "tools" / "cluster" / "nfs.sh"
# what this machine is called from in there
_HOST = "10.0.2.2"
_BOOT_SECONDS = 240
_RUN = """
munged --force --key-file=/etc/munge.key --socket=/run/munge --pid-file=/run/munged.pid --log-file=/run/munged.log \\
  --seed-file=/run/munged.seed
cat >/as_user.py <<'PYTHON'
import os, sys
os.setgroups([]); os.setgid({group}); os.setuid({user}); os.execvp(sys.argv[1], sys.argv[1:])
PYTHON
export HOME=/tmp PYTHONPATH=/opt/ferry SLURM_CONF=/etc/slurm.conf
python3 /as_user.py python3 /watch.py {folder}/signs &
exec python3 /as_user.py python3 -c 'from cableferry.cli.main import emx2_daemon; emx2_daemon()' \\
  -c {folder}/config.yaml run --json-logs
"""
# it looks for a sign as soon as there is a place for it, and from then on as anybody would who thinks it is enough
_WATCH = """
import os, sys, time
places, waiting = sys.argv[1], {}
while True:
    for name in sorted(os.listdir(places)):
        if name not in waiting:
            waiting[name] = os.path.exists(f"{places}/{name}/sign")
            print(f"watch: {name} is {'there' if waiting[name] else 'absent'}", flush=True)
        elif not waiting[name] and os.path.exists(f"{places}/{name}/sign"):
            waiting[name] = True
            print(f"watch: {name} is there", flush=True)
    time.sleep(0.2)
"""


@contextlib.contextmanager
def served() -> Iterator[Path]:
    """The folder that the nodes see as it is and a head node over NFS, for as long as the block."""
    with tempfile.TemporaryDirectory(prefix="cableferry-nfs-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        try:
            _tool(Path(folder), "up")
            yield Path(folder) / "export"
        finally:
            _tool(Path(folder), "down")
            Path(folder).mkdir()


def _tool(folder: Path, verb: str) -> None:
    subprocess.run([_TOOL, verb], env=_in(folder), check=True, timeout=300, stdin=subprocess.DEVNULL)


def _in(folder: Path) -> dict[str, str]:
    return {**os.environ, "NFS_DIR": str(folder)}


class NfsHead(ClusterDaemon):
    """Its jobs lie in the export; what it says to its console is its log."""

    def __init__(self, cluster: Cluster, export: Path, server: str, client: Emx2) -> None:
        port = server.rpartition(":")[2]
        super().__init__(msgspec.structs.replace(cluster, jobs=str(export)), f"http://{_HOST}:{port}", client)
        self._console = export.parent / "console"
        self._machine: subprocess.Popen[bytes] | None = None
        self._signs = self.folder / "signs"
        self._signs.mkdir()

    def log(self) -> str:
        return self._console.read_text() if self._console.exists() else ""

    def boot(self) -> None:
        """With the profiles that were offered until now."""
        self._command("run")
        config = self.folder / "config.yaml"
        said = json.loads(config.read_text())
        # the journal lies on the machine's own disk
        said["worker"]["state_db"] = "/tmp/state"
        config.write_text(json.dumps(said))
        served = self.folder.parent.parent
        _pack(served / "payload", self.cluster, self.folder)
        with self._console.open("wb") as console:
            self._machine = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", _TOOL, "boot", served / "payload"],
                env=_in(served),
                stdin=subprocess.DEVNULL,
                stdout=console,
                start_new_session=True,
            )
        end = time.monotonic() + _BOOT_SECONDS
        while "worker registered" not in self.log():
            assert time.monotonic() < end, self.log()
            select.select((), (), (), 0.2)

    def power_off(self) -> None:
        if self._machine is not None:
            os.killpg(self._machine.pid, signal.SIGKILL)
            self._machine.wait(60)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """While the whole machine stands still; its clock goes on."""
        assert self._machine is not None
        os.killpg(self._machine.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self._machine.pid, signal.SIGCONT)

    @contextlib.contextmanager
    def blind(self, name: str) -> Iterator[None]:
        """A block all of which takes place while this client does not see a file that it missed shortly before."""
        (self._signs / name).mkdir()
        until(lambda: f"watch: {name} is absent" in self.log())
        (self._signs / name / "sign").touch()
        yield
        assert f"watch: {name} is there" not in self.log()


def _pack(payload: Path, cluster: Cluster, folder: Path) -> None:
    """What the head node has besides its Debian: us, and what makes it a client of this cluster."""
    etc, ferry = payload / "etc", payload / "opt" / "ferry"
    etc.mkdir(parents=True)
    shutil.copytree(Path(cableferry.__file__).parent, ferry / "cableferry", ignore=shutil.ignore_patterns("built"))
    for file in _libraries():
        target = ferry / str(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(str(file.locate()), target)
    account = pwd.getpwnam(cluster.user)
    where = Path(cluster.slurm_conf).parent.parent
    shutil.copy2(where / "munge" / "key", etc / "munge.key")
    text = Path(cluster.slurm_conf).read_text().replace("(127.0.0.1)", f"({_HOST})")
    (etc / "slurm.conf").write_text(re.sub(r"AuthInfo=\S+", "AuthInfo=socket=/run/munge", text))
    slurm = pwd.getpwnam("slurm")
    accounts = [("root", 0, 0), ("slurm", slurm.pw_uid, slurm.pw_gid), (cluster.user, account.pw_uid, account.pw_gid)]
    (etc / "passwd").write_text("".join(f"{name}:x:{user}:{group}::/:/bin/sh\n" for name, user, group in accounts))
    (etc / "group").write_text("".join(f"{name}:x:{group}:\n" for name, _, group in accounts))
    (payload / "watch.py").write_text(_WATCH)
    (payload / "run.sh").write_text(_RUN.format(user=account.pw_uid, group=account.pw_gid, folder=folder))


def _libraries() -> Iterator[importlib.metadata.PackagePath]:
    """The files of all that a head-node install brings."""
    waiting, known = ["cableferry"], set()
    while waiting:
        distribution = importlib.metadata.distribution(waiting.pop())
        for requirement in distribution.requires or ():
            name = re.match(r"[\w.-]+", requirement)
            if name is not None and "extra ==" not in requirement and name[0] not in known:
                known.add(name[0])
                with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                    importlib.metadata.distribution(name[0])
                    waiting.append(name[0])
        if distribution.metadata["Name"] != "cableferry":
            yield from (file for file in distribution.files or () if ".." not in file.parts)
