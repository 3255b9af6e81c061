"""The key that seals secrets at rest: where it comes from, and what is done with it."""

import base64
import binascii
import contextlib
import hmac
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from cableferry.dialects.denials import Unavailable

ANSWER = "answer"
_VERSION = b"\x01"
_NONCE = 12
_SHORTEST = 32


class CannotStart(Exception):
    """Something that the server's operator must put right first."""


class WrongKey(Unavailable):
    """A box that was sealed with another key, for something else, or damaged."""


class Vault:
    """Seals bytes for one purpose and opens them for the same one only."""

    def __init__(self, key: str) -> None:
        if len(key) < _SHORTEST:
            raise CannotStart(f"the credentials key has {len(key)} characters, it needs at least {_SHORTEST}")
        self._cipher = AESGCM(_derived(key, b"cableferry vault 1"))
        self._marking = _derived(key, b"cableferry marks 1")

    def mark(self, content: bytes) -> bytes:
        """Tells the same content again and, without the key, nothing of it: not even to whoever guesses."""
        return hmac.digest(self._marking, content, "sha256")

    def seal(self, content: bytes, about: str = ANSWER) -> bytes:
        nonce = secrets.token_bytes(_NONCE)
        return _VERSION + nonce + self._cipher.encrypt(nonce, content, about.encode())

    def open(self, content: bytes, about: str = ANSWER) -> bytes:
        nonce, sealed = content[1 : 1 + _NONCE], content[1 + _NONCE :]
        if not content.startswith(_VERSION) or len(nonce) < _NONCE:
            raise WrongKey(f"the stored {about} is damaged: restore it from a backup")
        try:
            return self._cipher.decrypt(nonce, sealed, about.encode())
        except InvalidTag:
            raise WrongKey(
                f"the stored {about} was sealed with another credentials key: start the server with that key,"
                " or rotate the worker's credential"
            ) from None


def key_from(path: Path) -> str:
    """The key in a file of the operator's; refused while others may read it."""
    return secret_from(path, "credentials key")


def secret_from(path: Path, what: str) -> str:
    """The text of a file that only its owner, and perhaps a group, may read."""
    try:
        mode = path.stat().st_mode
        text = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"the {what} file {path} cannot be read: {error}") from None
    if mode & 0o027:
        raise CannotStart(
            f"the {what} file {path} has mode {mode & 0o777:04o}: others may use it, so `chmod 600 {path}`"
            " and replace the secret if they did"
        )
    return text


def made_key(path: Path) -> str:
    """The key in a file of our own, made on the first start; two servers at once agree on one."""
    if not path.exists():
        _make(path)
    key = key_from(path)
    with contextlib.suppress(binascii.Error):
        if len(base64.b64decode(key, validate=True)) == 32:
            return key
    raise CannotStart(f"{path} does not hold a key as it was made: restore it from a backup")


def _derived(key: str, purpose: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt=None, info=purpose).derive(key.encode())


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(base64.b64encode(secrets.token_bytes(32)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
