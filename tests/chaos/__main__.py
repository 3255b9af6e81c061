"""Plays the whole crash matrix and writes down what came of it: `make chaos`, with CHAOS_ROUNDS of each cell."""

import os
import platform
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from tests.chaos import cells, results, rounds
from tests.chaos.cells import Cell
from tests.chaos.results import Played
from tests.chaos.rounds import Site

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "10"))
THREADS = int(os.environ.get("CHAOS_THREADS", "3"))


def main() -> int:
    """1 when anything was lost, run twice, doubled, stuck or changed."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cableferry-chaos-") as folder, rounds.site(Path(folder)) as site:
        found = [
            cell for cell in cells.found(site) if all(word in f"{cell.group} {cell.what}" for word in sys.argv[1:])
        ]
        _say(f"{len(found)} cells, {ROUNDS} rounds of each")
        with ThreadPoolExecutor(THREADS) as pool:
            played = list(pool.map(lambda cell: _played(site, cell), found))
    matrix = results.Matrix(ROUNDS, round(time.monotonic() - began), _machine(), played)
    if len(sys.argv) == 1:
        results.FILE.write_bytes(msgspec.json.format(msgspec.json.encode(matrix), indent=1) + b"\n")
    bad = [cell for cell in played if not cell.is_good]
    _say(f"{sum(cell.rounds for cell in played)} rounds in {matrix.seconds} s, {len(bad)} bad cells")
    return 1 if bad else 0


def _played(site: Site, cell: Cell) -> Played:
    chance = random.Random(cell.what)
    played = Played(cell.group, cell.what)
    for when in cells.times(ROUNDS, chance):
        done = cell.play(site, when)
        if not done.happened and when > 1:
            # it does not come that often
            done = cell.play(site, 1)
        played = played.after(done)
        if any(done.faults):
            _say(f"  {cell.group}, {cell.what}, time {when}: {done.faults} {done.told}")
    _say(f"{cell.group}, {cell.what}: {played.rounds} rounds, {'good' if played.is_good else 'BAD'}")
    return played


def _machine() -> str:
    cores = os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**30
    return f"{cores} cores, {memory} GiB, Linux {platform.release()}, Python {platform.python_version()}"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
