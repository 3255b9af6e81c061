"""A file that a job writes, read on from where it was: late, cut short or begun anew as it may be."""

import os
from pathlib import Path

import msgspec
from msgspec.structs import replace

from cableferry.daemon.tailing import redacting
from cableferry.daemon.tailing.redacting import Masks
from cableferry.schedulers import shared

# a mask may be three times as long as what it hides, and a chunk has at most 256 KiB
READ_BYTES = 80 * 1024
ANEW = b"\n[cableferry: the file began anew here]\n"


class Tail(msgspec.Struct, frozen=True):
    """How far a file was read, and how far its log has come; the two part where secrets were taken out."""

    stream: str
    path: str
    source: int = 0
    sent: int = 0
    inode: int | None = None
    is_done: bool = False


class Piece(msgspec.Struct, frozen=True):
    """What comes next in the log, and how the tail stands once it was taken."""

    content: bytes
    then: Tail


def read(tail: Tail, masks: Masks, is_over: bool) -> Piece | None:
    """The next piece; None when there is nothing to say yet. The file is opened anew each time, for the sake of NFS."""
    try:
        descriptor = shared.opened(Path(tail.path))
    except OSError:
        return None
    try:
        seen = os.fstat(descriptor)
        begun = _begun(tail, seen)
        content = os.pread(descriptor, READ_BYTES, begun.source)
    finally:
        os.close(descriptor)
    is_end = is_over and begun.source + len(content) >= seen.st_size
    cut = redacting.redacted(content, masks, is_end)
    said = (ANEW if begun.source < tail.source or begun.inode != (tail.inode or begun.inode) else b"") + cut.said
    if not cut.taken:
        return None
    return Piece(said, replace(begun, source=begun.source + cut.taken, sent=begun.sent + len(said)))


def _begun(tail: Tail, seen: os.stat_result) -> Tail:
    """The tail in the file that is there now, which may be another one or shorter than it was."""
    is_same = tail.inode in (None, seen.st_ino) and seen.st_size >= tail.source
    return replace(tail, inode=seen.st_ino, source=tail.source if is_same else 0)
