"""A POST with a key happens once, and its answer is given again byte for byte."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cableferry.testing import servers
from cableferry.testing.servers import Client, Reply, Running

JOBS = "/api/hpc/jobs"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with servers.running(servers.settings_in(tmp_path)) as running:
        yield running


@pytest.fixture
def client(server: Running) -> Client:
    return server.client()


def _create(client: Client, key: str, processor: str = "p", worker: str | None = None) -> Reply:
    return client.post(JOBS, {"processor": processor}, {"Idempotency-Key": key, "X-Worker-Id": worker})


def _count(client: Client) -> object:
    return client.get(f"{JOBS}?status=ALL").json["total_count"]


def test_the_same_request_again_gets_the_same_answer(client: Client) -> None:
    first, second = _create(client, "k"), _create(client, "k")

    assert (second.status, second.body) == (first.status, first.body)
    assert second.headers["content-type"] == first.headers["content-type"]
    assert ("idempotent-replayed" in first.headers, second.headers["idempotent-replayed"]) == (False, "true")
    assert _count(client) == 1


def test_the_same_answer_says_where_the_job_is_and_which_version(client: Client) -> None:
    first, second = _create(client, "k"), _create(client, "k")

    told = {"location", "etag"}
    assert told <= set(first.headers)
    assert {name: second.headers.get(name) for name in told} == {name: first.headers[name] for name in told}


def test_an_answer_that_holds_a_secret_is_never_to_be_stored_on_the_way(client: Client) -> None:
    path, key = "/api/hpc/workers/w/credentials/issue", {"Idempotency-Key": "k"}
    client.post(path, {}, key)

    assert client.post(path, {}, key).headers["cache-control"] == "no-store"


def test_another_key_is_another_request(client: Client) -> None:
    _create(client, "k1")
    _create(client, "k2")

    assert _count(client) == 2


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (JOBS, {"processor": "q"}),
        (f"{JOBS}?a=1", {"processor": "p"}),
        ("/api/hpc/workers/register", {"worker_id": "w"}),
    ],
)
def test_a_key_is_good_for_one_request_only(client: Client, path: str, body: object) -> None:
    _create(client, "k")

    reply = client.post(path, body, {"Idempotency-Key": "k"})

    assert (reply.status, reply.kind) == (422, "idempotency-key-reused")
    assert _count(client) == 1


def test_two_callers_may_have_the_same_key(client: Client) -> None:
    _create(client, "k", worker="one")

    assert _create(client, "k", "q", worker="two").status == 201


def test_a_refusal_is_remembered_too(client: Client) -> None:
    job = client.post(JOBS, {"processor": "p"}).json["id"]
    body = {"worker_id": "w"}
    first = client.post(f"{JOBS}/{job}/claim", body, {"Idempotency-Key": "k"})
    client.post("/api/hpc/workers/register", {"worker_id": "w", "capabilities": [{"processor": "p"}]})

    second = client.post(f"{JOBS}/{job}/claim", body, {"Idempotency-Key": "k"})

    assert (first.status, second.status, second.body) == (409, 409, first.body)
    assert client.post(f"{JOBS}/{job}/claim", body).status == 200


def test_what_was_malformed_is_not_remembered(client: Client) -> None:
    client.post(JOBS, b"{", {"Idempotency-Key": "k"})

    assert _create(client, "k").status == 201


def test_many_at_once_happen_once(client: Client) -> None:
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda _: _create(client, "k"), range(64)))

    assert len({reply.body for reply in replies}) == 1
    assert _count(client) == 1


def test_an_answer_outlives_the_server(tmp_path: Path) -> None:
    with servers.running(servers.settings_in(tmp_path)) as first:
        before = _create(first.client(), "k")

    with servers.running(servers.settings_in(tmp_path)) as second:
        after = _create(second.client(), "k")

    assert after.body == before.body


def test_a_request_id_may_differ(client: Client) -> None:
    first = client.post(JOBS, {"processor": "p"}, {"Idempotency-Key": "k", "X-Request-Id": str(uuid.uuid4())})
    second = client.post(JOBS, {"processor": "p"}, {"Idempotency-Key": "k", "X-Request-Id": str(uuid.uuid4())})

    assert second.body == first.body
