"""What each room pulls in when it is imported, and which rooms the contracts know."""

import subprocess
import sys
import tomllib

import pytest

from tests.house import sources
from tests.house.lists import BASE, LIBRARIES, STANDARD
from tests.house.sources import PACKAGE, ROOT

HEAD_NODE_ROOMS = ("core", "wire", "client", "schedulers", "daemon")
SERVER_ROOMS = ("store", "engine", "dialects", "server")

IMPORT_ALL = """
import importlib, pkgutil, sys
room = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(getattr(room, "__path__", []), room.__name__ + "."):
    importlib.import_module(module.name)
print(*sorted(sys.modules))
"""


def _loaded_by(module: str) -> set[str]:
    finished = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, module], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(finished.stdout.split())


def _heavy() -> set[str]:
    return {name for name, library in LIBRARIES.items() if library.extra not in (BASE, STANDARD)}


@pytest.mark.parametrize("room", HEAD_NODE_ROOMS)
def test_a_head_node_room_loads_nothing_of_the_server(room: str) -> None:
    loaded = _loaded_by(f"cableferry.{room}")

    assert set() == loaded & _heavy()
    assert {name for name in loaded if name.startswith(tuple(f"cableferry.{s}" for s in SERVER_ROOMS))} == set()


def test_the_command_line_starts_without_server_or_http() -> None:
    main = ROOT / PACKAGE / "cli" / "main.py"
    loaded = _loaded_by("cableferry.cli.main") if main.exists() else set()

    assert set() == loaded & (_heavy() | {"httpx2", "sqlite3", "asyncio"})


def test_a_server_starts_without_the_libraries_of_graphql() -> None:
    loaded = _loaded_by("cableferry.server.app")

    assert "cableferry.dialects.graphql" in loaded
    assert set() == loaded & {"graphql", "strawberry"}


def test_the_core_loads_no_clock_die_or_world() -> None:
    loaded = _loaded_by("cableferry.core")

    assert loaded & {"random", "secrets", "socket", "subprocess", "asyncio", "threading", "structlog"} == set()


def test_every_import_of_the_head_node_rooms_is_a_base_dependency() -> None:
    imported = {
        found.library
        for source in sources.product()
        if source.room in HEAD_NODE_ROOMS
        for found in sources.imports(source)
    }

    assert {name for name in imported & set(LIBRARIES) if LIBRARIES[name].extra not in (BASE, STANDARD)} == set()


def test_dialects_do_not_know_each_other() -> None:
    strangers = [
        source.at(found.node, found.module)
        for source in sources.product()
        if source.room == "dialects" and source.place.count("/") > 1
        for found in sources.imports(source)
        if found.module.startswith("cableferry.dialects.")
        if (name := found.module.split(".")[2]) != source.place.split("/")[1]
        if (ROOT / PACKAGE / "dialects" / name).is_dir()
    ]

    assert [] == strangers


def test_every_room_stands_in_the_import_contracts() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    lines = [line for contract in config["contracts"] for line in contract.get("layers", [])]
    known = {name.strip().removeprefix("cableferry.") for line in lines for name in line.split("|")}
    rooms = {source.room for source in sources.product() if "/" in source.place}

    assert set() == rooms - known - {"testing"}
