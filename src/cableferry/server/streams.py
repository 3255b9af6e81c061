"""Which uploads bytes are coming to right now, in this process: one stream at a time comes to each."""

import asyncio
import contextlib
import time
from collections.abc import Iterator

from cableferry.dialects.denials import Locked
from cableferry.server.exchange import Request

# who has sent nothing for so long has probably gone, and the line does not know it yet
STALLED_SECONDS = 2.0
# to keep what came takes a sync of the disk
ENDING_SECONDS = 30.0


class _Stream:
    """A request whose body is on its way."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.is_over = asyncio.Event()

    @property
    def is_stalled(self) -> bool:
        return time.monotonic() - self.request.heard_at > STALLED_SECONDS


class Streams:
    """The streams that go on, by the upload that they go to.

    Another process may have one to the same upload: then the one that records its bytes second is refused.
    """

    def __init__(self) -> None:
        self._going: dict[str, _Stream] = {}

    @contextlib.contextmanager
    def alone(self, name: str, request: Request) -> Iterator[None]:
        if name in self._going:
            raise busy(name)
        stream = self._going[name] = _Stream(request)
        request.heard_at = time.monotonic()
        try:
            yield
        finally:
            del self._going[name]
            stream.is_over.set()

    def is_going(self, name: str) -> bool:
        return name in self._going

    async def make_way(self, name: str, *, is_insisting: bool) -> None:
        """End a stream whose client comes again elsewhere, and keep what it brought; one that is well is left alone."""
        stream = self._going.get(name)
        if stream is None:
            return
        line = stream.request.line
        if line is None or not (is_insisting or stream.is_stalled):
            raise busy(name)
        line.cut()
        try:
            async with asyncio.timeout(ENDING_SECONDS):
                await stream.is_over.wait()
        except TimeoutError:
            raise busy(name) from None


def busy(name: str) -> Locked:
    return Locked(
        f"bytes are coming to upload {name} over another connection: wait for it, or look at the offset later"
    )
