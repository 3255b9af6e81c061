"""Jobs on a Slurm cluster, submitted, found, seen and cancelled by its own commands."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from cableferry import failpoints
from cableferry.schedulers.protocol import (
    BATCH_LOG,
    Accepted,
    Ending,
    Found,
    Order,
    Phase,
    Refused,
    Sighting,
    Snapshot,
    Submission,
    Ticket,
    Unknown,
)
from cableferry.schedulers.slurm import commands, refusals, rows, runs, verdicts
from cableferry.schedulers.slurm.accounting import Accounting, Accounts
from cableferry.schedulers.slurm.commands import Ran
from cableferry.schedulers.slurm.rows import Row

_OVER_ALREADY = "Invalid job id specified"
# between what two of Slurm's programs say of one submission; an id takes far longer to come round again
_SUBMIT_SECONDS = 60


class Place(msgspec.Struct, frozen=True):
    """Where the runs lie, how our jobs' names begin, how long a command may take, and who is told of each."""

    folder: Path
    prefix: str
    seconds: float = 30
    cluster: str | None = None
    told: Callable[[str, bool, float], object] = commands.untold

    @property
    def site(self) -> tuple[str, ...]:
        return () if self.cluster is None else (f"--clusters={self.cluster}",)


class Slurm:
    """One cluster, as one user of it; `clusters` is for several."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._accounting = Accounting(place.site, self._ask)

    def submit(self, order: Order) -> Submission:
        run = self._run(order.name)
        try:
            with failpoints.crossing("run", "prepare"):
                runs.prepare(run, order)
        except OSError as error:
            return Refused(f"the run's folder {run} cannot be written: {error.strerror}", may_pass=True)
        ran = self._ask(sbatch(order, run, self._place.site))
        if not ran.is_ok:
            return refusals.judged(ran)
        id_, _, cluster = ran.out.strip().partition(";")
        if not id_.isdigit():
            return Unknown(f"sbatch said {ran.out.strip()[:200]!r}, which is no job id")
        return Accepted(Ticket(order.name, id_, cluster=cluster or None))

    def find(self, name: str, since: float) -> Found:
        seen = self._ask(self._squeue(f"--name={name}"))
        if not seen.is_ok:
            return Found(False, (), seen.trouble)
        accounts = self._accounting.of_name(name, since, time.time())
        known = {row.id: row for row in (*accounts.rows, *rows.squeue(seen.out)) if row.name == name}
        first = runs.holder(self._run(name))
        order = sorted(known.values(), key=lambda row: (row.id != first, int(row.id)))
        tickets = tuple(Ticket(name, row.id, row.submitted_at, self._place.cluster) for row in order)
        return Found(accounts.is_ok, tickets, accounts.trouble)

    def sight(self, tickets: Collection[Ticket], now: float) -> Snapshot:
        seen = self._ask(self._squeue())
        if not seen.is_ok:
            return Snapshot(False, now, trouble=seen.trouble)
        queued = {row.id: row for row in rows.squeue(seen.out)}
        over = [ticket for ticket in tickets if verdicts.is_over(_of(queued, ticket))]
        accounts = self._accounting.of_jobs([ticket.called for ticket in over], time.time())
        jobs = {ticket.name: verdicts.alive(row) for ticket in tickets if (row := _of(queued, ticket)) is not None}
        for ticket in over:
            jobs[ticket.name] = self._over(ticket, _of(queued, ticket), accounts)
        if not accounts.is_ok:
            # who is nowhere to be seen may be in the answer that did not come
            jobs = {name: seen for name, seen in jobs.items() if seen.phase is not Phase.MISSING}
        return Snapshot(True, now, jobs, self._strangers(queued, tickets), accounts.trouble)

    def cancel(self, ticket: Ticket, is_urgent: bool) -> bool:
        """By id and name, so that a neighbour who was given the same id is left alone; Slurm does the urging itself."""
        command = ("scancel", *self._place.site, f"--name={ticket.name}", ticket.called)
        ran = self._ask(command)
        return ran.is_ok or _OVER_ALREADY in ran.err

    def _over(self, ticket: Ticket, queued: Row | None, accounts: Accounts) -> Sighting:
        """A job that is not alive: what accounting says, else the controller, else the run's own note."""
        noted = runs.status(self._run(ticket.name))
        status = noted if noted is not None and noted.job == ticket.called else None
        row = next((row for row in accounts.rows if _is(row, ticket) and verdicts.is_over(row)), None)
        if row is None and queued is not None and not self._accounting.is_kept(time.time()) and status is None:
            # squeue does not say how it ended, and nobody else will
            row = self._shown(ticket)
        if row is None and queued is None and status is None:
            return Sighting(Phase.MISSING)
        seen = verdicts.ended(row or queued, status, self._turned_away(ticket))
        is_told = row is not None or not self._accounting.is_kept(time.time())
        return seen if is_told else msgspec.structs.replace(seen, may_grow=True)

    def _turned_away(self, ticket: Ticket) -> Ending | None:
        """How the last run of the job ended if the fence did not let it pass."""
        run = self._run(ticket.name)
        if runs.holder(run) not in (None, ticket.called):
            return Ending.DUPLICATE
        return Ending.PUT_BACK if runs.was_put_back(run) else None

    def _shown(self, ticket: Ticket) -> Row | None:
        command = ("scontrol", *self._place.site, "--oneliner", "show", "job", ticket.called)
        ran = self._ask(command)
        row = rows.scontrol(ran.out) if ran.is_ok else None
        return row if row is not None and _is(row, ticket) and verdicts.is_over(row) else None

    def _strangers(self, queued: Mapping[str, Row], tickets: Collection[Ticket]) -> tuple[Ticket, ...]:
        """Living jobs under our names that nobody asked about."""
        asked = {ticket.called for ticket in tickets}
        return tuple(
            Ticket(row.name, row.id, row.submitted_at, self._place.cluster)
            for row in queued.values()
            if row.name.startswith(self._place.prefix) and row.id not in asked and not verdicts.is_over(row)
        )

    def _squeue(self, *which: str) -> tuple[str, ...]:
        return (
            "squeue",
            *self._place.site,
            "--me",
            "--noheader",
            "--states=all",
            f"--format={rows.SQUEUE}",
            *which,
        )

    def _ask(self, command: Sequence[str]) -> Ran:
        return commands.told(command, self._place.seconds, self._place.told)

    def _run(self, name: str) -> Path:
        return self._place.folder / name


def sbatch(order: Order, run: Path, site: tuple[str, ...]) -> tuple[str, ...]:
    """The whole command: what a site adds comes last but for what makes a job ours and unique."""
    where = order.resources
    wishes = {
        "partition": where.partition,
        "account": where.account,
        "qos": where.qos,
        "constraint": where.constraint,
        "reservation": where.reservation,
        "cpus-per-task": where.cpus,
        "mem": where.memory,
        "time": where.time,
        "gres": where.gres,
        "gpus": where.gpus,
    }
    return (
        "sbatch",
        *site,
        *(f"--{name}={value}" for name, value in wishes.items() if value is not None),
        *where.arguments,
        "--parsable",
        f"--job-name={order.name}",
        f"--comment={order.comment}",
        "--dependency=singleton",
        "--requeue" if where.may_restart else "--no-requeue",
        # of what sbatch itself sees, which is next to nothing
        "--export=ALL",
        f"--chdir={run}",
        "--open-mode=append",
        f"--output={order.output_dir}/{BATCH_LOG}",
        str(run / "job.sh"),
        str(run),
        order.work_dir,
        f"{order.output_dir}/stdout.log",
        f"{order.output_dir}/stderr.log",
    )


def _of(known: Mapping[str, Row], ticket: Ticket) -> Row | None:
    row = known.get(ticket.called)
    return row if row is not None and _is(row, ticket) else None


def _is(row: Row, ticket: Ticket) -> bool:
    """Ids are used again, and names too where a controller has lost its state: what was submitted before is another.

    A requeued job counts as submitted again, so later is no other.
    """
    is_older = (
        row.submitted_at is not None
        and ticket.submitted_at is not None
        and row.submitted_at < ticket.submitted_at - _SUBMIT_SECONDS
    )
    return row.id == ticket.called and row.name == ticket.name and not is_older
