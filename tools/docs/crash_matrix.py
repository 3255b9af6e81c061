"""The crash matrix: who died where how often, and what was lost, run twice, doubled, stuck or changed."""

from collections.abc import Iterator, Sequence

from tools.docs import deaths, markdown, played
from tools.docs.played import Played

PATH = "crash-matrix.md"
_COLUMNS = ("rounds", "lost", "run twice", "doubled", "stuck", "changed")
_GROUPS = {
    "daemon": "The daemon is killed, at our server, with jobs of small files.",
    "daemon, file of 34 MB": "The same while a large output is brought in parts.",
    "daemon, plain server": "The same at a server that has none of our extensions.",
    "server": "The server is killed while a daemon works for it, and comes back at the same address.",
    "server, file of 34 MB": "The same while a large output is brought in parts.",
    "request": "A request of the daemon's goes wrong several times in a row: it is cut off before it is heard, "
    "its answer is lost, or it is refused by 503 or by 500.",
    "request, file of 34 MB": "The same while a large output is brought in parts.",
    "request, plain server": "The same at a server that has none of our extensions.",
    "slurm": "A sample on a real Slurm: the daemon is killed around its commands and inside of sbatch, "
    "and slurmctld is killed or holds its breath.",
}


def text() -> str:
    matrix = played.read()
    rounds = sum(cell.rounds for cell in matrix.cells)
    groups = list(dict.fromkeys(cell.group for cell in matrix.cells))
    return markdown.page(
        "Crash matrix",
        "Daemon and server are killed by `kill -9` right before and right after everything that they do to the world"
        " outside of them, and come back.\n"
        "Where that is, they say themselves: each of these places has a name in the code, and a name without a cell"
        " fails a test.",
        "In each round a worker has three jobs, of which one succeeds with inputs and outputs, one fails and one is"
        " cancelled while it runs, or a job with an output of 34 MB.\n"
        "Real processes run them, and each leaves a mark where no daemon looks, so a second run shows.\n"
        "In some rounds the place is reached a second or a third time before the death, and another death follows"
        " somewhere on the way back.",
        f"So far there were **{rounds} rounds in {len(matrix.cells)} cells**, on {matrix.machine},"
        f" in {matrix.seconds // 60} minutes.\n"
        "`make chaos` plays it and writes this page; `CHAOS_ROUNDS` says how often each cell.",
        markdown.table(("who and when", "cells", *_COLUMNS), [_sum(group, matrix.cells) for group in groups]),
        "A job is lost if it does not end as it should, run twice if its command was started more than once, doubled"
        " if it has two artifacts of a kind, stuck if anything of it is not over or still held or still lives,"
        " and changed if an output or a log is not byte for byte what was written.",
        "## What somebody sees of it, and how it goes on",
        "An operator has nothing to do for any of it but to let the process be started again, as a service manager"
        " does.\n"
        "What helps when something else fails is told in [When something fails](how-to/when-something-fails.md).",
        markdown.table(("killed around", "seen of a job", "goes on"), _meanings(matrix.cells)),
        *(block for group in groups for block in _cells(group, matrix.cells)),
    )


def _sum(group: str, cells: Sequence[Played]) -> tuple[str, ...]:
    mine = [cell for cell in cells if cell.group == group]
    faults = [sum(column) for column in zip(*(cell.faults for cell in mine), strict=True)]
    return group, str(len(mine)), str(sum(cell.rounds for cell in mine)), *map(str, faults)


def _meanings(cells: Sequence[Played]) -> Iterator[tuple[str, str, str]]:
    names = {cell.what for cell in cells}
    for known, meaning in deaths.TOLD.items():
        if any(deaths.told(name) is meaning for name in names):
            yield markdown.code(known), meaning.seen, meaning.then


def _cells(group: str, cells: Sequence[Played]) -> tuple[str, str, str]:
    rows = [
        (markdown.code(cell.what), str(cell.rounds), *map(str, cell.faults)) for cell in cells if cell.group == group
    ]
    return f"## {group[0].upper()}{group[1:]}", _GROUPS[group], markdown.table(("cell", *_COLUMNS), rows)
