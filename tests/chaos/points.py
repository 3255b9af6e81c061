"""Where a process dies: what it has reached of its failpoints, and which of them is to be its last."""

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from cableferry import failpoints


class Points:
    """The folder that one process or several lives of it look into."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    @property
    def environment(self) -> Mapping[str, str]:
        return {failpoints.VARIABLE: str(self._folder)}

    def arm(self, instant: str, time: int = 1) -> None:
        """Die there, when it is reached so many more times."""
        part = self._folder / "part"
        part.write_text(f"{instant} {self.reached()[instant] + time}")
        os.replace(part, self._folder / failpoints.DIES_AT)

    def disarm(self) -> None:
        (self._folder / failpoints.DIES_AT).unlink(missing_ok=True)

    def has_died(self) -> bool:
        """Whether it died there since this was asked last."""
        died = self._folder / failpoints.DIED
        if died.exists():
            died.unlink()
            return True
        return False

    def reached(self) -> Counter[str]:
        try:
            return Counter((self._folder / failpoints.REACHED).read_text().splitlines())
        except FileNotFoundError:
            return Counter()
