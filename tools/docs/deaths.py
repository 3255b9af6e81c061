"""What dying at each place of the crash matrix means: the one place where these sentences are written."""

from typing import NamedTuple


class Told(NamedTuple):
    """What somebody who waits for a job sees of it, and how it goes on by itself."""

    seen: str
    then: str


_AGAIN = "The job stays where it is for the seconds until the daemon is back."
_ASKED_AGAIN = "Asked again by the next start; asking changes nothing."
_FILES = "The next start looks at what is there, and brings only what is missing."

# by how the names begin, the longest one counts
TOLD: dict[str, Told] = {
    "journal note": Told(_AGAIN, "What was noted is gone on with; what was not has not happened, and is found again."),
    "journal told": Told("Nothing: the report is there.", "Told again, which the server takes for the same report."),
    "journal forget": Told("Nothing: the job is over.", "Cleaned and forgotten again."),
    "journal fact": Told(_AGAIN, "The session's name is made once, and used by every start."),
    "journal attempt": Told(_AGAIN, "A number that was not used is skipped."),
    "journal made": Told(
        "The job stays STARTED.",
        "The artifact is found by its job, or made again under its key, which makes it once. A plain server takes it "
        "for a new one; the empty one stays there for the server to collect.",
    ),
    "effect prepare": Told("The job stays CLAIMED.", _FILES),
    "effect submit": Told(
        "The job stays CLAIMED.",
        "An intent was noted first: the next start looks for the job by its name, and adopts it or submits it again.",
    ),
    "effect find": Told("The job stays CLAIMED.", _ASKED_AGAIN),
    "effect cancel": Told("The job is CANCELLED at the server, its command runs on for seconds.", "Ended again."),
    "effect kill": Told("The job is CANCELLED at the server, its command runs on for seconds.", "Killed again."),
    "effect collect": Told("The job stays STARTED though its command is over.", _FILES),
    "effect clean": Told("Nothing: the job is over.", "Cleaned again before it is forgotten."),
    "run prepare": Told("The job stays CLAIMED.", "The folder of the run is made again; an empty one is no start."),
    "run start": Told(
        "The job stays CLAIMED.", "The first wrapper to note itself runs the command, whoever started it."
    ),
    "run note": Told("The job stays CLAIMED.", "The wrapper's own note says the same."),
    "command sbatch": Told(
        "The job stays CLAIMED.",
        "The job is looked for by its name in squeue and sacct, twice and late enough, before it is submitted again; "
        "two of one name wait for each other, and the fence lets one run.",
    ),
    "inside sbatch": Told(
        "The job stays CLAIMED for seconds, or for about a minute where sbatch never asked.",
        "As around sbatch: what was submitted is adopted by its name, and only certain absence lets it be done again.",
    ),
    "slurmctld": Told(
        "The job stays where it is; `daemon status` shows the scheduler's trouble.",
        "Nothing is submitted or called lost until the controller answers, and then all goes on.",
    ),
    "command": Told(_AGAIN, _ASKED_AGAIN),
    "file": Told(_AGAIN, "A file comes to be under its name when it is whole; the next start makes it again if not."),
    "call GET": Told(_AGAIN, _ASKED_AGAIN),
    "call OPTIONS": Told(_AGAIN, _ASKED_AGAIN),
    "call HEAD": Told(_AGAIN, _ASKED_AGAIN),
    "call POST /api/hpc/workers/register": Told(_AGAIN, "Registered again, in the same session."),
    "call POST /api/hpc/workers/*/sync": Told(
        _AGAIN,
        "Reports are told again and taken once. A claim whose answer was lost is found by asking what the server "
        "thinks the worker holds.",
    ),
    "call POST /api/hpc/workers/*/logs": Told(
        "The live log pauses.", "Sent again from the byte that the server has; what it has is compared, not added."
    ),
    "call POST /api/hpc/workers/*/heartbeat": Told(_AGAIN, _ASKED_AGAIN),
    "call POST /api/hpc/jobs/*/claim": Told(
        "The job is CLAIMED and nothing happens for some seconds.",
        "Found by asking what the server thinks the worker holds.",
    ),
    "call POST /api/hpc/jobs/*/transition": Told(_AGAIN, "Told again, which the server takes for the same report."),
    "call POST /api/hpc/artifacts/*/commit": Told("The job stays STARTED.", "Committed again, which changes nothing."),
    "call POST /api/hpc/artifacts/*/uploads": Told("The job stays STARTED.", "The upload is found and gone on with."),
    "call PATCH": Told("The job stays STARTED.", "Gone on with at the byte that the server has."),
    "call PUT": Told("The job stays STARTED.", _FILES),
    "call POST /api/hpc/artifacts": Told(
        "The job stays STARTED.", "Found by its job, or made again under its key, which makes it once."
    ),
    "commit": Told(
        "A request is not answered, and its client asks again.",
        "What was answered is on disk; what was on disk and not answered is recognised when it comes again.",
    ),
    "bytes": Told(
        "An upload breaks off, and its client goes on.",
        "Bytes without a row are removed by the next collection; a row refers to bytes only once they are on disk.",
    ),
}


def told(name: str) -> Told | None:
    """Of an instant or a request: `before call GET /api/hpc/jobs answer lost`."""
    bare = name.removeprefix("before ").removeprefix("after ")
    return TOLD.get(max((known for known in TOLD if bare.startswith(known)), key=len, default=""))
