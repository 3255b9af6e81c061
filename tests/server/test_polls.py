"""Long polls against the real server: nothing is missed, nobody waits for nothing."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cableferry.testing import servers
from cableferry.testing.servers import Client, Running

WAITERS = 300


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with servers.running(servers.settings_in(tmp_path)) as running:
        yield running


@pytest.fixture
def client(server: Running) -> Client:
    return server.client()


def _create(client: Client, processor: str = "embed") -> str:
    return str(client.post("/api/hpc/jobs", {"processor": processor}).json["id"])


class Parked:
    """One connection that waits for its answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def status(self) -> int:
        line = await asyncio.wait_for(self.reader.readline(), 20)
        return int(line.split(b" ")[1])


@asynccontextmanager
async def _parked(port: int, path: str, headers: str = "") -> AsyncIterator[Parked]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"GET {path} HTTP/1.1\r\nHost: x\r\nX-EMX2-API-Version: 2025-01\r\nX-Timestamp: 1735689600\r\n"
        f"X-Request-Id: 00000000-0000-4000-8000-000000000000\r\n{headers}\r\n".encode()
    )
    try:
        yield Parked(reader, writer)
    finally:
        writer.close()


async def _settled(server: Running, count: int) -> None:
    """Until so many polls are parked."""
    async with asyncio.timeout(20):
        while server.app.live.count != count:  # noqa: ASYNC110  # the server says so to nobody
            await asyncio.sleep(0)


def _run(story: Callable[[], Awaitable[None]]) -> None:
    async def told() -> None:
        await story()

    asyncio.run(told())


def test_a_list_waits_for_a_job(server: Running, client: Client) -> None:
    async def story() -> None:
        async with _parked(server.port, "/api/hpc/jobs?status=PENDING&processor=embed&wait=55") as parked:
            await _settled(server, 1)
            await asyncio.to_thread(_create, client)
            assert await parked.status() == 200

    _run(story)


def test_a_list_with_jobs_is_answered_at_once(client: Client) -> None:
    job = _create(client)

    reply = client.get("/api/hpc/jobs", {"Prefer": "wait=55"})

    items: object = reply.json["items"]
    assert isinstance(items, list)
    assert items[0]["id"] == job
    assert reply.headers["preference-applied"] == "wait=55"


def test_an_empty_list_is_answered_when_the_time_is_up(client: Client) -> None:
    started = time.monotonic()

    reply = client.get("/api/hpc/jobs?wait=1")

    assert (reply.status, reply.json["items"]) == (200, [])
    assert time.monotonic() - started >= 1


def test_more_than_the_longest_wait_is_the_longest(client: Client) -> None:
    _create(client)

    assert client.get("/api/hpc/jobs?wait=100000").headers["preference-applied"] == "wait=55"


@pytest.mark.parametrize("prefer", ["wait=", "wait=soon", "wait=-1", "wait"])
def test_a_preference_that_makes_no_sense_is_refused(client: Client, prefer: str) -> None:
    assert client.get("/api/hpc/jobs", {"Prefer": prefer}).status == 400


@pytest.mark.parametrize("prefer", ["respond-async, wait=0", 'wait="0"', "WAIT = 0; foo", "handling=lenient,wait=0"])
def test_a_preference_may_stand_among_others(client: Client, prefer: str) -> None:
    assert client.get("/api/hpc/jobs", {"Prefer": prefer}).headers["preference-applied"] == "wait=0"


def test_without_a_wish_nobody_waits(client: Client) -> None:
    assert "preference-applied" not in client.get("/api/hpc/jobs").headers


def test_a_job_is_shown_when_it_has_changed(server: Running, client: Client) -> None:
    job = _create(client)

    async def story() -> None:
        async with _parked(server.port, f"/api/hpc/jobs/{job}?wait=55") as parked:
            await _settled(server, 1)
            await asyncio.to_thread(client.post, f"/api/hpc/jobs/{job}/cancel")
            assert await parked.status() == 200

    _run(story)


def test_a_job_that_differs_from_what_is_known_is_shown_at_once(client: Client) -> None:
    job = _create(client)

    assert client.get(f"/api/hpc/jobs/{job}?wait=55", {"If-None-Match": '"0"'}).status == 200


def test_a_job_that_did_not_change_is_not_sent_again(client: Client) -> None:
    job = _create(client)
    etag = client.get(f"/api/hpc/jobs/{job}").headers["etag"]

    assert client.get(f"/api/hpc/jobs/{job}?wait=1", {"If-None-Match": etag}).status == 304


def test_an_etag_that_a_proxy_made_weak_is_waited_on(client: Client) -> None:
    job = _create(client)
    etag = client.get(f"/api/hpc/jobs/{job}").headers["etag"]

    assert client.get(f"/api/hpc/jobs/{job}?wait=1", {"If-None-Match": f"W/{etag}"}).status == 304


def test_a_list_has_no_etag_to_know(client: Client) -> None:
    started = time.monotonic()

    reply = client.get("/api/hpc/jobs?wait=1", {"If-None-Match": '"1"'})

    assert (reply.status, time.monotonic() - started >= 1) == (200, True)


def test_nobody_waits_for_a_job_that_is_over(client: Client) -> None:
    job = _create(client)
    etag = client.post(f"/api/hpc/jobs/{job}/cancel").headers["etag"]

    assert client.get(f"/api/hpc/jobs/{job}?wait=55").status == 200
    assert client.get(f"/api/hpc/jobs/{job}?wait=55", {"If-None-Match": etag}).status == 304


def test_nobody_waits_for_more_of_a_history_that_is_over(client: Client) -> None:
    job = _create(client)
    client.post(f"/api/hpc/jobs/{job}/cancel")

    reply = client.get(f"/api/hpc/jobs/{job}/transitions?after=2&wait=55")

    assert ([], "CANCELLED") == (reply.json["items"], reply.json["status"])


def test_a_deletion_ends_the_wait(server: Running, client: Client) -> None:
    job = _create(client)

    async def story() -> None:
        async with _parked(server.port, f"/api/hpc/jobs/{job}?wait=55") as parked:
            await _settled(server, 1)
            await asyncio.to_thread(client.call, "DELETE", f"/api/hpc/jobs/{job}")
            assert await parked.status() == 404

    _run(story)


def test_a_history_waits_for_what_comes_behind(server: Running, client: Client) -> None:
    job = _create(client)

    async def story() -> None:
        async with _parked(server.port, f"/api/hpc/jobs/{job}/transitions?after=1&wait=55") as parked:
            await _settled(server, 1)
            await asyncio.to_thread(client.post, f"/api/hpc/jobs/{job}/cancel")
            assert await parked.status() == 200

    _run(story)


def test_whoever_hangs_up_is_forgotten(server: Running) -> None:
    async def story() -> None:
        async with _parked(server.port, "/api/hpc/jobs?wait=55"):
            await _settled(server, 1)
        await _settled(server, 0)

    _run(story)


def test_a_job_nobody_takes_is_shown_to_all_who_wait(server: Running, client: Client) -> None:
    async def story() -> None:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(_status(server.port)) for _ in range(WAITERS)]
            await _settled(server, WAITERS)
            await asyncio.to_thread(_create, client)
        assert {task.result() for task in asked} == {200}

    _run(story)


async def _status(port: int) -> int:
    async with _parked(port, "/api/hpc/jobs?processor=embed&wait=55") as parked:
        return await parked.status()


def test_a_stop_answers_everybody_at_once(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVING, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())

        async def story() -> None:
            async with asyncio.TaskGroup() as group:
                asked = [group.create_task(_status(port)) for _ in range(WAITERS)]
                while await asyncio.to_thread(_waiters, port) < WAITERS:
                    pass
                process.send_signal(signal.SIGTERM)
            assert {task.result() for task in asked} == {200}

        _run(story)
        stopped = time.monotonic()
        process.wait(20)
        assert (process.returncode, time.monotonic() - stopped < 3) == (0, True)


def _waiters(port: int) -> float:
    lines = Client(port).get("/metrics").body.decode().splitlines()
    return float(next(line for line in lines if line.startswith("cableferry_waiters ")).split()[1])


SERVING = """
import sys
from pathlib import Path
from cableferry.server import serve
from cableferry.server.app import create_app
from cableferry.testing import servers
settings = servers.settings_in(Path(sys.argv[1]))
listening = serve.listen(settings.server)
import structlog
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
app = create_app(settings)
print(listening.getsockname()[1], flush=True)
serve.server(settings, app).run([listening])
"""
