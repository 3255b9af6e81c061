"""How object storage is asked: with patience, and its troubles told without addresses and keys."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

from obstore.exceptions import BaseError
from obstore.store import ObjectStore, from_url

from cableferry.store.failures import BlobMissing, BlobsFull, BlobsUnavailable

PATIENCE: Mapping[str, object] = {"max_retries": 4, "retry_timeout": timedelta(seconds=30)}
_LIMITS = {"connect_timeout": timedelta(seconds=5), "timeout": timedelta(seconds=60)}


def connect(url: str, config: Mapping[str, str], patience: Mapping[str, object]) -> ObjectStore:
    options = {**_LIMITS, "allow_http": config.get("endpoint", "").startswith("http://")}
    more = (
        {}
        if url.startswith("memory:")
        else {"config": dict(config), "retry_config": dict(patience), "client_options": options}
    )
    open_url: Callable[..., ObjectStore] = from_url  # which keys there are depends on the url
    with told("the settings"):
        return open_url(url, **more)


@contextlib.contextmanager
def told(what: str) -> Iterator[None]:
    """What the library says, as a failure of the store, without the addresses and keys it may name."""
    try:
        yield
    except FileNotFoundError as error:
        raise BlobMissing(f"{what} is not in the store of bytes") from error
    except (BaseError, OSError, ValueError) as error:
        status, code = _status(str(error)), _code(str(error))
        if status.startswith("507") or code == "QuotaExceeded":
            raise BlobsFull(f"{what}: the store of bytes is full") from None
        raise BlobsUnavailable(f"{what}: the store of bytes {_said(status, code)}") from None


def _status(text: str) -> str:
    found = re.search(r"status code: (\d{3}[A-Za-z ]*)", text)
    return found[1].strip() if found else ""


def _code(text: str) -> str:
    found = re.search(r"<Code>(\w{1,60})</Code>", text)
    return found[1] if found else ""


def _said(status: str, code: str) -> str:
    if not status:
        return "does not answer, or its settings are wrong"
    return f"answered {status} ({code})" if code else f"answered {status}"
