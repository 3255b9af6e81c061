"""The package as people install it: the dashboard is in it, and without the dashboard everything else works."""

import re
import shutil
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path

import pytest

from cableferry.server import site
from cableferry.testing import processes
from cableferry.testing.processes import Process
from cableferry.wire.emx2.bodies import CreateBody
from tests.cli import ferry as program
from tests.house.sources import ROOT

QUIET = ("--quiet", "--disable-pip-version-check", "--no-input", "--no-index", "--no-deps")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as the wheel has it, and nothing else."""
    if not (site.BUILT / "index.html").exists():
        pytest.skip("the dashboard is not built here: tools/web.sh says how")
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip"]
    build = [*pip, "wheel", *QUIET, "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    target = folder / "installed"
    subprocess.run(
        [*pip, "install", *QUIET, "--root-user-action=ignore", "--target", str(target), str(wheel)],
        check=True,
        timeout=120,
    )
    return target


def test_an_installed_server_shows_the_dashboard(installed: Path, tmp_path: Path) -> None:
    with processes.running(tmp_path, settings={"PYTHONPATH": str(installed)}) as process:
        status, page = _asked(process, "/")
        scripts = re.findall(r'(?:src|href)="\./([^"]+)"', page)

        assert (200, True) == (status, '<base href="/ui/">' in page)
        assert len(scripts) > 3
        assert {_asked(process, f"/ui/{each}")[0] for each in scripts} == {200}


def test_without_the_dashboard_an_installed_server_says_so_and_works(installed: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(installed, bare, ignore=shutil.ignore_patterns("built"))

    with processes.running(tmp_path, "--auth-off", settings={"PYTHONPATH": str(bare)}) as process:
        assert _asked(process, "/")[0] == 404
        assert "The dashboard is not part of this installation" in _asked(process, "/ui/jobs")[1]
        assert _asked(process, "/api/hpc/health")[0] == 200
        with program.client(f"http://127.0.0.1:{process.port}") as client:
            assert client.create(CreateBody("waits")).status == "PENDING"


def _asked(process: Process, path: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", process.port, timeout=20)
    connection.request("GET", path)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found
