"""Two server processes over one PostgreSQL and one shared folder are one server to workers."""

import concurrent.futures
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.testing import processes, stores
from cableferry.testing.postgres import Cluster
from cableferry.testing.servers import Client
from cableferry.wire.opeva import FENCING
from tests.dialects.opeva.port import NO_HEADERS, Port

pytestmark = pytest.mark.postgres
JOBS, POLLERS = 160, 8


@pytest.fixture
def two(postgres_cluster: Cluster, tmp_path: Path) -> Iterator[list[Port]]:
    share = tmp_path / "share"
    settings = {"VM_SHARED_DATA": str(share), "AVAILABLE_HOSTS": "worker-a,worker-b"}
    with stores.database(postgres_cluster) as url:
        flags = ("--auth-off", "--database", url)
        with (
            processes.running(tmp_path, *flags, settings=settings) as one,
            processes.running(tmp_path, *flags, settings=settings) as other,
        ):
            yield [Port(Client(server.port, NO_HEADERS), share) for server in (one, other)]


def test_each_job_goes_out_once_and_either_server_takes_reports_of_it(two: list[Port]) -> None:
    made = {two[number % 2].launch() for number in range(JOBS)}

    def drain(number: int) -> list[str]:
        worker, got = ("worker-a", "worker-b")[number % 2], []
        while job := two[number % 2].poll(worker, capabilities=[FENCING]):
            proof = {"attempt_token": job["attempt_token"]}
            assert 200 == two[(number + 1) % 2].say(job["job_id"], "running", worker, **proof).status
            assert 200 == two[number % 2].say(job["job_id"], "finished", worker, exit_code=0, **proof).status
            got.append(job["job_id"])
        return got

    with concurrent.futures.ThreadPoolExecutor(POLLERS) as pool:
        got = [job for jobs in pool.map(drain, range(POLLERS)) for job in jobs]

    assert len(made) == len(got)
    assert made == set(got)
    two[0].until(lambda: not list((two[0].share / "queue").iterdir()))
    two[0].until(lambda: {"finished"} == {two[0].file("jobs", job, "status.json")["status"] for job in made})
