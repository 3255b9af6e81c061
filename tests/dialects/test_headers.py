"""The headers that every request carries, and those that every answer does."""

import re
import time
import uuid

import pytest

from cableferry.testing.servers import Client, Headers
from tests.dialects.desk import Desk

JOBS = "/api/hpc/jobs"


@pytest.mark.parametrize("name", ["X-EMX2-API-Version", "X-Request-Id", "X-Timestamp"])
@pytest.mark.parametrize(("method", "path"), [("GET", JOBS), ("POST", JOBS), ("POST", "/api/hpc/workers/register")])
def test_a_request_without_a_protocol_header_is_refused(client: Client, name: str, method: str, path: str) -> None:
    reply = client.call(method, path, {}, {name: None})

    assert (reply.status, reply.kind, reply.json["header"]) == (400, "missing-header", name)


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ({"X-EMX2-API-Version": "2024-01"}, "unsupported-version"),
        ({"X-EMX2-API-Version": ""}, "unsupported-version"),
        ({"X-Request-Id": "7"}, "bad-header"),
        ({"X-Request-Id": "{00000000-0000-4000-8000-000000000000}"}, "bad-header"),
        ({"X-Timestamp": "yesterday"}, "bad-header"),
        ({"X-Timestamp": "-1"}, "bad-header"),
        ({"X-Timestamp": "9" * 400}, "bad-header"),
        ({"X-Worker-Id": "a\tb"}, "bad-header"),
        ({"X-Worker-Id": "w" * 256}, "bad-header"),
    ],
)
def test_a_protocol_header_that_makes_no_sense_is_refused(client: Client, headers: Headers, kind: str) -> None:
    reply = client.get(JOBS, headers)

    assert (reply.status, reply.kind) == (400, kind)


def test_an_unsupported_version_is_told_which_are(client: Client) -> None:
    assert "2025-01" in str(client.get(JOBS, {"X-EMX2-API-Version": "1"}).json["detail"])


@pytest.mark.parametrize("make", [uuid.uuid1, uuid.uuid4, lambda: uuid.uuid3(uuid.NAMESPACE_DNS, "a")])
def test_a_request_id_is_a_uuid_of_any_version_and_comes_back(client: Client, make: object) -> None:
    request_id = str(make())  # type: ignore[operator]  # each of them takes nothing

    assert client.get(JOBS, {"X-Request-Id": request_id}).headers["x-request-id"] == request_id


@pytest.mark.parametrize("moment", ["1735689600", "2026-02-21T10:00:00Z", "2026-02-21T10:00:00.123+01:00"])
def test_a_timestamp_is_unix_seconds_or_iso(client: Client, moment: str) -> None:
    assert client.get(JOBS, {"X-Timestamp": moment}).status == 200


def test_a_refusal_is_a_problem_document_that_names_the_request(client: Client) -> None:
    request_id = str(uuid.uuid4())

    reply = client.get(f"{JOBS}/nothing", {"X-Request-Id": request_id})

    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json == {
        "type": "urn:cableferry:problem:unknown-job",
        "title": "Not Found",
        "status": 404,
        "detail": "there is no job nothing",
        "instance": f"urn:request:{request_id}",
        "request_id": request_id,
    }


def test_a_refusal_of_the_headers_names_the_request_too(client: Client) -> None:
    request_id = str(uuid.uuid4())

    reply = client.get(JOBS, {"X-Request-Id": request_id, "X-Timestamp": None})

    assert reply.json["request_id"] == request_id


@pytest.mark.parametrize(
    "path", [JOBS, "/api/hpc/nothing", "/", "/ui/jobs", "/nothing", "/api/hpc/jobs/", "/metrics", "/api/hpc/docs"]
)
def test_every_answer_can_be_traced(client: Client, path: str) -> None:
    assert client.get(path).headers["x-trace-id"]


def test_a_trace_id_comes_back(client: Client) -> None:
    assert client.get(JOBS, {"X-Trace-Id": "job-7"}).headers["x-trace-id"] == "job-7"


def test_a_w3c_trace_becomes_the_trace_id(client: Client) -> None:
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    reply = client.get(JOBS, {"traceparent": parent})

    assert reply.headers["x-trace-id"] == "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"


@pytest.mark.parametrize("nonsense", ["", "a b", "x" * 129])
def test_a_trace_that_makes_no_sense_is_replaced(client: Client, nonsense: str) -> None:
    reply = client.get(JOBS, {"X-Trace-Id": nonsense})

    assert re.fullmatch(r"[0-9a-f-]{36}", reply.headers["x-trace-id"])


@pytest.mark.parametrize(
    "nonsense",
    [
        "00-zz-00-01",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ],
    ids=["no trace at all", "no trace", "no span", "no version"],
)
def test_a_w3c_trace_that_is_none_is_replaced(client: Client, nonsense: str) -> None:
    found = client.get(JOBS, {"traceparent": nonsense}).headers["x-trace-id"]

    assert found not in (str(uuid.UUID(int=0)), "4bf92f35-77b3-4da6-a3ce-929d0e0e4736")


@pytest.mark.parametrize(("method", "path"), [("GET", "/nothing"), ("POST", "/api"), ("GET", "/api/hpc/jobs/a/b/c")])
def test_an_unknown_route_is_a_problem_too(client: Client, method: str, path: str) -> None:
    reply = client.call(method, path)

    assert (reply.status, reply.kind) == (404, "unknown-route")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_wrong_method_is_told_the_right_ones(client: Client, method: str) -> None:
    reply = client.call(method, JOBS)

    assert (reply.status, reply.kind, reply.headers["allow"]) == (405, "wrong-method", "GET, HEAD, POST")


def test_health_asks_for_nothing(client: Client) -> None:
    nothing = dict.fromkeys(("X-EMX2-API-Version", "X-Request-Id", "X-Timestamp", "Content-Type"))

    reply = client.get("/api/hpc/health", nothing)

    assert reply.status == 200
    assert {"status", "api_version", "database"} <= set(reply.json)


def test_head_is_get_without_the_body(client: Client) -> None:
    reply = client.call("HEAD", JOBS)

    assert (reply.status, reply.body) == (200, b"")


def test_a_job_has_an_etag_that_changes_with_it(desk: Desk) -> None:
    job = desk.job_in("CLAIMED")
    etag = desk.client.get(f"{JOBS}/{job}").headers["etag"]

    same = desk.client.get(f"{JOBS}/{job}", {"If-None-Match": etag})
    desk.report(job, "SUBMITTED")
    changed = desk.client.get(f"{JOBS}/{job}", {"If-None-Match": etag})

    assert (same.status, same.body, same.headers["etag"]) == (304, b"", etag)
    assert changed.status == 200


@pytest.mark.parametrize("known", ['W/"1"', '"0", "1"', '"0",W/"1"', "*"], ids=["weak", "list", "weak list", "any"])
def test_what_a_proxy_makes_of_an_etag_is_the_same_etag(desk: Desk, known: str) -> None:
    job = desk.job_in("PENDING")

    assert desk.client.get(f"{JOBS}/{job}", {"If-None-Match": known}).status == 304


def test_an_old_timestamp_is_no_matter_without_a_signature(client: Client) -> None:
    assert client.get(JOBS, {"X-Timestamp": str(int(time.time()) - 10**6)}).status == 200
