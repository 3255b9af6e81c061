"""A roll-call is a written tuple, and nobody is missing from it."""

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest

from tests.house import sources
from tests.house.lists import CALLED_ROOMS
from tests.house.sources import ROOT, Source, dotted


def missing(source: Source, siblings: set[str]) -> set[str]:
    """The modules beside a roll-call that it forgets; MECHANISM names those that are no members."""
    listed = _names(source, "ROLL_CALL") | _names(source, "MECHANISM")
    return siblings - listed - {PurePosixPath(source.path).stem}


def _names(source: Source, tuple_name: str) -> set[str]:
    return {
        element.value if isinstance(element, ast.Constant) else _owner(element)
        for node in source.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and tuple_name in map(dotted, _targets(node))
        if isinstance(node.value, ast.Tuple | ast.List)
        for element in node.value.elts
    }


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _owner(element: ast.expr) -> str:
    """`slurm` for any of: slurm, slurm.Slurm, schedulers.slurm, slurm.open(...)."""
    while isinstance(element, ast.Call):
        element = element.func
    return dotted(element)


def _calls() -> list[Source]:
    return [source for source in sources.python() if _has_call(source)]


def _has_call(source: Source) -> bool:
    return any(
        "ROLL_CALL" in map(dotted, _targets(node))
        for node in source.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
    )


def _siblings(source: Source) -> set[str]:
    folder = (ROOT / source.path).parent
    modules = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("__")}
    return modules | {path.parent.name for path in folder.glob("*/__init__.py")}


def test_every_roll_call_is_complete() -> None:
    forgotten = {source.path: names for source in _calls() if (names := missing(source, _siblings(source)))}

    assert {} == forgotten


@pytest.mark.parametrize("room", CALLED_ROOMS)
def test_a_room_of_equals_has_a_roll_call(room: str) -> None:
    inside = [source for source in sources.product() if source.room == room and source.place.count("/") == 1]

    assert any(_has_call(source) for source in inside) or not _siblings(inside[0])


def test_the_worker_contract_can_be_taken_out_by_a_line_of_each_list() -> None:
    """Its folder, its module in the server and its commands go together; nobody else knows of them."""
    own = ("src/cableferry/dialects/opeva/", "src/cableferry/server/opeva.py", "src/cableferry/cli/opeva.py")
    others = [source for source in sources.product() if not source.path.startswith(own)]

    knowing = {source.path for source in others if TAKEN_OUT & set(_imported(source))}

    assert {"src/cableferry/dialects/__init__.py", "src/cableferry/server/contracts.py"} == knowing


TAKEN_OUT = {"cableferry.dialects.opeva", "cableferry.server.opeva", "cableferry.cli.opeva"}


def _imported(source: Source) -> Iterator[str]:
    """Modules, and what is imported out of them, which may be a module too; each with those that it lies in."""
    for node in ast.walk(source.tree):
        match node:
            case ast.ImportFrom(module=str(module)):
                yield from (".".join(f"{module}.{alias.name}".split(".")[:3]) for alias in node.names)
            case ast.Import(names=names):
                yield from (".".join(alias.name.split(".")[:3]) for alias in names)


@pytest.mark.parametrize(
    "line",
    ["ROLL_CALL = (a,)", "ROLL_CALL: tuple[str, ...] = ('a',)", "ROLL_CALL = ()\nMECHANISM = ('a',)"],
)
def test_a_module_that_no_list_names_is_found(line: str) -> None:
    assert missing(Source("src/cableferry/x/__init__.py", line), {"a", "b"}) == {"b"}
