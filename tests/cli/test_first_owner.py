"""The first Owner of a server: whoever can read what it printed when it started, once."""

import contextlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.testing.servers import Client
from tests.cli import ferry

PASSWORD = "the ferry leaves at dawn"
PLACE = re.compile(r"open http://127\.0\.0\.1:(\d+)(/ui/welcome)#(\S+)")


@contextlib.contextmanager
def _served(home: Path, *flags: str) -> Iterator[subprocess.Popen[str]]:
    command = [*ferry.FERRY, "serve", "--port", "0", "--data-dir", str(home / "data"), *flags]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ferry.environment(home)
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def _read(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The port and the token that a server prints."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := PLACE.search(line):
            return int(found[1]), found[3]
    pytest.fail("the server printed no address for its first Owner")


def _ask(client: Client, token: str, name: str = "olga", **headers: str) -> int:
    body = {"name": name, "password": PASSWORD, "token": token}
    return client.post("/api/ui/first-owner", body, headers).status


def test_whoever_read_the_token_owns_the_server_once(tmp_path: Path) -> None:
    with _served(tmp_path) as process:
        port, token = _read(process)
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
            seen.add(_read(process)[1])

    assert 2 == len(seen)
    assert all(len(token) >= 32 for token in seen)
