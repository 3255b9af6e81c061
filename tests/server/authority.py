"""A certificate authority for one test: its own certificate, and those it issues."""

import datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


class Authority:
    """Everything it makes lies in one folder as PEM files."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self.folder = folder
        self.name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = _name(name)
        builder = _builder(self._subject, self._subject, self._key.public_key(), _DAY)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(signs=True), critical=True)
        self.certificate = builder.sign(self._key, SHA256())
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(_pem(self.certificate))

    def issue(self, name: str, *other: str, life: datetime.timedelta = _DAY) -> Path:
        """A certificate and its key in one file; `DNS:`, `URI:` and `IP:` names beside the subject's."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name), self._subject, key.public_key(), life)
        if other:
            names = x509.SubjectAlternativeName([_other(each) for each in other])
            builder = builder.add_extension(names, critical=False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file = self.folder / f"{self.name}-{name}.pem"
        file.write_bytes(_pem(builder.sign(self._key, SHA256())) + private)
        return file


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, life: datetime.timedelta
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * _DAY)
        .not_valid_after(now + life)
    )


def _usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=signs, crl_sign=signs, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _other(text: str) -> x509.GeneralName:
    kind, _, value = text.partition(":")
    match kind:
        case "DNS":
            return x509.DNSName(value)
        case "URI":
            return x509.UniformResourceIdentifier(value)
        case _:
            return x509.IPAddress(ip_address(value))


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
