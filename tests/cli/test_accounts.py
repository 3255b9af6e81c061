"""Accounts, tokens and the database, from the server's own machine."""

import json
import socket
import stat
from pathlib import Path

import pytest

from tests.cli.ferry import Ended, ferry, serving

EVERYWHERE = "0.0.0.0"  # noqa: S104  # it never gets that far
PASSWORD = "a sentence that is long enough"


def _data(folder: Path) -> tuple[str, str]:
    return "--data-dir", str(folder / "data")


def _create(folder: Path, name: str, *more: str) -> Ended:
    return ferry(folder, "users", "create", name, "--no-password", "--json", *_data(folder), *more)


def test_the_first_user_is_an_owner_and_the_next_a_viewer(tmp_path: Path) -> None:
    roles = [json.loads(_create(tmp_path, name).out)["role"] for name in ("ada", "bob")]

    assert roles == ["Owner", "Viewer"]


def test_a_password_comes_from_a_pipe_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    create = ("users", "create", "ada", *_data(tmp_path), "--password-stdin")
    change = ("users", "password", "ada", *_data(tmp_path), "--password-file", str(tmp_path / "password"), "--json")

    assert ferry(tmp_path, *create, given=f"{PASSWORD}\n").code == 0
    assert json.loads(ferry(tmp_path, *change).out)["has_password"] is True


@pytest.mark.parametrize(("given", "code"), [("short\n", 5), ("", 5)])
def test_a_bad_password_is_refused(tmp_path: Path, given: str, code: int) -> None:
    ended = ferry(tmp_path, "users", "create", "ada", *_data(tmp_path), "--password-stdin", given=given)

    assert ended.code == code
    assert "characters" in ended.err


def test_without_a_terminal_no_password_is_asked_for(tmp_path: Path) -> None:
    assert ferry(tmp_path, "users", "create", "ada", *_data(tmp_path)).code == 2


def test_the_last_owner_stays(tmp_path: Path) -> None:
    _create(tmp_path, "ada")

    assert ferry(tmp_path, "users", "disable", "ada", *_data(tmp_path)).code == 4
    assert ferry(tmp_path, "users", "role", "ada", "Viewer", *_data(tmp_path)).code == 4


def test_a_name_is_given_once(tmp_path: Path) -> None:
    assert [_create(tmp_path, "ada").code, _create(tmp_path, "ada").code] == [0, 4]


def test_a_user_is_disabled_enabled_and_listed(tmp_path: Path) -> None:
    _create(tmp_path, "ada")
    _create(tmp_path, "bob", "--role", "Manager")
    ferry(tmp_path, "users", "disable", "bob", *_data(tmp_path))
    listed = json.loads(ferry(tmp_path, "users", "list", "--json", *_data(tmp_path)).out)
    enabled = json.loads(ferry(tmp_path, "users", "enable", "bob", "--json", *_data(tmp_path)).out)

    assert [(user["name"], user["disabled_at"] is None) for user in listed["items"]] == [("ada", True), ("bob", False)]
    assert enabled["disabled_at"] is None


def test_a_token_is_kept_in_a_file_works_and_is_revoked(tmp_path: Path) -> None:
    _create(tmp_path, "ada")
    file = tmp_path / "token"
    create = ("tokens", "create", "ada", "--secret-file", str(file), "--json", *_data(tmp_path))
    created = ferry(tmp_path, *create)
    token = json.loads(created.out)["id"]
    with serving(tmp_path / "data", is_open=False) as server:
        ask = ("workers", "list", "--server", server)
        allowed = ferry(tmp_path, *ask, "--token-file", str(file))
        by_environment = ferry(tmp_path, *ask, more={"CABLEFERRY_TOKEN": file.read_text().strip()})
        nobody = ferry(tmp_path, *ask)
        ferry(tmp_path, "tokens", "revoke", token, *_data(tmp_path))
        revoked = ferry(tmp_path, *ask, "--token-file", str(file))

    assert file.read_text().strip() not in created.out + created.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [allowed.code, by_environment.code, nobody.code, revoked.code] == [0, 0, 6, 6]
    assert "--token-file or CABLEFERRY_TOKEN" in nobody.err
    assert ferry(tmp_path, *create).code == 2


def test_a_token_of_nobody_leaves_no_file(tmp_path: Path) -> None:
    _create(tmp_path, "ada")
    ended = ferry(tmp_path, "tokens", "create", "bob", "--secret-file", str(tmp_path / "token"), *_data(tmp_path))

    assert (ended.code, (tmp_path / "token").exists()) == (3, False)


def test_a_viewer_may_look_and_not_submit(tmp_path: Path) -> None:
    _create(tmp_path, "ada")
    _create(tmp_path, "bob")
    ferry(tmp_path, "tokens", "create", "bob", "--secret-file", str(tmp_path / "token"), *_data(tmp_path))
    with serving(tmp_path / "data", is_open=False) as server:
        ask = ("--server", server, "--token-file", str(tmp_path / "token"), "--json")
        listed, submitted = ferry(tmp_path, "jobs", "list", *ask), ferry(tmp_path, "jobs", "submit", "echo", *ask)

    assert [listed.code, submitted.code] == [0, 5]
    assert json.loads(submitted.err)["type"] == "urn:cableferry:problem:not-allowed"


def test_a_credential_is_issued_rotated_listed_and_revoked(tmp_path: Path) -> None:
    _create(tmp_path, "ada")
    ferry(tmp_path, "tokens", "create", "ada", "--secret-file", str(tmp_path / "token"), *_data(tmp_path))
    with serving(tmp_path / "data", is_open=False) as server:
        ask = ("w1", "--server", server, "--token-file", str(tmp_path / "token"), "--json")
        issued = json.loads(ferry(tmp_path, "credentials", "issue", *ask).out)
        twice = ferry(tmp_path, "credentials", "issue", *ask, "--secret-file", str(tmp_path / "secret"))
        rotated = json.loads(ferry(tmp_path, "credentials", "rotate", *ask, "--grace", "60").out)
        revoked = ferry(tmp_path, "credentials", "revoke", "w1", rotated["id"], *ask[1:])
        listed = json.loads(ferry(tmp_path, "credentials", "list", *ask).out)

    assert issued["secret"] != rotated["secret"]
    assert (twice.code, (tmp_path / "secret").exists()) == (4, False)
    assert revoked.code == 0
    assert [each["secret"] for each in listed["items"]] == [None, None]


def test_the_database_is_made_checked_and_copied(tmp_path: Path) -> None:
    ask = ("--json", *_data(tmp_path))
    none = ferry(tmp_path, "db", "check", *ask)
    made = ferry(tmp_path, "db", "upgrade", *ask)
    again = ferry(tmp_path, "db", "upgrade", *ask)
    checked = ferry(tmp_path, "db", "check", *ask)
    copied = ferry(tmp_path, "db", "backup", str(tmp_path / "copy.db"), *ask)
    over = ferry(tmp_path, "db", "backup", str(tmp_path / "copy.db"), *ask)

    assert [none.code, made.code, checked.code, copied.code, over.code] == [3, 0, 0, 0, 1]
    assert json.loads(made.out)["applied"][0].startswith("0001")
    assert json.loads(again.out) == {"applied": []}
    assert json.loads(checked.out)["problems"] == []
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "flags", [("--host", EVERYWHERE), ("--config", "none.toml"), ("--host", EVERYWHERE, "--auth-off")]
)
def test_a_server_that_may_not_start_says_why(tmp_path: Path, flags: tuple[str, ...]) -> None:
    ended = ferry(tmp_path, "serve", "--port", "0", *flags, *_data(tmp_path))

    assert ended.code == 2
    assert ended.err.startswith("Error: ")


def test_the_openapi_document_needs_no_server(tmp_path: Path) -> None:
    assert json.loads(ferry(tmp_path, "openapi").out)["openapi"].startswith("3.1")


def test_a_server_on_a_taken_port_names_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = ferry(tmp_path, "serve", "--port", port, "--auth-off", *_data(tmp_path))

    assert (ended.code, f"127.0.0.1 port {port}" in ended.err) == (1, True)


@pytest.mark.parametrize(
    ("text", "told"),
    [("reuse_port = true", "needs PostgreSQL"), ("tls_certificate = '/gone.pem'", "/gone.pem for TLS cannot be read")],
    ids=["a shared port on SQLite", "no certificate"],
)
def test_a_server_that_would_not_serve_as_meant_does_not_start(tmp_path: Path, text: str, told: str) -> None:
    config = tmp_path / "server.toml"
    config.write_text(f"[server]\nport = 0\n{text}\n")

    ended = ferry(tmp_path, "serve", "--config", str(config), "--auth-off", *_data(tmp_path))

    assert (ended.code, ended.out, told in ended.err) == (2, "", True)
