"""What jobs wrote since the last time, in one batch to the server."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from cableferry.client.logs import Logs
from cableferry.daemon.tailing import files
from cableferry.daemon.tailing.files import Piece, Tail
from cableferry.daemon.tailing.redacting import Masks
from cableferry.wire.emx2.logs import MOST_CHUNKS, ChunkResult, NamedChunk

WATCHED_SECONDS = 1.0
UNWATCHED_SECONDS = 15.0
# one busy log leaves room for others in the batch, and all of them for other traffic
PIECES_OF_EACH = 4
MOST_BYTES = 2 * 1024 * 1024
_ELSEWHERE = frozenset({"log-gap", "log-differs"})


class Source(msgspec.Struct, frozen=True):
    """One log of a held job; one that is over will not grow any more."""

    job_id: str
    epoch: int | None
    tail: Tail
    is_over: bool = False


class _Sent(msgspec.Struct, frozen=True):
    """One piece in the batch, and which source it is of."""

    number: int
    piece: Piece
    chunk: NamedChunk


def pause_seconds(is_watched: bool) -> float:
    """How long a job's logs are left alone between two turns."""
    return WATCHED_SECONDS if is_watched else UNWATCHED_SECONDS


def send(logs: Logs, worker_id: str, sources: Sequence[Source], masks: Masks) -> list[Source]:
    """The sources as they stand after one batch, in the same order."""
    batch = list(_batch(sources, masks))
    if not batch:
        return [_ended(source, masks) for source in sources]
    results = logs.append(worker_id, [sent.chunk for sent in batch])
    after = dict(enumerate(sources))
    is_broken: set[int] = set()
    for sent, result in zip(batch, results, strict=True):
        if sent.number not in is_broken:
            after[sent.number] = replace(after[sent.number], tail=_tail(after[sent.number].tail, sent.piece, result))
            if result.code != 200:
                is_broken.add(sent.number)
    told = {sent.number for sent in batch}
    return [source if number in told else _ended(source, masks) for number, source in after.items()]


def has_more(before: Source, after: Source) -> bool:
    """Whether it is worth another turn at once: something was sent, and it is not known to be all."""
    return not after.tail.is_done and after.tail != before.tail


def _batch(sources: Sequence[Source], masks: Masks) -> Iterator[_Sent]:
    """First a piece of each source, then a second one of each, until there is enough or nothing."""
    tails = {number: source.tail for number, source in enumerate(sources) if not source.tail.is_done}
    count = size = 0
    for _ in range(PIECES_OF_EACH):
        for number, tail in list(tails.items()):
            if count == MOST_CHUNKS or size >= MOST_BYTES:
                return
            source = sources[number]
            piece = files.read(tail, masks, source.is_over)
            if piece is None:
                del tails[number]
                continue
            tails[number] = piece.then
            count, size = count + 1, size + len(piece.content)
            chunk = NamedChunk(tail.sent, piece.content, None, source.epoch, job_id=source.job_id, stream=tail.stream)
            yield _Sent(number, piece, chunk)


def _tail(tail: Tail, piece: Piece, result: ChunkResult) -> Tail:
    """Taken; or the server is elsewhere, and we go on there; or it wants nothing more of this log."""
    if result.code == 200:
        return replace(piece.then, is_done=result.is_cut)
    if result.kind in _ELSEWHERE and result.offset is not None:
        # it knows nothing any more: from the beginning; else what we have comes behind what it has
        return replace(tail, sent=result.offset, source=tail.source if result.offset else 0)
    return replace(tail, is_done=True)


def _ended(source: Source, masks: Masks) -> Source:
    """A source that is over and has nothing more to say is done."""
    if not source.is_over or source.tail.is_done or files.read(source.tail, masks, True) is not None:
        return source
    return replace(source, tail=replace(source.tail, is_done=True))
