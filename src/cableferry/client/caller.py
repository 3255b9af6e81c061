"""One call from its parts to its reply: headers, signature, patience and typed trouble."""

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from cableferry import __version__
from cableferry.client import errors, http, patience, schemes
from cableferry.client.clock import Clock
from cableferry.client.errors import BadAnswer, Problem, Unreachable
from cableferry.client.http import Connection, Content, Reply, Streaming
from cableferry.client.patience import Patience
from cableferry.client.schemes import Scheme
from cableferry.core import signing
from cableferry.wire.emx2 import VERSION

Outcome = TypeVar("Outcome", Reply | Unreachable, Streaming | Reply | Unreachable)

AGENT = f"cableferry/{__version__}"
_PROBLEMS = msgspec.json.Decoder(Problem, strict=False)


class Ask(msgspec.Struct, frozen=True):
    """What one call asks; the key, the session and the rest stay the same in every try.

    Statuses that are `expected` are answers to whoever reads them, not refusals.
    """

    method: str
    target: str
    body: bytes | Content = b""
    headers: dict[str, str] = {}
    wait_seconds: int = 0
    expected: frozenset[int] = frozenset()

    @property
    def body_hash(self) -> str:
        """What a signature covers of the body; of a stream, only what it declares."""
        if isinstance(self.body, Content):
            return self.body.sha256 or signing.EMPTY_HASH
        return signing.body_hash(self.body)


class Caller:
    """Everything calls to one server have in common."""

    def __init__(
        self,
        connection: Connection,
        scheme: Scheme,
        patience: Patience | None = None,
        pause: Callable[[float], object] = time.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.connection = connection
        self.scheme = scheme
        self.clock = Clock()
        self._patience = patience or Patience()
        self._pause = pause
        self._now = now

    def call(self, ask: Ask) -> Reply:
        """The reply of the first try that is neither lost nor told to come back."""
        outcome, tries = self._patiently(lambda: self._corrected(ask))
        return _settled(outcome, tries)

    @contextlib.contextmanager
    def reading(self, ask: Ask) -> Iterator[Streaming]:
        """An answer whose body is read piece by piece; once it has begun, its reader knows where to go on."""
        with contextlib.ExitStack() as opened:
            outcome, tries = self._patiently(lambda: self._begun(ask, opened))
            if not isinstance(outcome, Streaming):
                raise _refused(outcome, tries)
            yield outcome

    def _patiently(self, once: Callable[[], Outcome]) -> tuple[Outcome, int]:
        """What came of the last try, and how many there were."""
        waits = patience.pauses(self._patience)
        tries = 1
        while True:
            outcome = once()
            pause = next(waits, None)
            if pause is None or not _is_passing(outcome):
                return outcome, tries
            told = (
                patience.retry_after(outcome.headers.get("retry-after"), self._now())
                if isinstance(outcome, Reply)
                else None
            )
            if told is not None and told > self._patience.most_seconds:
                return outcome, tries
            self._pause(pause if told is None else told + pause)
            tries += 1

    def _begun(self, ask: Ask, opened: contextlib.ExitStack) -> Streaming | Reply | Unreachable:
        """An answer that brings what was asked for stays open; any other is read to its end."""
        with contextlib.ExitStack() as stack:
            try:
                streaming = stack.enter_context(self.connection.reading(self._request(ask)))
                if streaming.status >= 300 and streaming.status not in ask.expected:
                    return streaming.whole()
            except Unreachable as error:
                return error
            opened.push(stack.pop_all())
            return streaming

    def _corrected(self, ask: Ask) -> Reply | Unreachable:
        """One try, and one more when the server says that our clock is off and by how much."""
        outcome = self._once(ask)
        if isinstance(outcome, Reply) and outcome.status == 401 and self._was_told_the_time(outcome):
            return self._once(ask)
        return outcome

    def _was_told_the_time(self, reply: Reply) -> bool:
        problem = _problem(reply)
        return problem.kind == "clock-skew" and self.clock.learn(problem.server_time, reply)

    def _once(self, ask: Ask) -> Reply | Unreachable:
        try:
            reply = self.connection.send(self._request(ask))
        except Unreachable as error:
            return error
        if reply.status != 401:
            self.clock.follow(reply)
        return reply

    def _request(self, ask: Ask) -> http.Request:
        """Signed afresh for every try: a nonce is good for one."""
        stamp = (str(int(self.clock.at(self._now()).timestamp())), uuid.uuid4().hex)
        proof = schemes.headers(self.scheme, ask.method, ask.target, ask.body_hash, stamp)
        standing = {
            "Accept": "application/json",
            "User-Agent": AGENT,
            "Content-Type": "application/json",
            "X-EMX2-API-Version": VERSION,
            "X-Request-Id": str(uuid.uuid4()),
        }
        return http.Request(
            ask.method,
            ask.target,
            {**standing, **ask.headers, **proof},
            ask.body,
            (http.STREAM_SECONDS if isinstance(ask.body, Content) else http.READ_SECONDS) + ask.wait_seconds,
        )


def _is_passing(outcome: Streaming | Reply | Unreachable) -> bool:
    return isinstance(outcome, Unreachable) or outcome.status in patience.RETRIED


def _settled(outcome: Reply | Unreachable, tries: int) -> Reply:
    if isinstance(outcome, Reply) and (outcome.status < 300 or outcome.status == 304):
        return msgspec.structs.replace(outcome, tries=tries)
    raise _refused(outcome, tries)


def _refused(outcome: Reply | Unreachable, tries: int) -> errors.Trouble:
    if isinstance(outcome, Unreachable):
        return outcome
    if outcome.status < 400:
        return BadAnswer(f"the server sends us elsewhere ({outcome.status}): give its own address instead")
    after = patience.retry_after(outcome.headers.get("retry-after"), outcome.received_at)
    return errors.refused(_problem(outcome), after, tries)


def _problem(reply: Reply) -> Problem:
    """The problem document; for an answer without one, what its status says."""
    try:
        problem = _PROBLEMS.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = reply.body[:200].decode("utf-8", "replace").strip()
        return Problem(status=reply.status, title="Refused", detail=text or f"the server answered {reply.status}")
    return msgspec.structs.replace(problem, status=reply.status)
