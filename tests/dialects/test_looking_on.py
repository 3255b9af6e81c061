"""People who look on see the newest jobs first, page by page, and every change as it happens."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from cableferry.testing import servers
from cableferry.testing.servers import Client, Running
from tests.dialects.desk import Desk

SECONDS = 20
JOBS = "/api/ui/jobs"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with servers.running(servers.settings_in(tmp_path_factory.mktemp("looking"))) as running:
        yield running


@pytest.fixture
def client(server: Running) -> Client:
    """A browser sends no header of the protocol."""
    return server.client({"X-EMX2-API-Version": None, "X-Request-Id": None, "X-Timestamp": None})


@pytest.fixture
def desk(server: Running, request: pytest.FixtureRequest) -> Desk:
    return Desk(server.client(), f"w-{request.node.name}"[:60], f"p-{request.node.name}"[:60])


class Follower:
    """A browser that listens, perhaps again after its connection broke."""

    def __init__(self, server: Running, path: str, last: str | None = None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
        self._connection.request("GET", path, headers={} if last is None else {"Last-Event-ID": last})
        self.answer = self._connection.getresponse()

    def __enter__(self) -> "Follower":
        return self

    def __exit__(self, *_: object) -> None:
        self.answer.close()
        self._connection.close()

    def __iter__(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        fields: dict[str, str] = {}
        for line in self.answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if line == b"\n" and "data" in fields:
                yield fields["event"], fields["id"], json.loads(fields["data"])
                fields = {}
            elif name:
                fields[name] = value


def test_the_newest_job_comes_first_and_pages_lead_to_each_other(client: Client, desk: Desk) -> None:
    jobs = [desk.create() for _ in range(5)][::-1]
    mine = f"{JOBS}?processor={desk.processor}&limit=2"

    def page(rest: str = "") -> dict[str, Any]:
        return client.get(mine + rest).json

    first = page()
    second = page(f"&older={first['older']}")
    third = page(f"&older={second['older']}")
    back = page(f"&newer={third['newer']}")
    front = page(f"&newer={second['newer']}")

    assert [jobs[:2], jobs[2:4], jobs[4:]] == [_ids(each) for each in (first, second, third)]
    assert (None, None) == (first["newer"], third["older"])
    assert (_ids(second), second["older"], second["newer"]) == (_ids(back), back["older"], back["newer"])
    assert first == front


def _ids(page: dict[str, Any]) -> list[str]:
    return [job["id"] for job in page["items"]]


def test_a_list_is_narrowed_and_counts_what_else_there_is(client: Client, desk: Desk) -> None:
    waiting, failed, running = desk.job_in("PENDING"), desk.job_in("FAILED"), desk.job_in("STARTED")
    mine = f"{JOBS}?processor={desk.processor}"

    both = client.get(f"{mine}&status=PENDING,FAILED").json
    held = client.get(f"{mine}&worker_id={desk.worker}&status=STARTED").json

    assert ([failed, waiting], [running]) == (_ids(both), _ids(held))
    assert {"PENDING": 1, "FAILED": 1, "STARTED": 1} == {word: n for word, n in both["counts"].items() if n}
    assert [] == _ids(client.get(f"{mine}&submit_user=nobody").json)


@pytest.mark.parametrize(
    "query",
    ["status=NOPE", "older=x", "older=WyJuYW1lIixbMV1d", "limit=0", "limit=1000", "older=a&newer=b", "worker_id=%00"],
)
def test_a_list_that_makes_no_sense_is_refused(client: Client, query: str) -> None:
    for path in (JOBS, f"{JOBS}/events"):
        reply = client.get(f"{path}?{query}")

        assert (400, "malformed") == (reply.status, reply.kind)


def test_a_list_tells_what_happens_to_its_jobs(server: Running, desk: Desk) -> None:
    with Follower(server, f"{JOBS}/events?processor={desk.processor}") as follower:
        events = iter(follower)
        name, _, before = next(events)
        job = desk.job_in("PENDING")
        created = next(events)
        desk.claim(job)
        seen = _until(events, lambda page: page["items"][0]["status"] == "CLAIMED")

    assert ("jobs", []) == (name, before["items"])
    assert [job] == _ids(created[2])
    assert 1 == seen["counts"]["CLAIMED"]


def _until(events: Iterator[tuple[str, str, dict[str, Any]]], is_it: Any) -> dict[str, Any]:
    return next(data for _, _, data in events if is_it(data))


def test_whoever_comes_back_to_a_list_is_told_only_what_is_new(server: Running, desk: Desk) -> None:
    path = f"{JOBS}/events?processor={desk.processor}"
    desk.create()
    with Follower(server, path) as follower:
        _, known, _ = next(iter(follower))

    with Follower(server, path, known) as again:
        job = desk.create()
        _, other, page = next(iter(again))

    assert job == _ids(page)[0]
    assert known != other


def test_other_jobs_are_no_news_to_a_list(server: Running, desk: Desk) -> None:
    with Follower(server, f"{JOBS}/events?processor={desk.processor}") as follower:
        events = iter(follower)
        next(events)
        Desk(desk.client, "other", "other").create()
        mine = desk.create()

        assert [mine] == _ids(next(events)[2])


def test_a_job_is_followed_to_its_end(server: Running, desk: Desk) -> None:
    job = desk.job_in("SUBMITTED")
    with Follower(server, f"{JOBS}/{job}/events") as follower:
        events = iter(follower)
        first = next(events)
        desk.report(job, "STARTED")
        desk.report(job, "COMPLETED", detail="all is well")
        told = list(events)

    assert ("job", "SUBMITTED") == (first[0], first[2]["job"]["status"])
    assert "end" == told[-1][0]
    last = told[-2][2]
    assert ("COMPLETED", "all is well") == (last["job"]["status"], last["transitions"][-1]["detail"])
    assert "COMPLETED" == last["explanation"]["status"]
    with Follower(server, f"{JOBS}/{job}/events", told[-1][1]) as again:
        assert 204 == again.answer.status


def test_of_a_talkative_job_every_move_and_the_latest_reports_are_told(client: Client, desk: Desk) -> None:
    job = desk.job_in("STARTED")
    for number in range(210):
        desk.report(job, "STARTED", progress=number / 1000)

    told: Any = client.get(f"{JOBS}/{job}").json["transitions"]

    moves = [each["to_status"] for each in told if each["from_status"] != each["to_status"]]
    assert ["PENDING", "CLAIMED", "SUBMITTED", "STARTED"] == moves
    assert [number / 1000 for number in range(10, 210)] == [each["progress"] for each in told[4:]]


def test_a_job_that_is_not_there_is_not_followed(client: Client) -> None:
    assert {404} == {client.get(f"{JOBS}/unknown{rest}").status for rest in ("", "/events")}


def test_an_overview_is_told_in_the_words_of_the_protocol(client: Client, desk: Desk) -> None:
    for status in ("PENDING", "STARTED", "FAILED"):
        desk.job_in(status)

    told: Any = client.get("/api/ui/overview?hours=2").json

    (queue,) = [each for each in told["queues"] if each["processor"] == desk.processor]
    assert queue.pop("oldest_at")
    assert {"processor": desk.processor, "pending": 1, "held": 1, "ended": 1} == queue
    assert {"PENDING", "CLAIMED", "SUBMITTED", "STARTED", "COMPLETED", "FAILED", "CANCELLED"} == set(told["counts"])
    assert told["causes"]["error"] >= 1
    assert (60, 0) == (told["step_seconds"], told["workers_silent"])
    assert told["database_bytes"] > 0


def test_a_list_is_searched_for_what_people_read(client: Client, desk: Desk) -> None:
    failed = desk.job_in("STARTED")
    desk.report(failed, "FAILED", detail="No such MODEL: forest-3")
    desk.job_in("PENDING")
    mine = f"{JOBS}?processor={desk.processor}"

    found = client.get(f"{mine}&search=no%20such%20model").json

    assert ([failed], None) == (_ids(found), found["searched"])
    assert [failed] == _ids(client.get(f"{mine}&search={failed[9:].upper()}").json)
    assert [] == _ids(client.get(f"{mine}&search=100%25").json)


def test_a_forecast_is_what_the_explanation_says(client: Client, desk: Desk) -> None:
    desk.register()
    desk.create()

    told: Any = client.get(f"{JOBS}/forecast?processor={desk.processor}&profile=small").json
    job = desk.create()

    said: Any = client.get(f"{JOBS}/{job}").json["explanation"]
    assert (said["code"], said["sentence"]) == (told["code"], told["sentence"])
    assert 1 == told["facts"]["ahead"]
    assert "not-offered" == client.get(f"{JOBS}/forecast?processor=nobody-has-it").json["code"]


@pytest.mark.parametrize("query", ["", "processor=", "processor=a&priority=5000", "processor=a%00b"])
def test_a_forecast_of_nothing_is_refused(client: Client, query: str) -> None:
    assert 400 == client.get(f"{JOBS}/forecast?{query}").status


def test_how_many_jobs_there_were_is_told_over_time(client: Client, desk: Desk) -> None:
    desk.job_in("FAILED")

    told: Any = client.get(f"{JOBS}/history?hours=2").json

    assert 60 == told["step_seconds"]
    assert all({"at", "counts"} == set(point) for point in told["history"])
    assert 400 == client.get(f"{JOBS}/history?hours=0").status
