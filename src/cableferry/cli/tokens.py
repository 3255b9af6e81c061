"""The commands about API tokens; they work on the database itself, for whoever may read it."""

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from cableferry.cli import output, place, secrets
from cableferry.cli.commands import command

if TYPE_CHECKING:
    from cableferry.engine.tokens import Created
    from cableferry.server.settings import Settings
    from cableferry.store.tx import Tx

_ROLES = click.Choice(["Viewer", "Editor", "Manager", "Owner"], case_sensitive=False)


@command(
    "create",
    "Create an API token of USER; it is shown this once.",
    "cableferry tokens create ada --label laptop --expires-in-days 90 --secret-file ~/.config/cableferry/token",
)
@click.argument("user")
@click.option("--role", type=_ROLES, help="How far it reaches, at most as far as its user.")
@click.option("--label", help="What it is for.")
@click.option(
    "--expires-in-days",
    type=click.FloatRange(min=0, min_open=True, max=36500),
    metavar="DAYS",
    help="How long it counts; without this, until it is revoked.",
)
@click.option("--secret-file", metavar="FILE", help="Write the token there, mode 0600, and do not print it.")
@place.options
def create(
    settings: "Settings",
    user: str,
    role: str | None,
    label: str | None,
    expires_in_days: float | None,
    secret_file: str | None,
    as_json: bool,
) -> None:
    from cableferry.wire.ui import bodies

    life = None if expires_in_days is None else timedelta(days=expires_in_days)
    with secrets.arriving(secret_file) as keep, place.opened(settings) as store:
        created = store.write(lambda tx: _create(tx, user, role, label, life))
        shown = keep(created.text)
    if as_json:
        output.document(bodies.token(created.token) if shown is None else bodies.new_token(created.token, shown))
    else:
        token = bodies.token(created.token)
        output.fields([("id", token.id), ("role", token.role), ("expires", token.expires_at), ("token", shown)])


def _create(tx: "Tx", user: str, role: str | None, label: str | None, life: timedelta | None) -> "Created":
    from cableferry.core import access
    from cableferry.engine import tokens, users

    owner = users.get(tx, user)
    wanted = owner.role if role is None else access.role(role)
    return tokens.grant(
        tx, user, tokens.Wanted(min(wanted, owner.role), label, None if life is None else tx.now + life)
    )


@command("list", "List the API tokens of USER.", "cableferry tokens list ada")
@click.argument("user")
@place.options
def list_(settings: "Settings", user: str, as_json: bool) -> None:
    from cableferry.engine import tokens
    from cableferry.wire.ui import bodies

    with place.opened(settings) as store:
        found = [bodies.token(token) for token in store.read(lambda tx: tokens.find(tx, user))]
    if as_json:
        output.listing(found)
    else:
        rows = [(each.id, each.role, each.label, each.expires_at, each.last_used_at, each.revoked_at) for each in found]
        output.columns(("ID", "ROLE", "LABEL", "EXPIRES", "LAST USED", "REVOKED"), rows)


@command("revoke", "End an API token at once.", "cableferry tokens revoke 3f2a...")
@click.argument("id_", metavar="ID")
@place.options
def revoke(settings: "Settings", id_: str, as_json: bool) -> None:
    from cableferry.core.access import Person, Role
    from cableferry.engine import tokens
    from cableferry.wire.ui import bodies

    # whoever holds the database may do what an Owner may
    operator = Person("operator", Role.OWNER)
    with place.opened(settings) as store:
        token = bodies.token(store.write(lambda tx: tokens.revoke(tx, operator, id_)))
    if as_json:
        output.document(token)
    else:
        click.echo(f"token {output.text(token.id)} of {output.text(token.user)} is revoked")


tokens = click.Group(
    "tokens",
    commands=[create, list_, revoke],
    help="Manage API tokens, on the server's machine.",
    no_args_is_help=True,
)
