"""A form with a file in it (RFC 7578), read as it comes: fields in memory, the file's bytes handed on."""

import re
from collections.abc import Mapping
from enum import Enum
from urllib.parse import unquote

from cableferry.core.errors import Invalid, Kind

MOST_PART_HEADERS_BYTES = 16_384
MOST_FIELDS_BYTES = 65_536
MOST_FIELDS = 50

_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]")
_PARAMETER = re.compile(r';\s*([!-:<>-~]+?)\s*=\s*("(?:[^"\\]|\\.)*"|[^;\s"]*)\s*')
_PADDING = re.compile(rb"[ \t]*")


class _At(Enum):
    """What the next bytes belong to."""

    START = "before the first part"
    HEAD = "the headers of a part"
    PART = "a part"
    END = "behind the last part"


def is_form(content_type: bytes | None) -> bool:
    return content_type is not None and content_type.partition(b";")[0].strip().lower() == b"multipart/form-data"


class Form:
    """The decoder of one form: the part with a file name is the file, every other part a field."""

    def __init__(self, content_type: bytes | None) -> None:
        self._end = b"\r\n--" + _boundary(content_type)
        # as if a line had come before, so that the first boundary is found like any other
        self._held = b"\r\n"
        self._at = _At.START
        self._name: str | None = None
        self._value: list[bytes] = []
        self._fields: dict[str, str] = {}
        self._fields_bytes = 0
        self.has_file = False
        self.file_name: str | None = None
        self.content_type: str | None = None

    @property
    def fields(self) -> Mapping[str, str]:
        return self._fields

    def feed(self, data: bytes) -> list[bytes]:
        """The bytes of the file that are certain by now."""
        self._held += data
        given: list[bytes] = []
        while self._advance(given):
            pass
        return given

    def finish(self) -> None:
        if self._at is not _At.END:
            raise _malformed("it ends before its last boundary")
        if not self.has_file:
            raise _malformed("it has no part with a file name, so there is no file in it")

    def _advance(self, given: list[bytes]) -> bool:
        """Read one thing; False when more must come first."""
        match self._at:
            case _At.HEAD:
                return self._head()
            case _At.END:
                self._held = b""
                return False
            case _:
                return self._to_boundary(given)

    def _to_boundary(self, given: list[bytes]) -> bool:
        at = self._held.find(self._end)
        if at < 0:
            # its last bytes may be the beginning of a boundary
            certain = max(0, len(self._held) - len(self._end) + 1)
            self._take(self._held[:certain], given)
            self._held = self._held[certain:]
            return False
        rest = self._held[at + len(self._end) :]
        padding = _PADDING.match(rest)
        tail = rest[padding.end() if padding else 0 :]
        if len(tail) < 2:
            if len(rest) > MOST_PART_HEADERS_BYTES:
                raise _malformed("a boundary has no end")
            self._take(self._held[:at], given)
            self._held = self._held[at:]
            return False
        self._take(self._held[:at], given)
        self._end_part()
        self._begin(rest, tail)
        return True

    def _begin(self, rest: bytes, tail: bytes) -> None:
        if rest.startswith(b"--"):
            self._at, self._held = _At.END, b""
        elif tail.startswith(b"\r\n"):
            # a part without headers has its empty line at once
            self._at, self._held = _At.HEAD, tail
        else:
            raise _malformed("a boundary does not end its line")

    def _take(self, data: bytes, given: list[bytes]) -> None:
        if self._at is not _At.PART or not data:
            return
        if self._name is None:
            given.append(data)
            return
        self._fields_bytes += len(data)
        if self._fields_bytes > MOST_FIELDS_BYTES:
            raise _malformed(f"its fields have more than {MOST_FIELDS_BYTES} bytes")
        self._value.append(data)

    def _end_part(self) -> None:
        if self._at is _At.PART and self._name is not None:
            try:
                self._fields[self._name] = b"".join(self._value).decode()
            except UnicodeDecodeError:
                raise _malformed(f"the field {self._name[:40]} is not UTF-8") from None
        self._name, self._value = None, []

    def _head(self) -> bool:
        at = self._held.find(b"\r\n\r\n")
        size = len(self._held) if at < 0 else at
        if size > MOST_PART_HEADERS_BYTES:
            raise _malformed(f"a part has more than {MOST_PART_HEADERS_BYTES} bytes of headers")
        if at < 0:
            return False
        self._open(_headers(self._held[:at]))
        self._held = self._held[at + 4 :]
        self._at = _At.PART
        return True

    def _open(self, headers: Mapping[str, str]) -> None:
        kind, _, rest = headers.get("content-disposition", "").partition(";")
        parameters = _parameters(";" + rest)
        name = parameters.get("name")
        if kind.strip().lower() != "form-data" or name is None:
            raise _malformed("a part has no Content-Disposition: form-data with a name")
        file_name = parameters.get("filename*", parameters.get("filename"))
        if file_name is not None:
            self._open_file(file_name, headers.get("content-type"))
        elif name in self._fields or len(self._fields) == MOST_FIELDS:
            raise _malformed(f"the field {name[:40]} is there twice, or one too many")
        else:
            self._name = name

    def _open_file(self, file_name: str, content_type: str | None) -> None:
        if self.has_file:
            raise _malformed("it has more than one file: send one at a time")
        self.has_file, self.file_name, self.content_type = True, file_name, content_type


def _boundary(content_type: bytes | None) -> bytes:
    _, _, rest = (content_type or b"").decode("latin-1").partition(";")
    boundary = _parameters(";" + rest).get("boundary", "")
    if not _BOUNDARY.fullmatch(boundary):
        raise Invalid("Content-Type names no boundary that a form can have", Kind.BAD_HEADER, header="Content-Type")
    return boundary.encode()


def _headers(text: bytes) -> dict[str, str]:
    try:
        lines = text.decode().split("\r\n")
    except UnicodeDecodeError:
        raise _malformed("the headers of a part are not UTF-8") from None
    pairs = (line.partition(":") for line in lines if line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _parameters(text: str) -> dict[str, str]:
    """`; name="a b"; filename*=UTF-8''%C3%A4` as values; browsers write a quote in a name as %22."""
    return {name.lower(): _unquoted(name.lower(), value) for name, value in _PARAMETER.findall(text)}


def _unquoted(name: str, value: str) -> str:
    if name.endswith("*"):
        charset, _, rest = value.partition("'")
        if charset.lower() != "utf-8":
            raise _malformed(f"{name} is not written in UTF-8")
        try:
            return unquote(rest.partition("'")[2], errors="strict")
        except UnicodeDecodeError:
            raise _malformed(f"{name} is not UTF-8") from None
    if not value.startswith('"'):
        return value
    # a backslash stands for itself unless it hides a quote: browsers send paths with it
    return value[1:-1].replace('\\"', '"')


def _malformed(why: str) -> Invalid:
    return Invalid(f"the multipart form cannot be read: {why}")
