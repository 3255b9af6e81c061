"""What an object carries besides its bytes: headers that came with it and go back with it."""

import re

import msgspec

from cableferry.core import media
from cableferry.core.artifacts import Description, File
from cableferry.core.errors import Invalid, Kind
from cableferry.dialects.endpoint import Headers

MOST_BYTES = 8192

_META = b"x-amz-meta-"
_KEPT = (b"cache-control", b"content-disposition", b"content-encoding", b"content-language", b"expires")
_SAYS_NOTHING = (media.UNKNOWN, "binary/octet-stream")
_CHUNKED = "aws-chunked"
# what may stand in a header; other bytes than ASCII come and go as they are
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_ENCODER = msgspec.json.Encoder(order="sorted")
_DECODER = msgspec.json.Decoder(dict[str, str])


def said(path: str, headers: Headers) -> Description:
    """What a request says of the file that it brings."""
    sent = headers.get(b"content-type", b"").decode("latin-1")
    content_type = media.of_file(path, sent or None)
    kept = {
        name.decode("latin-1"): text
        for name, value in headers.items()
        if (name in _KEPT or name.startswith(_META)) and (text := _text(name, value))
    }
    if sum(len(name) + len(value) for name, value in kept.items()) > MOST_BYTES:
        raise Invalid(f"the metadata of the file has more than {MOST_BYTES} bytes", Kind.BAD_HEADER)
    if sent not in ("", content_type, *_SAYS_NOTHING):
        kept["content-type"] = sent
    return Description(path, None, content_type, _ENCODER.encode(kept).decode() if kept else None)


def headers(file: File) -> dict[str, str]:
    return {} if file.headers is None else _DECODER.decode(file.headers)


def _text(name: bytes, value: bytes) -> str:
    text = value.decode("latin-1").strip()
    if name == b"content-encoding":
        codings = (coding.strip() for coding in text.split(","))
        text = ",".join(coding for coding in codings if coding and coding.lower() != _CHUNKED)
    if not _VALUE.fullmatch(text):
        raise Invalid(f"the header {name.decode('latin-1')[:80]} holds control characters", Kind.BAD_HEADER)
    return text
