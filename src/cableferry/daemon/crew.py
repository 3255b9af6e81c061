"""Does things beside each other, one at a time for each name, and tells of each when it is done."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

import structlog

log = structlog.get_logger()
T = TypeVar("T")


class Crew(Generic[T]):
    """A few threads that nobody waits for: what they do can be looked at again by whoever comes after us."""

    def __init__(self, size: int, tell: Callable[[str, T], None]) -> None:
        self._tell = tell
        self._work: SimpleQueue[tuple[str, Callable[[], T], Callable[[str], T]] | None] = SimpleQueue()
        self._busy: set[str] = set()
        self._size = size
        for number in range(size):
            threading.Thread(target=self._serve, name=f"crew-{number}", daemon=True).start()

    def is_busy(self, name: str) -> bool:
        return name in self._busy

    @property
    def busy(self) -> int:
        return len(self._busy)

    def take(self, name: str, work: Callable[[], T], otherwise: Callable[[str], T]) -> None:
        """Begin it as soon as somebody is free; `otherwise` makes of a bug what is told instead."""
        self._busy.add(name)
        self._work.put((name, work, otherwise))

    def done(self, name: str) -> None:
        """Said by the one who was told, in the thread that gives work."""
        self._busy.discard(name)

    def dismiss(self) -> None:
        """Each goes home after what was given to them so far."""
        for _ in range(self._size):
            self._work.put(None)

    def _serve(self) -> None:
        while (task := self._work.get()) is not None:
            name, work, otherwise = task
            self._tell(name, _perform(name, work, otherwise))


def _perform(name: str, work: Callable[[], T], otherwise: Callable[[str], T]) -> T:
    try:
        return work()
    except Exception as error:
        log.exception("effect failed", job=name)
        return otherwise(f"{type(error).__name__}: {error}")
