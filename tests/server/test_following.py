"""Logs that are followed on the real server: nothing missed, nothing twice, however often the line breaks."""

import asyncio
import base64
import http.client
import json
import threading
import time
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cableferry.client import emx2
from cableferry.client.errors import Invalid
from cableferry.client.patience import ONCE
from cableferry.client.schemes import Signed
from cableferry.core.access import Anyone
from cableferry.dialects.endpoint import Call, Feed, Tidings
from cableferry.server import following
from cableferry.server.exchange import Disconnected, Exchange, Followed, Reply, Request
from cableferry.server.following import Followings
from cableferry.server.live import Live
from cableferry.server.settings import AuthSection, LogsSection, Secret
from cableferry.testing import servers, stores
from cableferry.testing.postgres import Cluster
from cableferry.testing.servers import Client, Running
from cableferry.wire.emx2.bodies import Capability, CreateBody, RegisterBody
from cableferry.wire.emx2.logs import NamedChunk

SECONDS = 20
SECRET = "a secret of thirty-two characters"
Event = tuple[str, str, dict[str, Any]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    settings = msgspec.structs.replace(servers.settings_in(tmp_path), logs=LogsSection(400_000, 0.05))
    with servers.running(settings) as running:
        yield running


class Job:
    """A running job, as its worker and its readers see it."""

    def __init__(self, server: Running) -> None:
        self.client: Client = server.client({"X-Worker-Id": "w1"})
        self.port = server.port
        self.followers: list[Follower] = []
        offer = {"processor": "p", "max_concurrent_jobs": 9}
        self.client.post("/api/hpc/workers/register", {"worker_id": "w1", "capabilities": [offer]})
        self.id = str(self.client.post("/api/hpc/jobs", {"processor": "p"}).json["id"])
        self.client.post(f"/api/hpc/jobs/{self.id}/claim")
        for status in ("SUBMITTED", "STARTED"):
            self.report(status)

    def report(self, status: str) -> None:
        reply = self.client.post(f"/api/hpc/jobs/{self.id}/transition", {"status": status})
        assert 200 == reply.status

    def append(self, offset: int, content: bytes) -> None:
        body = {"offset": offset, "content": base64.b64encode(content).decode()}
        reply = self.client.post(f"/api/hpc/jobs/{self.id}/logs/stdout", body)
        assert 200 == reply.status, reply.body

    def follow(self, query: str = "", last: str | None = None) -> "Follower":
        self.followers.append(Follower(self.port, f"/api/hpc/jobs/{self.id}/logs/stdout/events{query}", last))
        return self.followers[-1]


class Follower:
    """A client as a browser has it: no header of the protocol, and the id of the last event it saw."""

    def __init__(self, port: int, path: str, last: str | None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        self._connection.request("GET", path, headers={} if last is None else {"Last-Event-ID": last})
        self.answer = self._connection.getresponse()

    def events(self) -> Iterator[Event]:
        fields: dict[str, str] = {}
        for line in self.answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if line == b"\n" and "data" in fields:
                yield fields["event"], fields.get("id", ""), json.loads(fields["data"])
                fields = {}
            elif name:
                fields[name] = value

    def close(self) -> None:
        self.answer.close()
        self._connection.close()


@pytest.fixture
def job(server: Running) -> Iterator[Job]:
    job = Job(server)
    yield job
    for follower in job.followers:
        follower.close()


def test_a_follower_sees_what_is_there_what_comes_and_the_end(job: Job) -> None:
    job.append(0, b"one\n")
    events = job.follow().events()

    assert ("log", "1:4", {"attempt": 1, "offset": 0, "text": "one\n", "size_bytes": 4}) == next(events)
    job.append(4, b"two\n")
    assert ("1:8", "two\n") == _told(next(events))
    job.report("COMPLETED")
    assert ("end", "1:8", {"attempt": 1, "offset": 8, "status": "COMPLETED"}) == next(events)
    assert [] == list(events)


def _told(event: Event) -> tuple[str, str]:
    return event[1], event[2]["text"]


def test_a_follower_may_come_before_the_first_byte(job: Job) -> None:
    events = job.follow().events()
    threading.Thread(target=job.append, args=(0, b"one\n")).start()

    assert ("1:4", "one\n") == _told(next(events))


def test_whoever_comes_back_goes_on_where_it_was(job: Job) -> None:
    job.append(0, b"one\ntwo\n")

    assert ("1:8", "two\n") == _told(next(job.follow(last="1:4").events()))
    assert ("1:8", "two\n") == _told(next(job.follow(last="4").events()))
    assert ("1:8", "two\n") == _told(next(job.follow("?tail=1").events()))
    assert ("1:8", "two\n") == _told(next(job.follow("?offset=4").events()))


def test_whoever_has_everything_need_not_come_back(job: Job) -> None:
    job.append(0, b"one\n")
    job.report("FAILED")
    (_, last, _), end = job.follow().events()

    assert ("end", "FAILED") == (end[0], end[2]["status"])
    assert 204 == job.follow(last=last).answer.status


@pytest.mark.parametrize("last", ["x", "1:2:3", "1:2:cutlet", "-1", "9" * 20])
def test_an_id_that_is_none_is_refused(job: Job, last: str) -> None:
    assert 400 == job.follow(last=last).answer.status


def test_a_character_comes_whole_and_other_bytes_come_as_base64(job: Job) -> None:
    text = "aé€😀".encode()
    events, raw = job.follow().events(), job.follow("?form=base64").events()
    job.append(0, text[:2])
    assert "a" == next(events)[2]["text"]
    job.append(2, text[2:])
    job.append(len(text), b"\xff\xfe")
    job.report("COMPLETED")

    assert "é€😀\ufffd\ufffd" == "".join(data["text"] for name, _, data in events if name == "log")
    contents = [base64.b64decode(data["content"]) for name, _, data in raw if name == "log"]
    assert text + b"\xff\xfe" == b"".join(contents)


def test_a_log_that_is_cut_says_so(job: Job) -> None:
    for start in (0, 200_000, 400_000):
        job.append(start, b"x" * 200_000)
    job.report("COMPLETED")

    events = list(job.follow().events())

    assert ["log"] * 7 + ["cut", "end"] == [name for name, _, _ in events]
    assert ("1:400000:cut", "end") == (events[-2][1], events[-1][0])
    assert 204 == job.follow(last="1:400000:cut").answer.status


def test_a_worker_is_told_who_is_followed(job: Job) -> None:
    follower = job.follow()
    next_event = threading.Thread(target=lambda: next(follower.events()))
    next_event.start()
    watched: object = []
    while not watched:
        watched = job.client.post("/api/hpc/workers/w1/sync", {"holding": [job.id]}).json["watched"]
    job.append(0, b"x")
    next_event.join()

    assert [job.id] == watched


def test_a_deleted_job_ends_its_followers(job: Job) -> None:
    events = job.follow().events()
    job.append(0, b"x")
    next(events)

    job.client.call("DELETE", f"/api/hpc/jobs/{job.id}")

    assert ["end"] == [name for name, _, _ in events]


def test_nobody_follows_what_is_not_there(job: Job) -> None:
    job.id = "nobody"

    assert 404 == job.follow().answer.status


def test_a_silent_log_keeps_its_followers(tmp_path: Path) -> None:
    sent: list[bytes] = []

    async def receive() -> dict[str, object]:
        await asyncio.Event().wait()
        return {}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message.get("body", b""))
        if sent.count(b": still here\n\n") == 2:
            raise Disconnected

    async def story() -> None:
        with stores.opened(stores.sqlite_url(tmp_path)) as store:
            feed = Feed(lambda call: ("x:1",), lambda tx, call, cursor: Tidings((), cursor), lambda tx, call: None)
            followed = Followed(feed, Call(Anyone()), "0")
            request = Request("GET", "/", b"", {}, None, 0.0, "t")
            to = Exchange({}, request, receive, send)
            reply = Reply(200, content_type=b"text/event-stream", followed=followed)
            with pytest.raises(Disconnected):
                await Followings(store, Live(), 0.01).respond(to, reply, followed)

    asyncio.run(story())

    assert [b"", b"retry: 1000\n\n", b": still here\n\n", b": still here\n\n"] == sent


def test_many_follow_and_each_sees_everything(job: Job) -> None:
    followers = [job.follow().events() for _ in range(30)]
    said = [b"line %d\n" % number for number in range(40)]
    offset = 0
    for line in said:
        job.append(offset, line)
        offset += len(line)
    job.report("COMPLETED")

    for events in followers:
        assert b"".join(said).decode() == "".join(data.get("text", "") for _, _, data in events)


def test_a_server_that_stops_lets_its_followers_go(tmp_path: Path) -> None:
    with servers.running(servers.settings_in(tmp_path)) as running:
        follower = Job(running).follow()
        assert b"retry: 1000\n" == follower.answer.readline()

    assert [] == list(follower.events())
    follower.close()


def test_the_log_of_a_job_that_is_over_becomes_its_artifact(job: Job) -> None:
    for start in (0, 200_000, 400_000):
        job.append(start, b"\xffx" * 100_000)
    job.report("COMPLETED")
    wait = {"Prefer": "wait=20", "If-None-Match": f'"{_job(job)["revision"]}"'}
    stored = None
    while stored is None:
        stored = job.client.get(f"/api/hpc/jobs/{job.id}/transitions?after=5", wait).json["items"]
        stored = _job(job)["log_artifact_id"]

    artifact: Any = job.client.get(f"/api/hpc/artifacts/{stored}").json
    content = job.client.get(f"/api/hpc/artifacts/{stored}/files/stdout.log").body
    assert ("log", "COMMITTED", len(content)) == (artifact["type"], artifact["status"], artifact["size_bytes"])
    assert content.startswith(b"\xffx" * 200_000)
    assert b"was cut here" in content[400_000:]
    assert ("COMPLETED", "log") == (_job(job)["status"], _job(job)["log_artifact"]["type"])


def _job(job: Job) -> Any:
    return job.client.get(f"/api/hpc/jobs/{job.id}").json


def test_whoever_is_nobody_follows_nothing_and_no_worker_writes_for_another(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(servers.settings_in(tmp_path), auth=AuthSection(shared_secret=Secret(SECRET)))
    with servers.running(settings) as server:
        one, other = (emx2.connect(server.address, Signed(worker, SECRET), ONCE) for worker in ("w1", "w2"))
        for worker, client in (("w1", one), ("w2", other)):
            client.register(RegisterBody(worker, capabilities=[Capability("p")]))
        job = one.claim(one.create(CreateBody("p")).id, "w1").id
        chunk = NamedChunk(0, b"x", job_id=job, stream="stdout")
        (mine,) = one.logs.append("w1", [chunk])
        (theirs,) = other.logs.append("w2", [chunk])
        with pytest.raises(Invalid, match="send one name"):
            other.logs.append("w1", [chunk])
        stranger = Follower(server.port, f"/api/hpc/jobs/{job}/logs/stdout/events", None)

        assert (200, "stale-lease", 401) == (mine.code, theirs.kind, stranger.answer.status)
        stranger.close()
        with one.logs.following(job, "stdout") as events:
            assert b"x" == next(events).content
        one.close()
        other.close()


@pytest.mark.postgres
def test_a_follower_of_another_process_hears_at_once(tmp_path: Path, postgres_cluster: Cluster) -> None:
    with stores.database(postgres_cluster) as url:
        settings = servers.settings_in(tmp_path)
        settings = msgspec.structs.replace(settings, database=msgspec.structs.replace(settings.database, url=url))
        with servers.running(settings) as one, servers.running(settings) as other:
            job = Job(one)
            job.port = other.port
            events = job.follow().events()
            job.append(0, b"one\n")
            assert ("1:4", "one\n") == _told(next(events))
            started = time.monotonic()
            job.append(4, b"two\n")
            assert ("1:8", "two\n") == _told(next(events))
            assert time.monotonic() - started < following.KEEP_ALIVE_SECONDS
            job.followers[0].close()
