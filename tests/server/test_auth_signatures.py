"""Signed requests against a real server: what is let in, what is refused, and that once is once."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cableferry.core.access import Role
from cableferry.server.settings import AuthSection, Secret
from cableferry.store import credentials as rows
from cableferry.testing import stores
from cableferry.testing.postgres import Cluster
from tests.server.serving import Server, bearer, encoded, issued, serving, settings, signed, token

JOBS = "/api/hpc/jobs"
SHARED = "the shared secret of all who have none"
HEARTBEAT = "/api/hpc/workers/w1/heartbeat"
AUTH = AuthSection(shared_secret=Secret(SHARED))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(settings(tmp_path, AUTH)) as running:
        yield running


def test_a_signed_request_is_let_in(server: Server) -> None:
    secret = issued(server)
    body = b'{"processor": "embed"}'

    assert server.call("POST", JOBS, body, signed(secret, "POST", JOBS, body)).status == 201
    assert server.call("GET", JOBS, headers=signed(secret, "GET", JOBS)).json["total_count"] == 1


def test_a_worker_without_a_credential_signs_with_the_shared_secret(server: Server) -> None:
    assert server.call("GET", JOBS, headers=signed(SHARED, "GET", JOBS)).status == 200
    assert server.call("GET", JOBS, headers=signed(SHARED, "GET", JOBS, worker=None)).status == 200


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/api/hpc/workers/register", b'{"worker_id": "w1"}'),
        (HEARTBEAT, b""),
        ("/api/hpc/workers/%771/sync", b"{}"),
    ],
)
def test_without_the_header_the_path_or_the_body_says_who_signed(server: Server, target: str, body: bytes) -> None:
    secret = issued(server)
    server.call("POST", "/api/hpc/workers/register", b'{"worker_id": "w1"}', bearer(token(server, Role.MANAGER)))

    headers = signed(secret, "POST", target, body, worker=None)

    assert server.call("POST", target, body, headers).status == 200
    assert server.call("POST", target, body, headers).kind == "replayed"


def test_without_the_header_a_token_may_be_of_the_worker_in_the_body(server: Server) -> None:
    reply = server.call(
        "POST", "/api/hpc/workers/register", b'{"worker_id": "w1"}', {"x-molgenis-token": issued(server)}
    )

    assert (reply.status, reply.json["worker_id"]) == (200, "w1")


@pytest.mark.parametrize("body", [b'{"worker_id": "w2"}', b'{"worker_id": 1}', b"{", b"\xff", b"[" * 100_000, b""])
def test_a_signature_of_nobody_named_is_refused_and_told_what_is_missing(server: Server, body: bytes) -> None:
    secret, target = issued(server), "/api/hpc/workers/register"

    reply = server.call("POST", target, body, signed(secret, "POST", target, body, worker=None))

    assert (reply.status, reply.kind) == (401, "bad-signature")
    assert "send X-Worker-Id" in reply.json["detail"]


def test_whoever_signs_for_the_path_speaks_for_no_other_worker(server: Server) -> None:
    secret, target = issued(server), "/api/hpc/jobs/claim"
    issued(server, "w2")
    body = b'{"worker_id": "w2"}'

    assert server.call("POST", target, body, signed(secret, "POST", target, body, worker=None)).status == 401


@pytest.mark.parametrize(
    ("sent", "written"),
    [
        (f"{JOBS}?status=PENDING&processor=a%20b", f"{JOBS}?status=PENDING&processor=a b"),
        (f"{JOBS}?processor=caf%C3%A9", f"{JOBS}?processor=café"),
        (f"{JOBS}?processor=a%20b", f"{JOBS}?processor=a%20b"),
    ],
)
def test_a_target_is_signed_as_written_or_as_sent(server: Server, sent: str, written: str) -> None:
    assert server.call("GET", sent, headers=signed(SHARED, "GET", written)).status == 200


def test_the_query_is_part_of_what_is_signed(server: Server) -> None:
    reply = server.call("GET", f"{JOBS}?status=PENDING", headers=signed(SHARED, "GET", JOBS))

    assert (reply.status, reply.kind) == (401, "bad-signature")


@pytest.mark.parametrize("change", ["method", "body", "timestamp", "nonce", "worker", "signature"])
def test_nothing_signed_can_be_changed(server: Server, change: str) -> None:
    secret = issued(server)
    body = b'{"processor": "embed"}'
    headers = signed(secret, "POST", JOBS, body)
    match change:
        case "body":
            body += b" "
        case "timestamp":
            headers["X-Timestamp"] = str(int(headers["X-Timestamp"]) + 1)
        case "nonce":
            headers["X-Nonce"] += "x"
        case "worker":
            headers["X-Worker-Id"] = "w2"
        case "signature":
            headers["Authorization"] = headers["Authorization"].upper()
    reply = server.call("PUT" if change == "method" else "POST", JOBS, body, headers)

    expected = 405 if change == "method" else 401
    assert reply.status == expected
    if expected == 401:
        assert reply.kind in ("bad-signature", "unauthenticated")


def test_a_refusal_does_not_tell_which_workers_exist(server: Server) -> None:
    issued(server)
    wrong = "not the secret of anybody at all, ever"

    known = server.call("GET", JOBS, headers=signed(wrong, "GET", JOBS))
    unknown = server.call("GET", JOBS, headers=signed(wrong, "GET", JOBS, worker="w99"))

    def without_ids(body: dict[str, object]) -> dict[str, object]:
        return {name: value for name, value in body.items() if name not in ("instance", "request_id")}

    assert known.status == unknown.status == 401
    assert without_ids(known.json) == without_ids(unknown.json)
    assert known.headers["www-authenticate"]


@pytest.mark.parametrize(("seconds", "word"), [(-400, "behind"), (400, "ahead of")])
def test_a_wrong_clock_is_told_how_wrong_it_is(server: Server, seconds: int, word: str) -> None:
    sent = str(int(time.time()) + seconds)

    reply = server.call("GET", JOBS, headers=signed(SHARED, "GET", JOBS, timestamp=sent))

    assert (reply.status, reply.kind) == (401, "clock-skew")
    assert word in reply.json["detail"]
    assert reply.json["skew_seconds"] == pytest.approx(seconds, abs=20)
    told = datetime.fromisoformat(reply.json["server_time"])
    assert abs(told - datetime.now(UTC)) < timedelta(seconds=20)


def test_a_wrong_clock_is_told_only_to_whoever_signed(server: Server) -> None:
    headers = signed("x" * 40, "GET", JOBS, timestamp="1")

    assert server.call("GET", JOBS, headers=headers).kind == "bad-signature"


def test_an_iso_timestamp_is_as_good(server: Server) -> None:
    sent = datetime.now(UTC).isoformat().replace("+00:00", "Z")

    assert server.call("GET", JOBS, headers=signed(SHARED, "GET", JOBS, timestamp=sent)).status == 200


@pytest.mark.parametrize("nonce", ["", "a b", "x" * 129])
def test_a_nonce_is_required_and_short(server: Server, nonce: str) -> None:
    reply = server.call("GET", JOBS, headers=signed(SHARED, "GET", JOBS, nonce=nonce))

    assert (reply.status, reply.kind) == (401, "unauthenticated")
    assert "X-Nonce" in reply.json["detail"]


@pytest.mark.parametrize(("method", "body"), [("GET", b""), ("POST", b'{"processor": "embed"}')])
def test_a_captured_request_counts_once(server: Server, method: str, body: bytes) -> None:
    headers = signed(SHARED, method, JOBS, body)
    assert server.call(method, JOBS, body, headers).status < 300

    again = server.call(method, JOBS, body, headers)

    assert (again.status, again.kind) == (401, "replayed")


def test_a_refused_request_is_not_repeated_either(server: Server) -> None:
    target = f"{JOBS}/unknown/claim"
    headers = signed(SHARED, "POST", target, b"{}")
    assert server.call("POST", target, b"{}", headers).status in (404, 409)

    assert server.call("POST", target, b"{}", headers).kind == "replayed"


def test_a_captured_request_is_refused_after_a_restart(tmp_path: Path) -> None:
    wanted = settings(tmp_path, AUTH)
    headers = signed(SHARED, "GET", JOBS)
    with serving(wanted) as first:
        assert first.call("GET", JOBS, headers=headers).status == 200

    with serving(wanted) as second:
        assert second.call("GET", JOBS, headers=headers).kind == "replayed"


@pytest.mark.postgres
def test_a_captured_request_is_refused_by_another_process(tmp_path: Path, postgres_cluster: Cluster) -> None:
    wanted = settings(tmp_path, AUTH)
    headers = signed(SHARED, "GET", JOBS)
    with (
        stores.database(postgres_cluster) as url,
        serving(wanted, url) as first,
        serving(wanted, url) as second,
    ):
        assert first.call("GET", JOBS, headers=headers).status == 200

        assert second.call("GET", JOBS, headers=headers).kind == "replayed"


@pytest.mark.postgres
def test_a_revocation_counts_at_once_in_another_process(tmp_path: Path, postgres_cluster: Cluster) -> None:
    wanted = settings(tmp_path, AUTH)
    with (
        stores.database(postgres_cluster) as url,
        serving(wanted, url) as first,
        serving(wanted, url) as second,
    ):
        secret = issued(first)
        assert second.call("GET", JOBS, headers=signed(secret, "GET", JOBS)).status == 200
        [credential] = first.store.read(lambda tx: rows.of_worker(tx, "w1"))

        first.store.write(lambda tx: rows.revoke(tx, credential.id, tx.now))

        assert second.call("GET", JOBS, headers=signed(secret, "GET", JOBS)).kind == "bad-signature"


@pytest.mark.postgres
def test_the_shared_secret_ends_in_another_process_too(tmp_path: Path, postgres_cluster: Cluster) -> None:
    wanted = settings(tmp_path, AUTH)
    token_mode = {"x-molgenis-token": SHARED, "X-Worker-Id": "w1"}
    with (
        stores.database(postgres_cluster) as url,
        serving(wanted, url) as first,
        serving(wanted, url) as second,
    ):
        assert second.call("GET", JOBS, headers=signed(SHARED, "GET", JOBS)).status == 200

        issued(first)

        assert second.call("GET", JOBS, headers=signed(SHARED, "GET", JOBS)).kind == "bad-signature"
        assert second.call("GET", JOBS, headers=token_mode).status == 401


def test_the_shared_secret_ends_with_the_first_own_credential(server: Server) -> None:
    assert server.call("GET", JOBS, headers=signed(SHARED, "GET", JOBS)).status == 200
    issued(server)

    assert server.call("GET", JOBS, headers=signed(SHARED, "GET", JOBS)).kind == "bad-signature"
    assert server.call("GET", JOBS, headers=signed(SHARED, "GET", JOBS, worker="w2")).status == 200


def test_the_shared_secret_does_not_speak_for_that_worker_without_naming_it_either(server: Server) -> None:
    issued(server)
    headers = signed(SHARED, "POST", HEARTBEAT, worker=None)

    reply = server.call("POST", HEARTBEAT, headers=headers)

    assert (reply.status, reply.kind) == (403, "not-yours")


def test_a_worker_does_not_speak_for_another(server: Server) -> None:
    secret = issued(server, "w2")
    headers = signed(secret, "POST", HEARTBEAT, worker="w2")

    assert server.call("POST", HEARTBEAT, headers=headers).status == 400


def test_a_credential_does_not_manage_credentials(server: Server) -> None:
    secret = issued(server)
    target = "/api/hpc/workers/w1/credentials/rotate"

    assert server.call("POST", target, b"{}", signed(secret, "POST", target, b"{}")).status == 403


def test_a_manager_issues_rotates_revokes_and_lists(server: Server) -> None:
    headers = bearer(token(server, Role.MANAGER))
    folder = "/api/hpc/workers/w7/credentials"
    first = server.call("POST", f"{folder}/issue", encoded({"label": "rack"}), headers)
    second = server.call("POST", f"{folder}/issue", headers=headers)
    rotated = server.call("POST", f"{folder}/rotate", headers=headers)
    revoked = server.call("POST", f"{folder}/{rotated.json['id']}/revoke", headers=headers)
    listed = server.call("GET", folder, headers=headers)

    assert (first.status, second.status, rotated.status, revoked.status) == (201, 409, 200, 200)
    assert first.headers["cache-control"] == "no-store"
    assert set(first.json) == {
        "id", "worker_id", "status", "label", "created_at", "expires_at", "secret", "_links"
    }  # fmt: skip
    assert set(revoked.json) == set(listed.json["items"][0]) == {
        "id", "worker_id", "status", "label", "created_at", "created_by", "last_used_at", "revoked_at", "expires_at"
    }  # fmt: skip
    assert [item["status"] for item in listed.json["items"]] == ["REVOKED", "REVOKED"]
    assert (listed.json["count"], revoked.json["created_by"]) == (2, "user:manager")


def test_after_a_rotation_only_the_new_secret_signs(server: Server) -> None:
    headers = bearer(token(server, Role.MANAGER))
    old = issued(server)
    assert server.call("GET", JOBS, headers=signed(old, "GET", JOBS)).status == 200

    new = server.call("POST", "/api/hpc/workers/w1/credentials/rotate", headers=headers).json["secret"]

    assert server.call("GET", JOBS, headers=signed(old, "GET", JOBS)).kind == "bad-signature"
    assert server.call("GET", JOBS, headers=signed(new, "GET", JOBS)).status == 200


def test_within_the_grace_both_secrets_sign(server: Server) -> None:
    headers = bearer(token(server, Role.MANAGER))
    old = issued(server)
    body = encoded({"grace_seconds": 600})

    new = server.call("POST", "/api/hpc/workers/w1/credentials/rotate", body, headers).json["secret"]

    assert server.call("GET", JOBS, headers=signed(old, "GET", JOBS)).status == 200
    assert server.call("GET", JOBS, headers=signed(new, "GET", JOBS)).status == 200


@pytest.mark.parametrize(
    "body",
    [b'{"expires_at": "soon"}', b'{"expires_at": "2001-01-01T00:00:00Z"}', b'{"label": 7}', b'{"grace_seconds": -1}'],
)
def test_a_wish_for_a_credential_that_makes_no_sense_is_refused(server: Server, body: bytes) -> None:
    headers = bearer(token(server, Role.MANAGER))

    assert server.call("POST", "/api/hpc/workers/w1/credentials/rotate", body, headers).status == 400


def test_the_use_of_a_credential_is_noted(server: Server) -> None:
    secret = issued(server)

    server.call("GET", JOBS, headers=signed(secret, "GET", JOBS))

    [credential] = server.store.read(lambda tx: rows.of_worker(tx, "w1"))
    assert credential.last_used_at is not None


def test_a_repeated_wish_gets_the_same_secret_which_is_stored_sealed(server: Server) -> None:
    headers = bearer(token(server, Role.MANAGER)) | {"Idempotency-Key": "once"}
    target = "/api/hpc/workers/w1/credentials/issue"

    first, again = (server.call("POST", target, headers=headers) for _ in range(2))

    assert (first.status, first.body) == (again.status, again.body)
    files = server.settings.database.data_dir.glob("cableferry.db*")
    assert not any(first.json["secret"].encode() in file.read_bytes() for file in files)


def test_token_mode_carries_the_secret_itself(server: Server) -> None:
    secret = issued(server)

    def status(token: str, worker: str) -> int:
        return server.call("GET", JOBS, headers={"x-molgenis-token": token, "X-Worker-Id": worker}).status

    assert (status(secret, "w1"), status(secret, "w2"), status(SHARED, "w2"), status(SHARED, "w1")) == (
        200, 401, 200, 401
    )  # fmt: skip


def test_in_token_mode_a_revocation_counts_at_once(server: Server) -> None:
    headers = {"x-molgenis-token": issued(server), "X-Worker-Id": "w1"}
    assert server.call("GET", JOBS, headers=headers).status == 200
    [credential] = server.store.read(lambda tx: rows.of_worker(tx, "w1"))

    server.store.write(lambda tx: rows.revoke(tx, credential.id, tx.now))

    assert server.call("GET", JOBS, headers=headers).status == 401


@pytest.mark.parametrize("value", ["", "Basic YTpi", "HMAC-SHA256", "HMAC-SHA256 ", "Bearer", "Bearer x.y.z", "ä"])
def test_any_other_authorization_is_refused(server: Server, value: str) -> None:
    reply = server.call("GET", JOBS, headers={"Authorization": value, "X-Nonce": "n"})

    assert reply.status == 401


def test_health_asks_nobody(server: Server) -> None:
    assert server.call("GET", "/api/hpc/health").status == 200


def test_no_credentials_at_all_are_told_what_to_send(server: Server) -> None:
    reply = server.call("GET", JOBS)

    assert (reply.status, reply.kind) == (401, "unauthenticated")
    assert "HMAC-SHA256" in reply.json["detail"]
