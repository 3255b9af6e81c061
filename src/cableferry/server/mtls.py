"""Client certificates: whose they are, and which worker each stands for."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import unquote

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

from cableferry.dialects.denials import Unauthorized

_MOST = 4096


class Certificates:
    """Which worker a certificate's names stand for."""

    def __init__(self, workers: Mapping[str, str]) -> None:
        self._workers = dict(workers)
        self._known: dict[bytes, str | None] = {}

    def worker(self, der: bytes) -> str | None:
        """The worker of a certificate that TLS has verified."""
        if der not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[der] = self.worker_named(names(x509.load_der_x509_certificate(der)))
        return self._known[der]

    def worker_named(self, found: Sequence[str]) -> str | None:
        """Two names that stand for two workers stand for none."""
        workers = {self._workers[name] for name in found if name in self._workers}
        return workers.pop() if len(workers) == 1 else None


class Proxy:
    """A proxy that ends TLS for us and passes on, in a header, whom it let in."""

    def __init__(self, header: str, addresses: Sequence[str], authorities: Path | None) -> None:
        self.header = header.lower().encode("ascii")
        self._networks = [ip_network(address) for address in addresses]
        self._authorities = [] if authorities is None else _certificates(authorities)

    def names(self, value: str, address: str | None, now: datetime) -> Sequence[str]:
        """The names in the header; refused from every address but the proxy's."""
        if not self._is_pinned(address):
            raise Unauthorized(f"the header {self.header.decode()} is taken from the proxy only")
        text = unquote(value)
        return self._checked(text, now) if "-----BEGIN" in text else (text,)

    def _is_pinned(self, address: str | None) -> bool:
        try:
            return any(ip_address(address or "") in network for network in self._networks)
        except ValueError:
            return False

    def _checked(self, pem: str, now: datetime) -> Sequence[str]:
        try:
            certificate = x509.load_pem_x509_certificate(pem.encode())
        except ValueError:
            raise Unauthorized("the client certificate in the proxy's header cannot be read") from None
        is_in_time = certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc
        if not is_in_time or (self._authorities and not self._is_issued(certificate)):
            raise Unauthorized("the client certificate in the proxy's header is not valid here")
        return names(certificate)

    def _is_issued(self, certificate: x509.Certificate) -> bool:
        return any(_is_issued_by(certificate, authority) for authority in self._authorities)


def names(certificate: x509.Certificate) -> list[str]:
    """Every way a setting may name a certificate: CN=, DNS:, URI:, email:, SHA256:, or the whole subject."""
    found = [certificate.subject.rfc4514_string(), f"SHA256:{certificate.fingerprint(SHA256()).hex()}"]
    common = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    found += [f"CN={attribute.value!s}" for attribute in common]
    try:
        other = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return found
    found += [f"DNS:{name}" for name in other.get_values_for_type(x509.DNSName)]
    found += [f"URI:{name}" for name in other.get_values_for_type(x509.UniformResourceIdentifier)]
    found += [f"email:{name}" for name in other.get_values_for_type(x509.RFC822Name)]
    return found


def _certificates(path: Path) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(path.read_bytes())


def _is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
