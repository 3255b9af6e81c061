"""Passwords: hashed and compared by argon2id, a few at a time."""

import functools
import secrets
import threading

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from cableferry.core import accounts
from cableferry.dialects.denials import TooMany

_AT_ONCE = 2
_PATIENCE_SECONDS = 5.0


class Passwords:
    """Each hash takes 64 MiB and a while by design, so only some run at once and never on the event loop."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._places = threading.BoundedSemaphore(_AT_ONCE)

    def hash(self, name: str, password: str) -> str:
        """The hash to store, of a password that is good enough for its user."""
        with _Place(self._places):
            return self._hasher.hash(accounts.check_password(name, password))

    def is_right(self, stored: str | None, password: str) -> bool:
        """As slow for a user that does not exist as for one that does."""
        with _Place(self._places):
            try:
                self._hasher.verify(stored or self._nobody, password.encode("utf-8", "replace"))
            except (VerifyMismatchError, InvalidHashError):
                return False
        return stored is not None

    @functools.cached_property
    def _nobody(self) -> str:
        """Compared with when there is no such user."""
        return self._hasher.hash(secrets.token_hex())


class _Place:
    """One of the places in which passwords are hashed; refused when none comes free in time."""

    def __init__(self, places: threading.BoundedSemaphore) -> None:
        self._places = places

    def __enter__(self) -> None:
        if not self._places.acquire(timeout=_PATIENCE_SECONDS):
            raise TooMany("too many people are signing in at this moment: try again", retry_after=5)

    def __exit__(self, *_: object) -> None:
        self._places.release()
