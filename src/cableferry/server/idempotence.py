"""A POST with an Idempotency-Key happens once: its answer is kept and given again, byte for byte."""

import hashlib
from collections.abc import Callable
from typing import Protocol

import msgspec

from cableferry.core.errors import Invalid, Kind, Refusal
from cableferry.dialects.denials import Denial
from cableferry.server.exchange import Reply, Request
from cableferry.store import answers
from cableferry.store.answers import Kept, Stored
from cableferry.store.tx import Store, Tx

Guard = Callable[[Tx], None]
REPLAYED = (b"idempotent-replayed", b"true")

# what else belongs to an answer; a cookie is for the one who got it first
_KEPT = frozenset({b"cache-control", b"etag", b"location"})
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(dict[str, str])


class Vault(Protocol):
    """Seals what must not lie readable in the database."""

    def seal(self, content: bytes) -> bytes: ...

    def open(self, content: bytes) -> bytes: ...

    def mark(self, content: bytes) -> bytes:
        """A digest that nobody can guess the content by."""
        ...


def key_of(request: Request) -> str | None:
    """The key a POST came with, None when it came without."""
    key = request.headers.get(b"idempotency-key") if request.method == "POST" else None
    if key is None:
        return None
    if not 0 < len(key) <= 255 or not all(0x21 <= byte <= 0x7E for byte in key):
        raise Invalid("Idempotency-Key must be 1 to 255 printable characters without spaces", Kind.BAD_HEADER)
    return key.decode()


class Once(Protocol):
    """What is done once."""

    def __call__(self, tx: Tx) -> Reply: ...


class Keeper:
    """Keeps the answers of one caller's key, for one request."""

    def __init__(self, caller: str, key: str, request: Request, vault: Vault | None) -> None:
        self._caller = caller
        self._key = key
        self._vault = vault
        self._request = _digest(request, vault)

    def recall(self, tx: Tx) -> Reply | None:
        """The answer given before; None opens a record that `remember` fills."""
        stored = answers.begin(tx, self._caller, self._key, self._request, tx.now)
        if stored is None:
            return None
        if stored.request != self._request:
            raise Invalid(
                "this Idempotency-Key was used for another request: use a new key for a new request",
                Kind.KEY_REUSED,
            )
        return self._given(stored)

    def _given(self, stored: Stored) -> Reply:
        """Byte for byte; a record is finished in the transaction that begins it, so it has a status."""
        body = stored.body or b""
        if self._vault is not None and body:
            body = self._vault.open(body)
        headers = (*_headers_of(stored), REPLAYED)
        return Reply(stored.status or 200, body, (stored.content_type or "").encode(), headers)

    def remember(self, tx: Tx, reply: Reply) -> Reply:
        body = self._vault.seal(reply.body) if self._vault and reply.body else reply.body
        headers = {name.decode(): value.decode("latin-1") for name, value in reply.headers if name in _KEPT}
        kept = Kept(reply.status, reply.content_type.decode(), _ENCODER.encode(headers).decode(), body)
        answers.finish(tx, self._caller, self._key, kept)
        return reply

    def recall_or(self, tx: Tx, work: Once) -> Reply:
        return self.recall(tx) or self.remember(tx, work(tx))


async def run_once(store: Store, keeper: Keeper, work: Once, guard: Guard | None) -> Reply:
    """Do the work and keep its answer in one transaction."""
    return await store.awrite(lambda tx: keeper.recall_or(tx, work), guard)


def is_known(tx: Tx, caller: str, key: str) -> bool:
    """Whether the answer to this key was given already."""
    return answers.is_known(tx, caller, key)


def is_replay(reply: Reply) -> bool:
    return REPLAYED in reply.headers


def is_kept(refusal: Refusal) -> bool:
    """Only what the engine said of the request itself; who calls and how it went on the way is asked anew."""
    return not isinstance(refusal, Denial) and refusal.kind not in (Kind.KEY_REUSED, Kind.CHANGED_MEANWHILE)


async def keep_refusal(store: Store, keeper: Keeper, reply: Reply) -> Reply:
    """A refusal undid its own record, so it is kept after the fact; a twin that came first wins."""
    return await store.awrite(lambda tx: keeper.recall_or(tx, lambda _: reply))


def _headers_of(stored: Stored) -> list[tuple[bytes, bytes]]:
    headers = _DECODER.decode(stored.headers or "{}")
    return [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]


def _digest(request: Request, vault: Vault | None) -> bytes:
    content = f"{request.method}\n{request.target}\n".encode() + (request.fingerprint or request.body)
    return hashlib.sha256(content).digest() if vault is None else vault.mark(content)
