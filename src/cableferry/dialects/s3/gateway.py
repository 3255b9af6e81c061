"""What the endpoints of the gateway have in common: its limits, and which bucket and key a request is about."""

from datetime import timedelta

import msgspec

from cableferry.core import buckets
from cableferry.core.buckets import Bucket, Key
from cableferry.core.errors import Forbidden, Invalid, Kind, NotFound, Refusal
from cableferry.dialects.endpoint import Call, Headers, Plain
from cableferry.engine.reading import Depot
from cableferry.wire.s3 import PREFIX, codes

HOME = PREFIX
BUCKET = f"{PREFIX}/{{bucket}}"
OBJECT = f"{BUCKET}/{{key:path}}"
_WISHES = (b"x-amz-server-side-encryption", b"x-amz-object-lock-", b"x-amz-tagging", b"x-amz-website-redirect-")


class Gateway(msgspec.Struct, frozen=True):
    """What the gateway is configured with."""

    depot: Depot
    upload_limit_bytes: int
    multipart_limit_bytes: int
    multipart_lifetime: timedelta


def gateway(call: Call) -> Gateway:
    found: Gateway = call.service
    return found


def bucket(call: Call) -> Bucket:
    name = call.path["bucket"]
    try:
        return Bucket(name)
    except ValueError:
        known = " and ".join(Bucket)
        raise NotFound(
            f"there is no bucket {name[:80]}: there are {known}", Kind.UNKNOWN_FILE, code="NoSuchBucket"
        ) from None


def key_to_read(call: Call) -> Key:
    """A key that no file can have is one that is not there."""
    text = call.path["key"]
    found = _with_path(text)
    if found is None:
        raise NotFound(f"there is no file {text[:200]}: a key is <artifact>/<path>", Kind.UNKNOWN_FILE)
    return found


def key_to_write(call: Call) -> Key:
    check_changes(bucket(call))
    return buckets.key(call.path["key"])


def key_to_remove(where: Bucket, text: str) -> Key | None:
    """None for a key that no file can have: it is gone as it should be."""
    check_changes(where)
    return _with_path(text)


def check_changes(where: Bucket) -> None:
    """What has a name is committed and stays."""
    if where is not Bucket.ARTIFACTS:
        raise Forbidden(
            f"the bucket {where} shows what is committed and never changes: write to {Bucket.ARTIFACTS}/<id>/<path>"
        )


def xml(content: bytes) -> Plain:
    return Plain(content, codes.TYPE)


def is_encoded(kind: str | None) -> bool:
    if kind not in (None, "url"):
        raise Invalid("encoding-type can only be url")
    return kind == "url"


def ignore_body(body: bytes, headers: Headers) -> None:
    """What comes with a request that is refused anyway."""


def check_wishes(headers: Headers) -> None:
    """Refuse a file that is to be kept in a way in which we keep none: silence would be taken for a yes."""
    for name in headers:
        if name.startswith(_WISHES):
            raise not_implemented(f"what {name.decode('latin-1')[:80]} wishes for")


def not_implemented(what: str) -> Refusal:
    return Invalid(f"{what} is not something that this gateway does", code="NotImplemented")


def _with_path(text: str) -> Key | None:
    return buckets.key(text) if text.partition("/")[2] and not text.startswith("/") else None
