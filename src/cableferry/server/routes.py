"""Which endpoint a method and a path lead to, found by walking a tree of path segments."""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

import msgspec

from cableferry.core.errors import Invalid
from cableferry.dialects.denials import UnknownRoute, WrongMethod
from cableferry.dialects.endpoint import Dialect, Endpoint
from cableferry.server.decoding import Decoding, decoding


class Route(msgspec.Struct, frozen=True, eq=False):
    """An endpoint with everything that is made once for it."""

    dialect: Dialect
    endpoint: Endpoint
    names: tuple[str, ...]
    decoding: Decoding

    @property
    def template(self) -> str:
        return self.endpoint.template


class _Node:
    """One place in the tree: named segments below it, one wild segment, and the endpoints that end here.

    What lies below its tail is one value, however many segments it has. Of the chosen ones each has its names.
    """

    __slots__ = ("chosen", "literals", "routes", "tail", "wild")

    def __init__(self) -> None:
        self.literals: dict[str, _Node] = {}
        self.wild: _Node | None = None
        self.tail: _Node | None = None
        self.routes: dict[str, Route] = {}
        self.chosen: dict[tuple[str, bytes], Route] = {}


class Routes:
    """All endpoints of all dialects."""

    def __init__(self, dialects: Iterable[Dialect]) -> None:
        self._root = _Node()
        self.all: list[Route] = []
        self.dialects = tuple(dialects)
        for dialect in self.dialects:
            for endpoint in dialect.endpoints:
                self._add(dialect, endpoint)

    def _add(self, dialect: Dialect, endpoint: Endpoint) -> None:
        node, names = self._root, []
        for segment in endpoint.path.split("/")[1:]:
            if segment.endswith(":path}"):
                names.append(segment[1:-6])
                node.tail = node.tail or _Node()
                node = node.tail
            elif segment.startswith("{"):
                names.append(segment.strip("{}"))
                node.wild = node.wild or _Node()
                node = node.wild
            else:
                node = node.literals.setdefault(segment, _Node())
        route = Route(dialect, endpoint, tuple(names), decoding(endpoint))
        _put(node, route)
        if endpoint.allows_slash:
            _put(node.literals.setdefault("", _Node()), route)
        self.all.append(route)

    def home(self, path: str) -> Dialect | None:
        """The dialect that a path belongs to: by its prefix, or else by what there is at it for another method."""
        homes = [each for each in self.dialects if each.prefix]
        found = next((each for each in homes if f"{path}/".startswith(f"{each.prefix}/")), None)
        return found or self._owner(path)

    def _owner(self, path: str) -> Dialect | None:
        node, _ = self._walk(path.split("/")[1:])
        return next((route.dialect for route in node.routes.values()), None) if node else None

    def find(self, method: str, path: str, query: bytes = b"") -> tuple[Route, dict[str, str]]:
        """The route and the values of its wild segments; path and query are still percent-encoded."""
        node, values = self._walk(path.split("/")[1:])
        if node is None or not node.routes:
            raise UnknownRoute(f"there is nothing at {path[:200]}: see /api/hpc/openapi.json for what there is")
        route = _choose(node, method, query)
        if route is None:
            allowed = ", ".join(sorted({*node.routes, *(["HEAD"] if "GET" in node.routes else [])}))
            raise WrongMethod(f"{method[:20]} is not possible at {path[:200]}: use {allowed}", allowed)
        return route, dict(zip(route.names, _decoded(values), strict=True))

    def _walk(self, segments: list[str]) -> tuple[_Node | None, list[str]]:
        """Where a path leads; the deepest tail on the way takes what leads nowhere else."""
        node: _Node | None = self._root
        values: list[str] = []
        tail: tuple[_Node, list[str]] | None = None
        for position, segment in enumerate(segments):
            if node is None:
                break
            if node.tail is not None and (rest := "/".join(segments[position:])):
                tail = node.tail, [*values, rest]
            node = _step(node, segment, values)
        if tail is not None and (node is None or not node.routes):
            return tail
        return node, values


def _put(node: _Node, route: Route) -> None:
    endpoint = route.endpoint
    names = [name.encode() for name in endpoint.chosen_by]
    if any((endpoint.method, name) in node.chosen for name in names) or (not names and endpoint.method in node.routes):
        raise ValueError(f"{endpoint.method} {endpoint.path} is written twice")
    if not names:
        node.routes[endpoint.method] = route
    node.chosen |= {(endpoint.method, name): route for name in names}


def _choose(node: _Node, method: str, query: bytes) -> Route | None:
    """The endpoint that a name in the query chooses, else the one that needs no choosing."""
    if node.chosen and query:
        for name in _names(query):
            if (route := node.chosen.get((method, name))) is not None:
                return route
    route = node.routes.get(method)
    return node.routes.get("GET") if route is None and method == "HEAD" else route


def _names(query: bytes) -> Iterator[bytes]:
    return (field.partition(b"=")[0] for field in query.split(b"&"))


def _step(node: _Node, segment: str, values: list[str]) -> _Node | None:
    literal = node.literals.get(segment)
    if literal is not None:
        return literal
    if node.wild is not None and segment:
        values.append(segment)
    return node.wild if segment else None


def _decoded(values: Sequence[str]) -> list[str]:
    return [value if "%" not in value else _unquoted(value) for value in values]


def _unquoted(value: str) -> str:
    try:
        text = unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise Invalid("the path is not UTF-8 after percent-decoding") from None
    if "\0" in text:
        raise Invalid("the path holds a NUL character")
    return text
