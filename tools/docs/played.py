"""What came of the crash matrix the last time it was played, as it lies beside the page that shows it."""

from pathlib import Path

import msgspec

FILE = Path(__file__).parents[2] / "docs" / "crash-matrix.json"


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
    def faults(self) -> tuple[int, int, int, int, int]:
        return self.lost, self.twice, self.duplicate, self.stuck, self.differs

    @property
    def is_good(self) -> bool:
        return self.rounds > 0 and not any(self.faults)


class Matrix(msgspec.Struct, frozen=True):
    """All cells, how long they took and where."""

    seconds: int
    machine: str
    cells: list[Played]


def write(matrix: Matrix) -> None:
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(matrix), indent=1) + b"\n")


def read() -> Matrix:
    return msgspec.json.decode(FILE.read_bytes(), type=Matrix)
