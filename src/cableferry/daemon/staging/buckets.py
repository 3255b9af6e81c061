"""Requests to a bucket of S3, signed with the site's own key."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, urlsplit

import msgspec

from cableferry.client.errors import Unreachable
from cableferry.core import signing, sigv4
from cableferry.core.sigv4 import Message, Proof, Scope
from cableferry.daemon import secrets

_EMPTY = hashlib.sha256(b"").hexdigest()


class Bucket(msgspec.Struct, frozen=True):
    """Where a bucket is reached, and the key to it; without a key it is asked as a public one.

    A secret in a file is read each time, so that another one counts from then on.
    """

    endpoint: str
    region: str = "us-east-1"
    access_key_id: str | None = None
    secret_access_key: str | None = None
    secret_file: str | None = None

    def __repr__(self) -> str:
        return f"Bucket(endpoint={self.endpoint!r}, access_key_id={self.access_key_id!r})"


def signed(bucket: Bucket, name: str, key: str) -> tuple[str, dict[str, str]]:
    """The address of an object, and the headers that open the door there."""
    address = f"{bucket.endpoint.rstrip('/')}/{quote(name)}/{quote(key, safe='/')}"
    secret = _secret(bucket)
    if bucket.access_key_id is None or secret is None:
        return address, {}
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    said = {"host": urlsplit(address).netloc, "x-amz-content-sha256": _EMPTY, "x-amz-date": stamp}
    scope = Scope(stamp[:8], bucket.region)
    proof = Proof(bucket.access_key_id, scope, stamp, tuple(sorted(said)), "")
    path = urlsplit(address).path
    message = Message("GET", path, "", {name.encode(): text.encode() for name, text in said.items()}, _EMPTY)
    text = sigv4.text_to_sign(proof, sigv4.canonical(proof, message, path))
    signature = signing.sign(sigv4.signing_key(secret, scope), text)
    credential = f"{bucket.access_key_id}/{scope.text}"
    names = ";".join(proof.signed_headers)
    proved = f"{sigv4.ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
    return address, {"x-amz-content-sha256": _EMPTY, "x-amz-date": stamp, "Authorization": proved}


def _secret(bucket: Bucket) -> str | None:
    if bucket.secret_file is None:
        return bucket.secret_access_key
    try:
        return secrets.read(Path(bucket.secret_file))
    except secrets.Unreadable as error:
        # whoever runs the site may correct it, and then it works
        raise Unreachable(f"the key to the bucket: {error}") from error
