"""What is made of the answers of nodes, the strange ones too; real nodes are asked in tests/system."""

import time
from pathlib import Path

import pytest

from cableferry.daemon import probing
from cableferry.daemon.config import Config, Container, Profile
from cableferry.daemon.findings import Finding
from cableferry.schedulers.protocol import Resources
from tests.schedulers.recorded import Recorded

IMAGE = Container("/images/a.sif", ("/x",), ("/data:/data:ro",))
PROFILE = Profile(processor="a", profile="small", container=IMAGE, resources=Resources(partition="cpu", cpus=64))
ENDED = "12|COMPLETED|1|1|c1|None|"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    recorded = Recorded(tmp_path / "bin", monkeypatch)
    recorded.say("sacct", "", "Slurm accounting storage is disabled\n", 1)
    recorded.say("scancel")
    return recorded


def _findings(folder: Path, programs: Recorded, said: str) -> list[Finding]:
    """As if the node of the only job had said this."""
    runs = folder / "jobs" / "runs"
    programs.play("sbatch", f'printf "%s" "{said}" >"$(ls -d {runs}/*)/stdout.log"; echo 12')
    programs.play("squeue", f'echo "{ENDED}$(ls {runs})"')
    programs.say("scontrol")
    config = Config(
        worker_id="w", server="http://x", state_dir="/s", jobs_dir=str(folder / "jobs"), profiles=(PROFILE,)
    )
    return list(probing.findings(config, 20))


def test_profiles_of_one_kind_of_node_share_a_small_job(tmp_path: Path) -> None:
    other = Profile(processor="b", command=("/opt/b",), resources=Resources(partition="cpu", gres="gpu:8"))
    far = Profile(processor="c", resources=Resources(partition="cpu", cluster="far"))
    first, second = probing.visits([PROFILE, other, far])

    assert {"/images/a.sif", "/data", "/opt/b"} == set(first.paths)
    assert ("apptainer", 1, None, None) == (first.program, first.where.cpus, first.where.gres, first.where.memory)
    assert ("node of far/cpu", {}) == (second.label, second.paths)


def test_each_thing_that_a_node_lacks_is_a_finding(tmp_path: Path, programs: Recorded) -> None:
    late = int(time.time()) - 3600
    said = f"node n7\nclock {late}\nwrites no\nprogram apptainer version 1.0.3\nthere 0\nabsent 1\nover yes\n"
    found = {(one.what, one.found) for one in _findings(tmp_path, programs, said) if not one.is_ok}

    assert {
        ("node of cpu", f"n7 cannot write {tmp_path}/jobs"),
        ("container program, node of cpu", "n7: apptainer version 1.0.3"),
        ("node of cpu", "n7 cannot read /data, what a:small binds"),
    } < found
    assert ["clock of n7"] == [what for what, _ in found if what.startswith("clock")]


def test_a_node_that_could_not_even_begin_is_said_to_lack_the_folder(tmp_path: Path, programs: Recorded) -> None:
    (one,) = _findings(tmp_path, programs, "")

    assert (False, "tmp_dir" in one.advice) == (one.is_ok, True)
    assert "ran nothing" in one.found
