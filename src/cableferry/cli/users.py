"""The commands about accounts; they work on the database itself, for whoever may read it."""

from typing import TYPE_CHECKING

import click

from cableferry.cli import output, place, secrets
from cableferry.cli.commands import command

if TYPE_CHECKING:
    from cableferry.core.accounts import User
    from cableferry.server.settings import Settings
    from cableferry.store.tx import Tx

_NAME = click.argument("name")
_ROLES = click.Choice(["Viewer", "Editor", "Manager", "Owner"], case_sensitive=False)
_FILE = click.option("--password-file", metavar="FILE", help="Take the password from a file's first line.")
_STDIN = click.option("--password-stdin", "is_piped", is_flag=True, help="Take the password from standard input.")


@command(
    "create",
    "Create an account; the first one is an Owner, later ones Viewers unless --role says otherwise.",
    "cableferry users create ada --data-dir /var/lib/cableferry\n"
    "cableferry users create robot --role Manager --no-password",
)
@_NAME
@click.option("--role", type=_ROLES, help="What it may do.")
@_FILE
@_STDIN
@click.option("--no-password", "is_silent", is_flag=True, help="For programs: only its tokens can be used.")
@place.options
def create(
    settings: "Settings",
    name: str,
    role: str | None,
    password_file: str | None,
    is_piped: bool,
    is_silent: bool,
    as_json: bool,
) -> None:
    from cableferry.server.passwords import Passwords

    hashed = None if is_silent else Passwords().hash(name, secrets.password(password_file, is_piped))
    with place.opened(settings, is_made=True) as store:
        user = store.write(lambda tx: _create(tx, name, role, hashed))
    _show(user, as_json)


def _create(tx: "Tx", name: str, role: str | None, hashed: str | None) -> "User":
    from cableferry.core import access
    from cableferry.engine import users

    default = access.Role.VIEWER if users.find(tx) else access.Role.OWNER
    return users.create(tx, name, default if role is None else access.role(role), hashed)


@command("list", "List the accounts.", "cableferry users list")
@place.options
def list_(settings: "Settings", as_json: bool) -> None:
    from cableferry.engine import users
    from cableferry.wire.ui import bodies

    with place.opened(settings) as store:
        found = [bodies.user(user) for user in store.read(users.find)]
    if as_json:
        output.listing(found)
    else:
        rows = [(user.name, user.role, user.created_at, user.disabled_at) for user in found]
        output.columns(("NAME", "ROLE", "CREATED", "DISABLED"), rows)


@command("role", "Give an account another role; it holds at once.", "cableferry users role ada Manager")
@_NAME
@click.argument("role", type=_ROLES)
@place.options
def role_(settings: "Settings", name: str, role: str, as_json: bool) -> None:
    from cableferry.core import access
    from cableferry.engine import users

    with place.opened(settings) as store:
        _show(store.write(lambda tx: users.set_role(tx, name, access.role(role))), as_json)


@command("disable", "Sign an account out everywhere and let it in no more.", "cableferry users disable ada")
@_NAME
@place.options
def disable(settings: "Settings", name: str, as_json: bool) -> None:
    from cableferry.engine import users

    with place.opened(settings) as store:
        _show(store.write(lambda tx: users.disable(tx, name)), as_json)


@command("enable", "Let a disabled account in again.", "cableferry users enable ada")
@_NAME
@place.options
def enable(settings: "Settings", name: str, as_json: bool) -> None:
    from cableferry.engine import users

    with place.opened(settings) as store:
        _show(store.write(lambda tx: users.enable(tx, name)), as_json)


@command(
    "password",
    "Set a new password and sign the account out everywhere.",
    "cableferry users password ada\npass show ada | cableferry users password ada --password-stdin",
)
@_NAME
@_FILE
@_STDIN
@place.options
def password(settings: "Settings", name: str, password_file: str | None, is_piped: bool, as_json: bool) -> None:
    from cableferry.engine import users
    from cableferry.server.passwords import Passwords

    hashed = Passwords().hash(name, secrets.password(password_file, is_piped))
    with place.opened(settings) as store:
        _show(store.write(lambda tx: users.set_password(tx, name, hashed)), as_json)


def _show(user: "User", as_json: bool) -> None:
    from cableferry.wire.ui import bodies

    shown = bodies.user(user)
    if as_json:
        output.document(shown)
    else:
        output.fields([("name", shown.name), ("role", shown.role), ("disabled", shown.disabled_at)])


users = click.Group(
    "users",
    commands=[create, list_, role_, disable, enable, password],
    help="Manage accounts, on the server's machine.",
    no_args_is_help=True,
)
