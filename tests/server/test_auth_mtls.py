"""Client certificates: over the server's own TLS, and through a proxy's header."""

import contextlib
import http.client
import ssl
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from cryptography import x509

from cableferry.core.access import Role
from cableferry.engine import users
from cableferry.server import mtls
from cableferry.server.passwords import Passwords
from cableferry.server.settings import AuthSection, MtlsSection, Secret
from tests.server.authority import Authority
from tests.server.serving import Reply, Server, bearer, protocol, serving, settings, signed, token

JOBS = "/api/hpc/jobs"
SHARED = "the shared secret of all who have none"
WORKERS = {
    "CN=head-1": "w1",
    "DNS:head-2.example.org": "w2",
    "URI:spiffe://site/head-3": "w3",
    "DNS:twice-a": "w1",
    "DNS:twice-b": "w2",
}
HEADER = "X-Client-Cert"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def tls_server(tmp_path: Path, authority: Authority) -> Iterator[Server]:
    own = authority.issue("server", "DNS:localhost")
    wanted = settings(
        tmp_path,
        AuthSection(mtls=MtlsSection(workers=WORKERS), shared_secret=Secret(SHARED)),
        tls_certificate=own,
        tls_key=own,
        tls_client_ca=authority.file,
    )
    with serving(wanted, tls=context(authority)) as running:
        yield running


def context(authority: Authority, certificate: Path | None = None) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=str(authority.file))
    if certificate is not None:
        made.load_cert_chain(certificate)
    return made


def a_forger(folder: Path) -> Authority:
    """Another authority under the same name."""
    (folder / "elsewhere").mkdir()
    return Authority(folder / "elsewhere")


def jobs(server: Server, tls: ssl.SSLContext, **headers: str) -> Reply:
    return server._replace(tls=tls).call(
        "GET", JOBS, headers={name.replace("_", "-"): v for name, v in headers.items()}
    )


@pytest.mark.parametrize(
    ("names", "worker"),
    [(("head-1",), "w1"), (("x", "DNS:head-2.example.org"), "w2"), (("y", "URI:spiffe://site/head-3"), "w3")],
)
def test_a_certificate_stands_for_the_worker_that_the_settings_name(
    tls_server: Server, authority: Authority, names: tuple[str, ...], worker: str
) -> None:
    tls = context(authority, authority.issue(*names))

    assert jobs(tls_server, tls).status == 200
    assert jobs(tls_server, tls, X_Worker_Id=worker).status == 200
    assert jobs(tls_server, tls, X_Worker_Id="w9").status == 403


@pytest.mark.parametrize("names", [("stranger",), ("z", "DNS:twice-a", "DNS:twice-b")])
def test_a_certificate_of_nobody_or_of_two_is_not_enough(
    tls_server: Server, authority: Authority, names: tuple[str, ...]
) -> None:
    reply = jobs(tls_server, context(authority, authority.issue(*names)))

    assert (reply.status, "auth.mtls.workers" in reply.json["detail"]) == (401, True)


def test_without_a_certificate_other_ways_are_open(tls_server: Server, authority: Authority) -> None:
    assert jobs(tls_server, context(authority)).status == 401
    assert tls_server.call("GET", JOBS, headers=signed(SHARED, "GET", JOBS)).status == 200
    assert tls_server.call("GET", JOBS, headers=bearer(token(tls_server, Role.VIEWER))).status == 200


def test_a_certificate_of_another_authority_ends_the_connection(
    tls_server: Server, authority: Authority, tmp_path: Path
) -> None:
    forged = a_forger(tmp_path).issue("head-1")

    with pytest.raises((ssl.SSLError, ConnectionError)):
        jobs(tls_server, context(authority, forged))


def test_an_expired_certificate_ends_the_connection(tls_server: Server, authority: Authority) -> None:
    old = authority.issue("head-1", life=timedelta(days=-1))

    with pytest.raises((ssl.SSLError, ConnectionError)):
        jobs(tls_server, context(authority, old))


def test_over_tls_the_cookie_is_for_tls_only(tls_server: Server) -> None:
    hashed = Passwords().hash("ann", "the ferry leaves at dawn")
    tls_server.store.write(lambda tx: users.create_first(tx, "ann", hashed))
    body = b'{"name": "ann", "password": "the ferry leaves at dawn"}'

    cookie = tls_server.call("POST", "/api/ui/login", body).headers["set-cookie"]

    assert cookie.startswith("__Host-cableferry_session=")
    assert cookie.endswith("; Secure")
    assert tls_server.call("GET", "/api/ui/me", headers={"Cookie": cookie}).status == 200
    assert tls_server.call("GET", "/api/ui/me", headers={"Cookie": cookie.removeprefix("__Host-")}).status == 401


@pytest.fixture(params=["127.0.0.1", "10.0.0.0/8"])
def proxied(request: pytest.FixtureRequest, tmp_path: Path, authority: Authority) -> Iterator[Server]:
    section = MtlsSection(workers=WORKERS, proxy_header=HEADER, proxy_addresses=[request.param])
    with serving(settings(tmp_path, AuthSection(mtls=section), tls_client_ca=authority.file)) as running:
        yield running


def is_pinned(server: Server) -> bool:
    return server.settings.auth.mtls.proxy_addresses == ["127.0.0.1"]


def test_the_proxys_header_is_taken_from_the_proxy_only(proxied: Server, authority: Authority) -> None:
    certificate = quote(authority.issue("head-1").read_text().partition("-----BEGIN PRIVATE")[0])

    named = proxied.call("GET", JOBS, headers={HEADER: "CN=head-1"})
    whole = proxied.call("GET", JOBS, headers={HEADER: certificate})

    assert [named.status, whole.status] == ([200, 200] if is_pinned(proxied) else [401, 401])


def test_a_header_from_elsewhere_is_refused_whatever_else_is_right(proxied: Server) -> None:
    headers = bearer(token(proxied, Role.VIEWER)) | {HEADER: "CN=head-1"}

    assert proxied.call("GET", JOBS, headers=headers).status == (200 if is_pinned(proxied) else 401)


def test_a_header_beside_the_proxys_own_is_refused(proxied: Server) -> None:
    pairs = [*protocol().items(), (HEADER, "CN=stranger"), (HEADER, "CN=head-1")]

    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", proxied.port, timeout=20)) as connection:
        connection.putrequest("GET", JOBS)
        for name, value in pairs:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()

    assert answer.status == 400


def test_a_forwarded_address_does_not_make_a_proxy(tmp_path: Path) -> None:
    section = MtlsSection(workers=WORKERS, proxy_header=HEADER, proxy_addresses=["10.0.0.5"])
    wanted = settings(tmp_path, AuthSection(mtls=section), trusted_proxies=["127.0.0.1"])

    with serving(wanted) as server:
        reply = server.call("GET", JOBS, headers={HEADER: "CN=head-1", "X-Forwarded-For": "10.0.0.5"})

    assert reply.status == 401


@pytest.mark.parametrize("value", ["CN=stranger", "-----BEGIN CERTIFICATE-----", "%2D%2D%2D%2D%2DBEGIN%FF", "x" * 999])
def test_a_header_that_names_nobody_lets_nobody_in(proxied: Server, value: str) -> None:
    assert proxied.call("GET", JOBS, headers={HEADER: value}).status == 401


@pytest.mark.parametrize("case", ["another authority", "expired"])
def test_a_certificate_in_the_header_is_looked_at_again(tmp_path: Path, authority: Authority, case: str) -> None:
    section = MtlsSection(workers=WORKERS, proxy_header=HEADER, proxy_addresses=["127.0.0.1"])
    if case == "expired":
        certificate = authority.issue("head-1", life=timedelta(days=-1))
    else:
        certificate = a_forger(tmp_path).issue("head-1")

    with serving(settings(tmp_path, AuthSection(mtls=section), tls_client_ca=authority.file)) as server:
        reply = server.call("GET", JOBS, headers={HEADER: quote(certificate.read_text())})

    assert (reply.status, "not valid here" in reply.json["detail"]) == (401, True)


def test_every_name_of_a_certificate_can_be_named(authority: Authority) -> None:
    file = authority.issue("head-1", "DNS:a.example.org", "URI:spiffe://x", "IP:10.0.0.1")

    found = mtls.names(x509.load_pem_x509_certificate(file.read_bytes()))

    assert {"CN=head-1", "DNS:a.example.org", "URI:spiffe://x"} <= set(found)
    assert any(name.startswith("SHA256:") for name in found)
