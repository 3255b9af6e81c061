"""What an endpoint is: one typed function, what it asks of its caller and what it answers."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from cableferry.core.access import Caller, Need
from cableferry.core.errors import Refusal
from cableferry.store.tx import Tx

Headers = Mapping[bytes, bytes]


class Call(msgspec.Struct, frozen=True):
    """One request after it has been parsed and its caller admitted.

    `worker` is what X-Worker-Id says; `prepared` is what the endpoint's `prepare` gave.
    """

    caller: Caller
    path: Mapping[str, str] = {}
    query: Any = None
    body: Any = None
    worker: str | None = None
    session: str | None = None
    request_id: str | None = None
    service: Any = None
    prepared: Any = None
    headers: Headers = {}
    address: str | None = None
    is_secure: bool = False


class Answer(msgspec.Struct, frozen=True):
    """A body with more than the endpoint's usual status or headers."""

    body: Any
    status: int | None = None
    headers: Mapping[str, str] = {}


class Waits(msgspec.Struct, frozen=True):
    """How a read can be a long poll: the topics that may change its answer, and when it is worth sending.

    An answer with an ETag is worth sending too when it is not the one the client knows.
    """

    topics: Callable[[Call], tuple[str, ...]]
    is_worth_telling: Callable[[Call, Any], bool]


class Endpoint(msgspec.Struct, frozen=True):
    """One route; `run` is sync, in one transaction, and returns the body or an Answer.

    `prepare` runs before it in a thread, outside any transaction, for what is slow by design;
    its result is `call.prepared`. A `pure` endpoint has no transaction: its `tx` must not be used.
    `keeps_secret` says that the request or the answer holds a secret, so neither is kept readable.
    A write that `is_brief` takes some tens of microseconds, whatever it is asked in a body of usual size.
    """

    method: str
    path: str
    run: Callable[[Tx, Call], Any]
    need: Need
    summary: str
    answer: Any
    mode: Literal["read", "write", "pure"] = "read"
    body: Any = None
    query: Any = None
    status: int = 200
    refusals: tuple[int, ...] = ()
    waits: Waits | None = None
    keeps_secret: bool = False
    needs_protocol_headers: bool = True
    is_brief: bool = False
    has_optional_body: bool = False
    prepare: Callable[[Call], Any] | None = None


class Rendered(msgspec.Struct, frozen=True):
    """A refusal in a dialect's own words."""

    body: bytes
    content_type: bytes


class Dialect(msgspec.Struct, frozen=True):
    """One HTTP contract: its endpoints, what it demands of headers, and how it says no."""

    name: str
    prefix: str
    endpoints: tuple[Endpoint, ...]
    check_headers: Callable[[Headers], None]
    render: Callable[[Refusal, str | None], Rendered]
    answer_headers: tuple[tuple[bytes, bytes], ...] = ()
