"""A bar that shows how far bytes have come, where there is a terminal to show it on."""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

Moved = Callable[[int], None]


@contextlib.contextmanager
def shown(what: str, total_bytes: int) -> Iterator[Moved]:
    """Give a function that is told of bytes; several threads may call it."""
    if not sys.stderr.isatty():
        yield lambda moved: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task, lock = progress.add_task(what, total=total_bytes), threading.Lock()

        def moved(count: int) -> None:
            with lock:
                progress.advance(task, count)

        yield moved
