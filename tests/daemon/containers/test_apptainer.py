"""Jobs in real containers, from launch to log and result, stopped and outliving their worker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.containers.harbour import APPTAINER, Worker, doing, working
from tests.dialects.opeva import port as ports
from tests.dialects.opeva.port import Port

IMAGE = APPTAINER.parents[1] / "busybox.sif"
pytestmark = pytest.mark.xdist_group("apptainer")


@pytest.fixture
def port(tmp_path: Path) -> Iterator[Port]:
    if not IMAGE.exists():
        pytest.skip("Apptainer is not on this machine: tools/cluster/install.sh says how to get it")
    env = {"GREETING": "hello from inside"}
    with ports.running(ports.settings_in(tmp_path, image=str(IMAGE), env=env)) as port:
        yield port


@pytest.fixture
def worker(port: Port, tmp_path: Path) -> Iterator[Worker]:
    flags = ("--executor", "apptainer", "--entrypoint", "/bin/sh /data/simulator.sh")
    with working(port, tmp_path, "worker-a", *flags) as worker:
        yield worker


def test_a_container_sees_the_shared_folder_and_nothing_else_of_the_machine(port: Port, worker: Worker) -> None:
    job = doing(port, "ls /data/jobs", f"ls {port.share} || echo apart", "echo $HOME_OF_NOBODY")

    port.until(lambda: port.word(job) == "finished")
    log = port.get(f"/logs/{job}").body.decode()
    assert [f"job {job} says: hello from inside", job, "apart"] == [
        line for line in log.splitlines() if line and "No such file" not in line
    ]
    assert {"kpi": 1} == port.get(f"/result/{job}").json
    assert "apptainer" == port.get("/hosts").json["hosts"]["worker-a"]["info"]["executor"]  # type: ignore[index]  # of the answer


def test_containers_are_stopped_fail_and_outlive_their_worker(port: Port, worker: Worker) -> None:
    stopped, going = doing(port, "sleep 60"), doing(port, "while [ ! -e /data/gate ]; do sleep 0.1; done", "exit 4")
    port.until(lambda: {"running"} == {port.word(job) for job in (stopped, going)})
    worker.kill()
    port.post(f"/stop/{stopped}")
    (port.share / "gate").touch()

    worker.start()

    port.until(lambda: [port.word(job) for job in (stopped, going)] == ["stopped", "failed"])
    assert 4 == port.status(going)["exit_code"]
