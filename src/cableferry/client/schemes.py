"""How a caller proves who it is: by signing, by a token, or not at all."""

from collections.abc import Mapping

import msgspec

from cableferry.core import signing


class Signed(msgspec.Struct, frozen=True):
    """A worker and the secret it signs with."""

    worker: str
    secret: str

    def __repr__(self) -> str:
        return f"Signed(worker={self.worker!r})"


class Shown(msgspec.Struct, frozen=True):
    """A worker that shows its secret as it is, to servers that take it so; only over TLS does it stay one."""

    worker: str
    secret: str

    def __repr__(self) -> str:
        return f"Shown(worker={self.worker!r})"


class Bearer(msgspec.Struct, frozen=True):
    """A user's API token, or a worker's JWT."""

    token: str
    worker: str | None = None

    def __repr__(self) -> str:
        return f"Bearer(worker={self.worker!r})"


class Unsigned(msgspec.Struct, frozen=True):
    """Nobody in particular: for servers whose authentication is off."""

    worker: str | None = None


Scheme = Signed | Shown | Bearer | Unsigned


def headers(scheme: Scheme, method: str, target: str, body_hash: str, stamp: tuple[str, str]) -> Mapping[str, str]:
    """The headers that prove it for one request; the stamp is its timestamp and its nonce."""
    timestamp, nonce = stamp
    named = {"X-Timestamp": timestamp} | ({"X-Worker-Id": scheme.worker} if scheme.worker else {})
    match scheme:
        case Signed(secret=secret):
            message = signing.canonical(method, target, body_hash, timestamp, nonce)
            signature = signing.sign(secret.encode(), message)
            return named | {"X-Nonce": nonce, "Authorization": f"HMAC-SHA256 {signature}"}
        case Shown(secret=secret):
            return named | {"x-molgenis-token": secret}
        case Bearer(token=token):
            return named | {"Authorization": f"Bearer {token}"}
        case Unsigned():
            return named
