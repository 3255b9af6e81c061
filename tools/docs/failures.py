"""What fails, how one sees it, what happens by itself, and what to do: the operator's cheat sheet."""

import ast
from pathlib import Path
from typing import NamedTuple

import cableferry
from cableferry.core.jobs import Cause
from cableferry.daemon import endings
from cableferry.schedulers.protocol import Ending
from tools.docs import events, logs, markdown, played
from tools.docs.states import CAUSES

PATH = "how-to/when-something-fails.md"


class Told(NamedTuple):
    """What happens by itself, and what is left to do."""

    then: str
    remedy: str


_OURS = "Nothing is tried again: it would fail again."
_RETRIED = "Tried again as often as the profile's `retries` says, under another name and in another folder."

JOBS: dict[Cause, Told] = {
    Cause.ERROR: Told(_OURS, "Read the job's log; `exit_code=` is the program's own, `no profile` the site's."),
    Cause.SIGNAL: Told(_OURS, "Read the job's log; signal 9 is often a memory limit, 11 a fault of the program."),
    Cause.TIMEOUT: Told(
        "What still runs is asked to end, then killed.",
        "Raise the limit that the detail names: the job's, the profile's or the partition's.",
    ),
    Cause.LOST: Told(
        "It counts as lost only after `worker.lost_seconds` in none of the scheduler's lists.",
        "Look into the scheduler's own log for the id; then create the job again.",
    ),
    Cause.MISMATCH: Told("Nothing runs on wrong bytes.", "Compare the file that the detail names with its artifact."),
    Cause.NOT_SUBMITTED: Told(
        "The job goes back to the queue or fails, as the server's timeouts say.",
        "See `daemon status`: staging may be slow, a disk full, Slurm silent.",
    ),
    Cause.SILENT: Told(
        "A daemon that comes back is told to stop what it runs of the job.",
        "Start the daemon, or raise `timeouts.started_seconds`.",
    ),
    Cause.OFFLINE: Told("Another worker may be given the job.", "Start the worker, or look why it reaches no server."),
    Cause.STOPPED: Told("Nothing: somebody wished it.", "Nothing."),
    Cause.OUT_OF_MEMORY: Told(_RETRIED, "Give the profile more `memory`; the detail has `max_rss`."),
    Cause.NODE_FAILED: Told(_RETRIED, "Set `retries: {node-fail: 2}`, and look at the node with `sinfo -R`."),
    Cause.PREEMPTED: Told(_RETRIED, "Set `retries: {preempted: 3}`, or use a partition that is not preempted."),
    Cause.STAGING: Told(
        "What may pass is tried again until the job's submission timeout.",
        "The detail names the input: its place, its rights, the room for it.",
    ),
    Cause.STORING: Told(
        "What may pass is tried again for as long as it takes; outputs stay where they are.",
        "The detail says why; the files lie in the job's `output` folder.",
    ),
    Cause.REFUSED: Told(
        "Limits that pass are waited for, other refusals are final.",
        "`cableferry daemon check` shows what Slurm says to each profile.",
    ),
    Cause.UNSURE: Told(
        "Nothing is submitted again before squeue and sacct have both denied the job's name.",
        "Find out why the controller does not answer: `scontrol ping`.",
    ),
}

SCHEDULER: dict[Ending, str] = {
    Ending.CANCELLED: "Ask whoever used `scancel`; create the job again.",
    Ending.TIMEOUT: "Raise the profile's `time`, or let the program checkpoint.",
    Ending.OUT_OF_MEMORY: "Raise the profile's `memory`.",
    Ending.NODE_FAILED: "Set `retries: {node-fail: 2}`.",
    Ending.PREEMPTED: "Set `retries: {preempted: 3}`.",
    Ending.DEADLINE: "Take `--deadline` out of `sbatch_args`, or raise it.",
    Ending.NOT_STARTED: "Set `retries: {not-started: 2}`; look at the node's health.",
    Ending.REVOKED: "Name one cluster by `slurm.cluster`.",
    Ending.PUT_BACK: "Set `may_restart` in the profile, if its program may begin again.",
    Ending.DUPLICATE: "Nothing: the other run is the job.",
    Ending.UNUSABLE: "Let every node mount the folder `apptainer.tmp_dir`.",
}

DAEMON: dict[str, Told] = {
    "server in trouble": Told(
        "It asks again, ever less often up to twice a minute, for ever; jobs go on, reports wait in its journal.",
        "`daemon check` says whether it is the network, the address, the clock or the secret.",
    ),
    "scheduler in trouble": Told(
        "Nothing is submitted and nothing counts as lost until Slurm answers again.",
        "`scontrol ping`; a controller that is slow for long wants a longer `slurm.look_interval_seconds`.",
    ),
    "disk full": Told(
        "No new jobs; those that run go on; what could not be noted is found again.",
        "Make room on the disk that it names, or lower `worker.least_free_mb`.",
    ),
    "place taken": Told(
        "It claims and submits nothing, reports on what runs, and takes its place back when the other has gone.",
        "Stop one of the two daemons, or give one another `worker_id`.",
    ),
    "job held up": Told(
        "Tried again, or the job fails with that reason.", "Only if it goes on: the reason says where to look."
    ),
    "orphan cancelled": Told(
        "A living job under our names that belongs to nothing held was cancelled, after it was seen twice.",
        "Nothing; if it comes again and again, two daemons may share a `worker_id` and no server with sessions.",
    ),
    "output left out": Told(
        "Links that lead elsewhere, pipes and the like are not brought home.", "Let the program write files."
    ),
    "job not started": Told("It was reported as failed, with the reason.", "See the job's cause above."),
    "effect failed": Told(
        "What was done is taken neither for done nor for undone, and looked at again.",
        "A bug: `daemon doctor --json` and the traceback are what a report needs.",
    ),
    "metrics not shown": Told("Jobs go on; nobody can read its numbers.", "Name another port, or free this one."),
    "metrics not written": Told("Jobs go on; the numbers in the file are old.", "Let its user write that folder."),
    "job with an unusable id ignored": Told("It is never touched.", "The server is not one of this protocol."),
}


def text() -> str:
    matrix = played.read()
    rounds = sum(cell.rounds for cell in matrix.cells)
    wrong = sum(sum(cell.faults) for cell in matrix.cells)
    return markdown.page(
        "When something fails",
        "Three places say what is wrong: the job (`cableferry jobs show`, its status, cause and detail), the daemon"
        " (`cableferry daemon status`, its log), and the server ([its log](../logs.md), [errors](../errors.md)).",
        "## A job has failed",
        markdown.table(("cause", "means", "happens by itself", "what to do"), map(_cause, Cause)),
        "## What a scheduler says",
        "These words begin the detail of a job that its scheduler ended.",
        markdown.table(("detail", "what to do"), map(_ending, SCHEDULER)),
        "## The daemon complains",
        "Each is a line of its log; while it lasts, `daemon status` shows it as `server trouble`, `scheduler trouble`,"
        " `disk trouble` or `place taken`, and the dashboard beside the worker.",
        markdown.table(("log line", "means", "happens by itself", "what to do"), map(_complaint, DAEMON)),
        "## A process dies",
        f"Daemon and server were killed at {len(matrix.cells)} places, {rounds} times in all, and {wrong} of these"
        " times something was lost, run twice, doubled, left behind or changed: see the"
        " [crash matrix](../crash-matrix.md).",
        "Start the process again, or let a service manager do it; there is nothing to repair, and no state to remove.\n"
        "Never remove the daemon's state to get it going: its journal is how it knows which jobs are its own.",
    )


def complaints() -> set[str]:
    """What the daemon can write to its log as a warning or worse."""
    package = Path(cableferry.__file__).parent / "daemon"
    trees = [ast.parse(file.read_text()) for file in package.rglob("*.py") if "containers" not in file.parts]
    return {line.event for tree in trees for line in logs.lines(tree) if line.level in ("warning", "error")}


def _cause(cause: Cause) -> tuple[str, str, str, str]:
    return markdown.code(cause), CAUSES[cause], *JOBS[cause]


def _ending(ending: Ending) -> tuple[str, str]:
    return endings.WHY[ending], SCHEDULER[ending]


def _complaint(event: str) -> tuple[str, str, str, str]:
    return markdown.code(event), events.TOLD[event], *DAEMON[event]
