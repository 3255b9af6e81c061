"""The commands of the daemon on a head node."""

import contextlib
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from cableferry.cli import output
from cableferry.cli.commands import command, usage
from cableferry.cli.exits import Exit, Failure
from cableferry.cli.lazy import Group, Place

if TYPE_CHECKING:
    from cableferry.daemon.config import Config
    from cableferry.daemon.standing import Standing, Trouble

F = TypeVar("F", bound=Callable[..., object])

DEFAULT_FILE = "config.yaml"
# a daemon writes how it stands every two seconds
_STALE_SECONDS = 60.0


def _options(function: F) -> F:
    """What every one of these commands takes, before or behind its name."""
    for option in (
        click.option("--json-logs", is_flag=True, help="Log lines as JSON."),
        click.option("-v", "--verbose", is_flag=True, help="Say more in the log."),
        click.option(
            "-c", "--config", "file", type=click.Path(path_type=Path), help=f"Its configuration  [{DEFAULT_FILE}]"
        ),
    ):
        function = option(function)
    return function


def _with_scheduler(function: F) -> F:
    for option in (
        click.option("--simulate", is_flag=True, help="The same as --backend simulate."),
        click.option(
            "--backend",
            type=click.Choice(["slurm", "local", "shell", "simulate"]),
            help="What runs the jobs; shell is local.",
        ),
    ):
        function = option(function)
    return function


@command("run", "Run the daemon until SIGTERM or Ctrl-C; submitted jobs go on.", "cableferry daemon run -c config.yaml")
@_with_scheduler
@_options
def run(backend: str | None, simulate: bool, as_json: bool, **said: object) -> None:
    from cableferry.cli import daemons

    with _opening(said) as config:
        daemons.run(daemons.opened(_chosen(config, backend, simulate)))


@command(
    "once",
    "Do one cycle and end, for cron: report, claim, submit, look, report.",
    "cableferry daemon once -c config.yaml",
)
@_with_scheduler
@_options
def once(backend: str | None, simulate: bool, as_json: bool, **said: object) -> None:
    from cableferry.cli import daemons

    with _opening(said) as config:
        daemon = daemons.opened(_chosen(config, backend, simulate))
        trouble = daemon.once()
    if trouble is not None:
        raise Failure(trouble, Exit.UNAUTHENTICATED if daemon.is_unknown else Exit.UNREACHABLE)


@command(
    "register", "Make the worker known to its server, and nothing else.", "cableferry daemon register -c config.yaml"
)
@_options
def register(as_json: bool, **said: object) -> None:
    from cableferry.cli import daemons

    with _opening(said) as config:
        daemons.register(config)
    offers = [profile.label for profile in config.profiles]
    if as_json:
        output.document({"worker_id": config.worker_id, "offers": offers})
    else:
        click.echo(
            f"Registered worker {config.worker_id} at {config.server}, which offers {', '.join(offers) or 'nothing'}"
        )


@command(
    "check",
    "Look whether all that the daemon needs is there, and say what to do about what is not.",
    "cableferry daemon check -c config.yaml",
)
@click.option("--probe", is_flag=True, help="Look from the nodes as well, by a small job in each partition.")
@click.option("--probe-seconds", type=click.IntRange(1, 86_400), default=60, help="How long to wait for it  [60]")
@_with_scheduler
@_options
def check(backend: str | None, simulate: bool, probe: bool, probe_seconds: int, as_json: bool, **said: object) -> None:
    from cableferry.daemon import check, probing

    with _opening(said) as config:
        chosen = _chosen(config, backend, simulate)
        if probe and chosen.backend != "slurm":
            raise usage("--probe asks the nodes of Slurm, and this configuration uses none")
        found = list(check.findings(chosen))
        found += probing.findings(chosen, probe_seconds) if probe else check.binds(chosen)
    if as_json:
        output.listing(found)
    else:
        rows = [(one.what, "ok" if one.is_ok else "NO", one.found, one.advice) for one in found]
        output.columns(("WHAT", "", "FOUND", "WHAT TO DO"), rows)
    if not all(one.is_ok for one in found):
        raise Failure(f"{sum(not one.is_ok for one in found)} of {len(found)} checks failed", Exit.OTHER)


@command("status", "Show what the daemon holds and what it waits for.", "cableferry daemon status -c config.yaml")
@_options
def status(as_json: bool, **said: object) -> None:
    with _opening(said) as config:
        found = _standing(config)
    age = time.time() - found.written_at
    if as_json:
        output.document({"age_seconds": round(age, 1), "standing": found})
    else:
        _show(found, age)
    if age > _STALE_SECONDS:
        raise Failure(f"the daemon has not been heard of for {age:.0f} s: it does not run, or hangs", Exit.OTHER)


@command(
    "doctor",
    "Show all that helps to find out what is wrong, without any secret: checks, what it holds, its last troubles.",
    "cableferry daemon doctor -c config.yaml --json > doctor.json",
)
@_options
def doctor(as_json: bool, **said: object) -> None:
    from cableferry.daemon import bundle, check

    with _opening(said) as config:
        found = bundle.gathered(config, list(check.findings(config)), datetime.now(UTC))
    if as_json:
        output.document(found)
        return
    rows = [(one.what, "ok" if one.is_ok else "NO", one.found, one.advice) for one in found.checks]
    output.columns(("WHAT", "", "FOUND", "WHAT TO DO"), rows)
    click.echo()
    if found.standing is None:
        click.echo("It has never run here.")
        return
    _show(found.standing, time.time() - found.standing.written_at)
    if found.standing.troubles:
        click.echo()
        times = [
            (datetime.fromtimestamp(one.at, UTC).isoformat(" ", "seconds"), one) for one in found.standing.troubles
        ]
        output.columns(("TROUBLE AT", "ABOUT", "REASON"), [(at, one.about, one.reason) for at, one in times])


@contextlib.contextmanager
def _opening(said: dict[str, object]) -> Iterator["Config"]:
    """The configuration of a command, and its troubles as a sentence."""
    from cableferry.cli import logs
    from cableferry.client.errors import Unauthenticated
    from cableferry.daemon import reference
    from cableferry.daemon.config import BadConfig

    logs.begin(bool(said["json_logs"]), is_verbose=bool(said["verbose"]))
    try:
        yield reference.load(Path(str(said["file"] or DEFAULT_FILE)))
    except BadConfig as error:
        raise usage(str(error)) from error
    except Unauthenticated as error:
        hint = "The worker's secret is not the one that the server has: `cableferry credentials issue` makes a new one."
        raise Failure(f"{error}\n{hint}", Exit.UNAUTHENTICATED) from error


def _chosen(config: "Config", backend: str | None, simulate: bool) -> "Config":
    import msgspec

    from cableferry.daemon.config import Backend

    name = "simulate" if simulate else "local" if backend == "shell" else backend
    if name is None:
        return config
    return msgspec.structs.replace(config, backend=msgspec.convert(name, Backend))


def _standing(config: "Config") -> "Standing":
    from cableferry.daemon import standing

    found = standing.read(Path(config.state_dir))
    if found is None:
        raise Failure(f"no daemon has run with {config.state_dir} yet", Exit.NOT_FOUND)
    return found


def _show(found: "Standing", age: float) -> None:
    output.fields(
        [
            ("worker", found.worker_id),
            ("server", found.server),
            ("heard of", f"{age:.0f} s ago"),
            ("server trouble", found.server_trouble),
            ("scheduler trouble", found.scheduler_trouble),
            ("place taken", found.displaced),
            ("disk trouble", found.disk_trouble),
            ("jobs held", len(found.jobs)),
        ]
    )
    if found.jobs:
        click.echo()
        rows = [
            (job.id, job.stage, job.called, f"{time.time() - job.claimed_at:.0f} s", job.remark) for job in found.jobs
        ]
        output.columns(("JOB", "STAGE", "SCHEDULER'S ID", "CLAIMED", "REMARK"), rows)


def _told(trouble: "Trouble") -> tuple[str, str, str]:
    return datetime.fromtimestamp(trouble.at, UTC).isoformat(" ", "seconds"), trouble.about, trouble.reason


COMMANDS = {
    "run": Place("daemon", "run", "Run the daemon until SIGTERM or Ctrl-C."),
    "once": Place("daemon", "once", "Do one cycle and end, for cron."),
    "register": Place("daemon", "register", "Make the worker known to its server."),
    "check": Place("daemon", "check", "Look whether all that the daemon needs is there."),
    "status": Place("daemon", "status", "Show what the daemon holds and what it waits for."),
    "doctor": Place("daemon", "doctor", "Show all that helps to find out what is wrong."),
}


@click.pass_context
def _pass_on(context: click.Context, /, **said: object) -> None:
    """What stands before a command's name counts for the command."""
    given = {name: value for name, value in said.items() if value}
    context.default_map = dict.fromkeys(COMMANDS, given)


daemon = click.version_option(package_name="cableferry")(
    _options(Group("daemon", COMMANDS, "Run jobs of a server on this cluster, from its head node."))
)
daemon.callback = _pass_on
