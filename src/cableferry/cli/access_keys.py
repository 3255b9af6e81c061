"""The commands about the access keys of S3's clients; they work on the database itself, for whoever may read it."""

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from cableferry.cli import output, place, secrets
from cableferry.cli.commands import command, usage

if TYPE_CHECKING:
    from cableferry.engine.access_keys import Issued, Wanted
    from cableferry.engine.credentials import Seal
    from cableferry.server.settings import Settings
    from cableferry.store.tx import Tx

_USER = click.argument("user", required=False)
_WORKER = click.option("--worker", metavar="WORKER", help="A worker's keys, instead of a user's.")


@command(
    "issue",
    "Issue an access key of USER, or of a worker; its secret is shown this once.",
    "cableferry access-keys issue ada --may-write --label laptop --secret-file ada.secret\n"
    "cableferry access-keys issue --worker head-1 --may-write --expires-in-days 90",
)
@_USER
@_WORKER
@click.option("--may-write", is_flag=True, help="It may bring and remove files too; without this it only reads.")
@click.option("--label", help="What it is for.")
@click.option(
    "--expires-in-days",
    type=click.FloatRange(min=0, min_open=True, max=36500),
    metavar="DAYS",
    help="How long it counts; without this, until it is revoked.",
)
@click.option("--secret-file", metavar="FILE", help="Write the secret there, mode 0600, and do not print it.")
@place.options
def issue(
    settings: "Settings",
    user: str | None,
    worker: str | None,
    may_write: bool,
    label: str | None,
    expires_in_days: float | None,
    secret_file: str | None,
    as_json: bool,
) -> None:
    from cableferry.engine.access_keys import Wanted
    from cableferry.server import authenticate
    from cableferry.wire.ui import bodies

    _check_one(user, worker)
    life = None if expires_in_days is None else timedelta(days=expires_in_days)
    wanted = Wanted(worker, may_write, label)
    with secrets.arriving(secret_file) as keep, place.opened(settings) as store:
        seal = authenticate.open_vault(settings).seal
        issued = store.write(lambda tx: _issue(tx, seal, user, wanted, life))
        shown = keep(issued.secret)
    key = bodies.access_key(issued.key)
    if as_json:
        output.document(key if shown is None else bodies.new_access_key(issued.key, shown))
    else:
        output.fields(
            [("id", key.id), ("role", key.role), ("worker", key.worker), ("expires", key.expires_at), ("secret", shown)]
        )


def _issue(tx: "Tx", seal: "Seal", user: str | None, wanted: "Wanted", life: timedelta | None) -> "Issued":
    import msgspec

    from cableferry.core.access import Person, Role
    from cableferry.engine import access_keys, users

    asked = msgspec.structs.replace(wanted, expires_at=None if life is None else tx.now + life)
    # whoever holds the database may do what an Owner may
    person = Person("operator", Role.OWNER) if user is None else Person(user, users.get(tx, user).role)
    return access_keys.grant(tx, seal, person, asked)


@command(
    "list",
    "List the access keys of USER, or of a worker.",
    "cableferry access-keys list ada\ncableferry access-keys list --worker head-1",
)
@_USER
@_WORKER
@place.options
def list_(settings: "Settings", user: str | None, worker: str | None, as_json: bool) -> None:
    from cableferry.core.access import Person, Role
    from cableferry.engine import access_keys
    from cableferry.wire.ui import bodies

    _check_one(user, worker)
    operator = Person("operator", Role.OWNER)
    with place.opened(settings) as store:
        found = store.read(lambda tx: access_keys.find(tx, operator, user, worker))
    shown = [bodies.access_key(each) for each in found]
    if as_json:
        output.listing(shown)
    else:
        rows = [
            (
                each.id,
                "yes" if each.may_write else "no",
                each.label,
                each.expires_at,
                each.last_used_at,
                each.revoked_at,
            )
            for each in shown
        ]
        output.columns(("ID", "WRITES", "LABEL", "EXPIRES", "LAST USED", "REVOKED"), rows)


@command("revoke", "End an access key at once.", "cableferry access-keys revoke CF3F2A...")
@click.argument("id_", metavar="ID")
@place.options
def revoke(settings: "Settings", id_: str, as_json: bool) -> None:
    from cableferry.core.access import Person, Role
    from cableferry.engine import access_keys
    from cableferry.wire.ui import bodies

    operator = Person("operator", Role.OWNER)
    with place.opened(settings) as store:
        key = bodies.access_key(store.write(lambda tx: access_keys.revoke(tx, operator, id_)))
    if as_json:
        output.document(key)
    else:
        click.echo(f"access key {output.text(key.id)} of {output.text(key.user or key.worker)} is revoked")


def _check_one(user: str | None, worker: str | None) -> None:
    if (user is None) == (worker is None):
        raise usage("name a user, or a worker by --worker")


access_keys = click.Group(
    "access-keys",
    commands=[issue, list_, revoke],
    help="Manage the keys of S3 clients, on the server's machine.",
    no_args_is_help=True,
)
