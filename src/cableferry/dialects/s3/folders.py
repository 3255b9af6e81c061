"""What some clients write where a folder should be: an empty object whose key ends in a slash."""

import hashlib

from cableferry.dialects.endpoint import Answer, Call
from cableferry.dialects.s3 import gateway
from cableferry.engine import files
from cableferry.store.tx import Tx

_EMPTY = hashlib.md5(b"", usedforsecurity=False).hexdigest()
_LENGTHS = (b"content-length", b"x-amz-decoded-content-length")


def is_one(call: Call) -> bool:
    return call.path["key"].endswith("/") and any(call.headers.get(name) == b"0" for name in _LENGTHS)


def check(tx: Tx, call: Call) -> None:
    """Refuse a folder where no file could be put; there is nothing to keep of one."""
    gateway.check_changes(gateway.bucket(call))
    head, _, path = call.path["key"].removesuffix("/").partition("/")
    if path:
        files.check_takes(tx, head, path, call.caller)
    else:
        files.check_open(tx, head, call.caller)


def made() -> Answer:
    return Answer(None, headers={"ETag": f'"{_EMPTY}"'})
