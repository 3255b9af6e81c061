"""The one file of a head node, on a machine that has nothing but Python: another user, and no environment at all."""

import os
import platform
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cableferry import __version__
from cableferry.client.emx2 import Emx2
from cableferry.wire.emx2.bodies import CreateBody
from tests.cli import ferry as program
from tests.schedulers.waiting import until
from tools import head_node

# built once
pytestmark = pytest.mark.xdist_group("head-node")
NOBODY = 65534
SECONDS = 120


class HeadNode:
    """A folder that a stranger may read, the file in it, and a home of the user who runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = head_node.build([_version()], platform.machine(), folder / "cableferry")
        self.home = folder / "home"
        self.home.mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(self.home, NOBODY, NOBODY)

    def run(self, *arguments: str, name: str = "cableferry") -> "subprocess.CompletedProcess[str]":
        other = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups") if os.geteuid() == 0 else ()
        bare = ("env", "-i", f"HOME={self.home}", "PATH=/usr/local/bin:/usr/bin:/bin")
        command = (*other, *bare, str(self.folder / name), *arguments)
        return subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=SECONDS)


def _version() -> str:
    """That of the machine's own Python, which the stranger has."""
    found = subprocess.run(
        ["/usr/bin/env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "python3", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.split()[1].rpartition(".")[0]


@pytest.fixture(scope="module")
def node() -> Iterator[HeadNode]:
    with tempfile.TemporaryDirectory(prefix="cableferry-head-node-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield HeadNode(Path(folder))


@pytest.fixture
def client(node: HeadNode, tmp_path: Path) -> Iterator[Emx2]:
    with program.serving(tmp_path / "data", is_open=True) as server, program.client(server) as client:
        script = node.folder / "shout.sh"
        script.write_text('#!/bin/sh\necho "$HPC_PARAMETERS" | tr a-z A-Z >"$HPC_OUTPUT_DIR/said.txt"\n')
        script.chmod(0o755)
        (node.folder / "config.yaml").write_text(
            f"emx2: {{base_url: '{server}', worker_id: bare}}\nworker: {{backend: local}}\n"
            f"apptainer: {{tmp_dir: {node.home}/jobs}}\nprofiles: {{'shout:small': {{host_entrypoint: {script}}}}}\n"
        )
        yield client


def test_it_needs_nothing_but_python(node: HeadNode) -> None:
    alias = node.folder / "emx2-hpc-daemon"
    alias.write_text(f'#!/bin/sh\nexec {node.file} daemon "$@"\n')
    alias.chmod(0o755)

    assert f"cableferry, version {__version__}\n" == node.run("--version").stdout
    assert f"version {__version__}\n" in node.run("--version", name=alias.name).stdout
    assert "register" in node.run("--help", name=alias.name).stdout


def test_it_holds_what_the_daemon_needs_and_no_more(node: HeadNode) -> None:
    with zipfile.ZipFile(node.file) as held:
        wheels = {name.split("/")[1].split("-")[0].lower() for name in held.namelist() if ".whl/" in name}

    wanted = {name.replace("-", "_") for name in head_node.needed("cableferry")}
    assert wheels == {*wanted, "cableferry"}
    assert wheels & {"starlette", "uvicorn", "apsw", "prometheus_client", "cryptography"} == set()


def test_it_runs_a_real_job(node: HeadNode, client: Emx2) -> None:
    config = str(node.folder / "config.yaml")
    checked = node.run("daemon", "check", "-c", config)
    job = client.create(CreateBody("shout", "small", parameters=msgspec.Raw(b'{"say":"hello"}'))).id

    def is_over() -> bool:
        ended = node.run("daemon", "once", "-c", config)
        assert ended.returncode == 0, ended.stderr
        found = client.job(job)
        return found is not None and found.is_final

    until(is_over)
    found = client.job(job)
    assert found is not None
    assert (checked.returncode, found.status) == (0, "COMPLETED"), checked.stdout + checked.stderr
    with client.artifacts.reading(found.output_artifact_id or "", "said.txt") as streaming:
        assert streaming.whole().body == b'{"SAY":"HELLO"}\n'
