"""What happened lately as operators look through it: moves of jobs, and what people did besides."""

from collections.abc import Sequence
from datetime import datetime

import msgspec


class MoveItem(msgspec.Struct, frozen=True):
    """One entry of a job's history, in all histories together."""

    at: datetime
    job_id: str
    processor: str
    from_status: str | None
    to_status: str
    actor: str | None
    worker_id: str | None
    said: str | None
    cause: str | None


class MoveList(msgspec.Struct, frozen=True):
    """The latest first; `older` leads to those before them, null where there are none."""

    items: Sequence[MoveItem]
    older: str | None


class DeedItem(msgspec.Struct, frozen=True):
    """What somebody did, and to what."""

    at: datetime
    actor: str
    what: str
    about: str | None


class DeedList(msgspec.Struct, frozen=True):
    """The latest first; `older` leads to those before them, null where there are none."""

    items: Sequence[DeedItem]
    older: str | None
