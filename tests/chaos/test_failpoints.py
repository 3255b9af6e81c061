"""A process dies exactly where it was told to, and whatever reaches out of it has such a place."""

import ast
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry import failpoints
from cableferry.daemon.decide import Effect
from tests.chaos.points import Points
from tests.house import sources
from tests.house.sources import Source, dotted

THRICE = """
from cableferry.failpoints import crossing
for word in "abc":
    with crossing("said", word):
        print(word, flush=True)
    with crossing("done"):
        pass
"""
WRITES = ("insert", "update", "delete")
# what the world can see and has no failpoint -> why none is needed
APART = {
    "daemon/sole.py": "a mark of who uses a folder, which the next start makes anew",
    "daemon/check.py": "a rehearsal, run by hand",
    "daemon/exposing.py": "numbers for whoever scrapes them, written anew all the time",
    "daemon/worker_file.py": "the local worker's own configuration",
    "daemon/containers/cargo.py": "the container worker, which has a journal and tests of its own",
    "daemon/containers/hold.py": "the same",
    "daemon/containers/runtimes.py": "the same",
    "schedulers/slurm/runs.py": "all of it is one thing to whoever submits, which has one",
    "schedulers/wrapper.py": "a process of its own, which nobody here can kill",
    "daemon/collecting/outputs.py": "a copy without secrets, which nobody else sees",
}
STARTS = frozenset({"subprocess.run", "subprocess.Popen", "os.replace", "os.rename", "os.link", "os.symlink"})


def _ended(folder: Path) -> "subprocess.CompletedProcess[str]":
    environment = dict(Points(folder).environment)
    return subprocess.run([sys.executable, "-c", THRICE], env=environment, capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize(
    ("instant", "time", "said"),
    [("before said b", 1, "a\n"), ("after said b", 1, "a\nb\n"), ("before done", 3, "a\nb\nc\n")],
)
def test_a_process_dies_at_the_instant_that_it_is_told(tmp_path: Path, instant: str, time: int, said: str) -> None:
    points = Points(tmp_path)
    points.arm(instant, time)
    ended = _ended(tmp_path)

    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, said)
    assert points.has_died()
    assert _ended(tmp_path).returncode == 0


def test_what_is_reached_is_written_down_and_elsewhere_nothing_is(tmp_path: Path) -> None:
    ended = _ended(tmp_path)
    with failpoints.crossing("nothing"):
        pass

    assert ended.returncode == 0
    assert Points(tmp_path).reached()["after done"] == 3
    assert [path.name for path in tmp_path.iterdir()] == ["reached"]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("/api/hpc/jobs?status=PENDING", "/api/hpc/jobs"),
        ("/api/hpc/jobs/0193-77/claim", "/api/hpc/jobs/*/claim"),
        ("/api/hpc/artifacts/0193/files/deep/name", "/api/hpc/artifacts/*/files/*"),
        ("/api/hpc/artifacts/0193/files", "/api/hpc/artifacts/*/files"),
    ],
)
def test_an_address_is_named_without_what_differs_each_time(said: str, name: str) -> None:
    assert failpoints.named("call", "GET", said) == f"call GET {name}"


def test_every_write_of_the_journal_has_its_failpoint() -> None:
    source = next(source for source in sources.product() if source.place == "daemon/journal.py")
    writes = list(_writes(source))

    assert [source.at(node, "a write") for node in writes if not _is_crossed(source, node)] == []
    assert len(writes) > 6


def test_every_change_that_others_see_has_its_failpoint() -> None:
    """A file that comes to be under its name, and a program that is started."""
    outside = [
        source.at(node, f"{dotted(node.func)} without a failpoint")
        for source in sources.product()
        if source.place.startswith(("daemon/", "schedulers/")) and source.place not in APART
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and _changes(node) and not _is_crossed(source, node)
    ]

    assert outside == []


def test_every_effect_has_its_failpoint() -> None:
    source = next(source for source in sources.product() if source.place == "daemon/act.py")
    performs = [node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef) and node.name == "perform"]

    assert ['failpoints.crossing("effect", effect)'] == [
        ast.unparse(item.context_expr).replace("'", '"')
        for node in performs
        for block in node.body
        if isinstance(block, ast.With)
        for item in block.items
    ]
    assert len(Effect) > 4


def _writes(source: Source) -> Iterator[ast.Call]:
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(args=[ast.Constant(value=str(sql)), *_]) if sql.lstrip().startswith(WRITES):
                yield node


def _changes(node: ast.Call) -> bool:
    name = dotted(node.func)
    # of a text, two words are given
    is_renaming = name.endswith((".replace", ".rename", ".symlink_to")) and len(node.args) == 1
    return name in STARTS or (is_renaming and not name.startswith("msgspec."))


def _is_crossed(source: Source, node: ast.AST) -> bool:
    """Whether it stands inside a crossing, or in a function that is only called from one in its file."""
    for block in ast.walk(source.tree):
        if isinstance(block, ast.With) and _is_crossing(block) and node in ast.walk(block):
            return True
    around = [each for each in ast.walk(source.tree) if isinstance(each, ast.FunctionDef) and node in ast.walk(each)]
    calls = [call for call in ast.walk(source.tree) if isinstance(call, ast.Call) and around]
    of_it = [call for call in calls if dotted(call.func).rpartition(".")[2] == around[-1].name]
    return bool(of_it) and all(_is_crossed(source, call) for call in of_it)


def _is_crossing(block: ast.With) -> bool:
    names = [dotted(item.context_expr.func) for item in block.items if isinstance(item.context_expr, ast.Call)]
    return any(name.endswith((".crossing", "._writing")) for name in names)
