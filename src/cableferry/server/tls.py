"""Whether what the settings say about TLS can be used, told before the server listens."""

import ssl
from collections.abc import Iterator
from pathlib import Path

from cableferry.server.settings import Settings
from cableferry.server.vault import CannotStart


def check(settings: Settings) -> None:
    """Refuse files that do not load, and settings that would ask nobody for a certificate."""
    server = settings.server
    if server.tls_certificate is None:
        _check_plain(settings)
        return
    for path in (server.tls_certificate, server.tls_key, server.tls_client_ca):
        _check_readable(path)
    _check_loads(server.tls_certificate, server.tls_key, server.tls_client_ca)


def _check_plain(settings: Settings) -> None:
    """A proxy's certificates are looked at without TLS of our own, but nothing else of these settings."""
    is_behind_proxy = settings.auth.mtls.proxy_header is not None
    idle = ["server.tls_key"] if settings.server.tls_key else []
    idle += ["server.tls_client_ca"] if settings.server.tls_client_ca and not is_behind_proxy else []
    if idle:
        raise CannotStart(f"{' and '.join(idle)} would do nothing: TLS needs server.tls_certificate as well")


def _check_readable(path: Path | None) -> None:
    try:
        if path is not None:
            path.read_bytes()
    except OSError as error:
        raise CannotStart(f"the file {path} for TLS cannot be read: {error.strerror}") from None


def _check_loads(certificate: Path, key: Path | None, authorities: Path | None) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # an empty password, or OpenSSL would ask the terminal for one
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        files = " and ".join(map(str, _given(certificate, key)))
        raise CannotStart(
            f"{files} are no certificate with its own key, unencrypted, in PEM: {error.reason or error};"
            " see server.tls_certificate and server.tls_key"
        ) from None
    try:
        if authorities is not None:
            context.load_verify_locations(authorities)
    except ssl.SSLError as error:
        raise CannotStart(f"{authorities} holds no certificate in PEM: {error.reason or error}") from None


def _given(*paths: Path | None) -> Iterator[Path]:
    return (path for path in paths if path is not None)
