"""Requests signed with a worker's secret, or that carry it: whose they are, and that they come once."""

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from cableferry.core import signing
from cableferry.core.access import Claimant
from cableferry.core.errors import Kind
from cableferry.dialects.denials import Unauthorized
from cableferry.engine.credentials import SHARED
from cableferry.server.envelope import Admitted, Envelope
from cableferry.server.keyring import Key, Keyring, Ring
from cableferry.store import credentials, nonces
from cableferry.store.tx import Tx

_NOBODY = Key(-1, "nobody", b"a secret that nobody has, to take the same time")
_SHARED_ROW = 0
_NO_MATCH = (
    "the signature does not match: check the worker id and its secret, and that METHOD, path?query,"
    " SHA-256 of the body, X-Timestamp and X-Nonce are signed as they are sent"
)
_UNNAMED = f"{_NO_MATCH}; nothing in the request names a worker that this secret is of: send X-Worker-Id"


class _Body(msgspec.Struct):
    """As much of a body as says whose it is."""

    worker_id: str | None = None


_BODY = msgspec.json.Decoder(_Body)


class Signatures:
    """Checks against the worker's own secrets, else against the shared one."""

    def __init__(self, keyring: Keyring, shared_secret: str | None) -> None:
        self._keyring = keyring
        self._shared = () if shared_secret is None else (Key(_SHARED_ROW, SHARED, shared_secret.encode()),)

    async def admit(self, envelope: Envelope, signature: str) -> Admitted:
        """A signed request: the signature first, then the clock, and the nonce when it commits."""
        nonce, timestamp = _nonce(envelope), _required(envelope, b"x-timestamp", "X-Timestamp")
        messages = [
            signing.canonical(envelope.method, target, envelope.body_hash, timestamp, nonce)
            for target in signing.targets(envelope.target)
        ]
        worker, key = await self._find(
            envelope, lambda key: any(signing.verify(key.secret, text, signature) for text in messages)
        )
        if key is None:
            raise Unauthorized(_NO_MATCH if envelope.worker else _UNNAMED, Kind.BAD_SIGNATURE)
        _check_clock(timestamp, envelope.now)
        return Admitted(Claimant(worker, key.id), self._spending(key, worker, nonce))

    async def admit_verbatim(self, envelope: Envelope, secret: str) -> Admitted:
        """A request that carries the secret itself, as daemons in token mode do: no signature, no nonce."""
        worker, key = await self._find(
            envelope, lambda key: signing.is_same(key.secret.decode("utf-8", "replace"), secret)
        )
        if key is None:
            raise Unauthorized("x-molgenis-token is neither an API token nor the secret of this worker")
        return Admitted(Claimant(worker, key.id), self._using(key, worker))

    async def _find(self, envelope: Envelope, fits: Callable[[Key], bool]) -> tuple[str | None, Key | None]:
        """Who signed, and with which secret; a request may leave out the header if its path or body says who."""
        if envelope.worker is not None:
            return envelope.worker, await self._find_of(envelope.worker, fits)
        if (key := _first(self._shared, fits)) is not None:
            return None, key
        worker = envelope.path_worker or _named_in(envelope.body)
        return worker, None if worker is None else await self._find_of(worker, fits)

    async def _find_of(self, worker: str, fits: Callable[[Key], bool]) -> Key | None:
        """The worker's secret that fits; before saying no, those in the database now."""
        ring = self._keyring.known(worker)
        key = _first(self._secrets(ring), fits)
        return key or _first(self._secrets(await self._keyring.load(worker)), fits)

    def _secrets(self, ring: Ring | None) -> Sequence[Key]:
        if ring is None:
            return ()
        return ring.keys if ring.has_own else self._shared

    def _spending(self, key: Key, worker: str | None, nonce: str) -> Callable[[Tx], None]:
        """Spends the nonce; 401 when it was spent before or the secret stopped counting meanwhile."""

        def spend(tx: Tx) -> None:
            if key.row == _SHARED_ROW:
                is_new = nonces.spend(tx, key.id, nonce, tx.now)
                self._check_no_own(tx, worker)
            else:
                is_new = nonces.spend_with_credential(tx, key.row, nonce, tx.now) == 1
            if not is_new:
                self._check_usable(tx, key, worker)
                raise Unauthorized("this X-Nonce was used before: take a new one for every request", Kind.REPLAYED)
            self._note(tx, key)

        return spend

    def _using(self, key: Key, worker: str | None) -> Callable[[Tx], None]:
        def use(tx: Tx) -> None:
            self._check_no_own(tx, worker) if key.row == _SHARED_ROW else self._check_usable(tx, key, worker)
            self._note(tx, key)

        return use

    def _check_usable(self, tx: Tx, key: Key, worker: str | None) -> None:
        if key.row != _SHARED_ROW and not credentials.is_usable(tx, key.row, tx.now):
            self._keyring.forget(worker or "")
            raise Unauthorized(_NO_MATCH, Kind.BAD_SIGNATURE)

    def _check_no_own(self, tx: Tx, worker: str | None) -> None:
        """The shared secret stops counting for a worker with the worker's first own credential."""
        if worker is not None and credentials.exist_for(tx, worker):
            self._keyring.forget(worker)
            raise Unauthorized(_NO_MATCH, Kind.BAD_SIGNATURE)

    def _note(self, tx: Tx, key: Key) -> None:
        if key.row != _SHARED_ROW and self._keyring.is_worth_noting(key, tx.now):
            credentials.touch(tx, key.row, tx.now)


def _named_in(body: bytes) -> str | None:
    try:
        return _BODY.decode(body).worker_id
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None  # whatever is wrong with the body is told once its sender is known


def _first(keys: Sequence[Key], fits: Callable[[Key], bool]) -> Key | None:
    """Every secret is tried, and one when there is none: the time tells nothing."""
    found = [key for key in keys or (_NOBODY,) if fits(key)]
    return found[0] if found and found[0] is not _NOBODY else None


def _required(envelope: Envelope, name: bytes, shown: str) -> str:
    value = envelope.header(name)
    if not value:
        raise Unauthorized(f"{shown} is required in a signed request")
    return value


def _nonce(envelope: Envelope) -> str:
    nonce = _required(envelope, b"x-nonce", "X-Nonce")
    if not signing.is_nonce(nonce):
        raise Unauthorized(f"X-Nonce must have 1 to {signing.NONCE_LENGTH} visible ASCII characters")
    return nonce


def _check_clock(text: str, now: datetime) -> None:
    timestamp = signing.parse_timestamp(text)
    if not signing.is_fresh(timestamp, now):
        skew, window = signing.skew(timestamp, now), signing.WINDOW.total_seconds()
        raise Unauthorized(
            f"X-Timestamp is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the server's clock,"
            f" more than {window:.0f} s: set the clock; it is {now:%FT%TZ} here",
            Kind.CLOCK_SKEW,
            server_time=now.isoformat(),
            skew_seconds=round(skew, 3),
        )
