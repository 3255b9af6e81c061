"""Where a site lets inputs come from over the network, as its configuration says it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.daemon.config import BadConfig
from cableferry.daemon.staging.buckets import Bucket
from cableferry.daemon.staging.web import Web

Host = Annotated[str, Meta(pattern=r"^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:[0-9]{1,5})?$")]
_SIZE = re.compile(r"([0-9]{1,15})([KMGTP]?)")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


class BucketSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    endpoint: Annotated[str, Meta(pattern=r"^https?://[^\s/@]+(/[^\s]*)?$")]
    region: str = "us-east-1"
    access_key_id: str | None = None
    secret_access_key: str | None = None
    secret_access_key_file: str | None = None

    def __repr__(self) -> str:
        return f"BucketSection(endpoint={self.endpoint!r}, access_key_id={self.access_key_id!r})"


class InputsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    http_hosts: list[Host] = []
    private_hosts: list[Host] = []
    max_bytes: str | None = None


def web(said: InputsSection, buckets: dict[str, BucketSection], beside: Path) -> Web:
    """What it comes to; the files of secrets are named relative to the configuration."""
    return Web(
        frozenset(map(_plain, said.http_hosts)),
        {name: _bucket(name, bucket, beside) for name, bucket in buckets.items()},
        frozenset(map(_plain, said.private_hosts)),
        None if said.max_bytes is None else _bytes(said.max_bytes),
    )


def buckets(value: object, section: Callable[[str, object], BucketSection]) -> dict[str, BucketSection]:
    """Each bucket by its name; `section` reads the keys of one."""
    if value in (None, ""):
        return {}
    if not isinstance(value, dict):
        raise BadConfig("inputs.s3 names no buckets: write each as a key, with its endpoint below it")
    return {str(name): section(f"inputs.s3.{name}", said) for name, said in value.items()}


def _bucket(name: str, said: BucketSection, beside: Path) -> Bucket:
    file = None if said.secret_access_key_file is None else str(beside / said.secret_access_key_file)
    if (file is None and said.secret_access_key is None) != (said.access_key_id is None):
        raise BadConfig(f"inputs.s3.{name}: access_key_id and its secret come together, or neither for a public bucket")
    return Bucket(said.endpoint, said.region, said.access_key_id, said.secret_access_key, file)


def _plain(host: str) -> str:
    """As an address of the web names it once it is taken apart."""
    return host.lower().replace("[", "").replace("]", "")


def _bytes(text: str) -> int:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise BadConfig(f"inputs.max_bytes is {text[:40]!r}, which is no size: write 500G, for example")
    return int(found[1]) * _UNITS[found[2]]
