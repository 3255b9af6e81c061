"""The commands about workers' secrets."""

from typing import TYPE_CHECKING

import click
import msgspec

from cableferry.cli import connection, output, secrets
from cableferry.cli.commands import command
from cableferry.cli.connection import Target, connected

if TYPE_CHECKING:
    from cableferry.client.answers import Credential

_WORKER = click.argument("worker_id", metavar="WORKER")
_LABEL = click.option("--label", help="What it is for.")
_EXPIRES = click.option("--expires-at", metavar="TIME", help="When it ends, such as 2030-01-31T12:00:00Z.")
_SECRET = click.option("--secret-file", metavar="FILE", help="Write the secret there, mode 0600, and do not print it.")


@command(
    "issue",
    "Issue the credential of a worker; its secret is shown this once.",
    "cableferry credentials issue head-1 --secret-file head-1.secret",
)
@_WORKER
@_LABEL
@_EXPIRES
@_SECRET
@connection.options
def issue(
    target: Target, worker_id: str, label: str | None, expires_at: str | None, secret_file: str | None, as_json: bool
) -> None:
    from cableferry.client.emx2 import Credentials

    with secrets.arriving(secret_file) as keep, connected(target) as client:
        new = client.issue_credential(worker_id, Credentials(label, expires_at))
        _show_secret(new, keep(new.secret), as_json)


@command(
    "rotate",
    "Issue a new credential in place of the old one, which stays valid for the grace.",
    "cableferry credentials rotate head-1 --grace 600 --secret-file head-1.secret",
)
@_WORKER
@_LABEL
@_EXPIRES
@click.option("--grace", type=click.IntRange(min=0), metavar="SECONDS", help="How long the old one stays valid.")
@_SECRET
@connection.options
def rotate(
    target: Target,
    worker_id: str,
    label: str | None,
    expires_at: str | None,
    grace: int | None,
    secret_file: str | None,
    as_json: bool,
) -> None:
    from cableferry.client.emx2 import Credentials

    with secrets.arriving(secret_file) as keep, connected(target) as client:
        new = client.rotate_credential(worker_id, Credentials(label, expires_at, grace))
        _show_secret(new, keep(new.secret), as_json)


@command("revoke", "End a credential at once.", "cableferry credentials revoke head-1 0195...")
@_WORKER
@click.argument("id_", metavar="ID")
@connection.options
def revoke(target: Target, worker_id: str, id_: str, as_json: bool) -> None:
    with connected(target) as client:
        credential = client.revoke_credential(worker_id, id_)
    if as_json:
        output.document(credential)
    else:
        click.echo(f"{output.text(credential.id)} is {output.text(credential.status)}")


@command("list", "List a worker's credentials, without their secrets.", "cableferry credentials list head-1")
@_WORKER
@connection.options
def list_(target: Target, worker_id: str, as_json: bool) -> None:
    with connected(target) as client:
        found = client.credentials(worker_id)
    if as_json:
        output.listing(found)
    else:
        rows = [
            (each.id, each.status, each.label, each.created_at, each.expires_at, each.last_used_at) for each in found
        ]
        output.columns(("ID", "STATUS", "LABEL", "CREATED", "EXPIRES", "LAST USED"), rows)


def _show_secret(new: "Credential", shown: str | None, as_json: bool) -> None:
    if as_json:
        output.document(msgspec.structs.replace(new, secret=shown))
    else:
        output.fields([("id", new.id), ("worker", new.worker_id), ("expires", new.expires_at), ("secret", shown)])


credentials = click.Group(
    "credentials", commands=[issue, rotate, revoke, list_], help="Give workers their secrets.", no_args_is_help=True
)
