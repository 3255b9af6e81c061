"""What an endpoint is: one typed function, what it asks of its caller and what it answers."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

import msgspec

from cableferry.core.access import Caller, Need
from cableferry.core.errors import Refusal
from cableferry.core.sigv4 import Signed
from cableferry.store.blobs import Hasher, Stored
from cableferry.store.tx import Tx

Headers = Mapping[bytes, bytes]


class Decoder(Protocol):
    """Takes a body as it comes and gives the bytes of the file in it."""

    def feed(self, data: bytes) -> Sequence[bytes]:
        """What is certain to belong to the file by now; refuses what cannot be read."""
        ...

    def finish(self) -> None:
        """The body is over: refuses one that is not whole or not what it said."""
        ...


class Landing(msgspec.Struct, frozen=True):
    """What an endpoint says of a stream before its first byte is read.

    `most_bytes` is how large the file may be, by default the server's limit. `sha256` is what the file must have,
    together with the earlier bytes that the hasher of `prior` knows; it is made in a thread, before a byte is read.
    `hashes` are further ones of these bytes, by their names in hashlib. What came before a break is given to `run` as
    well if `keeps_partial`. A `decoder` reads a form of its own; what it gives is checked against the digests that the
    headers declare by `run`, if that `judges`.
    With `part_bytes` a long body lands in parts of about that size, and `run` takes each in a transaction of its own;
    no part is ever empty: then it has no place. `carries` is for `run`, as `call.prepared`. `interim` are the headers
    of an interim answer that comes before the first byte; others tell of each part. Only one stream at a time comes
    to what is named by `alone`; the one that `takes_over` ends the one before.
    """

    most_bytes: int | None = None
    sha256: str | None = None
    prior: Callable[[], Hasher] | None = None
    with_md5: bool = False
    hashes: frozenset[str] = frozenset()
    keeps_partial: bool = False
    form: Literal["raw", "multipart"] = "raw"
    decoder: Decoder | None = None
    judges: bool = False
    part_bytes: int | None = None
    carries: Any = None
    interim: Mapping[str, str] | None = None
    alone: str | None = None
    takes_over: bool = False


class Arrived(msgspec.Struct, frozen=True):
    """What became of a stream, or of a part of it: durable bytes that nothing refers to yet.

    It is whole when the body came to its end. `before` is how much of the body landed in earlier parts, `hasher` the
    one of the landing, which knows these bytes too by now. `fields`, `file_name` and `content_type` are those of a
    multipart form.
    """

    stored: Stored
    is_whole: bool = True
    before: int = 0
    hasher: Hasher | None = None
    hashes: Mapping[str, str] = {}
    fields: Mapping[str, str] = {}
    file_name: str | None = None
    content_type: str | None = None


class Content(msgspec.Struct, frozen=True):
    """An answer whose body is bytes in the store: places with their sizes, in order.

    `etag` is strong and stands in its quotes. `sha256` is that of all bytes; `whole_headers` go only with all of them.
    """

    pieces: tuple[tuple[str, int], ...]
    size_bytes: int
    content_type: str
    etag: str
    modified_at: datetime | None = None
    headers: Mapping[str, str] = {}
    sha256: str | None = None
    whole_headers: Mapping[str, str] = {}


class Plain(msgspec.Struct, frozen=True):
    """An answer whose body is a few bytes as they are."""

    content: bytes
    content_type: str
    headers: Mapping[str, str] = {}


class Course(msgspec.Struct, frozen=True):
    """The answer that never ends by itself: where a follower of a feed begins."""

    cursor: str


class Event(msgspec.Struct, frozen=True):
    """One server-sent event; its id leads a client that lost its connection back to the place behind it."""

    name: str
    id: str
    data: bytes


class Tidings(msgspec.Struct, frozen=True):
    """What is new behind a cursor, the cursor behind that, and whether anything more can come."""

    events: tuple[Event, ...]
    cursor: str
    is_over: bool = False


class Call(msgspec.Struct, frozen=True):
    """One request after it has been parsed and its caller admitted.

    `worker` is what X-Worker-Id says; `prepared` is what the endpoint's `prepare` gave, or its landing carried;
    `arrived` is what was streamed. `signed` is what an access key's signature was found to cover.
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
    arrived: Arrived | None = None
    headers: Headers = {}
    address: str | None = None
    is_secure: bool = False
    signed: Signed | None = None


class Tail(msgspec.Struct, frozen=True):
    """An answer whose body is read on as it grows: `read` gives what there is behind an offset, in a thread.

    At its end it goes on for as long as `goes_on` says so, or not at all without it.
    """

    read: Callable[[int], bytes]
    content_type: str
    goes_on: Callable[[Tx], bool] | None = None


class Answer(msgspec.Struct, frozen=True):
    """A body with more than the endpoint's usual status or headers."""

    body: Any
    status: int | None = None
    headers: Mapping[str, str] = {}
    content_type: str = "application/json"


class Waits(msgspec.Struct, frozen=True):
    """How a read can be a long poll: the topics that may change its answer, and when it is worth sending.

    An answer with an ETag is worth sending too when it is not the one the client knows.
    """

    topics: Callable[[Call], tuple[str, ...]]
    is_worth_telling: Callable[[Call, Any], bool]


class Feed(msgspec.Struct, frozen=True):
    """How a read goes on as server-sent events, once it answered with a Course.

    `go_on` runs in a read transaction, whenever one of the topics had news; `attend`, if there is one, writes down that
    somebody follows, and does so again while that lasts.
    """

    topics: Callable[[Call], tuple[str, ...]]
    go_on: Callable[[Tx, Call, str], Tidings]
    attend: Callable[[Tx, Call], None] | None = None


class Settling(msgspec.Struct, frozen=True):
    """What a read wants to be settled, and whether it ends a stream that is well."""

    name: str
    is_insisting: bool


class Endpoint(msgspec.Struct, frozen=True):
    """One route; `run` is sync, in one transaction, and returns the body or an Answer.

    `prepare` runs before it in a thread, outside any transaction, for what is slow by design;
    its result is `call.prepared`. It does so for every call, or for those that `prepares` names; what `is_long` may
    take minutes, and keeps only its own kind waiting. A `pure` endpoint has no transaction: its `tx` must not be used.
    `keeps_secret` says that the request or the answer holds a secret, so neither is kept readable.
    One with `takes` gets its body as a stream: `takes` runs in a write transaction of its own before a byte is read,
    and may refuse; when it returns None the body is read as usual, like every JSON body of an endpoint with a `body`.
    A body that is no JSON is made typed by what `reads`, from its bytes and the request's headers.
    A path may end in `{name:path}`, which stands for all that is left, slashes included; one that `allows_slash` may
    end in one more. Of several endpoints with one method and path, a name in the query chooses: those in `chosen_by`.
    `headers` are those that it looks at besides, each with its meaning.
    A read that `settles` something named is answered when no stream comes to it any more, if it may end that stream.
    One that `is_brief` takes some tens of microseconds, whatever it is asked in a body of usual size.
    A `quiet_status` is what every refusal is answered with, without a body: for clients that die of any other.
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
    quiet_status: int | None = None
    prepare: Callable[[Call], Any] | None = None
    prepares: Callable[[Call], bool] | None = None
    is_long: bool = False
    takes: Callable[[Tx, Call], Landing | None] | None = None
    feed: Feed | None = None
    reads: Callable[[bytes, Headers], Any] | None = None
    chosen_by: tuple[str, ...] = ()
    allows_slash: bool = False
    settles: Callable[[Call], Settling] | None = None
    headers: Mapping[str, str] = {}

    @property
    def template(self) -> str:
        """The path with the bare names of its variables."""
        return self.path.replace(":path}", "}")


class Asking(msgspec.Struct, frozen=True):
    """The request that is refused, as far as its refusal speaks of it."""

    request_id: str | None
    trace_id: str = ""
    path: str = ""


class Rendered(msgspec.Struct, frozen=True):
    """A refusal in a dialect's own words, and its status where the contract has another than the others."""

    body: bytes
    content_type: bytes
    status: int | None = None
    headers: Mapping[str, str] = {}


class Dialect(msgspec.Struct, frozen=True):
    """One HTTP contract: its endpoints, what it demands of headers, and how it says no.

    `refused` is the body of a refusal; nothing stands for a problem document.
    `trace_header` is what it calls the header with the trace id. A contract of somebody else's is not described by us.
    """

    name: str
    prefix: str
    endpoints: tuple[Endpoint, ...]
    check_headers: Callable[[Headers], None]
    render: Callable[[Refusal, Asking], Rendered]
    answer_headers: tuple[tuple[bytes, bytes], ...] = ()
    refused: Any = None
    trace_header: bytes | None = None
    is_described: bool = True
