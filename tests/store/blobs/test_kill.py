"""A process that dies at any moment leaves no place that is short or wrong."""

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest

from cableferry.store.blobs.local import LocalBlobs
from tests.store.blobs import writing
from tests.store.blobs.bytes_of import places, sha256

KILLS = 12


@pytest.mark.crash
def test_a_killed_process_leaves_whole_places_and_temporary_files(tmp_path: Path) -> None:
    chance = random.Random(1)
    acknowledged: dict[str, int] = {}

    for _ in range(KILLS):
        acknowledged |= _killed(tmp_path, str(chance.random()), chance.randrange(1, 60))

    found = {each.place: each.size_bytes for each in asyncio.run(places(LocalBlobs(tmp_path)))}
    whole = {place: size for place, size in found.items() if not place.startswith("incoming/")}
    assert acknowledged.items() <= whole.items()
    assert [] == [place for place in whole if not _is_whole(tmp_path / place)]


def _killed(folder: Path, seed: str, answers: int) -> dict[str, int]:
    """What it had acknowledged when it was killed, some answers after its start."""
    command = [sys.executable, "-m", writing.__name__, str(folder), seed]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(answers)]
        child.kill()
        lines += [line for line in child.stdout if line.endswith("\n")]
    assert -9 == child.returncode
    return {place: int(size) for place, size in (line.split() for line in lines)}


def _is_whole(path: Path) -> bool:
    return path.name.startswith(f"{sha256(path.read_bytes())}-")
