"""Which bytes of a file a request asks for (RFC 9110, section 14), and where they lie in its pieces."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cableferry.server.exchange import Span

MOST_RANGES = 100

_BYTES = re.compile(r"bytes[ \t]*=(.*)", re.IGNORECASE)
_RANGE = re.compile(r"[ \t]*([0-9]{0,30})-([0-9]{0,30})[ \t]*")


class Range(NamedTuple):
    """Bytes from `start` up to, not including, `stop`; none where the file has ended before."""

    start: int
    stop: int

    @property
    def size_bytes(self) -> int:
        return self.stop - self.start


def wanted(header: str | None, size_bytes: int) -> list[Range] | None:
    """The ranges that are in the file, an empty list when none is; None when all of it is to be sent.

    A header that makes no sense wishes for nothing, and ranges that overlap cost more than the whole file.
    """
    found = None if header is None else _BYTES.fullmatch(header)
    if found is None:
        return None
    items = [item for item in found[1].split(",") if item.strip()]
    ranges = [_range(item, size_bytes) for item in items]
    known = [each for each in ranges if each is not None]
    if not items or len(known) < len(items) or len(items) > MOST_RANGES:
        return None
    if sum(each.size_bytes for each in known) > size_bytes:
        return None
    return [each for each in known if each.size_bytes]


def _range(text: str, size_bytes: int) -> Range | None:
    """One range, cut to the file; None when it is none."""
    found = _RANGE.fullmatch(text)
    first, last = found.groups() if found else ("", "")
    if first:
        start, stop = int(first), int(last) + 1 if last else size_bytes
        if last and stop <= start:
            return None
        return Range(min(start, size_bytes), min(max(start, stop), size_bytes))
    # the last bytes of nothing are all there is
    return Range(max(0, size_bytes - int(last)), size_bytes) if last and size_bytes else None


def spans(pieces: Iterable[tuple[str, int]], part: Range) -> Iterator[Span]:
    """Where these bytes lie, piece by piece."""
    begin = 0
    for place, size in pieces:
        start, stop = max(part.start - begin, 0), min(part.stop - begin, size)
        if start < stop:
            yield Span(place, start, stop)
        begin += size
