"""The cluster that the tests run on is a real one, used by ordinary users."""

import os
import select
import subprocess
import time
from collections.abc import Callable

import pytest

from tests import clusters
from tests.clusters import Cluster
from tests.house.sources import ROOT

pytestmark = pytest.mark.slurm


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        select.select((), (), (), 0.1)


def _as_user(cluster: Cluster, *command: str) -> str:
    environment = {"PATH": os.environ["PATH"], "SLURM_CONF": cluster.slurm_conf}
    with clusters.acting_as(cluster.user):
        return subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=True).stdout


def test_a_job_of_an_ordinary_user_runs_in_a_container_and_is_accounted(slurm_cluster: Cluster) -> None:
    folder = slurm_cluster.folder()
    inside = f"{slurm_cluster.apptainer} -q exec {slurm_cluster.image} id -u"
    job = _as_user(slurm_cluster, "sbatch", "--parsable", f"--output={folder}/out", "--wrap", inside).strip()
    asked = ("sacct", "-nXPj", job, "-oState,User")
    if not slurm_cluster.has_accounting:
        # where nobody keeps accounts, the controller knows for a while
        asked = ("squeue", "-hj", job, "-tall", "-o%T|%u")
    _until(lambda: _as_user(slurm_cluster, *asked) == f"COMPLETED|{slurm_cluster.user}\n")

    assert int((folder / "out").read_text()) > 0


def test_it_is_shared_by_whoever_asks_for_it(slurm_cluster: Cluster) -> None:
    with clusters.running() as same:
        assert slurm_cluster == same

    assert "UP" in slurm_cluster.root("scontrol", "ping")


def test_starting_what_runs_changes_nothing(slurm_cluster: Cluster) -> None:
    before = slurm_cluster.root("scontrol", "show", "config")
    subprocess.run([ROOT / "tools" / "cluster" / "up.sh"], check=True, capture_output=True)

    assert _started(before) == _started(slurm_cluster.root("scontrol", "show", "config"))


def _started(config: str) -> list[str]:
    return [line for line in config.splitlines() if line.startswith(("BOOT_TIME", "SLURM_CONF"))]


@pytest.mark.parametrize(("is_ci", "code"), [("true", 1), ("", 0)])
def test_a_person_without_root_is_told_what_is_missed(slurm_cluster: Cluster, is_ci: str, code: int) -> None:
    install = (ROOT / "tools" / "cluster" / "install.sh").read_text()
    place = (ROOT / "tools" / "cluster" / "place.sh").read_text()
    folder = slurm_cluster.folder()
    (folder / "install.sh").write_text(install)
    (folder / "place.sh").write_text(place)
    with clusters.acting_as(slurm_cluster.user):
        told = subprocess.run(
            ["bash", str(folder / "install.sh")],
            env={"PATH": os.environ["PATH"], "CI": is_ci},
            capture_output=True,
            text=True,
        )

    assert (code, True) == (told.returncode, "every test marked slurm" in told.stderr)
