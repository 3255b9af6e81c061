"""Silence ends leases: on a timer of the server, by the settings of the contract, and across its restarts."""

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.server.settings import TimeoutsSection
from cableferry.testing import processes, servers
from cableferry.testing.servers import Client
from tests.dialects.opeva import port as ports
from tests.dialects.opeva.port import NO_HEADERS, Port

LONG = 1000.0


@pytest.fixture
def port(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Port]:
    """A server whose patience is long, save for what the test names."""
    patience = {
        "queue_claim_ttl": LONG,
        "job_status_ttl": LONG,
        "host_heartbeat_ttl": LONG,
        "worker_stale_grace_seconds": 0.0,
    }
    settings = ports.settings_in(tmp_path, **{**patience, **request.param})
    quick = TimeoutsSection(sweep_seconds=0.1)
    settings = type(settings)(server=settings.server, database=settings.database, opeva=settings.opeva, timeouts=quick)
    with servers.running(settings) as server:
        yield Port(server.client(NO_HEADERS), settings.opeva.root)


def _with(**patience: float) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("port", [patience], indirect=True)


@_with(queue_claim_ttl=1.0)
def test_a_job_whose_worker_never_speaks_of_it_goes_back(port: Port) -> None:
    job = port.launch()
    port.poll("worker-a")

    port.until(lambda: port.word(job) == "queued")
    assert ("worker-a", False) == tuple(port.entries("/queue")[0][name] for name in ("preferred_host", "require_host"))
    assert job == (port.poll("worker-b") or {})["job_id"]
    assert 409 == port.say(job, "running", "worker-a").status


@_with(job_status_ttl=1.0)
def test_a_running_job_that_nobody_speaks_of_has_failed(port: Port) -> None:
    running, stopping = port.at("running"), port.at("stop_requested")

    port.until(lambda: {port.word(job) for job in (running, stopping)} == {"failed"})
    known = port.status(running)
    assert ("stale_status", "worker-a") == (known["error"], known["last_host"])
    assert 409 == port.say(running, "running").status


@_with(job_status_ttl=1.5)
def test_reports_keep_a_job_and_heartbeats_do_not(port: Port) -> None:
    kept, lost = port.at("running"), port.at("running")
    over = threading.Event()

    def keep() -> None:
        while not over.wait(0.3):
            port.say(kept, "running")
            port.post("/api/agent/heartbeat", {"worker_id": "worker-a"})

    keeper = threading.Thread(target=keep)
    keeper.start()
    try:
        port.until(lambda: port.word(lost) == "failed")
        assert "running" == port.word(kept)
    finally:
        over.set()
        keeper.join()


@_with(host_heartbeat_ttl=1.0)
def test_a_worker_that_is_gone_loses_its_jobs_and_is_shown_as_offline(port: Port) -> None:
    running, waiting = port.at("running"), port.at("dispatched")

    port.until(lambda: [port.word(job) for job in (running, waiting)] == ["failed", "queued"])
    assert "worker_offline" == port.status(running)["error"]
    port.until(lambda: port.get("/hosts").json["hosts"]["worker-a"]["online"] is False)  # type: ignore[index]  # of the answer


@_with(preferred_grace_seconds=1.0)
def test_a_preferred_worker_comes_first_for_a_while(port: Port) -> None:
    job = port.at("dispatched")
    port.ops(job, "requeue", preferred_host="worker-b", require_host=False)

    assert None is port.poll("worker-a")
    port.until(lambda: port.poll("worker-a"))


@_with(strict_transitions=True)
def test_strictly_a_late_result_is_refused(port: Port) -> None:
    stopping, unseen = port.at("stop_requested"), port.at("dispatched")

    assert [409, 409, 200] == [
        port.say(stopping, "finished").status,
        port.say(unseen, "finished").status,
        port.say(stopping, "stopped").status,
    ]


SETTINGS = {
    "AVAILABLE_HOSTS": '["worker-a"]', "JOB_STATUS_TTL": "3", "QUEUE_CLAIM_TTL": "3", "HOST_HEARTBEAT_TTL": "3",
    "WORKER_STALE_GRACE_SECONDS": "0", "CABLEFERRY_TIMEOUTS__SWEEP_SECONDS": "0.2",
}  # fmt: skip


def test_time_in_which_no_server_lived_is_held_against_nobody(tmp_path: Path) -> None:
    settings = {**SETTINGS, "VM_SHARED_DATA": str(tmp_path / "share")}
    with processes.running(tmp_path, settings=settings) as server:
        port = Port(Client(server.port, NO_HEADERS), tmp_path / "share")
        job = port.at("running")
    threading.Event().wait(4)

    with processes.running(tmp_path, settings=settings) as server:
        port = Port(Client(server.port, NO_HEADERS), tmp_path / "share")
        assert "running" == port.word(job)
        assert 200 == port.say(job, "running").status
        port.until(lambda: port.word(job) == "failed")


def test_killed_around_dispatch_a_server_strands_nothing(tmp_path: Path) -> None:
    """Every job is either still in the queue, or with a worker from whom it comes back when nothing is said of it."""
    settings = {**SETTINGS, "VM_SHARED_DATA": str(tmp_path / "share")}
    server = processes.Process(tmp_path, settings=settings)
    port = Port(Client(server.port, NO_HEADERS), tmp_path / "share")
    made = {port.launch() for _ in range(60)}
    told: set[str] = set()
    for turn in range(4):
        port = Port(Client(server.port, NO_HEADERS), tmp_path / "share")
        killer = threading.Timer(0.02 + 0.01 * turn, server.kill)
        killer.start()
        try:
            while job := port.poll():
                told.add(job["job_id"])
                port.say(job["job_id"], "finished", exit_code=0)
        except (OSError, http.client.HTTPException):
            pass
        killer.join()
        server = processes.Process(tmp_path, settings=settings)
    port = Port(Client(server.port, NO_HEADERS), tmp_path / "share")

    def finish() -> bool:
        while job := port.poll():
            port.say(job["job_id"], "finished", exit_code=0)
        return {"finished"} == {each["status"] for each in port.entries("/jobs")}

    port.until(finish)
    assert made == {each["job_id"] for each in port.entries("/jobs")}
    server.stop()
