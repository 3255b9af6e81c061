"""The headers of the tus protocol: versions, metadata, checksums."""

import base64
import binascii
import re
from collections.abc import Mapping

from cableferry.core.errors import Invalid, Kind

VERSION = "1.0.0"
EXTENSIONS = ("creation", "creation-with-upload", "creation-defer-length", "expiration", "checksum", "termination")
CHECKSUMS = ("sha1", "md5", "sha256")
PART_TYPE = "application/offset+octet-stream"
LONGEST_METADATA = 8192

_TYPE = re.compile(r"[ -~]{1,255}")
_KEY = re.compile(r"[!-+\--~]{1,255}")


def metadata(text: str) -> Mapping[str, str]:
    """Names and values; a name without a value has an empty one."""
    if len(text) > LONGEST_METADATA:
        raise _malformed(f"is longer than {LONGEST_METADATA} bytes")
    pairs = [_pair(item.strip(" ")) for item in text.split(",")] if text.strip(" ") else []
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _malformed("names something twice")
    return found


def media_type(text: str | None) -> str | None:
    if text is not None and not _TYPE.fullmatch(text):
        raise _malformed("must say the type of the file in printable characters, 255 at most")
    return text


def written(pairs: Mapping[str, str]) -> str:
    """The same as a header."""
    return ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in pairs.items())


def _pair(item: str) -> tuple[str, str]:
    name, _, value = item.partition(" ")
    if not _KEY.fullmatch(name):
        raise _malformed("must be pairs of a name and base64, divided by commas")
    try:
        return name, base64.b64decode(value.strip(" "), validate=True).decode()
    except (binascii.Error, ValueError):
        raise _malformed(f"must say {name[:40]} as base64 of a text in UTF-8") from None


def _malformed(why: str) -> Invalid:
    return Invalid(f"Upload-Metadata {why}", Kind.BAD_HEADER, header="Upload-Metadata")
