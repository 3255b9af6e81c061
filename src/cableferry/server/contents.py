"""From a file in the store to the answer that a request gets: all of it, parts, or that it is known already."""

import base64
import re
import secrets
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

from msgspec.structs import replace

from cableferry.dialects.denials import NotSatisfiable, PreconditionFailed
from cableferry.dialects.endpoint import Content
from cableferry.server import exchange, ranges
from cableferry.server.exchange import Reply, Request, Span, Streamed
from cableferry.server.ranges import Range

# what a header can carry, and the head of a part
_PRINTABLE = re.compile("[ -~]+")
_UNKNOWN_TYPE = "application/octet-stream"
_ASKING = frozenset({"GET", "HEAD"})


def answer(request: Request, content: Content) -> Reply:
    """What to send of this content, after what the request makes its wish depend on."""
    if not _PRINTABLE.fullmatch(content.content_type):
        content = replace(content, content_type=_UNKNOWN_TYPE)
    _check_match(request, content)
    headers = _headers(content)
    if request.method in _ASKING and _is_known(request, content):
        return Reply(304, headers=exchange.pairs(headers))
    parts = _parts(request, content)
    if parts is None:
        return _whole(content, headers)
    if not parts:
        size = content.size_bytes
        raise NotSatisfiable(f"the file has {size} bytes, and none of those that were asked for", size)
    return _single(content, headers, parts[0]) if len(parts) == 1 else _several(content, headers, parts)


def _headers(content: Content) -> dict[str, str]:
    headers = {"ETag": content.etag, "Accept-Ranges": "bytes", **content.headers}
    if content.modified_at is not None:
        headers["Last-Modified"] = format_datetime(content.modified_at.astimezone(UTC), usegmt=True)
    if content.sha256 is not None:
        headers["Repr-Digest"] = _digest(content.sha256)
    return headers


def _digest(sha256: str) -> str:
    return f"sha-256=:{base64.b64encode(bytes.fromhex(sha256)).decode()}:"


def _check_match(request: Request, content: Content) -> None:
    """If-Match, or the date in its place: the request is about this version or about none."""
    tags = request.header(b"if-match")
    if tags is not None:
        is_met = tags.strip() == "*" or content.etag in _tags(tags)
    else:
        since = _moment(request.header(b"if-unmodified-since"))
        is_met = since is None or content.modified_at is None or _seconds(content.modified_at) <= since
    if not is_met:
        raise PreconditionFailed(f"the file is another one by now: its ETag is {content.etag}", etag=content.etag)


def _is_known(request: Request, content: Content) -> bool:
    if request.header(b"if-none-match") is not None:
        return request.knows(content.etag)
    since = _moment(request.header(b"if-modified-since"))
    return since is not None and content.modified_at is not None and _seconds(content.modified_at) <= since


def _parts(request: Request, content: Content) -> list[Range] | None:
    """The ranges to send, None for everything."""
    if request.method != "GET":
        return None
    condition = request.header(b"if-range")
    if condition is not None and condition.strip() != content.etag and not _is_date_of(condition, content):
        return None
    return ranges.wanted(request.header(b"range"), content.size_bytes)


def _is_date_of(condition: str, content: Content) -> bool:
    """Only the very date will do: a later one may hide a change within its second."""
    moment = None if '"' in condition else _moment(condition)
    return moment is not None and content.modified_at is not None and _seconds(content.modified_at) == moment


def _whole(content: Content, headers: dict[str, str]) -> Reply:
    headers |= content.whole_headers
    if content.sha256 is not None:
        headers["Content-Digest"] = _digest(content.sha256)
    parts = tuple(ranges.spans(content.pieces, Range(0, content.size_bytes)))
    return _reply(200, content.content_type, headers, parts)


def _single(content: Content, headers: dict[str, str], part: Range) -> Reply:
    headers["Content-Range"] = _content_range(part, content)
    return _reply(206, content.content_type, headers, tuple(ranges.spans(content.pieces, part)))


def _several(content: Content, headers: dict[str, str], parts: list[Range]) -> Reply:
    boundary = secrets.token_hex(16)
    body = tuple(_multipart(content, parts, boundary))
    return _reply(206, f"multipart/byteranges; boundary={boundary}", headers, body)


def _multipart(content: Content, parts: list[Range], boundary: str) -> Iterator[Span | bytes]:
    for part in parts:
        yield (
            f"\r\n--{boundary}\r\nContent-Type: {content.content_type}\r\n"
            f"Content-Range: {_content_range(part, content)}\r\n\r\n"
        ).encode()
        yield from ranges.spans(content.pieces, part)
    yield f"\r\n--{boundary}--\r\n".encode()


def _content_range(part: Range, content: Content) -> str:
    return f"bytes {part.start}-{part.stop - 1}/{content.size_bytes}"


def _reply(status: int, content_type: str, headers: Mapping[str, str], parts: tuple[Span | bytes, ...]) -> Reply:
    size = sum(len(part) if isinstance(part, bytes) else part.size_bytes for part in parts)
    return Reply(status, b"", content_type.encode(), exchange.pairs(headers), streamed=Streamed(parts, size))


def _tags(text: str) -> list[str]:
    return [tag.strip() for tag in text.split(",")]


def _moment(text: str | None) -> datetime | None:
    """A date of HTTP; what is none is as if nothing had been said."""
    if text is None:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _seconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)
