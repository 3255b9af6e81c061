"""The first Owner of a server: whoever can read what it left when it started, once."""

import contextlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from cableferry.testing.servers import Client
from tests.cli import ferry

PASSWORD = "the ferry leaves at dawn"
PLACE = re.compile(r"http://127\.0\.0\.1:(\d+)/ui/welcome#(\S+)\n")


@contextlib.contextmanager
def _served(home: Path, *flags: str) -> Iterator[subprocess.Popen[str]]:
    command = [*ferry.FERRY, "serve", "--port", "0", "--data-dir", str(home / "data"), *flags]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ferry.environment(home)
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def _read(home: Path, process: subprocess.Popen[str]) -> tuple[int, str]:
    """The port and the token that a server without a terminal leaves in its data directory."""
    assert process.stdout is not None
    said = next((line for line in process.stdout if "nobody owns this server" in line), "")
    path = home / "data" / "first-owner"
    found = PLACE.fullmatch(path.read_text())
    assert found is not None
    assert (0o600, True) == (path.stat().st_mode & 0o777, found[2] not in said)
    return int(found[1]), found[2]


def _ask(client: Client, token: str, name: str = "olga", **headers: str) -> int:
    body = {"name": name, "password": PASSWORD, "token": token}
    return client.post("/api/ui/first-owner", body, headers).status


def test_whoever_read_the_token_owns_the_server_once(tmp_path: Path) -> None:
    with _served(tmp_path) as process:
        port, token = _read(tmp_path, process)
        client = Client(port)
        needed = client.get("/api/ui/first-owner").json
        refused = [
            _ask(client, "a guess"),
            _ask(client, token, **{"Sec-Fetch-Site": "cross-site"}),
            _ask(client, token, "No Name"),
        ]
        made = client.post("/api/ui/first-owner", {"name": "olga", "password": PASSWORD, "token": token})
        cookie = made.headers["set-cookie"].partition(";")[0]

        assert ({"is_needed": True}, [403, 403, 400]) == (needed, refused)
        assert (201, "Owner") == (made.status, made.json["role"])
        assert "olga" == client.get("/api/ui/me", {"Cookie": cookie}).json["name"]
        assert (409, {"is_needed": False}) == (_ask(client, token, "eve"), client.get("/api/ui/first-owner").json)
        assert 401 == client.get("/api/ui/jobs").status


def test_a_token_is_another_at_every_start(tmp_path: Path) -> None:
    seen = set()
    for _ in range(2):
        with _served(tmp_path) as process:
            seen.add(_read(tmp_path, process)[1])

    assert 2 == len(seen)
    assert all(len(token) >= 32 for token in seen)
