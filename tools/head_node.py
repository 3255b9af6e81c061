"""Builds one file that is the daemon with all it needs, for head nodes without pip: python -m tools.head_node."""

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cableferry import __version__

ROOT = Path(__file__).parents[1]
# each brings wheels of its own for what is written in C
PYTHONS = ("3.11", "3.12", "3.13")
# the oldest C library that the wheels need, as their names say it
_LIBRARIES = ("manylinux2014", "manylinux_2_17", "manylinux_2_28")


def main() -> None:
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("--python", action="append", help=f"a version it is to run with; {', '.join(PYTHONS)}")
    said.add_argument("--machine", default=platform.machine(), help="the head node's processor, for example aarch64")
    said.add_argument("--to", type=Path, help="where to put it; dist/cableferry-VERSION-MACHINE.pex")
    given = said.parse_args()
    target = given.to or ROOT / "dist" / f"cableferry-{__version__}-{given.machine}.pex"
    built = build(given.python or PYTHONS, given.machine, target.absolute())
    print(f"{built}, {built.stat().st_size / 2**20:.1f} MiB")
    if given.machine == platform.machine():
        with tempfile.TemporaryDirectory() as unpacked:
            first, second = (_start_seconds(built, unpacked) for _ in range(2))
        print(f"starts in {second:.1f} s, for the first time in {first:.1f} s")


def _start_seconds(program: Path, unpacked: str) -> float:
    """Of a user who may have started it before."""
    own = {**os.environ, "PEX_ROOT": unpacked}
    began = time.perf_counter()
    subprocess.run([program, "--version"], stdout=subprocess.DEVNULL, env=own, check=True)
    return time.perf_counter() - began


def build(pythons: Sequence[str], machine: str, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        _build(pythons, machine, target, Path(folder))
    return target


def _build(pythons: Sequence[str], machine: str, target: Path, folder: Path) -> None:
    pins, wheels = folder / "pins.txt", str(folder / "wheels")
    pins.write_text("".join(pinned(needed("cableferry"))))
    for python in pythons:
        _pip("download", "--require-hashes", "--no-deps", *_wheels_for(python, machine), "-d", wheels, "-r", str(pins))
    _pip("wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", wheels, str(ROOT))
    platforms = [f"--platform={_LIBRARIES[-1]}_{machine}-cp-{python}.0-cp{_joined(python)}" for python in pythons]
    only_these = ("--no-pypi", "-f", wheels, "--no-build")
    # unpacked once for each user, so that it starts as quickly as what is installed
    started = ("--venv", "--sh-boot", "-c", "cableferry")
    _run("-m", "pex", "cableferry", *only_these, *platforms, *started, "-o", str(target))


def needed(name: str) -> set[str]:
    """The distributions that one needs without any extra, and what those need."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        fresh = set(_requires(waiting.pop())) - found
        found |= fresh
        waiting += fresh
    return found


def _requires(name: str) -> Iterator[str]:
    for text in metadata.requires(name) or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)


def pinned(names: set[str]) -> list[str]:
    """Their lines of requirements.lock, with version and hashes."""
    entries = re.split(r"(?m)^(?=[A-Za-z0-9])", (ROOT / "requirements.lock").read_text())
    found = [entry for entry in entries if re.split(r"[^A-Za-z0-9._-]", entry)[0] in names]
    if len(found) != len(names):
        raise SystemExit("requirements.lock does not hold all that is needed: make lock")
    return found


def _wheels_for(python: str, machine: str) -> list[str]:
    """Which wheels pip is to fetch, whatever Python and machine it runs on itself."""
    platforms = [f"--platform={library}_{machine}" for library in _LIBRARIES]
    return ["--only-binary=:all:", f"--python-version={python}", "--implementation=cp", *platforms]


def _joined(python: str) -> str:
    return python.replace(".", "")


def _pip(*arguments: str) -> None:
    _run("-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", *arguments)


def _run(*arguments: str) -> None:
    finished = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)
    if finished.returncode:
        raise SystemExit(f"{' '.join(arguments[:3])}: {finished.stderr.strip()[-2000:]}")


if __name__ == "__main__":
    main()
