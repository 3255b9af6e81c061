"""Requests that S3's clients sign with an access key: whose key it is, and whether it counts now."""

import hashlib
import re
from collections.abc import Callable
from datetime import datetime
from urllib.parse import parse_qsl

import msgspec

from cableferry.core import accounts, sigv4
from cableferry.core.access import Caller
from cableferry.core.errors import Invalid, Kind
from cableferry.core.sigv4 import Message, Payload, Scope, Signed
from cableferry.dialects.denials import Unauthorized, Unavailable
from cableferry.engine import access_keys as engine
from cableferry.server.envelope import Admitted, Envelope
from cableferry.server.vault import Vault
from cableferry.store import access_keys as rows
from cableferry.store.access_keys import Proof
from cableferry.store.tx import Store, Tx
from cableferry.wire.s3 import PREFIX

_MOST = 4096
_ID = re.compile(r"[A-Za-z0-9]{4,128}")
_HASH = re.compile(r"[0-9a-f]{64}")
_PRESIGNED = ("X-Amz-Algorithm=", "X-Amz-Credential=", "X-Amz-Signature=")
_NOBODY = "a secret that nobody has, to take the same time"


class Known(msgspec.Struct, eq=False):
    """An access key with its secret; signing keys are made once a day and region."""

    proof: Proof
    secret: str
    used_at: datetime | None
    made: tuple[Scope, bytes] | None = None

    def __repr__(self) -> str:
        return f"Known({self.proof.key.id!r})"

    def signing_key(self, scope: Scope) -> bytes:
        if self.made is None or self.made[0] != scope:
            self.made = scope, sigv4.signing_key(self.secret, scope)
        return self.made[1]


class AccessKeys:
    """What is in memory may be old: the transaction of the work looks again before anything is read or written."""

    def __init__(self, store: Store, vault: Vault) -> None:
        self._store = store
        self._vault = vault
        self._known: dict[str, Known] = {}

    async def admit(self, envelope: Envelope) -> Admitted:
        path, _, query = envelope.target.partition("?")
        proof = _shown(envelope, query)
        payload = _payload(envelope, proof)
        messages = [Message(envelope.method, each, query, envelope.headers, payload) for each in _signed_paths(path)]
        known = await self._find(proof.access_key)
        signing_key = sigv4.signing_key(_NOBODY, proof.scope) if known is None else known.signing_key(proof.scope)
        is_right = any(sigv4.is_right(proof, signing_key, message) for message in messages)
        if known is None:
            raise _unknown()
        if not is_right:
            raise Unauthorized(
                "the signature does not match: check the secret of the access key, and that nothing between the client"
                " and the server changes the method, the path, the query or the signed headers",
                Kind.BAD_SIGNATURE,
            )
        sigv4.check_time(proof, envelope.now)
        sigv4.check_covers(proof, envelope.headers)
        return Admitted(
            engine.caller(known.proof),
            guard=self._noting(known, envelope.now),
            confirm=self._confirming(known),
            may_write=known.proof.key.may_write,
            signed=Signed(proof, signing_key),
        )

    async def _find(self, id: str) -> Known | None:
        """The key as it is remembered, else as the database has it."""
        known = self._known.get(id)
        if known is not None:
            return known
        proof = await self._store.aread(lambda tx: engine.proof(tx, id)) if _ID.fullmatch(id) else None
        if proof is None:
            return None
        secret = self._vault.open(proof.box, engine.about(id)).decode()
        if len(self._known) >= _MOST:
            self._known.clear()
        known = self._known[id] = Known(proof, secret, proof.key.last_used_at)
        return known

    def _confirming(self, known: Known) -> Callable[[Tx], None]:
        """Refuse what has been revoked or changed since the key was read, by whatever process."""

        def confirm(tx: Tx) -> None:
            now = engine.proof(tx, known.proof.key.id)
            if now is None:
                self._known.pop(known.proof.key.id, None)
                raise _unknown()
            if _rights(now) != _rights(known.proof):
                self._known.pop(known.proof.key.id, None)
                raise Unavailable("what this access key may do was changed just now: send the request again")

        return confirm

    def _noting(self, known: Known, now: datetime) -> Callable[[Tx], None] | None:
        """Writes the use down; once a minute is enough."""
        if not accounts.is_stale(known.used_at, now):
            return None
        known.used_at = now
        return lambda tx: rows.touch(tx, known.proof.key.id, tx.now)


def _shown(envelope: Envelope, query: str) -> sigv4.Proof:
    """What the request says of its signature, in its header or in its query."""
    authorization = envelope.header(b"authorization")
    is_presigned = any(field.startswith(_PRESIGNED) for field in query.split("&"))
    if authorization is not None and is_presigned:
        raise Invalid("the request is signed twice, in its header and in its query: sign it once")
    if authorization is not None and not authorization.startswith("AWS "):
        return sigv4.read_header(authorization, envelope.header(b"x-amz-date"))
    if is_presigned:
        return _from_query(query)
    if authorization is not None or query.startswith("AWSAccessKeyId=") or "&AWSAccessKeyId=" in query:
        raise Invalid("this is Signature Version 2: let the client sign with version 4 (boto3 calls it s3v4)")
    raise Unauthorized("no credentials: sign the request with an access key (AWS Signature Version 4)")


def _from_query(query: str) -> sigv4.Proof:
    try:
        return sigv4.read_query(parse_qsl(query, keep_blank_values=True))
    except Invalid as refusal:
        raise Invalid(refusal.detail, refusal.kind, code="AuthorizationQueryParametersError") from None


def _signed_paths(path: str) -> tuple[str, str]:
    """As it came, and as those write it who do not know of our prefix: a proxy, or the client itself, puts it there."""
    return path, path.removeprefix(PREFIX) or "/"


def _payload(envelope: Envelope, proof: sigv4.Proof) -> str:
    """What is signed of the body, once it is known to be true as far as it can be."""
    told = envelope.header(b"x-amz-content-sha256")
    if told is None and proof.is_presigned:
        return Payload.UNSIGNED
    if told is None and envelope.is_stream:
        raise Invalid("the header X-Amz-Content-SHA256 is missing", Kind.MISSING_HEADER, header="X-Amz-Content-SHA256")
    found = None if envelope.is_stream else hashlib.sha256(envelope.body).hexdigest()
    if told is None or told == Payload.UNSIGNED:
        return told or str(found)
    if _HASH.fullmatch(told) is None and (told not in set(Payload) or not envelope.is_stream):
        raise Invalid(
            "X-Amz-Content-SHA256 must hold the SHA-256 of the body in hexadecimal, UNSIGNED-PAYLOAD,"
            " or for a file one of the STREAMING forms of Signature Version 4",
            Kind.BAD_HEADER,
        )
    if found is not None and found != told:
        raise Invalid(
            f"the body has the SHA-256 {found}, not {told}: send it again",
            Kind.BAD_DIGEST,
            code="XAmzContentSHA256Mismatch",
        )
    return told


def _rights(proof: Proof) -> tuple[Caller, bool]:
    return engine.caller(proof), proof.key.may_write


def _unknown() -> Unauthorized:
    return Unauthorized(
        "the access key is unknown, expired or revoked: issue a new one",
        Kind.UNAUTHENTICATED,
        code="InvalidAccessKeyId",
    )
