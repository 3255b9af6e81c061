"""Signed tokens of workers: which keys sign them, and what they must say."""

import copy
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import structlog
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from joserfc import jwk, jwt
from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry

from cableferry.core import signing
from cableferry.core.access import Claimant
from cableferry.dialects.denials import Unauthorized
from cableferry.server.settings import JwtSection
from cableferry.server.vault import CannotStart

log = structlog.get_logger()

LEEWAY_SECONDS = 60
_ALGORITHMS = {"oct": ("HS256",), "RSA": ("RS256",), "OKP": ("EdDSA", "Ed25519")}
_SHORTEST_BITS = {"oct": 256, "RSA": 2048, "OKP": 255}


class Presented(msgspec.Struct, frozen=True):
    """What a token says, once it is believed; `once` is its own id, for tokens that count a single time."""

    caller: Claimant
    once: str | None
    expires_at: datetime


class _Span(msgspec.Struct, frozen=True):
    """The times in a token that passed the rules."""

    exp: float
    iat: float | None = None
    nbf: float | None = None


class Tokens:
    """Believes tokens that a configured key signed, by the algorithm of that key and no other."""

    def __init__(self, section: JwtSection, keys_file: Path) -> None:
        self._section = section
        self._file = keys_file
        self._registry = _registry(section.algorithms)
        self._stamp = _stamp(keys_file)
        self._keys = _load(keys_file)

    def present(self, text: str, now: datetime) -> Presented:
        """Who the token speaks for; refused in one sentence that says which rule it breaks."""
        self._refresh()
        seconds = int(now.timestamp())
        try:
            token = jwt.decode(text, self._key_for, registry=self._registry)
            self._rules(seconds).validate(token.claims)
            span = msgspec.convert(token.claims, _Span)
        except RecursionError:
            raise Unauthorized("the token is not valid: it is nested too deeply") from None
        except (JoseError, ValueError, UnicodeError) as error:
            raise Unauthorized(f"the token is not valid: {_reason(error)}") from None
        return self._presented(token.claims, span, seconds)

    def _presented(self, claims: Mapping[str, object], span: _Span, now: int) -> Presented:
        begins = next(at for at in (span.iat, span.nbf, now) if at is not None)
        if span.exp - begins > self._section.longest_life_seconds:
            raise Unauthorized(
                f"the token lives longer than {self._section.longest_life_seconds:g} s: make shorter ones"
            )
        worker, once = claims[self._section.subject_claim], claims.get("jti")
        if not isinstance(worker, str) or not worker.isprintable() or not 0 < len(worker) < 256:
            raise Unauthorized(f"the token's {self._section.subject_claim} names no worker")
        if once is not None and not (isinstance(once, str) and signing.is_nonce(once)):
            raise Unauthorized(f"the token's jti must have 1 to {signing.NONCE_LENGTH} visible characters")
        return Presented(Claimant(worker, "jwt"), once, datetime.fromtimestamp(span.exp, UTC))

    def _rules(self, now: int) -> jwt.JWTClaimsRegistry:
        section = self._section
        named = {"iss": section.issuer, "aud": section.audience}
        options: dict[str, Any] = {name: {"essential": True, "value": v} for name, v in named.items() if v}
        options |= {"exp": {"essential": True}, section.subject_claim: {"essential": True}}
        return jwt.JWTClaimsRegistry(now=now, leeway=LEEWAY_SECONDS, **options)

    def _key_for(self, token: jwk.GuestProtocol) -> jwk.Key:
        """The key the header names, or the only one of its kind; never one of another algorithm."""
        header = token.headers()
        kid, algorithm = header.get("kid"), header.get("alg")
        fitting = [key for key in self._keys if algorithm in _ALGORITHMS[key.key_type]]
        named = fitting if kid is None else [key for key in fitting if key.kid == kid]
        if len(named) != 1:
            raise ValueError("no key of ours has its kid and its alg")
        return named[0]

    def _refresh(self) -> None:
        """Take up a changed keys file; a broken one changes nothing."""
        stamp = _stamp(self._file)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._keys = _load(self._file)
        except CannotStart as error:
            log.error("keys file not taken up", reason=str(error))


def _registry(wanted: Collection[str]) -> JWSRegistry:
    """Only what the settings allow; EdDSA without the note that its newer name is Ed25519."""
    allowed = {name for names in _ALGORITHMS.values() if set(names) & set(wanted) for name in names}
    registry = JWSRegistry(algorithms=allowed)
    eddsa = copy.copy(JWSRegistry.algorithms["EdDSA"])
    eddsa.security_warning = None
    vars(registry)["algorithms"] = {**JWSRegistry.algorithms, "EdDSA": eddsa}
    return registry


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _load(path: Path) -> list[jwk.Key]:
    try:
        keys = _parse(path.read_bytes())
    except (OSError, ValueError, TypeError, KeyError, JoseError, msgspec.MsgspecError) as error:
        raise CannotStart(f"the keys file {path} cannot be used: {_reason(error)}") from None
    for key in keys:
        _check(key, path)
    return keys


def _parse(text: bytes) -> list[jwk.Key]:
    if not text.lstrip().startswith(b"{"):
        return [_from_pem(text)]
    found = msgspec.json.decode(text, type=dict[str, Any])
    keys = [jwk.import_key(each) for each in found.get("keys", [found])]
    if not keys:
        raise ValueError("it holds no key")
    return keys


def _from_pem(text: bytes) -> jwk.Key:
    try:
        return jwk.RSAKey.import_key(text)
    except (ValueError, TypeError, JoseError):
        return jwk.OKPKey.import_key(text)


def _check(key: jwk.Key, path: Path) -> None:
    if key.key_type not in _ALGORITHMS:
        raise CannotStart(f"{path} holds a key of type {key.key_type}: RSA, Ed25519 or a secret, please")
    if key.key_type != "OKP" and _bits(key) < _SHORTEST_BITS[key.key_type]:
        raise CannotStart(f"{path} holds a {key.key_type} key below {_SHORTEST_BITS[key.key_type]} bits")


def _bits(key: jwk.Key) -> int:
    match key.raw_value:
        case bytes() as secret:
            return len(secret) * 8
        case RSAPublicKey() | RSAPrivateKey() as found:
            return found.key_size
        case _:
            return 0


def _reason(error: Exception) -> str:
    said = getattr(error, "description", None) or str(error).strip(": ").replace("_", " ")
    return said or type(error).__name__
