"""Plays the crash matrix and writes down what came of it: `make chaos`, with CHAOS_ROUNDS of each cell.

Words behind the command choose cells by their group and name, and then nothing is written down but what is said.
"""

import contextlib
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests import clusters
from tests.chaos import cells, results, rounds, slurm
from tests.chaos.cells import Cell
from tests.chaos.rounds import Done, Site
from tools.docs import played as kept
from tools.docs.played import Matrix, Played

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "10"))
THREADS = int(os.environ.get("CHAOS_THREADS", "3"))
# a real Slurm takes its time, so it is asked for a sample only
SLURM_ROUNDS = int(os.environ.get("CHAOS_SLURM_ROUNDS", "2"))


def main(words: Sequence[str]) -> int:
    """1 when anything was lost, run twice, doubled, stuck or changed."""
    began = time.monotonic()
    played: list[Played] = []
    with tempfile.TemporaryDirectory(prefix="cableferry-chaos-") as folder, rounds.site(Path(folder)) as site:
        if "slurm" not in words:
            played += _play(site, _chosen(cells.found(site), words), ROUNDS, THREADS)
        if clusters.can_run() and "--no-slurm" not in words:
            with clusters.running() as cluster:
                played += _play(site, _chosen(slurm.found(cluster, site), words), SLURM_ROUNDS, 2 * THREADS)
                played += _play(site, _chosen(slurm.alone(cluster), words), SLURM_ROUNDS, 1)
    if not words:
        kept.write(Matrix(round(time.monotonic() - began), _machine(), played))
    return 1 if any(not cell.is_good for cell in played) else 0


def _chosen(found: Sequence[Cell], words: Sequence[str]) -> list[Cell]:
    wanted = [word for word in words if not word.startswith("--")]
    return [cell for cell in found if all(word in f"{cell.group} {cell.what}" for word in wanted)]


def _play(site: Site, found: Sequence[Cell], times: int, threads: int) -> list[Played]:
    """Round by round, so that whoever ends it early has all cells alike often."""
    chance = random.Random(times)
    played = [Played(cell.group, cell.what) for cell in found]
    for number in range(times):
        with ThreadPoolExecutor(threads) as pool:
            tasks = [pool.submit(_played, site, cell, _when(number, chance)) for cell in found]
            played = [results.after(before, task.result()) for before, task in zip(played, tasks, strict=True)]
        _say(f"round {number + 1} of {times}: {len(found)} cells, {sum(not cell.is_good for cell in played)} bad")
    for cell in played:
        if not cell.is_good:
            _say(f"BAD {cell}")
    return played


def _when(number: int, chance: random.Random) -> int:
    """At its first time in the first round, later in some others."""
    return chance.choice((1, 1, 2, 3)) if number else 1


def _played(site: Site, cell: Cell, when: int) -> Done:
    done = cell.play(site, when)
    if not done.happened and when > 1:
        # it does not come that often
        done = cell.play(site, 1)
    if any(done.faults):
        _say(f"{cell.group}, {cell.what}, time {when}: {done.faults} {done.told}")
    return done


def _machine() -> str:
    cores = os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**30
    return f"{cores} cores, {memory} GiB, Linux {platform.release()}, Python {platform.python_version()}"


def _say(line: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
