"""Users against a real server: signing in, cookies, CSRF, tokens, throttling, and what each role may do."""

import hashlib
import http.client
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from cableferry import dialects
from cableferry.core.access import Role
from cableferry.dialects.endpoint import Endpoint
from cableferry.engine import users
from cableferry.server.passwords import Passwords
from cableferry.server.settings import AuthSection, OpevaSection, Secret
from cableferry.store.tx import statement
from cableferry.testing import stores
from tests.server.serving import Reply, Server, bearer, encoded, protocol, serving, settings, signed, token

PASSWORD = "the ferry leaves at dawn"
SHARED = "the shared secret of all who have none"
JOBS = "/api/hpc/jobs"
_KEPT = statement("kept", "SELECT request FROM answers")
HASHED = Passwords().hash("ann", PASSWORD)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Its database's time stands still, so that no wait ends within a test, however slow the machine."""
    wanted = settings(tmp_path, AuthSection(shared_secret=Secret(SHARED), login_attempts=3))
    started = stores.wall_clock()
    with serving(wanted, clock=lambda: started) as running:
        running.store.write(lambda tx: users.create_first(tx, "ann", HASHED))
        yield running


@pytest.fixture
def whole_server(tmp_path: Path) -> Iterator[Server]:
    """With every contract that there is."""
    wanted = settings(tmp_path, AuthSection(shared_secret=Secret(SHARED)))
    shared = OpevaSection(shared_data=tmp_path / "shared")
    with serving(msgspec.structs.replace(wanted, opeva=shared)) as running:
        yield running


def login(server: Server, name: str = "ann", password: str = PASSWORD, **headers: str) -> Reply:
    return server.call("POST", "/api/ui/login", encoded({"name": name, "password": password}), headers)


def browser(reply: Reply) -> dict[str, str]:
    """What a browser and its page send after signing in."""
    return {"Cookie": reply.headers["set-cookie"].partition(";")[0], "X-CSRF-Token": reply.json["csrf_token"]}


def test_signing_in_sets_a_cookie_out_of_reach_of_scripts(server: Server) -> None:
    reply = login(server)

    assert (reply.status, reply.json["name"], reply.json["role"]) == (200, "ann", "Owner")
    name, *rest = (part.strip() for part in reply.headers["set-cookie"].split(";"))
    assert name.startswith("cableferry_session=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(rest)


def test_a_password_is_not_to_be_guessed_from_what_is_kept_of_a_repeated_sign_in(server: Server) -> None:
    body = encoded({"name": "ann", "password": PASSWORD})
    known = hashlib.sha256(b"POST\n/api/ui/login\n" + body).digest()

    replies = [server.call("POST", "/api/ui/login", body, {"Idempotency-Key": "k"}) for _ in range(2)]

    assert [reply.status for reply in replies] == [200, 200]
    assert replies[1].headers["idempotent-replayed"] == "true"
    kept = server.store.read(lambda tx: tx.all(_KEPT))
    assert [known] != [request for (request,) in kept]


def test_every_endpoint_that_takes_a_password_keeps_its_secret() -> None:
    asked = [each for module in dialects.ROLL_CALL for each in module.DIALECT.endpoints if each.body is not None]
    takers = [each for each in asked if "password" in _fields(each.body)]

    assert [] == [each.path for each in takers if not each.keeps_secret]
    assert takers


def _fields(body: Any) -> set[str]:
    """Of the body, or of each that it may be."""
    return {name for kind in get_args(body) or (body,) for name in getattr(kind, "__struct_fields__", ())}


def test_whoever_is_signed_in_is_known(server: Server) -> None:
    headers = browser(login(server))

    me = server.call("GET", "/api/ui/me", headers=headers)

    assert (me.json["name"], me.json["csrf_token"]) == ("ann", headers["X-CSRF-Token"])
    assert server.call("GET", JOBS, headers=headers).status == 200


@pytest.mark.parametrize(("name", "password"), [("ann", "wrong"), ("nobody", PASSWORD), ("ä\x00'", "x")])
def test_a_wrong_name_and_a_wrong_password_are_one_answer(server: Server, name: str, password: str) -> None:
    reply = login(server, name, password)

    assert (reply.status, reply.json["detail"]) == (401, "the name or the password is wrong")
    assert "set-cookie" not in reply.headers


def test_a_user_without_a_password_does_not_sign_in(server: Server) -> None:
    server.store.write(lambda tx: users.create(tx, "robot", Role.EDITOR, None))

    assert login(server, "robot", "").status == 400
    assert login(server, "robot", "nobody has this password").status == 401


@pytest.mark.parametrize("token", [None, "", "wrong"])
def test_a_page_that_does_not_know_the_csrf_token_changes_nothing(server: Server, token: str | None) -> None:
    headers = browser(login(server))
    del headers["X-CSRF-Token"]
    if token is not None:
        headers["X-CSRF-Token"] = token

    reply = server.call("POST", JOBS, b'{"processor": "embed"}', headers)

    assert (reply.status, reply.kind) == (403, "bad-csrf-token")
    assert server.call("GET", JOBS, headers=headers).json["total_count"] == 0


def test_a_page_that_knows_it_may(server: Server) -> None:
    headers = browser(login(server))

    reply = server.call("POST", JOBS, b'{"processor": "embed", "submit_user": "eve"}', headers)

    assert (reply.status, reply.json["submit_user"]) == (201, "ann")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_site_signs_nobody_in(server: Server, site: str) -> None:
    assert login(server, **{"Sec-Fetch-Site": site}).status == 403


def test_signing_out_ends_the_session(server: Server) -> None:
    headers = browser(login(server))

    reply = server.call("POST", "/api/ui/logout", headers=headers)

    assert (reply.status, "Max-Age=0" in reply.headers["set-cookie"]) == (204, True)
    assert server.call("GET", "/api/ui/me", headers=headers).status == 401


def test_signing_out_everywhere_ends_every_session(server: Server) -> None:
    here, there = browser(login(server)), browser(login(server))

    assert server.call("POST", "/api/ui/sessions/sign-out", headers=here).json == {"sessions": 2}
    assert [server.call("GET", "/api/ui/me", headers=each).status for each in (here, there)] == [401, 401]


def test_sessions_are_listed_and_ended_one_by_one(server: Server) -> None:
    here, there = browser(login(server, **{"User-Agent": "here"})), browser(login(server, **{"User-Agent": "there"}))

    items = server.call("GET", "/api/ui/sessions", headers=here).json["items"]
    other = next(item for item in items if not item["is_current"])

    assert [item["agent"] for item in items] == ["there", "here"]
    assert server.call("DELETE", f"/api/ui/sessions/{other['id']}", headers=here).status == 204
    assert server.call("GET", "/api/ui/me", headers=there).status == 401
    assert server.call("GET", "/api/ui/me", headers=here).status == 200


def test_guessing_is_slowed_even_with_the_right_password(server: Server) -> None:
    statuses = [login(server, password="wrong").status for _ in range(4)]
    reply = login(server)

    assert statuses == [401, 401, 401, 429]
    assert (reply.status, reply.kind) == (429, "too-many-requests")
    assert int(reply.headers["retry-after"]) >= 1


def test_guessing_is_slowed_the_same_for_a_name_that_does_not_exist(server: Server) -> None:
    assert [login(server, "nobody", "wrong").status for _ in range(4)] == [401, 401, 401, 429]


def test_ones_own_password_is_changed_with_the_present_one(server: Server) -> None:
    headers, elsewhere = browser(login(server)), browser(login(server))
    new = "and comes back at dusk"

    def change(current: str) -> int:
        body = encoded({"password": new, "current_password": current})
        return server.call("POST", "/api/ui/me/password", body, headers).status

    assert (change("wrong"), change(PASSWORD)) == (401, 200)
    assert server.call("GET", "/api/ui/me", headers=headers).status == 200
    assert server.call("GET", "/api/ui/me", headers=elsewhere).status == 401
    assert (login(server).status, login(server, password=new).status) == (401, 200)


def test_an_owner_runs_the_accounts(server: Server) -> None:
    headers = browser(login(server))
    new = encoded({"name": "bob", "role": "Editor", "password": "a long enough sentence"})

    created = server.call("POST", "/api/ui/users", new, headers)
    again = server.call("POST", "/api/ui/users", new, headers)
    role = server.call("POST", "/api/ui/users/bob/role", encoded({"role": "manager"}), headers)
    disabled = server.call("POST", "/api/ui/users/bob/disable", headers=headers)
    last = server.call("POST", "/api/ui/users/ann/disable", headers=headers)
    listed = server.call("GET", "/api/ui/users", headers=headers)

    assert (created.status, again.status, again.kind) == (201, 409, "name-taken")
    assert (role.json["role"], disabled.json["disabled_at"] is not None) == ("Manager", True)
    assert (last.status, last.kind) == (409, "last-owner")
    assert [item["name"] for item in listed.json["items"]] == ["ann", "bob"]
    assert login(server, "bob", "a long enough sentence").status == 401


@pytest.mark.parametrize(
    "body",
    [
        {"name": "Bob", "role": "Editor"},
        {"name": "bob", "role": "king"},
        {"name": "bob", "role": "Editor", "password": "short"},
        {"name": "bob"},
    ],
)
def test_an_account_that_makes_no_sense_is_refused(server: Server, body: dict[str, str]) -> None:
    headers = browser(login(server))

    assert server.call("POST", "/api/ui/users", encoded(body), headers).status == 400


def test_a_token_is_shown_once_used_listed_and_revoked(server: Server) -> None:
    headers = browser(login(server))
    body = encoded({"label": "laptop", "role": "Viewer", "expires_in_seconds": 60})

    new = server.call("POST", "/api/ui/tokens", body, headers)
    used = server.call("GET", JOBS, headers=bearer(new.json["token"]))
    in_other_header = server.call("GET", JOBS, headers={"x-molgenis-token": new.json["token"]})
    [item] = server.call("GET", "/api/ui/tokens", headers=headers).json["items"]
    revoked = server.call("DELETE", f"/api/ui/tokens/{item['id']}", headers=headers)

    assert (new.status, used.status, in_other_header.status, revoked.status) == (201, 200, 200, 204)
    assert item["last_used_at"] is not None
    assert "token" not in item
    assert server.call("GET", JOBS, headers=bearer(new.json["token"])).status == 401


def test_a_token_needs_no_csrf_token(server: Server) -> None:
    headers = bearer(token(server, Role.EDITOR))

    assert server.call("POST", JOBS, b'{"processor": "embed"}', headers).status == 201


def test_only_an_owner_sees_the_tokens_of_others(server: Server) -> None:
    editor = bearer(token(server, Role.EDITOR))

    assert server.call("GET", "/api/ui/tokens?user=ann", headers=editor).status == 403
    assert server.call("GET", "/api/ui/tokens?user=editor", headers=browser(login(server))).json["count"] == 1


# what each kind of caller may do at each endpoint; everybody else gets 403, strangers 401
EVERYBODY = {"viewer", "editor", "manager", "owner", "worker"}
PERSONS = {"viewer", "editor", "manager", "owner"}
CREATORS = {"editor", "manager", "owner", "worker"}
WORKERS = {"manager", "owner", "worker"}
MANAGERS = {"manager", "owner"}
ALLOWED: dict[str, set[str]] = {
    "GET /api/hpc/jobs": EVERYBODY,
    "GET /api/hpc/jobs/{job_id}": EVERYBODY,
    "GET /api/hpc/jobs/{job_id}/transitions": EVERYBODY,
    "GET /api/hpc/jobs/{job_id}/explain": EVERYBODY,
    "GET /api/hpc/workers": EVERYBODY,
    "GET /api/hpc/workers/{worker_id}": EVERYBODY,
    "POST /api/hpc/jobs": CREATORS,
    "POST /api/hpc/jobs/{job_id}/cancel": CREATORS,
    "DELETE /api/hpc/jobs/{job_id}": CREATORS,
    "POST /api/hpc/jobs/claim": WORKERS,
    "POST /api/hpc/jobs/{job_id}/claim": WORKERS,
    "POST /api/hpc/jobs/{job_id}/transition": WORKERS,
    "POST /api/hpc/jobs/{job_id}/complete": WORKERS,
    "POST /api/hpc/workers/register": WORKERS,
    "POST /api/hpc/workers/{worker_id}/heartbeat": WORKERS,
    "POST /api/hpc/workers/{worker_id}/sync": WORKERS,
    "DELETE /api/hpc/workers/{worker_id}": MANAGERS,
    "GET /api/hpc/workers/{worker_id}/credentials": MANAGERS,
    "POST /api/hpc/workers/{worker_id}/credentials/issue": MANAGERS,
    "POST /api/hpc/workers/{worker_id}/credentials/rotate": MANAGERS,
    "POST /api/hpc/workers/{worker_id}/credentials/{credential_id}/revoke": MANAGERS,
    "GET /api/hpc/artifacts": EVERYBODY,
    "GET /api/hpc/artifacts/{artifact_id}": EVERYBODY,
    "GET /api/hpc/artifacts/{artifact_id}/files": EVERYBODY,
    "GET /api/hpc/artifacts/{artifact_id}/files/{path}": EVERYBODY,
    "POST /api/hpc/artifacts": CREATORS,
    "DELETE /api/hpc/artifacts/{artifact_id}": CREATORS,
    "POST /api/hpc/artifacts/{artifact_id}/commit": CREATORS,
    "POST /api/hpc/artifacts/{artifact_id}/files": CREATORS,
    "PUT /api/hpc/artifacts/{artifact_id}/files/{path}": CREATORS,
    "DELETE /api/hpc/artifacts/{artifact_id}/files/{path}": CREATORS,
    "POST /api/hpc/artifacts/{artifact_id}/uploads": CREATORS,
    "GET /api/hpc/artifacts/{artifact_id}/uploads": EVERYBODY,
    "GET /api/hpc/uploads/{upload_id}": EVERYBODY,
    "PATCH /api/hpc/uploads/{upload_id}": CREATORS,
    "POST /api/hpc/uploads/{upload_id}": CREATORS,
    "POST /api/hpc/uploads/{upload_id}/complete": CREATORS,
    "GET /api/hpc/uploads/{upload_id}/direct": EVERYBODY,
    "POST /api/hpc/artifacts/{artifact_id}/direct": CREATORS,
    "GET /api/hpc/artifacts/{artifact_id}/direct/{path}": EVERYBODY,
    "DELETE /api/hpc/uploads/{upload_id}": CREATORS,
    "POST /api/hpc/artifacts/{artifact_id}/verify": CREATORS,
    "GET /api/hpc/jobs/{job_id}/logs": EVERYBODY,
    "GET /api/hpc/jobs/{job_id}/logs/{stream}": EVERYBODY,
    "GET /api/hpc/jobs/{job_id}/logs/{stream}/events": EVERYBODY,
    "POST /api/hpc/jobs/{job_id}/logs/{stream}": WORKERS,
    "POST /api/hpc/workers/{worker_id}/logs": WORKERS,
    "GET /api/hpc/graphql": EVERYBODY,
    "POST /api/hpc/graphql": EVERYBODY,
    "GET /_SYSTEM_/graphql": EVERYBODY,
    "POST /_SYSTEM_/graphql": EVERYBODY,
    "GET /status/{job_id}": EVERYBODY,
    "GET /job-info/{job_id}": EVERYBODY,
    "GET /jobs": EVERYBODY,
    "GET /queue": EVERYBODY,
    "GET /hosts": EVERYBODY,
    "GET /job-history/{job_id}": EVERYBODY,
    "GET /job-explain/{job_id}": EVERYBODY,
    "GET /logs/{job_id}": EVERYBODY,
    "GET /file-logs/{job_id}": EVERYBODY,
    "GET /logs-chunk/{job_id}": EVERYBODY,
    "GET /progress/{job_id}": EVERYBODY,
    "GET /result/{job_id}": EVERYBODY,
    "GET /experiment-configs": EVERYBODY,
    "GET /experiment-config/{file_name}": EVERYBODY,
    "POST /run-simulation": CREATORS,
    "POST /stop/{job_id}": CREATORS,
    "DELETE /job/{job_id}": CREATORS,
    "POST /experiment-config/create": CREATORS,
    "PUT /experiment-config/{file_name}": CREATORS,
    "DELETE /experiment-config/{file_name}": CREATORS,
    "POST /api/agent/job-status": WORKERS,
    "POST /api/agent/heartbeat": WORKERS,
    "POST /ops/jobs/{job_id}/requeue": MANAGERS,
    "POST /ops/jobs/{job_id}/fail": MANAGERS,
    "POST /ops/jobs/{job_id}/cancel": MANAGERS,
    "POST /ops/jobs/{job_id}/stop": MANAGERS,
    "GET /api/ui/overview": EVERYBODY,
    "GET /api/ui/workers": EVERYBODY,
    "GET /api/ui/workers/throughput": EVERYBODY,
    "POST /api/ui/workers/{worker_id}/drain": MANAGERS,
    "POST /api/ui/workers/{worker_id}/resume": MANAGERS,
    "GET /api/ui/waiting": EVERYBODY,
    "GET /api/ui/audit/moves": MANAGERS,
    "GET /api/ui/audit/deeds": MANAGERS,
    "GET /api/ui/artifacts/{artifact_id}/tree": EVERYBODY,
    "GET /api/ui/artifacts/{artifact_id}/files/{path}": EVERYBODY,
    "GET /api/ui/artifacts/{artifact_id}/provenance": EVERYBODY,
    "GET /api/ui/jobs": EVERYBODY,
    "GET /api/ui/jobs/forecast": EVERYBODY,
    "GET /api/ui/jobs/history": EVERYBODY,
    "GET /api/ui/jobs/events": EVERYBODY,
    "GET /api/ui/jobs/{job_id}": EVERYBODY,
    "GET /api/ui/jobs/{job_id}/events": EVERYBODY,
    "POST /api/ui/logout": PERSONS,
    "GET /api/ui/me": PERSONS,
    "POST /api/ui/me/password": PERSONS,
    "GET /api/ui/sessions": PERSONS,
    "POST /api/ui/sessions/sign-out": PERSONS,
    "DELETE /api/ui/sessions/{id}": PERSONS,
    "GET /api/ui/tokens": PERSONS,
    "POST /api/ui/tokens": PERSONS,
    "DELETE /api/ui/tokens/{id}": PERSONS,
    "GET /api/ui/access-keys": PERSONS,
    "POST /api/ui/access-keys": PERSONS,
    "DELETE /api/ui/access-keys/{id}": PERSONS,
    "GET /api/ui/settings": {"owner"},
    "GET /api/ui/users": {"owner"},
    "POST /api/ui/users": {"owner"},
    "GET /api/ui/users/{name}": {"owner"},
    "POST /api/ui/users/{name}/role": {"owner"},
    "POST /api/ui/users/{name}/password": {"owner"},
    "POST /api/ui/users/{name}/disable": {"owner"},
    "POST /api/ui/users/{name}/enable": {"owner"},
}
OPEN = {
    "GET /api/hpc/health",
    "GET /health",
    "POST /api/ui/login",
    "GET /api/ui/first-owner",
    "POST /api/ui/first-owner",
}
# refuses like all others and says nothing of it, for its clients die of a refusal
QUIET = {"POST /api/agent/next-job"}


def endpoints() -> list[Endpoint]:
    """The gateway has a door of its own, and tests of its own for it."""
    served = [module.DIALECT for module in dialects.ROLL_CALL if module.DIALECT.name != "s3"]
    return [endpoint for dialect in served for endpoint in dialect.endpoints]


def test_the_table_names_every_endpoint() -> None:
    served = {f"{endpoint.method} {endpoint.template}" for endpoint in endpoints() if endpoint.mode != "pure"}

    assert served == set(ALLOWED) | OPEN | QUIET


def test_each_kind_of_caller_may_what_the_table_says(whole_server: Server) -> None:
    texts = {role.name.lower(): bearer(token(whole_server, role)) for role in Role}

    def outcome(kind: str, entry: str) -> int:
        method, target = entry.split()
        target = re.sub(r"\{\w+\}", "nothing", target)
        headers = signed(SHARED, method, target) if kind == "worker" else texts.get(kind, {})
        return _status(whole_server, method, target, headers)

    for entry, allowed in ALLOWED.items():
        assert outcome("stranger", entry) == 401, entry
        for kind in EVERYBODY:
            assert (outcome(kind, entry) != 403) is (kind in allowed), (entry, kind)


def _status(server: Server, method: str, target: str, headers: Mapping[str, str]) -> int:
    """What an answer begins with, for some never end."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request(method, target, headers=protocol() | dict(headers))
        return connection.getresponse().status
    finally:
        connection.close()


def test_an_editor_ends_only_what_is_theirs(server: Server) -> None:
    editor, other = bearer(token(server, Role.EDITOR)), bearer(token(server, Role.EDITOR, "other"))
    job = server.call("POST", JOBS, b'{"processor": "embed"}', editor).json["id"]

    assert server.call("POST", f"{JOBS}/{job}/cancel", headers=other).kind == "not-yours"
    assert server.call("POST", f"{JOBS}/{job}/cancel", headers=editor).status == 200


def test_a_job_of_a_worker_belongs_to_no_user(server: Server) -> None:
    body = json.dumps({"processor": "embed", "submit_user": "ann"}).encode()

    reply = server.call("POST", JOBS, body, signed(SHARED, "POST", JOBS, body))

    assert (reply.status, reply.json["submit_user"]) == (201, None)
