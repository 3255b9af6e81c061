"""A worker of our own leads jobs to their ends, whoever dies on the way."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.testing import processes
from cableferry.testing.servers import Client
from tests.daemon.containers.harbour import Worker, doing, working
from tests.dialects.opeva import port as ports
from tests.dialects.opeva.port import NO_HEADERS, Port


@pytest.fixture
def port(tmp_path: Path) -> Iterator[Port]:
    with ports.running(ports.settings_in(tmp_path, env={"GREETING": "hello"})) as port:
        yield port


@pytest.fixture
def worker(port: Port, tmp_path: Path) -> Iterator[Worker]:
    with working(port, tmp_path, "worker-a") as worker:
        yield worker


def test_a_job_runs_and_leaves_its_log_and_its_result(port: Port, worker: Worker) -> None:
    job = doing(port, "echo out", "echo err >&2")

    port.until(lambda: port.word(job) == "finished")
    assert f"job {job} says: hello\nout\nerr\n".encode() == port.get(f"/logs/{job}").body
    assert {"kpi": 1} == port.get(f"/result/{job}").json
    known = port.status(job)
    assert (0, "worker-a") == (known["exit_code"], known["worker_id"])
    assert "process" == port.get("/hosts").json["hosts"]["worker-a"]["info"]["executor"]  # type: ignore[index]  # of the answer


def test_a_failure_says_its_code(port: Port, worker: Worker) -> None:
    job = doing(port, "exit 3")

    port.until(lambda: port.word(job) == "failed")
    assert (3, "ended with exit code 3") == (port.status(job)["exit_code"], port.status(job)["error"])


def test_several_jobs_run_at_once(port: Port, worker: Worker) -> None:
    gate = port.share / "gate"
    jobs = [doing(port, f"n={n}; while [ ! -e {gate} ]; do sleep 0.05; done") for n in range(4)]

    port.until(lambda: sorted(map(port.word, jobs)) == ["queued", "running", "running", "running"])
    gate.touch()
    port.until(lambda: {"finished"} == set(map(port.word, jobs)))


def test_a_stop_ends_a_job_and_a_deaf_one_is_killed(port: Port, worker: Worker) -> None:
    soft, deaf = doing(port, "exec sleep 60"), doing(port, "trap '' TERM", "while :; do sleep 0.1; done")
    port.until(lambda: [port.word(job) for job in (soft, deaf)] == ["running", "running"])

    for job in (soft, deaf):
        port.post(f"/stop/{job}")

    port.until(lambda: [port.word(job) for job in (soft, deaf)] == ["stopped", "stopped"])
    assert (143, 137) == (port.status(soft)["exit_code"], port.status(deaf)["exit_code"])


@pytest.mark.parametrize("order", ["cancel", "fail", "requeue", "delete"])
def test_a_job_that_is_taken_away_is_ended(port: Port, worker: Worker, order: str) -> None:
    job = doing(port, f"echo $$ > {port.share}/pid", "exec sleep 60")
    port.until(lambda: port.word(job) == "running" and (port.share / "pid").exists())
    pid = (port.share / "pid").read_text().strip()

    if order == "delete":
        port.client.call("DELETE", f"/job/{job}?force=true")
    else:
        port.ops(job, order, force=True, preferred_host="worker-b", require_host=True)

    port.until(lambda: not Path(f"/proc/{pid}").exists() or "sleep" not in Path(f"/proc/{pid}/cmdline").read_text())


def test_a_job_that_is_put_back_runs_again_here_after_the_first_has_ended(port: Port, worker: Worker) -> None:
    again = port.share / "again"
    job = doing(port, f"if [ ! -e {again} ]; then touch {again}; exec sleep 60; fi")
    port.until(lambda: again.exists() and port.word(job) == "running")

    port.ops(job, "requeue", force=True)

    port.until(lambda: port.word(job) == "finished")
    assert 2 == port.status(job)["attempt_number"]


def test_a_worker_that_dies_finds_its_jobs_again(port: Port, worker: Worker) -> None:
    gate = port.share / "gate"
    going = doing(port, f"while [ ! -e {gate} ]; do sleep 0.05; done")
    port.until(lambda: port.word(going) == "running")
    worker.kill()
    gate.touch()

    worker.start()

    port.until(lambda: port.word(going) == "finished")
    assert 1 == port.get(f"/logs/{going}").body.count(b"says")


def test_a_worker_that_is_told_to_stop_leaves_its_jobs(port: Port, worker: Worker) -> None:
    gate = port.share / "gate"
    job = doing(port, f"while [ ! -e {gate} ]; do sleep 0.05; done")
    port.until(lambda: port.word(job) == "running")

    assert 0 == worker.stop()
    gate.touch()
    port.until(lambda: (port.share / "jobs" / job / "results" / "result.json").exists())
    worker.start()
    port.until(lambda: port.word(job) == "finished")


def test_a_job_that_cannot_be_started_says_why(port: Port, tmp_path: Path) -> None:
    with working(port, tmp_path, "worker-a", "--executor", "process"):
        job = port.launch()

        port.until(lambda: port.word(job) == "failed")
        assert "--entrypoint" in port.status(job)["error"]


SETTINGS = {"AVAILABLE_HOSTS": "worker-a,worker-b"}


def test_hosts_pinned_stopped_and_requeued_while_the_server_restarts(tmp_path: Path) -> None:
    """One story from launch to the last end, with two workers and a server that dies twice."""
    share = tmp_path / "share"
    settings = {**SETTINGS, "VM_SHARED_DATA": str(share), "CABLEFERRY_OPEVA__ENV": '{"GREETING":"ahoy"}'}
    server = processes.Process(tmp_path, settings=settings)
    flags = ("--port", str(server.port))
    port = Port(Client(server.port, NO_HEADERS), share)
    with working(port, tmp_path, "worker-a"), working(port, tmp_path, "worker-b"):
        gates = [share / f"gate-{n}" for n in range(3)]
        waiting = [f"while [ ! -e {gate} ]; do sleep 0.05; done" for gate in gates]
        kept, moved, stopped = (
            doing(port, waiting[0], host="worker-a"),
            doing(port, waiting[1], host="worker-a"),
            doing(port, waiting[2], host="worker-b"),
        )
        port.until(lambda: {"running"} == {port.word(job) for job in (kept, moved, stopped)})
        assert ["worker-a", "worker-a", "worker-b"] == [port.status(job)["worker_id"] for job in (kept, moved, stopped)]

        server.kill()
        gates[0].touch()
        port.until(lambda: (share / "jobs" / kept / "results" / "result.json").exists())
        server = processes.Process(tmp_path, *flags, settings=settings)
        port.until(lambda: port.word(kept) == "finished")
        assert {"running"} == {port.word(job) for job in (moved, stopped)}

        port.ops(moved, "requeue", force=True, preferred_host="worker-b", require_host=True)
        port.post(f"/stop/{stopped}")
        server.kill()
        server = processes.Process(tmp_path, *flags, settings=settings)
        port.until(lambda: port.word(stopped) == "stopped")
        port.until(lambda: (port.word(moved), port.status(moved).get("worker_id")) == ("running", "worker-b"))
        gates[1].touch()
        port.until(lambda: port.word(moved) == "finished")
        assert ("worker-b", 2) == (port.status(moved)["worker_id"], port.status(moved)["attempt_number"])
        port.until(lambda: (port.file("jobs", moved, "status.json") or {}).get("status") == "finished")
    server.stop()
