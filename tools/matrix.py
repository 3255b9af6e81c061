"""Runs the stories of a real Slurm on each version that a Debian brings, with accounts and without.

python -m tools.matrix                   all of them
python -m tools.matrix trixie sid:none   some of them

The page in docs/ tells what each said last, once each has said something.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "slurm-versions.md"
TOOLS = ROOT / "tools" / "cluster"
HERE = "here"
SUITES = (HERE, "trixie", "sid")
ACCOUNTINGS = ("slurmdbd", "none")
STORIES = ("tests/system", "tests/schedulers")
# to whom all versions are the same
OF_SIZE = "tests/system/test_stories_of_size.py"
KEPT, AT_ONCE = "MATRIX_KEEP", "MATRIX_AT_ONCE"
_MOST_SECONDS = 1800


class Cell(NamedTuple):
    """One Debian, and who keeps accounts there."""

    suite: str
    accounting: str

    @property
    def folder(self) -> Path:
        """A cluster of its own, whose name is the same at each run so that what was left is found."""
        return Path(f"{_where()}-{self.suite}-{self.accounting}")

    @property
    def log(self) -> Path:
        return ROOT / "build" / f"matrix-{self.suite}-{self.accounting}.log"

    @property
    def outcome(self) -> Path:
        return self.log.with_suffix(".json")

    def command(self, *words: str) -> list[str]:
        """The command that runs a command there."""
        inside = [] if self.suite == HERE else [str(TOOLS / "inside.sh"), self.suite]
        # in the open, because the firewall is another matter and needs the whole machine
        said = (f"CLUSTER_DIR={self.folder}", f"CLUSTER_ACCOUNTING={self.accounting}", "CLUSTER_IN_THE_OPEN=yes")
        return [*inside, "env", *said, *words]


class Outcome(NamedTuple):
    """How one cell went: each story with `passed`, `failed` or `skipped`; without any, the cell itself failed."""

    cell: Cell
    version: str
    stories: Mapping[str, str]
    seconds: float

    @property
    def is_good(self) -> bool:
        return self.count("passed") > 0 and self.count("failed") == 0

    def count(self, word: str) -> int:
        return sum(said == word for said in self.stories.values())


def main(arguments: Sequence[str]) -> int:
    if os.geteuid() != 0:
        print("matrix: a cluster is started by root: sudo make cluster-matrix", file=sys.stderr)
        return 2
    # whoever is asked to end cleans up first
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    cells = list(chosen(arguments))
    if not cells:
        print(f"matrix: name some of {', '.join(SUITES)}, each with :slurmdbd or :none behind it if you like")
        return 2
    try:
        outcomes = _run_all(cells)
    finally:
        _forget({cell.suite for cell in cells} - {HERE})
    print(table(outcomes))
    for outcome in outcomes:
        for name in sorted(name for name, word in outcome.stories.items() if word == "failed"):
            print(f"failed on {outcome.version} with {outcome.cell.accounting}: {name}; see {outcome.cell.log}")
    every = [_last(cell) for cell in chosen([])]
    if all(one is not None and one.stories for one in every):
        PAGE.write_text(page([one for one in every if one is not None]))
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0 if all(outcome.is_good for outcome in outcomes) else 1


def chosen(arguments: Sequence[str]) -> Iterator[Cell]:
    """The cells that the arguments name, in our order; without arguments all of them."""
    for suite in SUITES:
        for accounting in ACCOUNTINGS:
            if not arguments or suite in arguments or f"{suite}:{accounting}" in arguments:
                yield Cell(suite, accounting)


def _last(cell: Cell) -> Outcome | None:
    """What a cell said when it was run last."""
    try:
        version, stories, seconds = json.loads(cell.outcome.read_text())
    except FileNotFoundError:
        return None
    return Outcome(cell, version, stories, seconds)


def _where() -> str:
    return subprocess.run([TOOLS / "up.sh", "--where"], capture_output=True, text=True, check=True).stdout.strip()


def _run_all(cells: Sequence[Cell]) -> list[Outcome]:
    """Some at a time, since stories mostly wait; whoever interrupts waits until what was begun is cleaned up."""
    with ThreadPoolExecutor(int(os.environ.get(AT_ONCE, "2"))) as pool:
        running = Running()
        try:
            return list(pool.map(partial(_run, running), cells))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            running.end()
            raise


class Running:
    """The commands of all cells, each a group of processes."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[bytes]] = set()

    def call(self, cell: Cell, *words: str) -> int:
        """A command to its end; one that takes too long is ended with all that it started."""
        with cell.log.open("ab") as log:
            process = subprocess.Popen(
                cell.command(*words),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.add(process)
        try:
            return process.wait(_MOST_SECONDS)
        except subprocess.TimeoutExpired:
            _kill(process)
            return process.wait()
        finally:
            self._processes.discard(process)

    def end(self) -> None:
        for process in tuple(self._processes):
            _kill(process)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _run(running: Running, cell: Cell) -> Outcome:
    """One cell from an empty disk to an empty disk."""
    began = time.monotonic()
    cell.log.parent.mkdir(exist_ok=True)
    cell.log.unlink(missing_ok=True)
    print(f"matrix: {cell.suite} with {cell.accounting} began, see {cell.log}", flush=True)
    with tempfile.TemporaryDirectory(prefix="cableferry-matrix-", dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        try:
            running.call(cell, str(TOOLS / "down.sh"))
            running.call(cell, str(TOOLS / "install.sh"))
            version = _said(cell, "slurmctld", "-V").split()[-1]
            running.call(cell, *_pytest(Path(name)))
            stories = read(Path(name) / "stories.xml")
        finally:
            running.call(cell, str(TOOLS / "down.sh"))
    outcome = Outcome(cell, version, stories, time.monotonic() - began)
    cell.outcome.write_text(json.dumps([version, stories, outcome.seconds]))
    print(f"matrix: {version} with {cell.accounting}: {outcome.count('failed')} of {len(stories)} failed", flush=True)
    return outcome


def _pytest(folder: Path) -> tuple[str, ...]:
    marks = ("-q", "-m", "slurm", "-p", "no:cacheprovider", "--tb=short", "--no-header", f"--ignore={OF_SIZE}")
    files = (f"--basetemp={folder}/tests", f"--junitxml={folder}/stories.xml")
    return (str(ROOT / ".venv" / "bin" / "python"), "-m", "pytest", *marks, *files, *STORIES)


def _said(cell: Cell, *words: str) -> str:
    return subprocess.run(
        cell.command(*words), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=_MOST_SECONDS
    ).stdout


def _forget(suites: Collection[str]) -> None:
    """The other Debians are built anew in less time than one of them takes to be used."""
    for suite in suites if KEPT not in os.environ else ():
        subprocess.run([TOOLS / "inside.sh", "--forget", suite], check=True)


def read(path: Path) -> dict[str, str]:
    """What pytest wrote: each story as a sentence, and how it ended."""
    if not path.exists():
        return {}
    found: dict[str, str] = {}
    for case in ElementTree.parse(path).iter("testcase"):  # noqa: S314  # our own test run wrote it
        name = sentence(case.get("classname", ""), case.get("name", ""))
        words = {child.tag for child in case}
        word = "failed" if words & {"failure", "error"} else "skipped" if "skipped" in words else "passed"
        # a story that passed and could not be cleaned up after is told twice
        found[name] = word if found.get(name) != "failed" else "failed"
    return found


def sentence(place: str, name: str) -> str:
    """`test_a_job_ends[now]` of `tests.system.test_jobs` is `jobs: a job ends (now)`."""
    base, _, parameters = name.partition("[")
    words = base.removeprefix("test_").replace("_", " ")
    subject = place.rpartition(".")[2].removeprefix("test_").replace("_", " ")
    of = re.sub(r"[|`]", " ", parameters.removesuffix("]"))
    return f"{subject}: {words} ({of})" if of else f"{subject}: {words}"


def table(outcomes: Sequence[Outcome], with_seconds: bool = True) -> str:
    """One row for each cell."""
    head = ["Slurm", "accounting", "stories", "failed", "left out"]
    rows = [head + ["seconds"] * with_seconds]
    for one in outcomes:
        counts = [str(one.count(word)) for word in ("passed", "failed", "skipped")]
        rows.append([one.version, one.cell.accounting, *counts] + [f"{one.seconds:.0f}"] * with_seconds)
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def page(outcomes: Sequence[Outcome]) -> str:
    names = sorted({name for one in outcomes for name in one.stories})
    columns = [one.version + ("" if one.cell.accounting == "slurmdbd" else ", no accounting") for one in outcomes]
    marks = {"passed": "yes", "failed": "**no**", "skipped": "left out"}
    lines = [["story", *columns], ["---"] * (len(columns) + 1)]
    lines += [[name, *(marks.get(one.stories.get(name, ""), "-") for one in outcomes)] for name in names]
    return (
        "# Versions of Slurm\n\n"
        "Written by `make cluster-matrix`, which runs every story of a real Slurm on each of these versions, "
        "daemons and commands alike, and tells of the last run on each.\n"
        "`none` is a site without slurmdbd, where `sacct` knows nothing; "
        "what is left out is about accounts there, and everywhere the firewall.\n"
        "How it is set up is told in [test on a real cluster](how-to/test-on-a-real-cluster.md).\n\n"
        f"{table(outcomes, with_seconds=False)}\n\n"
        "## Story by story\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
    )


if __name__ == "__main__":
    if shutil.which("apt-get") is None:
        sys.exit("matrix: Debian 12 or later is needed")
    sys.exit(main(sys.argv[1:]))
