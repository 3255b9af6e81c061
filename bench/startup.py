"""How long the command line takes to say what it can do, and a server to give its first answer."""

import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from bench import report, servers

RUNS = 21
COMMAND = str(Path(sys.executable).with_name("cableferry"))


def main(runs: int = RUNS, starts: int = 7) -> None:
    floors, helps, deeper = [], [], []
    for _ in range(runs):
        floors.append(_seconds([sys.executable, "-c", "pass"]))
        helps.append(_seconds([COMMAND, "--help"]))
        deeper.append(_seconds([COMMAND, "jobs", "--help"]))
    first_answers = [_serve() for _ in range(starts)]
    rows = [
        _row("python -c pass (floor)", floors),
        _row("cableferry --help", helps),
        _row("cableferry jobs --help", deeper),
        _row("cableferry serve to its first answer", first_answers),
    ]
    report.table("Start-up", ("", "median", "fastest", "slowest"), rows)
    value, floor = statistics.median(helps) * 1000, statistics.median(floors) * 1000
    report.result("startup", value, "ms", floor, serve_ms=statistics.median(first_answers) * 1000)


def _seconds(command: list[str]) -> float:
    began = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - began


def _serve() -> float:
    began = perf_counter()
    with servers.on_sqlite():
        return perf_counter() - began


def _row(name: str, values: list[float]) -> report.Row:
    return (name, *(report.ms(value) for value in (statistics.median(values), min(values), max(values))))


if __name__ == "__main__":
    main()
