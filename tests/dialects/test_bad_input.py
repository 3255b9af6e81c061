"""Whatever is sent, the answer is a refusal that a person can act on, and never a failure of ours."""

import re
import socket

import msgspec
import pytest

from cableferry import dialects
from cableferry.testing.servers import Client, Headers, Running
from cableferry.wire import texts

JOBS = "/api/hpc/jobs"
DEEP = b"[" * 100_000 + b"]" * 100_000
HUGE = b"9" * 5000

BODIES = {
    "nothing": b"",
    "a list": b"[]",
    "null": b"null",
    "a string": b'"x"',
    "no json": b"hello",
    "half of it": b'{"processor":',
    "two documents": b'{"processor":"a"} {}',
    "invalid UTF-8": b'{"processor":"\xff\xfe"}',
    "invalid UTF-8 in parameters": b'{"processor":"a","parameters":{"a":"\xff"}}',
    "invalid UTF-8 in inputs": b'{"processor":"a","inputs":["\xff"]}',
    "a lone surrogate": b'{"processor":"\\ud800"}',
    "a lone surrogate in parameters": b'{"processor":"a","parameters":{"a":"\\ud800"}}',
    "a byte order mark": b'\xef\xbb\xbf{"processor":"a"}',
    "UTF-16": '{"processor":"a"}'.encode("utf-16"),
    "NaN": b'{"processor":"a","priority":NaN}',
    "NaN in parameters": b'{"processor":"a","parameters":{"a":NaN}}',
    "infinity": b'{"processor":"a","parameters":{"a":1e999}}',
    "a huge integer": b'{"processor":"a","priority":' + HUGE + b"}",
    "a huge integer in parameters": b'{"processor":"a","parameters":{"a":' + HUGE + b"}}",
    "too much priority": b'{"processor":"a","priority":1001}',
    "no time": b'{"processor":"a","timeout_seconds":0}',
    "too much time": b'{"processor":"a","timeout_seconds":99999999999}',
    "a deep body": DEEP,
    "a deep field that nobody knows": b'{"processor":"a","x":' + DEEP + b"}",
    "deep parameters": b'{"processor":"a","parameters":{"a":' + DEEP + b"}}",
    "rather deep parameters": b'{"processor":"a","parameters":{"a":' + b"[" * 70 + b"]" * 70 + b"}}",
    "deep inputs": b'{"processor":"a","inputs":' + DEEP + b"}",
    "deep inputs in a string": b'{"processor":"a","inputs":"' + b"[" * 5000 + b']"}',
    "no processor": b'{"profile":"a"}',
    "an empty processor": b'{"processor":""}',
    "a NUL": b'{"processor":"a\\u0000b"}',
    "a bare NUL": b'{"processor":"a\x00b"}',
    "a NUL in inputs": b'{"processor":"a","inputs":["\\u0000"]}',
    "a long processor": b'{"processor":"' + b"a" * 256 + b'"}',
    "a number for a name": b'{"processor":1}',
}


@pytest.mark.parametrize("content", BODIES.values(), ids=BODIES)
def test_a_body_that_makes_no_sense_is_refused(client: Client, content: bytes) -> None:
    reply = client.post(JOBS, content)

    assert (reply.status, reply.kind) == (400, "malformed")
    assert reply.json["detail"]


@pytest.mark.parametrize("content", BODIES.values(), ids=BODIES)
def test_nothing_of_a_refused_body_is_kept(client: Client, content: bytes) -> None:
    before = client.get(f"{JOBS}?status=ALL").json["total_count"]

    client.post(JOBS, content)

    assert client.get(f"{JOBS}?status=ALL").json["total_count"] == before


@pytest.mark.parametrize(
    "body",
    [
        {"status": "DONE"},
        {"status": "started"},
        {"status": ""},
        {"status": None},
        {"status": "FAILED", "progress": 1.5},
        {"status": "FAILED", "progress": -0.1},
        {"status": "FAILED", "phase": "x" * 101},
        {"status": "FAILED", "message": "x" * 501},
        {"status": "FAILED", "message": "a\0b"},
        {"status": "FAILED", "phase": "\0"},
        {"status": "FAILED", "detail": "\0"},
        {"status": "FAILED", "detail": "x" * 20_000},
        {"status": "FAILED", "worker_id": "a b"},
        {"status": "FAILED", "epoch": -1},
        {"status": "FAILED", "epoch": 2**64},
        {"status": "FAILED", "slurm_job_id": 5},
    ],
)
def test_a_report_that_makes_no_sense_is_refused(client: Client, body: object) -> None:
    assert client.post(f"{JOBS}/x/transition", body).status == 400


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"processor":"a\\nb"}', "processor is wrong: it must not hold line breaks"),
        (b'{"processor":"a","submit_user":"\\t"}', "submit_user is wrong: it must not hold line breaks"),
        (b'{"processor":"\\ud800"}', "half of a pair"),
        (b'{"processor":"a"', "ends too early"),
    ],
)
def test_a_refused_text_is_told_why_in_words(client: Client, content: bytes, told: str) -> None:
    assert told in str(client.post(JOBS, content).json["detail"])


def test_every_pattern_of_every_body_has_its_words() -> None:
    bodies = [endpoint.body for module in dialects.ROLL_CALL for endpoint in module.DIALECT.endpoints if endpoint.body]
    _, schemas = msgspec.json.schema_components(bodies)

    patterns = re.findall(r'"pattern":("(?:[^"\\\\]|\\\\.)*")', msgspec.json.encode(schemas).decode())

    assert {msgspec.json.decode(pattern) for pattern in patterns} == set(texts.SAID)


@pytest.mark.parametrize("name", [".", "..", "register"])
def test_a_worker_whose_own_link_would_be_dead_is_refused(client: Client, name: str) -> None:
    reply = client.post("/api/hpc/workers/register", {"worker_id": name})

    assert (reply.status, "must not be" in str(reply.json["detail"])) == (400, True)


@pytest.mark.parametrize(
    "body",
    [
        {"worker_id": ""},
        {"worker_id": "a/b"},
        {"worker_id": "a\0"},
        {"worker_id": "w", "capabilities": [{}]},
        {"worker_id": "w", "capabilities": {"processor": "p"}},
        {"worker_id": "w", "capabilities": [{"processor": "p", "max_concurrent_jobs": -1}]},
        {"worker_id": "w", "capabilities": [{"processor": "p"}] * 1001},
        {"worker_id": "w", "session": {"id": "x"}},
        {"worker_id": "w", "session": {"id": "12345678", "pid": 2**40}},
    ],
)
def test_a_registration_that_makes_no_sense_is_refused(client: Client, body: object) -> None:
    assert client.post("/api/hpc/workers/register", body).status == 400


@pytest.mark.parametrize(
    "body",
    [
        {"reports": [{"status": "FAILED"}]},
        {"reports": [{"job_id": "a\0", "status": "FAILED"}]},
        {"reports": [{"job_id": "", "status": "FAILED"}]},
        {"holding": ["\0"]},
        {"holding": "all"},
        {"claim": -1},
        {"claim": 1001},
        {"reports": [{"job_id": "a", "status": "FAILED"}] * 1001},
    ],
)
def test_a_sync_that_makes_no_sense_is_refused(client: Client, body: object) -> None:
    assert client.post("/api/hpc/workers/w/sync", body).status == 400


@pytest.mark.parametrize(
    "query",
    [
        "limit=-1",
        "limit=0",
        "limit=abc",
        "limit=",
        "limit=1.5",
        f"limit={HUGE.decode()}",
        "offset=-1",
        f"offset={2**64}",
        "status=DONE",
        "status=",
        "processor=",
        "processor=%00",
        "processor=%ff",
        f"processor={'a' * 256}",
        "limit=1&limit=2",
        "status=PENDING&status=CLAIMED",
        "&".join(f"a{n}=1" for n in range(60)),
        "wait=-1",
        "wait=soon",
        "wait=",
        "wait=1&wait=2",
    ],
)
def test_a_query_that_makes_no_sense_is_refused(client: Client, query: str) -> None:
    assert client.get(f"{JOBS}?{query}").status == 400


@pytest.mark.parametrize("limit", ["1000000", "1001", "99999999"])
def test_more_than_a_page_is_a_page(client: Client, limit: str) -> None:
    assert client.get(f"{JOBS}?limit={limit}").json["limit"] == 1000


def test_what_a_query_says_beyond_what_is_asked_is_ignored(client: Client) -> None:
    assert client.get(f"{JOBS}?colour=blue").status == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "multipart/form-data", "application/json; charset=latin-1", "json"]
)
def test_a_body_that_says_it_is_no_json_is_refused(client: Client, kind: str) -> None:
    reply = client.post(JOBS, {"processor": "p"}, {"Content-Type": kind})

    assert (reply.status, reply.kind) == (400, "bad-header")


@pytest.mark.parametrize("kind", [None, "application/json; charset=utf-8", "Application/JSON; Charset=UTF-8"])
def test_a_body_is_json_in_utf_8_also_when_nothing_says_so(client: Client, kind: str | None) -> None:
    assert client.post(JOBS, {"processor": "p"}, {"Content-Type": kind}).status == 201


def test_a_body_where_none_belongs_is_ignored(client: Client) -> None:
    assert client.call("GET", JOBS, b"what is this").status == 200


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "ä"])
def test_an_idempotency_key_that_is_none_is_refused(client: Client, key: str) -> None:
    reply = client.post(JOBS, {"processor": "p"}, {"Idempotency-Key": key})

    assert (reply.status, reply.kind) == (400, "bad-header")


def test_a_body_that_says_it_is_too_large_is_not_read(seed_server: Running) -> None:
    head = _head("POST", JOBS, {"Content-Length": str(100 * 1024 * 1024)})

    answer = _exchange(seed_server, head)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"urn:cableferry:problem:too-large" in answer


@pytest.mark.parametrize("size", ["1" + "0" * 40, "-1", "abc"])
def test_a_length_that_is_none_is_refused(seed_server: Running, size: str) -> None:
    answer = _exchange(seed_server, _head("POST", JOBS, {"Content-Length": size}))

    assert answer.split(b" ")[1] in (b"400", b"413")


def test_a_body_that_grows_too_large_is_refused_while_it_comes(client: Client) -> None:
    piece = b" " * (1024 * 1024)
    begun = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for _ in range(11))
    head = _head("POST", JOBS, {"Transfer-Encoding": "chunked"})

    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
        connection.sendall(head + begun)
        answer = connection.recv(65536)

    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_client_that_sends_a_hundred_megabytes_before_it_listens_hears_the_refusal(client: Client) -> None:
    reply = client.post(JOBS, bytes(100 * 1024 * 1024))

    assert (reply.status, reply.kind) == (413, "too-large")


def test_a_large_body_within_the_limit_is_read(client: Client) -> None:
    body = {"processor": "p", "parameters": {"text": "x" * 5_000_000}}

    assert client.post(JOBS, body).status == 201


@pytest.mark.parametrize(("count", "size"), [(10_000, 400), (200, 400), (10_000, 1), (300, 1)])
def test_too_many_headers_are_refused(seed_server: Running, count: int, size: int) -> None:
    many: Headers = {f"X{n}": "x" * size for n in range(count)}

    answer = _exchange(seed_server, _head("GET", JOBS, many))

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"send fewer" in answer


def test_a_request_that_names_no_host_is_refused(seed_server: Running) -> None:
    answer = _exchange(seed_server, _head("GET", JOBS, {}).replace(b"Host: x\r\n", b""))

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"Host" in answer


def test_the_oldest_http_needs_no_host(seed_server: Running) -> None:
    head = _head("GET", JOBS, {}).replace(b"Host: x\r\n", b"").replace(b"HTTP/1.1", b"HTTP/1.0")

    assert _exchange(seed_server, head).split(b" ")[1] == b"200"


@pytest.mark.parametrize(
    ("version", "coding"), [("1.1", "gzip, chunked"), ("1.1", "chunked, chunked"), ("1.0", "chunked")]
)
def test_a_body_in_a_coding_that_is_not_undone_is_refused(seed_server: Running, version: str, coding: str) -> None:
    head = _head("POST", JOBS, {"Transfer-Encoding": coding}).replace(b"HTTP/1.1", f"HTTP/{version}".encode())

    answer = _exchange(seed_server, head + b'11\r\n{"processor":"p"}\r\n0\r\n\r\n')

    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("coding", ["gzip", "br", "x"])
def test_a_packed_body_is_refused_by_its_header(client: Client, coding: str) -> None:
    reply = client.post(JOBS, {"processor": "p"}, {"Content-Encoding": coding})

    assert (reply.status, reply.json["header"]) == (400, "Content-Encoding")


def test_a_body_that_says_it_is_not_packed_is_read(client: Client) -> None:
    assert client.post(JOBS, {"processor": "p"}, {"Content-Encoding": "identity"}).status == 201


@pytest.mark.parametrize(
    "name",
    [
        "X-Request-Id",
        "X-Timestamp",
        "X-EMX2-API-Version",
        "X-Worker-Id",
        "Authorization",
        "X-Nonce",
        "Content-Type",
        "Host",
    ],
)
def test_a_header_that_says_one_thing_twice_is_refused(seed_server: Running, name: str) -> None:
    head = _head("GET", JOBS, {name: "a"}).removesuffix(b"\r\n") + f"{name}: b\r\n\r\n".encode()

    assert _exchange(seed_server, head).split(b" ")[1] == b"400"


@pytest.mark.parametrize(
    "line",
    [
        b"GET /api/hpc/jobs/\xff\xfe HTTP/1.1",
        b"GET  HTTP/1.1",
        b"\x00\x01\x02",
        b"GET / HTTP/9.9",
        b"HELLO",
        b"BREW / HTTP/1.1",
    ],
)
def test_what_is_no_http_gets_a_clean_answer(seed_server: Running, line: bytes) -> None:
    answer = _exchange(seed_server, line + b"\r\nHost: x\r\n\r\n")

    assert answer.split(b" ")[1] in (b"400", b"404", b"405", b"505")


@pytest.mark.parametrize("path", ["/api/hpc/jobs/%ff", "/api/hpc/jobs/a%00b", "/api/hpc/workers/%ff"])
def test_a_path_that_is_no_text_is_refused(client: Client, path: str) -> None:
    assert client.get(path).status == 400


@pytest.mark.parametrize(
    "path", ["/api/hpc/jobs/..%2f..%2fetc%2fpasswd", "/api/hpc/jobs/%2e%2e", f"{JOBS}/{'a' * 5000}"]
)
def test_a_path_with_odd_letters_is_just_not_found(client: Client, path: str) -> None:
    assert client.get(path).status == 404


def _head(method: str, path: str, headers: Headers) -> bytes:
    usual = {
        "Host": "x",
        "X-EMX2-API-Version": "2025-01",
        "X-Request-Id": "00000000-0000-4000-8000-000000000000",
        "X-Timestamp": "1735689600",
    }
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in {**usual, **headers}.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _exchange(server: Running, content: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(content)
        return connection.recv(65536)


def test_a_problem_document_is_what_the_wire_says(client: Client) -> None:
    reply = client.post(JOBS, b"{")

    assert msgspec.json.decode(reply.body)["status"] == 400
