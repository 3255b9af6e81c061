"""What came of each cell of the crash matrix, as it is kept beside the docs."""

from pathlib import Path

import msgspec

from tests.chaos.rounds import Done
from tests.chaos.story import Faults
from tests.house.sources import ROOT

FILE: Path = ROOT / "docs" / "crash-matrix.json"


class Played(msgspec.Struct, frozen=True):
    """One cell: how many rounds there were in which it happened, and what was wrong after them."""

    group: str
    what: str
    rounds: int = 0
    lost: int = 0
    twice: int = 0
    duplicate: int = 0
    stuck: int = 0
    differs: int = 0

    @property
    def is_good(self) -> bool:
        return self.rounds > 0 and not any((self.lost, self.twice, self.duplicate, self.stuck, self.differs))

    def after(self, done: Done) -> "Played":
        """One round more; one in which nothing happened shows nothing."""
        faults = Faults(self.lost, self.twice, self.duplicate, self.stuck, self.differs) + done.faults
        return msgspec.structs.replace(self, rounds=self.rounds + int(done.happened), **faults._asdict())


class Matrix(msgspec.Struct, frozen=True):
    """All cells, how often each was asked for, how long it took and where."""

    rounds_each: int
    seconds: int
    machine: str
    cells: list[Played]


def read() -> Matrix:
    return msgspec.json.decode(FILE.read_bytes(), type=Matrix)
