"""Runs something until SIGTERM or Ctrl-C."""

import signal
from collections.abc import Callable
from types import FrameType

_NOTICE_SECONDS = 0.5


def run(run: Callable[[], object], stop: Callable[[], object]) -> None:
    """To its end, which `stop` asks for."""
    from concurrent.futures import ThreadPoolExecutor, wait

    def asked(number: int, frame: FrameType | None) -> None:
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, asked)
    with ThreadPoolExecutor(1) as pool:
        # not in this thread: a handler must not wait for a lock that the code it interrupts holds
        running = pool.submit(run)
        while not running.done():
            # any thread may be the one that a signal reaches, and its handler waits until this one wakes
            wait((running,), _NOTICE_SECONDS)
        running.result()
