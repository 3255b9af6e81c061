"""What is found on web servers, and that no answer of theirs leads this server anywhere else."""

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cableferry.store.elsewhere import Found, Unreachable
from cableferry.store.elsewhere.looking import Elsewhere
from cableferry.store.elsewhere.web import WebFiles
from cableferry.store.failures import BlobFailure

CONTENT = b"page" * 700_000


class Site(BaseHTTPRequestHandler):
    """Answers by the first part of the path, and remembers what it was asked."""

    asked: list[str]

    def do_HEAD(self) -> None:
        self._answer(is_head=True)

    def do_GET(self) -> None:
        self._answer(is_head=False)

    def log_message(self, *words: object) -> None:
        pass

    def _answer(self, *, is_head: bool) -> None:
        self.asked.append(f"{self.command} {self.path}")
        match self.path.split("/")[1]:
            case "redirect":
                self._head(302, {"Location": f"http://127.0.0.1:{self.server.server_port}/file"})  # type: ignore[attr-defined]  # it has one
            case "gone" | "broken":
                self._head(404 if "gone" in self.path else 500, {"Content-Length": "0"})
            case "short":
                self._head(200, {"Content-Length": str(len(CONTENT)), "ETag": '"1"'})
                self.wfile.write(b"" if is_head else CONTENT[:1000])
            case "changing":
                self._whole(is_head, f'"{len(self.asked)}"')
            case "whole":
                self._whole(is_head, '"1"')
            case _:
                self._parts(is_head)

    def _whole(self, is_head: bool, etag: str) -> None:
        self._head(200, {"Content-Length": str(len(CONTENT)), "ETag": etag})
        # whoever asked may have seen enough
        with contextlib.suppress(ConnectionError):
            self.wfile.write(b"" if is_head else CONTENT)

    def _parts(self, is_head: bool) -> None:
        wanted = self.headers.get("Range")
        if wanted is None:
            return self._whole(is_head, '"1"')
        start, stop = wanted.removeprefix("bytes=").split("-")
        part = CONTENT[int(start) : int(stop) + 1]
        self._head(206, {"Content-Length": str(len(part)), "ETag": '"1"'})
        self.wfile.write(part)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def site(asked: list[str]) -> Iterator[str]:
    kind = type("Site", (Site,), {"asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def elsewhere(site: str) -> Elsewhere:
    files = WebFiles([site])
    return Elsewhere({"http": files, "https": files})


def _reason(answer: Found | Unreachable) -> str:
    assert isinstance(answer, Unreachable), answer
    return answer.reason


@pytest.mark.parametrize("path", ["file", "whole"])
def test_a_file_is_measured_and_hashed_when_that_is_asked(elsewhere: Elsewhere, site: str, path: str) -> None:
    hashed = Found(len(CONTENT), '"1"', hashlib.sha256(CONTENT).hexdigest())

    assert Found(len(CONTENT), '"1"') == elsewhere.measure(f"http://{site}/{path}")
    assert hashed == elsewhere.measure(f"http://{site}/{path}", hash_up_to=len(CONTENT))


def test_a_range_is_read(elsewhere: Elsewhere, site: str) -> None:
    assert CONTENT[1003:2001] == elsewhere.read(f"http://{site}/file", 1003, 2001)
    assert b"" == elsewhere.read(f"http://{site}/file", 7, 7)
    with pytest.raises(BlobFailure, match="ends at byte"):
        elsewhere.read(f"http://{site}/file", len(CONTENT) - 3, len(CONTENT) + 1)


def test_a_server_that_gives_no_parts_gives_the_beginning(elsewhere: Elsewhere, site: str) -> None:
    assert CONTENT[:10] == elsewhere.read(f"http://{site}/whole", 0, 10)
    with pytest.raises(BlobFailure, match="not given in parts"):
        elsewhere.read(f"http://{site}/whole", 10, 20)


def test_names_reach_the_server_as_they_stand(elsewhere: Elsewhere, site: str, asked: list[str]) -> None:
    elsewhere.measure(f"http://{site}/file/a b/%2F+é?x=1&y= 2")

    assert ["HEAD /file/a%20b/%2F+%C3%A9?x=1&y=%202"] == asked


def test_a_redirect_is_not_followed(elsewhere: Elsewhere, site: str, asked: list[str]) -> None:
    assert "redirects elsewhere" in _reason(elsewhere.measure(f"http://{site}/redirect", hash_up_to=len(CONTENT)))
    assert ["HEAD /redirect"] == asked


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("gone", "its server answered 404"),
        ("broken", "its server answered 500"),
        ("short", "broke off before its end"),
        ("changing", "changed while it was read"),
    ],
)
def test_what_cannot_be_had_whole_is_told(elsewhere: Elsewhere, site: str, path: str, reason: str) -> None:
    assert reason in _reason(elsewhere.measure(f"http://{site}/{path}", hash_up_to=len(CONTENT)))


def test_another_host_or_port_is_never_asked(elsewhere: Elsewhere, site: str, asked: list[str]) -> None:
    port = site.rpartition(":")[2]
    for location in (
        f"http://localhost:{port}/file",
        "http://127.0.0.1/file",
        f"http://127.0.0.1:{int(port) + 1}/file",
        f"http://someone@{site}/file",
        f"http://{site}@localhost:{port}/file",
        f"http://[::1]:{port}/file",
        "http://[bad/file",
        "http://host:port/file",
        "https:///file",
    ):
        assert not elsewhere.allows(location)
        assert "is not where this server may look" in _reason(elsewhere.measure(location))
    assert [] == asked


def test_a_name_without_a_port_means_the_usual_ones() -> None:
    files = WebFiles(["Data.Example.ORG"])

    for location, is_allowed in (
        ("https://data.example.org/x", True),
        ("http://DATA.example.org:80/x", True),
        ("https://data.example.org:443/x", True),
        ("https://data.example.org:8443/x", False),
        ("https://evil.data.example.org/x", False),
        ("https://data.example.org.evil/x", False),
    ):
        assert is_allowed == files.allows(location)


def test_a_server_that_is_not_there_is_told() -> None:
    elsewhere = Elsewhere({"http": WebFiles(["127.0.0.1:1"]), "https": WebFiles(["127.0.0.1:1"])})

    assert "Connection refused" in _reason(elsewhere.measure("http://127.0.0.1:1/x"))


def test_what_is_no_web_server_is_told(elsewhere: Elsewhere, site: str) -> None:
    assert "certificate is not trusted" in _reason(elsewhere.measure(f"https://{site}/file"))
