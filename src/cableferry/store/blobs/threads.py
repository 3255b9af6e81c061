"""The threads of a store of bytes: some wait for a disk or a network, some compute."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

WAITING = 16


class Threads:
    """Apart from asyncio's own, so that a slow disk keeps nobody else waiting."""

    def __init__(self) -> None:
        self._waiting = ThreadPoolExecutor(WAITING, "blobs-wait")
        self._computing = ThreadPoolExecutor(os.cpu_count() or 1, "blobs-hash")

    def wait(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
        """Run what mostly waits."""
        return _run(self._waiting, work, *args, **kwargs)

    def compute(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
        """Run what keeps a core busy without the interpreter."""
        return _run(self._computing, work, *args, **kwargs)

    def close(self) -> None:
        self._waiting.shutdown()
        self._computing.shutdown()


def _run(pool: ThreadPoolExecutor, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
    return asyncio.wrap_future(pool.submit(work, *args, **kwargs))
