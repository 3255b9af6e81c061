"""The program `cableferry`: its commands, and how it ends."""

import json
import os
import sys

import click

from cableferry.cli import exits
from cableferry.cli.exits import Exit
from cableferry.cli.lazy import Group, Place

COMMANDS = {
    "serve": Place("serve", "serve", "Run the server."),
    "jobs": Place("jobs", "jobs", "Submit, follow and end jobs."),
    "artifacts": Place("artifacts", "artifacts", "Bring, fetch and look at artifacts."),
    "workers": Place("workers", "workers", "See and remove workers."),
    "credentials": Place("credentials", "credentials", "Give workers their secrets."),
    "users": Place("users", "users", "Manage accounts, on the server's machine."),
    "tokens": Place("tokens", "tokens", "Manage API tokens, on the server's machine."),
    "access-keys": Place("access_keys", "access_keys", "Manage the keys of S3 clients, on the server's machine."),
    "db": Place("db", "db", "Upgrade, check and back up the database."),
    "opeva": Place("opeva", "opeva", "Look after the folder that container workers share."),
    "openapi": Place("openapi", "openapi", "Print the OpenAPI document."),
    "daemon": Place("daemon", "daemon", "Run jobs of a server on this cluster."),
    "local-worker": Place("local_worker", "local_worker", "Run jobs as commands on this machine."),
    "worker": Place("worker", "worker", "Run jobs in containers on this machine."),
    "demo": Place("demo", "demo", "See one job go from submit to its output."),
    "completion": Place("completion", "completion", "Print the completion script of a shell."),
}

root = click.version_option(package_name="cableferry")(
    Group(
        "cableferry",
        COMMANDS,
        "Run work on compute that accepts no inbound connection.",
        "Try `cableferry demo` first. Every command has --help with examples; docs/cli.md lists the exit codes.",
    )
)


def main() -> None:
    """The entry point of the program."""
    sys.exit(run(sys.argv[1:]))


def emx2_daemon() -> None:
    """The entry point of the program under the name that daemons of the EMX2 protocol have."""
    daemon = root.get_command(click.Context(root), "daemon")
    sys.exit(run(sys.argv[1:], daemon or root, "emx2-hpc-daemon"))


def run(arguments: list[str], program: click.Command = root, name: str = "cableferry") -> int:
    """The exit code of one command line."""
    try:
        result = program.main(arguments, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        _tell(error, "--json" in arguments)
        return exits.code(error)
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # whoever read our output has seen enough; nothing may fail at the last flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    return result if isinstance(result, int) else Exit.OK


def _tell(error: click.ClickException, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(exits.problem(error)), err=True)
    else:
        error.show()


if __name__ == "__main__":
    main()
