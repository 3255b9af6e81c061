"""One body on its way from the connection into the store of bytes: counted, hashed, decoded, never held."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Sequence

import msgspec

from cableferry.dialects.endpoint import Arrived, Decoder, Landing
from cableferry.server import digests, exchange
from cableferry.server.digests import Promise, Tallies
from cableferry.server.exchange import Disconnected, Receive, Request
from cableferry.server.multipart import Form
from cableferry.store.blobs import Hasher, Sink, Stored

# a hand-over to the disk's threads costs as much for a small piece as for a large one
PIECE_BYTES = 1024 * 1024
_INLINE_BYTES = 64 * 1024
# what the form around a file may add to it
_WRAPPING_BYTES = 1024 * 1024


class Stream(msgspec.Struct, frozen=True):
    """A body that is about to be read, what it promises, and how it is to be taken."""

    request: Request
    receive: Receive
    landing: Landing
    most_bytes: int
    promised: tuple[Promise, ...] = ()

    def decoder(self) -> Decoder | None:
        if self.landing.form == "multipart":
            return Form(self.request.headers.get(b"content-type"))
        return self.landing.decoder

    @property
    def is_raw(self) -> bool:
        """Whether the body is the file, byte for byte."""
        return self.landing.form == "raw" and self.landing.decoder is None

    @property
    def most_body_bytes(self) -> int:
        """How long the body may be, with what a form adds to the file."""
        return self.most_bytes if self.is_raw else self.most_bytes + self.most_bytes // 8 + _WRAPPING_BYTES

    @property
    def hashed_by_sink(self) -> frozenset[str]:
        """Which hashes of the body come out of the sink anyway."""
        if not self.is_raw:
            return frozenset()
        own = {"sha256": self.landing.prior is None, "md5": self.with_md5}
        return frozenset(name for name, is_own in own.items() if is_own)

    @property
    def checked(self) -> tuple[Promise, ...]:
        """The promises that are about this body as it comes."""
        return () if self.landing.judges else self.promised

    @property
    def with_md5(self) -> bool:
        return self.landing.with_md5 or (self.is_raw and any(each.algorithm == "md5" for each in self.checked))

    @property
    def keeps_partial(self) -> bool:
        """A part of what a digest was promised for is worth nothing: nobody can check it."""
        return self.landing.keeps_partial and not self.promised

    @property
    def part_bytes(self) -> int | None:
        """Nor is one part of it worth more than the whole."""
        return None if self.promised else self.landing.part_bytes

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body in pieces worth handing on; when it breaks off, what had come is given first."""
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                yield b"".join([*parts, self._unread()])
                raise Disconnected
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            more = message.get("more_body", False)
            self._count(len(parts[-1]))
            if size >= PIECE_BYTES or not more:
                yield b"".join(parts)
                parts, size = [], 0

    def _unread(self) -> bytes:
        rest = self.request.line.unread() if self.request.line else b""
        self._count(len(rest))
        return rest

    def _count(self, size: int) -> None:
        self.request.streamed_bytes += size
        self.request.heard_at = time.monotonic()
        if self.request.streamed_bytes > self.most_body_bytes:
            raise exchange.too_large(self.most_bytes)


class Hearsay:
    """A sink that keeps nothing: for bytes that were taken before."""

    def __init__(self) -> None:
        self._hasher = hashlib.sha256()
        self.size_bytes = 0

    async def write(self, piece: bytes) -> None:
        self.size_bytes += len(piece)
        await asyncio.to_thread(self._hasher.update, piece)

    async def finish(self) -> Stored:
        return Stored("", self._hasher.hexdigest(), self.size_bytes)

    async def abandon(self) -> None:
        pass

    def release(self) -> None:
        pass


class Intake:
    """Pours a stream into sinks, and counts and hashes beside them what they do not."""

    def __init__(self, stream: Stream) -> None:
        self.is_over = False
        self._stream = stream
        self._coming = stream.pieces()
        self._landed_bytes = 0
        self._decoder = stream.decoder()
        self._of_body = Tallies(frozenset(promise.algorithm for promise in stream.checked) - stream.hashed_by_sink)
        self._of_file = Tallies(stream.landing.hashes)

    async def land(self, sink: Sink, hasher: Hasher | None) -> Arrived:
        """Everything into the sink, or the next part; what does not come to its end leaves nothing there."""
        stored: Stored | None = None
        try:
            exchange.check_length(self._stream.request, self._stream.most_body_bytes)
            is_whole = await self._pour(sink)
            if sink.size_bytes or self._stream.landing.part_bytes is None:
                stored = await sink.finish()
        finally:
            if stored is None:
                await sink.abandon()
        if stored is None:
            stored = Stored("", hasher.hexdigest() if hasher else "", 0)
        arrived = self._arrived(stored, is_whole, hasher)
        self._landed_bytes += stored.size_bytes
        return arrived

    def check(self, arrived: Arrived) -> None:
        """Refuse bytes that are not those which were announced."""
        if not arrived.is_whole:
            return
        stored = arrived.stored
        by_sink = {"sha256": stored.sha256, "md5": stored.md5 or ""}
        digests.check(self._stream.checked, by_sink | self._of_body.result())
        digests.check_sha256(self._stream.landing.sha256, stored.sha256)

    async def _pour(self, sink: Sink) -> bool:
        """Whether the body came to its end."""
        enough = self._stream.part_bytes
        try:
            async for piece in self._coming:
                await self._take(piece, sink)
                if enough is not None and sink.size_bytes >= enough:
                    return False
        except Disconnected:
            if not self._stream.keeps_partial or not sink.size_bytes:
                raise
            self.is_over = True
            return False
        self.is_over = True
        if self._decoder is not None:
            self._decoder.finish()
        return True

    async def _take(self, piece: bytes, sink: Sink) -> None:
        if self._of_body:
            await asyncio.to_thread(self._of_body.update, piece)
        for part in [piece] if self._decoder is None else await self._decoded(self._decoder, piece):
            if self._of_file:
                await asyncio.to_thread(self._of_file.update, part)
            await sink.write(part)
            if self._landed_bytes + sink.size_bytes > self._stream.most_bytes:
                raise exchange.too_large(self._stream.most_bytes)

    async def _decoded(self, decoder: Decoder, piece: bytes) -> Sequence[bytes]:
        """A form may hold checksums, and those of much take a while."""
        if len(piece) < _INLINE_BYTES:
            return decoder.feed(piece)
        return await asyncio.to_thread(decoder.feed, piece)

    def _arrived(self, stored: Stored, is_whole: bool, hasher: Hasher | None) -> Arrived:
        form = self._decoder if isinstance(self._decoder, Form) else None
        return Arrived(
            stored=stored,
            is_whole=is_whole,
            before=self._landed_bytes,
            hasher=hasher,
            hashes=self._of_file.result(),
            fields=form.fields if form else {},
            file_name=form.file_name if form else None,
            content_type=form.content_type if form else None,
        )
