"""Passwords: hashed and compared by argon2id, a few at a time."""

import contextlib
import functools
import secrets
import threading
from collections.abc import Iterator

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from cableferry.core import accounts
from cableferry.dialects.denials import TooMany

AT_ONCE = 2
PATIENCE_SECONDS = 5.0


class Passwords:
    """Each hash takes 64 MiB and a while by design, so only some run at once and never on the event loop."""

    def __init__(self, hasher: PasswordHasher | None = None, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._hasher = hasher or PasswordHasher()
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._patience_seconds = patience_seconds

    def hash(self, name: str, password: str) -> str:
        """The hash to store, of a password that is good enough for its user."""
        with self._place():
            return self._hasher.hash(accounts.check_password(name, password))

    def is_right(self, stored: str | None, password: str) -> bool:
        """As slow for a user that does not exist as for one that does."""
        with self._place():
            try:
                self._hasher.verify(stored or self._nobody, password.encode("utf-8", "replace"))
            except (VerifyMismatchError, InvalidHashError):
                return False
        return stored is not None

    @functools.cached_property
    def _nobody(self) -> str:
        """Compared with when there is no such user."""
        return self._hasher.hash(secrets.token_hex())

    @contextlib.contextmanager
    def _place(self) -> Iterator[None]:
        """One of the places in which passwords are hashed; refused when none comes free in time."""
        if not self._places.acquire(timeout=self._patience_seconds):
            raise TooMany("too many people are signing in at this moment: try again", retry_after=5)
        try:
            yield
        finally:
            self._places.release()
