"""What a server demands before it starts, and that nothing secret leaves it in its log."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cableferry.core.access import Role
from cableferry.engine import credentials, users
from cableferry.server import authenticate
from cableferry.server.authenticate import Gate, OpenUntilFirstUser
from cableferry.server.settings import AuthSection, MtlsSection, RatesSection, Secret, Settings
from cableferry.server.vault import CannotStart
from cableferry.store.tx import Tx
from cableferry.testing import stores
from tests.server.serving import bearer, issued, serving, settings, signed, token

SHARED = "the shared secret of all who have none"
KEY = "a key of at least thirty-two characters"
JOBS = "/api/hpc/jobs"
HEALTH = "/api/hpc/health"
EVERYWHERE = "0.0.0.0"  # noqa: S104  # the test is that it is refused


def establish(wanted: Settings, prepare: Callable[[Tx], object] | None = None) -> authenticate.Trust:
    with stores.opened(wanted.database_url) as store:
        if prepare is not None:
            store.write(prepare)
        return authenticate.establish(wanted, store)


def a_user(tx: Tx) -> None:
    users.create(tx, "ann", Role.VIEWER, None)


def a_credential(tx: Tx) -> None:
    credentials.issue(tx, lambda content, about: content, credentials.Wanted("w1", "test"))


def test_with_nothing_set_up_a_loopback_server_is_open(tmp_path: Path) -> None:
    trust = establish(settings(tmp_path))

    assert isinstance(trust.authenticator, OpenUntilFirstUser)
    assert not trust.is_on


def test_an_open_server_closes_with_its_first_user(tmp_path: Path) -> None:
    with serving(settings(tmp_path)) as server:
        before = server.call("GET", JOBS).status, server.call("GET", HEALTH).json["worker_auth_mode"]
        someone = bearer(token(server, Role.VIEWER))
        after = server.call("GET", JOBS).status, server.call("GET", HEALTH).json["worker_auth_mode"]

        assert (before, after) == ((200, "off"), (401, "per-worker-hmac"))
        assert server.call("GET", JOBS, headers=someone).status == 200
        assert server.call("POST", JOBS, b'{"processor": "embed"}', someone).status == 403


def test_a_server_that_is_told_to_stay_open_does(tmp_path: Path) -> None:
    with serving(settings(tmp_path, AuthSection(off=True))) as server:
        server.store.write(a_user)

        assert server.call("GET", JOBS).status == 200


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "::1"])
def test_every_loopback_address_counts(host: str) -> None:
    assert authenticate.is_loopback(host)


@pytest.mark.parametrize("host", [EVERYWHERE, "::", "10.0.0.1", "example.org", ""])
def test_a_server_that_others_reach_does_not_start_open(tmp_path: Path, host: str) -> None:
    with pytest.raises(CannotStart, match="needs authentication"):
        establish(settings(tmp_path, host=host))


@pytest.mark.parametrize(
    "auth",
    [
        AuthSection(shared_secret=Secret(SHARED)),
        AuthSection(credentials_key=Secret(KEY)),
        AuthSection(mtls=MtlsSection(workers={"CN=a": "w1"})),
    ],
)
def test_whatever_is_set_up_turns_it_on(tmp_path: Path, auth: AuthSection) -> None:
    assert isinstance(establish(settings(tmp_path, auth, host=EVERYWHERE)).authenticator, Gate)


@pytest.mark.parametrize("prepare", [a_user, a_credential])
def test_a_user_or_a_credential_turns_it_on(tmp_path: Path, prepare: Callable[[Tx], None]) -> None:
    assert establish(settings(tmp_path, host=EVERYWHERE), prepare).is_on


def test_it_can_be_turned_off_on_loopback_only(tmp_path: Path) -> None:
    auth = AuthSection(off=True, shared_secret=Secret(SHARED))

    assert not establish(settings(tmp_path, auth)).is_on
    with pytest.raises(CannotStart):
        establish(settings(tmp_path, auth, host=EVERYWHERE))


def test_a_short_shared_secret_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="32"):
        establish(settings(tmp_path, AuthSection(shared_secret=Secret("x" * 31))))


def test_a_shared_secret_in_a_file_that_others_read_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(SHARED + "\n")
    file.chmod(0o644)
    wanted = settings(tmp_path, AuthSection(shared_secret_file=file))
    with pytest.raises(CannotStart, match="chmod 600"):
        establish(wanted)

    file.chmod(0o600)
    assert establish(wanted).is_on


def test_while_it_is_off_anybody_works_but_nobody_makes_users(tmp_path: Path) -> None:
    with serving(settings(tmp_path)) as server:
        created = server.call(
            "POST", JOBS, b'{"processor": "embed", "submit_user": "eve"}', signed("any", "POST", JOBS)
        )
        owned = server.call("POST", "/api/ui/users", b'{"name": "eve", "role": "Owner"}')

    assert (created.status, created.json["submit_user"]) == (201, "eve")
    assert owned.status == 403


def test_another_key_is_told_not_a_crash_and_rotation_mends_it(tmp_path: Path) -> None:
    with serving(settings(tmp_path, AuthSection(credentials_key=Secret(KEY)))) as server:
        secret = issued(server)

    with serving(settings(tmp_path, AuthSection(credentials_key=Secret(KEY + "!")))) as server:
        refused = server.call("GET", JOBS, headers=signed(secret, "GET", JOBS))
        manager = bearer(token(server, Role.MANAGER))
        new = server.call("POST", "/api/hpc/workers/w1/credentials/rotate", headers=manager).json["secret"]
        mended = server.call("GET", JOBS, headers=signed(new, "GET", JOBS))

    assert (refused.status, refused.kind, mended.status) == (503, "unavailable", 200)
    assert "credentials key" in refused.json["detail"]


def test_each_caller_has_a_rate_of_its_own(tmp_path: Path) -> None:
    wanted = settings(tmp_path, AuthSection(shared_secret=Secret(SHARED)))
    wanted = Settings(wanted.server, wanted.database, auth=wanted.auth, limits=RatesSection(0.001, 2))
    with serving(wanted) as server:
        loud = [server.call("GET", JOBS, headers=signed(SHARED, "GET", JOBS)) for _ in range(3)]
        quiet = server.call("GET", JOBS, headers=signed(SHARED, "GET", JOBS, worker="w2"))
        strangers = [server.call("GET", JOBS).status for _ in range(3)]

    assert [reply.status for reply in loud] == [200, 200, 429]
    assert int(loud[2].headers["retry-after"]) > 0
    assert quiet.status == 200
    assert strangers == [401, 401, 429]


PROGRAM = """
import sys
from pathlib import Path
from cableferry.core.access import Role
from cableferry.engine import users
from cableferry.server import logs
from cableferry.server.passwords import Passwords
from cableferry.server.settings import AuthSection, LogSection, Secret
from tests.server.serving import bearer, encoded, issued, serving, settings, signed, token
import json
logs.configure(LogSection(level="debug"))
shared, password, jobs = "the shared secret of all who have none", "the ferry leaves at dawn", "/api/hpc/jobs"
with serving(settings(Path(sys.argv[1]), AuthSection(shared_secret=Secret(shared)))) as server:
    hashed = Passwords().hash("ann", password)
    server.store.write(lambda tx: users.create_first(tx, "ann", hashed))
    secret, manager = issued(server), token(server, Role.MANAGER)
    login = server.call("POST", "/api/ui/login", encoded({"name": "ann", "password": password}))
    cookie = login.headers["set-cookie"].partition(";")[0]
    headers = {"Cookie": cookie, "X-CSRF-Token": login.json["csrf_token"]}
    made = server.call("POST", "/api/ui/tokens", headers=headers).json["token"]
    body = json.dumps({"processor": "embed", "parameters": {"key": "in a parameter"}}).encode()
    signature = signed(secret, "POST", jobs, body)
    server.call("POST", jobs, body, signature)
    server.call("GET", jobs, headers={"x-molgenis-token": secret, "X-Worker-Id": "w1"})
    server.call("GET", jobs, headers=bearer(manager + "x"))
    server.call("GET", jobs + "?token=in-a-query", headers=bearer(manager))
    server.call("POST", "/api/ui/login", encoded({"name": "ann", "password": "wrong password"}))
    new = server.call("POST", "/api/hpc/workers/w1/credentials/rotate", headers=bearer(manager)).json["secret"]
    said = [repr(server.settings)]
secrets = [shared, password, secret, manager, cookie.partition("=")[2], headers["X-CSRF-Token"], made, new, hashed,
    "in a parameter", "in-a-query", "wrong password", signature["Authorization"].split()[1]]
print(json.dumps({"secrets": secrets, "said": said}), file=sys.stderr)
"""


def test_callers_are_named_in_the_log_and_their_secrets_never(tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    told = json.loads(finished.stderr.splitlines()[-1])

    callers = {json.loads(line).get("caller") for line in finished.stdout.splitlines()}
    assert {"worker:w1", "user:manager", "user:ann"} <= callers
    assert [secret for secret in told["secrets"] if secret in finished.stdout + told["said"][0]] == []
