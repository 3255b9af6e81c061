"""The dashboard: files that were built from web/, served under a policy that lets a page load nothing else."""

import functools
import gzip
import hashlib
import mimetypes
from html import escape
from pathlib import Path
from urllib.parse import unquote

import msgspec
from starlette.responses import Response

from cableferry.server.exchange import Receive, Scope, Send

BUILT = Path(__file__).parent / "built"
HOME = "/ui"
_INDEX = "index.html"
_ASSETS = "assets/"
_TEXTS = ("text/", "image/svg")
# what a machine's own table says of these differs, and a browser is told not to guess
_SCRIPTS = {".js": "text/javascript", ".mjs": "text/javascript"}
_FOREVER = "public, max-age=31536000, immutable"
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_GUARDS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}
_UNBUILT = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Cableferry</title>"
    "<h1>The dashboard is not part of this installation</h1>"
    "<p>Everything else works: the <a href=api/hpc/docs>API</a>, its clients and the command line."
    "<p>In a checkout, <code>make web</code> builds it where node and npm are installed; released packages hold it."
)

_NEWER = "a newer dashboard has been installed: load the page again\n"


class Piece(msgspec.Struct, frozen=True):
    """One file, ready to send."""

    body: bytes
    packed: bytes | None
    media_type: str
    tag: str


class Site:
    """Serves what was built; every address below its home is a page of the dashboard unless it is a file."""

    def __init__(self, root_path: str, folder: Path = BUILT) -> None:
        self._root_path = root_path.rstrip("/")
        self._folder = folder
        self._names = frozenset(_names(folder))
        self._piece = functools.cache(self._read)

    def is_at(self, path: str) -> bool:
        within = self._within(path)
        return within == "/" or within == HOME or within.startswith(f"{HOME}/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            return Response("the dashboard can only be read\n", 405, {"allow": "GET, HEAD"})
        if _INDEX not in self._names:
            return Response(_UNBUILT, 404, _GUARDS, "text/html; charset=utf-8")
        name = unquote(self._within(scope["path"]).removeprefix(HOME).removeprefix("/"))
        if name.startswith(_ASSETS) and name not in self._names:
            return Response(_NEWER, 404, _GUARDS)
        try:
            return _response(scope, name, self._piece(name if name in self._names else _INDEX))
        except FileNotFoundError:
            # another version was installed over this one while it ran
            return Response(_NEWER, 404, _GUARDS)

    def _within(self, path: str) -> str:
        return path.removeprefix(self._root_path)

    def _read(self, name: str) -> Piece:
        body = (self._folder / name).read_bytes()
        if name == _INDEX:
            base = f'<head><base href="{escape(self._root_path)}{HOME}/">'
            body = body.replace(b"<head>", base.encode(), 1)
        media_type = _SCRIPTS.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        packed = gzip.compress(body, mtime=0) if media_type.startswith(_TEXTS) else None
        return Piece(body, packed, media_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _names(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name[0] != "."]


def _response(scope: Scope, name: str, piece: Piece) -> Response:
    asked = dict(scope["headers"])
    caching = _FOREVER if name.startswith(_ASSETS) else "no-cache"
    headers = {**_GUARDS, "cache-control": caching, "etag": piece.tag, "vary": "accept-encoding"}
    if piece.tag.encode() in asked.get(b"if-none-match", b""):
        return Response(status_code=304, headers=headers)
    if piece.packed is not None and b"gzip" in asked.get(b"accept-encoding", b""):
        return Response(piece.packed, headers=headers | {"content-encoding": "gzip"}, media_type=piece.media_type)
    return Response(piece.body, headers=headers, media_type=piece.media_type)
