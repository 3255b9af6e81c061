"""Two server processes on one database: who waits at one learns what happened at the other."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from cableferry.server.settings import DatabaseSection
from cableferry.testing import servers, stores
from cableferry.testing.postgres import Cluster
from cableferry.testing.servers import Client, Running

pytestmark = pytest.mark.postgres


@pytest.fixture(params=[True, False], ids=["with hints", "without hints"])
def two(request: pytest.FixtureRequest, postgres_cluster: Cluster, tmp_path: Path) -> Iterator[list[Running]]:
    with ExitStack() as stack:
        url = stack.enter_context(stores.database(postgres_cluster))
        settings = msgspec.structs.replace(
            servers.settings_in(tmp_path), database=DatabaseSection(url=url, data_dir=tmp_path)
        )
        opened = [stack.enter_context(stores.opened(url, notify=request.param)) for _ in range(2)]
        running = [stack.enter_context(servers.running(settings, store)) for store in opened]
        yield running


def test_a_list_learns_of_a_job_made_elsewhere(two: list[Running]) -> None:
    here, there = two[0].client(), two[1].client()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(here.get, "/api/hpc/jobs?processor=p&wait=55")
        _settled(two[0])
        job = there.post("/api/hpc/jobs", {"processor": "p"}).json["id"]

        items: object = waiting.result().json["items"]

    assert isinstance(items, list)
    assert [item["id"] for item in items] == [job]


def test_a_job_is_followed_from_elsewhere(two: list[Running]) -> None:
    here, there = two[0].client(), two[1].client()
    made = there.post("/api/hpc/jobs", {"processor": "p"})
    path = f"/api/hpc/jobs/{made.json['id']}"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(here.get, f"{path}?wait=55", {"If-None-Match": made.headers["etag"]})
        _settled(two[0])
        there.post(f"{path}/cancel")

        assert waiting.result().json["status"] == "CANCELLED"


def test_a_key_is_good_for_one_request_at_every_process(two: list[Running]) -> None:
    replies = [client.post("/api/hpc/jobs", {"processor": "p"}, {"Idempotency-Key": "k"}) for client in _clients(two)]

    assert replies[0].body == replies[1].body


def _clients(servers: list[Running]) -> list[Client]:
    return [server.client() for server in servers]


def _settled(server: Running) -> None:
    """Until the poll is parked and has looked once; a health check goes through the same readers."""
    while server.app.live.count == 0:
        server.client().get("/api/hpc/health")
    server.client().get("/api/hpc/health")
