"""Inputs of the web and of S3: from places that a site names, and from no others."""

import contextlib
import http.server
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import obstore
import pytest
from obstore.store import S3Store

from cableferry.client import emx2
from cableferry.client.patience import ONCE
from cableferry.client.schemes import Unsigned
from cableferry.daemon.staging.buckets import Bucket
from cableferry.daemon.staging.desk import Site
from cableferry.daemon.staging.inputs import Staged
from cableferry.daemon.staging.outcomes import Failed
from cableferry.daemon.staging.web import Web
from cableferry.testing import s3, servers
from cableferry.testing.servers import Running
from tests.daemon.place import Place, sha256
from tests.server.authority import Authority


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with servers.running(servers.settings_in(tmp_path_factory.mktemp("server"))) as running:
        yield running


@pytest.fixture
def place(server: Running, tmp_path: Path) -> Iterator[Place]:
    client = emx2.connect(server.address, Unsigned(), ONCE)
    place = Place(client, tmp_path)
    yield place
    place.verified.close()
    client.close()


class Page(http.server.BaseHTTPRequestHandler):
    """A web server with one folder, a redirect, and a habit of breaking off."""

    content = bytes(range(256)) * 4096
    breaks = 0

    def do_GET(self) -> None:
        if self.path == "/moved/x.bin":
            self.send_response(302)
            self.send_header("Location", "/data/x.bin")
            self.end_headers()
            return
        if self.path == "/away/x.bin":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.2:9/x.bin")
            self.end_headers()
            return
        if self.path == "/short/x.bin" and "Range" not in self.headers:
            # an end that looks like one
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.content[:1000])
            self.close_connection = True
            return
        asked = self.headers.get("Range", "bytes=0-")
        start = int(asked.removeprefix("bytes=").rstrip("-"))
        body = self.content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        self.end_headers()
        if Page.breaks:
            Page.breaks -= 1
            self.wfile.write(body[:1000])
            self.close_connection = True
        else:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is said."""


@contextlib.contextmanager
def _serving(tls: ssl.SSLContext | None = None) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def web() -> Iterator[str]:
    with _serving() as address:
        yield address


def test_files_of_the_web_are_streamed_and_continued(place: Place, web: str) -> None:
    Page.breaks = 2
    place.site = Site(web=Web(private_hosts=frozenset({web})))
    for folder in ("data", "moved"):
        id_ = place.elsewhere("http", f"http://{web}/{folder}", {"x.bin": Page.content})
        assert isinstance(place.stage([id_]), Staged)
        assert Page.content == (place.input / id_ / "x.bin").read_bytes()


def test_a_file_at_an_address_of_its_own_needs_no_list(place: Place, web: str) -> None:
    place.site = Site(web=Web(private_hosts=frozenset({web})))
    id_ = place.elsewhere("http", f"http://{web}/data/some%20name.bin", {}, sha256(Page.content))

    assert isinstance(place.stage([id_]), Staged)
    assert Page.content == (place.input / id_ / "some name.bin").read_bytes()


def test_no_place_on_the_web_is_asked_that_is_not_named(place: Place, web: str) -> None:
    id_ = place.elsewhere("http", f"http://{web}/data", {"x.bin": Page.content})
    refused = place.stage([id_])
    place.site = Site(web=Web(private_hosts=frozenset({web})))
    away = place.stage([place.elsewhere("http", f"http://{web}/away", {"x.bin": Page.content})])

    for failed in (refused, away):
        assert isinstance(failed, Failed)
        assert (False, True) == (failed.may_pass, "not among the places" in failed.detail)


def test_a_name_that_leads_into_the_sites_own_network_is_left_alone(place: Place, web: str) -> None:
    port = web.rpartition(":")[2]
    id_ = place.elsewhere("http", f"http://localhost:{port}/data", {"x.bin": Page.content})

    place.site = Site(web=Web(frozenset({f"localhost:{port}"})))
    refused = place.stage([id_])
    assert isinstance(refused, Failed)
    assert (False, True) == (refused.may_pass, "into a network of the site's own" in refused.detail)
    place.site = Site(web=Web(private_hosts=frozenset({f"localhost:{port}"})))
    assert isinstance(place.stage([id_]), Staged)


@pytest.mark.parametrize(("name", "is_taken"), [("localhost", True), ("another.example.org", False)])
def test_over_tls_a_place_proves_its_name_at_the_address_that_was_looked_up(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str, is_taken: bool
) -> None:
    authority = Authority(place.folder)
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(authority.issue("web", f"DNS:{name}"))
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    with _serving(own) as web:
        host = f"localhost:{web.rpartition(':')[2]}"
        place.site = Site(web=Web(private_hosts=frozenset({host})))
        staged = place.stage([place.elsewhere("http", f"https://{host}/data", {"x.bin": Page.content})])

    assert is_taken is isinstance(staged, Staged)
    assert is_taken or "not valid for 'localhost'" in str(staged)


def test_a_proxy_looks_names_up_by_itself(place: Place, web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://{web}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    place.site = Site(web=Web(frozenset({"data.example.org"})))
    id_ = place.elsewhere("http", "http://data.example.org/data", {"x.bin": Page.content})

    assert isinstance(place.stage([id_]), Staged)


def test_a_bucket_that_sends_elsewhere_is_not_followed_out_of_s3(place: Place, web: str) -> None:
    place.site = Site(web=Web(frozenset({web}), {"moved": Bucket(f"http://{web}")}))
    failed = place.stage([place.elsewhere("s3", "s3://moved", {"x.bin": Page.content})])

    assert isinstance(failed, Failed)
    assert "is not followed there" in failed.detail


def test_what_is_larger_than_a_site_allows_is_not_brought(place: Place, web: str) -> None:
    named = place.elsewhere("http", f"http://{web}/data", {"x.bin": Page.content})
    unnamed = place.elsewhere("http", f"http://{web}/data/x.bin", {}, sha256(Page.content))
    place.site = Site(web=Web(private_hosts=frozenset({web}), most_bytes=len(Page.content) - 1))

    for id_ in (named, unnamed):
        failed = place.stage([id_])
        assert isinstance(failed, Failed)
        assert (False, True) == (failed.may_pass, "max_bytes allows" in failed.detail or "may have" in failed.detail)
    place.site = Site(web=Web(private_hosts=frozenset({web}), most_bytes=len(Page.content)))
    assert isinstance(place.stage([named, unnamed]), Staged)


def test_what_is_longer_than_its_artifact_says_is_not_taken_to_its_end(place: Place, web: str) -> None:
    place.site = Site(web=Web(private_hosts=frozenset({web})))
    failed = place.stage([place.elsewhere("http", f"http://{web}/data", {"x.bin": Page.content[:5000]})])

    assert isinstance(failed, Failed)
    assert "x.bin is longer than 5000 bytes" in failed.detail
    assert place.moved < len(Page.content)


def test_an_answer_that_ends_too_soon_is_gone_on_with(place: Place, web: str) -> None:
    place.site = Site(web=Web(private_hosts=frozenset({web})))
    id_ = place.elsewhere("http", f"http://{web}/short", {"x.bin": Page.content})

    assert isinstance(place.stage([id_]), Staged)
    assert Page.content == (place.input / id_ / "x.bin").read_bytes()


@pytest.mark.xdist_group("s3")
def test_files_of_a_bucket_are_streamed_with_its_key(place: Place, s3_server: s3.Server) -> None:
    key = "some dir/x+y é.bin"
    put(s3_server, key, b"in a bucket")
    bucket = Bucket(s3_server.endpoint, "us-east-1", s3_server.access_key_id, s3_server.secret_access_key)
    id_ = place.elsewhere("s3", f"s3://{s3.BUCKET}/some dir", {"x+y é.bin": b"in a bucket"})

    secret = place.folder / "secret"
    secret.write_text(s3_server.secret_access_key)
    kept = msgspec.structs.replace(bucket, secret_access_key=None, secret_file=str(secret))
    place.site = Site(web=Web(buckets={s3.BUCKET: kept}))
    readable = place.stage([id_])
    assert isinstance(readable, Failed)
    assert (True, True) == (readable.may_pass, "chmod 600" in readable.detail)
    secret.chmod(0o600)
    assert isinstance(place.stage([id_]), Staged)
    assert b"in a bucket" == (place.input / id_ / "x+y é.bin").read_bytes()
    place.input = place.folder / "again"
    place.site = Site(web=Web(buckets={s3.BUCKET: msgspec.structs.replace(bucket, secret_access_key="wrong")}))
    failed = place.stage([id_])
    assert isinstance(failed, Failed)
    assert (False, True) == (failed.may_pass, "answers 403" in failed.detail)
    assert s3_server.secret_access_key not in repr(bucket)


def put(server: s3.Server, key: str, content: bytes) -> None:
    """By the library of the server's own store, which shares no line with ours."""
    store = S3Store(
        s3.BUCKET,
        endpoint=server.endpoint,
        access_key_id=server.access_key_id,
        secret_access_key=server.secret_access_key,
        region="us-east-1",
        client_options={"allow_http": True},
    )
    obstore.put(store, key, content)
