"""Accounts, tokens and sessions through the client, at a real server."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cableferry.client import errors
from cableferry.client.caller import Caller
from cableferry.client.http import Connection
from cableferry.client.schemes import Bearer
from cableferry.client.ui import Ui
from cableferry.wire.ui import bodies
from tests.cli.ferry import ferry, serving


def _ui(server: str, token: str) -> Ui:
    return Ui(Caller(Connection(server), Bearer(token)))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    ferry(tmp_path, "users", "create", "ada", "--no-password", "--data-dir", str(tmp_path / "data"))
    with serving(tmp_path / "data", is_open=False) as server:
        yield server


@pytest.fixture
def owner(server: str, tmp_path: Path) -> Iterator[Ui]:
    created = ferry(tmp_path, "tokens", "create", "ada", "--json", "--data-dir", str(tmp_path / "data"))
    with closing(_ui(server, json.loads(created.out)["token"])) as ui:
        yield ui


def test_an_owner_manages_users(owner: Ui) -> None:
    owner.create_user(bodies.CreateUserBody("bob", "Viewer", "a sentence that is long enough"))
    owner.set_role("bob", "Manager")
    owner.set_password("bob", "another sentence that is long enough")
    disabled = owner.disable("bob")
    enabled = owner.enable("bob")

    assert (disabled.disabled_at is None, enabled.disabled_at is None) == (False, True)
    assert [(user.name, user.role) for user in owner.users()] == [("ada", "Owner"), ("bob", "Manager")]
    assert owner.user("bob").has_password


def test_a_token_works_until_it_is_revoked(owner: Ui, server: str) -> None:
    new = owner.create_token(bodies.CreateTokenBody("laptop", "Viewer", 600))
    with closing(_ui(server, new.token)) as ui:
        name, role = ui.me().name, ui.me().role
        owner.revoke_token(new.id)

        with pytest.raises(errors.Unauthenticated):
            ui.me()

    assert (name, role, new.token in repr(new)) == ("ada", "Viewer", False)
    assert [token.revoked_at is None for token in owner.tokens("ada") if token.id == new.id] == [False]


def test_whoever_has_no_browser_has_no_session(owner: Ui) -> None:
    assert (owner.sessions(), owner.sign_out_everywhere().sessions) == ([], 0)
    with pytest.raises(errors.NotFound):
        owner.end_session("none")


def test_an_access_key_is_shown_once_listed_and_revoked(owner: Ui) -> None:
    own = owner.issue_access_key(bodies.IssueAccessKeyBody(may_write=True, label="laptop", expires_in_seconds=600))
    workers = owner.issue_access_key(bodies.IssueAccessKeyBody(worker="head-1"))
    owner.revoke_access_key(own.id)

    assert own.secret not in repr(own)
    assert [(own.id, True, True)] == [(key.id, key.may_write, bool(key.revoked_at)) for key in owner.access_keys()]
    assert [(workers.id, False, None)] == [
        (key.id, key.may_write, key.revoked_at) for key in owner.access_keys(worker="head-1")
    ]
    with pytest.raises(errors.NotFound):
        owner.revoke_access_key("CF00")


def test_nobody_but_a_manager_has_to_do_with_the_keys_of_workers(owner: Ui, server: str) -> None:
    new = owner.create_token(bodies.CreateTokenBody("laptop", "Editor", 600))
    with closing(_ui(server, new.token)) as editor:
        with pytest.raises(errors.Forbidden):
            editor.issue_access_key(bodies.IssueAccessKeyBody(worker="head-1", expires_in_seconds=60))
        with pytest.raises(errors.Forbidden):
            editor.access_keys(worker="head-1")
        with pytest.raises(errors.Forbidden):
            editor.issue_access_key(bodies.IssueAccessKeyBody())
