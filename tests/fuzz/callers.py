"""Callers of each kind, as `requests` lets them into its requests."""

import itertools
import time

from requests import PreparedRequest
from requests.auth import AuthBase

from cableferry.core import signing

SECRET = "fuzz-secret-0123456789abcdef0123456789abcdef"
_nonces = itertools.count()


class Nobody(AuthBase):
    """Says nothing of itself."""

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        return request


class Bearer(AuthBase):
    """A user with an API token."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._text}"
        return request


class Signer(AuthBase):
    """A worker that signs whatever was made up for it to send."""

    def __init__(self, worker: str) -> None:
        self._worker = worker

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        body = request.body or b""
        content = body if isinstance(body, bytes) else body.encode()
        timestamp, nonce = str(int(time.time())), f"fuzz-{next(_nonces)}"
        message = signing.canonical(
            request.method or "", request.path_url, signing.body_hash(content), timestamp, nonce
        )
        request.headers["X-Timestamp"] = timestamp
        request.headers["X-Nonce"] = nonce
        request.headers["X-Worker-Id"] = self._worker
        request.headers["Authorization"] = f"HMAC-SHA256 {signing.sign(SECRET.encode(), message)}"
        return request
