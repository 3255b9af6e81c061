"""The log endpoints as clients meet them."""

import base64
from typing import Any

import pytest

from tests.dialects.desk import Desk

TWO_LINES = b"one\ntwo \xff\n"


def chunk(offset: int, content: bytes, **more: Any) -> dict[str, Any]:
    return {"offset": offset, "content": base64.b64encode(content).decode(), **more}


def append(desk: Desk, job: str, offset: int, content: bytes, **more: Any) -> Any:
    return desk.client.post(f"/api/hpc/jobs/{job}/logs/stdout", chunk(offset, content, worker_id=desk.worker, **more))


def test_a_chunk_is_taken_and_read_again(desk: Desk) -> None:
    job = desk.job_in("STARTED")

    reply = append(desk, job, 0, TWO_LINES, epoch=1)

    assert (200, len(TWO_LINES), False) == (reply.status, reply.json["size_bytes"], reply.json["is_cut"])
    read = desk.client.get(f"/api/hpc/jobs/{job}/logs/stdout")
    assert (200, TWO_LINES, "application/octet-stream") == (read.status, read.body, read.headers["content-type"])
    assert ("0", "10", "1", "false") == tuple(
        read.headers[f"x-log-{name}"] for name in ("offset", "size", "attempt", "cut")
    )
    assert b"one" == desk.client.get(f"/api/hpc/jobs/{job}/logs/stdout?limit=3").body
    assert b"two" == desk.client.get(f"/api/hpc/jobs/{job}/logs/stdout?offset=4&limit=3").body
    assert b"two \xff\n" == desk.client.get(f"/api/hpc/jobs/{job}/logs/stdout?tail=1").body
    assert b"" == desk.client.get(f"/api/hpc/jobs/{job}/logs/stdout?offset=99").body


def test_a_gap_tells_where_to_go_on(desk: Desk) -> None:
    job = desk.job_in("STARTED")
    append(desk, job, 0, b"abc")

    gap, other = append(desk, job, 4, b"x"), append(desk, job, 1, b"x")

    assert (409, "log-gap", 3) == (gap.status, gap.kind, gap.json["offset"])
    assert (409, "log-differs", 3) == (other.status, other.kind, other.json["offset"])


def test_a_stale_epoch_is_fenced(desk: Desk) -> None:
    job = desk.job_in("STARTED")

    reply = append(desk, job, 0, b"abc", epoch=9)

    assert (409, "stale-lease", desk.worker) == (reply.status, reply.kind, reply.json["holder"])


def test_logs_are_listed_with_where_they_are_read(desk: Desk) -> None:
    job = desk.job_in("STARTED")
    append(desk, job, 0, b"abc")

    listed: Any = desk.client.get(f"/api/hpc/jobs/{job}/logs").json

    (item,) = listed["items"]
    assert ("stdout", 1, 3, True) == (item["stream"], item["attempt"], item["size_bytes"], item["is_kept"])
    assert b"abc" == desk.client.get(item["_links"]["content"]["href"]).body


def test_many_chunks_come_in_one_request(desk: Desk) -> None:
    job, other = desk.job_in("STARTED"), desk.job_in("STARTED")
    chunks = [
        chunk(0, b"abc", job_id=job, stream="stdout"),
        chunk(3, b"def", job_id=job, stream="stdout", epoch=1),
        chunk(0, b"err", job_id=other, stream="stderr"),
        chunk(7, b"x", job_id=other, stream="stderr"),
        chunk(0, b"x", job_id="nobody", stream="stderr"),
        chunk(0, b"x", job_id=job, stream="batch", worker_id="somebody-else"),
    ]

    reply: Any = desk.client.post(f"/api/hpc/workers/{desk.worker}/logs", {"chunks": chunks}).json

    assert [(200, 3), (200, 6), (200, 3), (409, 3), (404, None), (400, None)] == [
        (each["code"], each["offset"]) for each in reply["chunks"]
    ]
    assert b"abcdef" == desk.client.get(f"/api/hpc/jobs/{job}/logs/stdout").body


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("stdout", {"offset": 0}),
        ("stdout", {"offset": -1, "content": ""}),
        ("stdout", {"offset": 0, "content": "no base64!"}),
        ("stdout", {"offset": 0, "content": base64.b64encode(bytes(256 * 1024 + 1)).decode()}),
        ("..%2Fetc", chunk(0, b"x")),
        ("stdout", chunk(0, b"x", worker_id=None)),
    ],
)
def test_what_makes_no_sense_is_refused(desk: Desk, path: str, body: dict[str, Any]) -> None:
    job = desk.job_in("STARTED")

    reply = desk.client.post(f"/api/hpc/jobs/{job}/logs/{path}", body if "worker_id" in body else body | _by(desk))

    assert 400 == reply.status


def _by(desk: Desk) -> dict[str, str]:
    return {"worker_id": desk.worker}


@pytest.mark.parametrize("query", ["tail=0", "limit=0", "offset=-1", "limit=5000000", "attempt=0", "offset=x"])
def test_a_window_that_makes_no_sense_is_refused(desk: Desk, query: str) -> None:
    assert 400 == desk.client.get(f"/api/hpc/jobs/x/logs/stdout?{query}").status


def test_what_is_not_there_is_not_found(desk: Desk) -> None:
    job = desk.job_in("STARTED")
    for path in (f"{job}/logs/stdout", f"{job}/logs/stdout?attempt=7", "nobody/logs/stdout", "nobody/logs"):
        assert 404 == desk.client.get(f"/api/hpc/jobs/{path}").status


def test_a_worker_hears_which_of_its_jobs_somebody_follows(desk: Desk) -> None:
    job = desk.job_in("STARTED")

    answer: Any = desk.client.post(f"/api/hpc/workers/{desk.worker}/sync", {"holding": [job]}).json

    assert [] == answer["watched"]
