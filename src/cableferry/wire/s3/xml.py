"""XML as S3 writes it and as its clients send it: elements with text, nothing else."""

import re
from collections.abc import Iterator, Sequence
from xml.parsers import expat

import msgspec

from cableferry.core.errors import Invalid, Kind

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
DEEPEST = 8
MOST_ELEMENTS = 100_000

Node = tuple[str, "str | Sequence[Node]"]

# what may not stand in a text as it is; what XML does not know at all goes out as S3 writes it, for the rare case
_SPECIAL = re.compile('[&<>"\r\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]')
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


class Element(msgspec.Struct, frozen=True):
    """One element of a document that was sent to us."""

    name: str
    text: str
    children: Sequence["Element"] = ()

    def all(self, name: str) -> Iterator["Element"]:
        return (child for child in self.children if child.name == name)

    def first(self, name: str) -> str | None:
        """The text of the first child of this name."""
        return next((child.text for child in self.all(name)), None)


def write(name: str, content: str | Sequence[Node], namespace: str | None = NAMESPACE) -> bytes:
    """A whole document."""
    head = f'{name} xmlns="{namespace}"' if namespace else name
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{head}>{_inner(content)}</{name}>'.encode("utf-8", "replace")


def read(body: bytes, root: str) -> Element:
    """The root element of a document that a client sent, whatever its namespace."""
    reader = _Reader()
    try:
        found = reader.read(body)
    except expat.ExpatError as error:
        raise malformed(f"the body is not XML: {expat.ErrorString(error.code)} at line {error.lineno}") from None
    if found.name != root:
        raise malformed(f"the body must be a document {root}, not {found.name[:40]}")
    return found


def malformed(detail: str) -> Invalid:
    return Invalid(detail, Kind.MALFORMED, code="MalformedXML")


def _written(node: Node) -> str:
    name, content = node
    return f"<{name}>{_inner(content)}</{name}>"


def _inner(content: str | Sequence[Node]) -> str:
    return _SPECIAL.sub(_reference, content) if isinstance(content, str) else "".join(map(_written, content))


def _reference(found: re.Match[str]) -> str:
    return _ENTITIES.get(found[0]) or f"&#{ord(found[0])};"


class _Reader:
    """Builds elements from what the parser tells, and stops it where a document asks too much."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate("UTF-8", " ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._say
        self._parser.StartDoctypeDeclHandler = self._refuse
        # for each open element its name, its texts and its children; the lowest stands for the document
        self._open: list[tuple[str, list[str], list[Element]]] = [("", [], [])]
        self._count = 0

    def read(self, body: bytes) -> Element:
        self._parser.Parse(body, True)
        return self._open[0][2][0]

    def _start(self, name: str, attributes: object) -> None:
        self._count += 1
        if len(self._open) > DEEPEST or self._count > MOST_ELEMENTS:
            raise malformed(f"the body has more than {MOST_ELEMENTS} elements, or more than {DEEPEST} in each other")
        self._open.append((name.rpartition(" ")[2], [], []))

    def _end(self, name: str) -> None:
        own, texts, children = self._open.pop()
        self._open[-1][2].append(Element(own, "".join(texts), children))

    def _say(self, text: str) -> None:
        self._open[-1][1].append(text)

    def _refuse(self, *declaration: object) -> None:
        raise malformed("the body has a document type declaration: leave it out")
