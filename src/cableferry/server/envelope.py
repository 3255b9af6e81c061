"""A request as authentication sees it, and what authentication says of it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from cableferry.core import signing
from cableferry.core.access import Caller
from cableferry.core.sigv4 import Signed
from cableferry.store.tx import Tx


class Envelope(msgspec.Struct, frozen=True):
    """One request before its body means anything; header names are lower-case bytes.

    `target` is the path and query exactly as they were sent. `certificate` is the client's, in DER,
    already verified by TLS. `peer` is the other end of the connection, whatever a proxy says of `address`.
    `path_worker` is the worker whose path it is, if the path is a worker's.
    """

    method: str
    target: str
    headers: Mapping[bytes, bytes]
    body: bytes
    now: datetime
    address: str | None = None
    peer: str | None = None
    path_worker: str | None = None
    certificate: bytes | None = None
    is_secure: bool = False
    is_stream: bool = False

    def header(self, name: bytes) -> str | None:
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def worker(self) -> str | None:
        """Which worker the request says it is from."""
        return self.headers.get(b"x-worker-id", b"").decode("utf-8", "replace") or None

    @property
    def body_hash(self) -> str:
        """What a signature covers of the body; of a stream, only what its header declares."""
        if self.is_stream:
            sent, digest = self.header(b"content-sha256"), self.header(b"content-digest")
            return signing.declared_hash(sent, digest) or signing.EMPTY_HASH
        return signing.body_hash(self.body)


class Admitted(msgspec.Struct, frozen=True):
    """Who calls; `guard` writes what must outlive a refusal, `headers` go with the answer.

    What was found in memory may `confirm`, in the transaction of the work, that it still counts.
    """

    caller: Caller
    guard: Callable[[Tx], None] | None = None
    headers: Mapping[str, str] = {}
    confirm: Callable[[Tx], None] | None = None
    may_write: bool = True
    signed: Signed | None = None


class Authenticator(Protocol):
    """Says who calls, or raises a denial."""

    async def admit(self, envelope: Envelope) -> Admitted: ...
