"""The command that runs the server."""

from pathlib import Path

import click

from cableferry.cli import place
from cableferry.cli.commands import command
from cableferry.cli.exits import Exit, Failure


@command(
    "serve",
    "Run the server until SIGTERM or Ctrl-C; flags win over CABLEFERRY_* variables and the settings file.",
    "cableferry serve\n"
    "cableferry serve --config /etc/cableferry.toml --host 0.0.0.0\n"
    "cableferry serve --auth-off --data-dir /tmp/ferry --port 0",
)
@click.option("--config", type=click.Path(path_type=Path), help="The settings file (TOML).  [env: CABLEFERRY_CONFIG]")
@click.option("--host", help="Address to listen on.  [127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.  [8710]")
@click.option("--database", metavar="URL", help=place.DATABASE)
@click.option("--data-dir", type=click.Path(), help="Folder of the SQLite file and of generated keys.")
@click.option("--contract", type=click.Choice(["seed", "latest"]), help="Edition of the EMX2 protocol.")
@click.option("--auth-off", is_flag=True, default=None, help="No authentication; on a loopback address only.")
@click.option("--log-format", type=click.Choice(["json", "console"]), help="How log lines look.")
def serve(
    config: Path | None,
    host: str | None,
    port: int | None,
    database: str | None,
    data_dir: str | None,
    contract: str | None,
    auth_off: bool | None,
    log_format: str | None,
    as_json: bool,
) -> None:
    flags = {
        "server.host": host,
        "server.port": port,
        "database.url": database,
        "database.data_dir": data_dir,
        "emx2.contract": contract,
        "auth.off": auth_off,
        "log.format": "json" if as_json else log_format,
    }
    loaded = place.loaded(config, flags)
    from cableferry.server import serve as server
    from cableferry.server.vault import CannotStart

    try:
        with place.told():
            server.serve(loaded.settings, loaded.sources)
    except CannotStart as error:
        raise Failure(str(error), Exit.USAGE) from error
    except OSError as error:
        raise Failure(f"the server cannot start: {error}", Exit.OTHER) from error
